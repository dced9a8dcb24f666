#!/usr/bin/env bash
# Compares converted models with transformers and CTranslate2: log-probabilities, greedy answers, ids of texts.
#
#     tests/convert/peers.sh BUILD FOLDER [SENTENCES]
#
# BUILD: where the library was built; FOLDER: for a virtual environment (used again when it is there) and the models;
# SENTENCES: how many our own model translates, 200. Needs PyPI. Not a part of run.sh: what it finds is kept in
# checkpoints/, which the tests of the Python package read.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "${1:?usage: peers.sh BUILD FOLDER [SENTENCES]}" && pwd)
mkdir -p "${2:?usage: peers.sh BUILD FOLDER [SENTENCES]}"
work=$(cd "$2" && pwd)
data=$root/examples/translate/data
export XFORMER_LIBRARY=$build/lib/libxformer.so PYTHONPATH=$root/bindings/python PYTHONDONTWRITEBYTECODE=1
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} HF_HUB_OFFLINE=1

[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
python=$work/venv/bin/python
"$python" -c 'import ctranslate2, sentencepiece, torch, transformers' 2>/dev/null ||
    "$python" -m pip -q install ctranslate2 numpy sentencepiece torch transformers
"$python" -c 'import ctranslate2, torch, transformers as t; print(t.__version__, torch.__version__, ctranslate2.__version__)'

rm -rf "$work/checkpoints"
"$python" -W ignore "$here/make_checkpoints.py" --many "$data/small.tsv" "$work/checkpoints"
status=0
"$python" -W ignore "$here/peers.py" from "$work/checkpoints" || status=1
"$python" -W ignore "$here/peers.py" back "$work/checkpoints" || status=1
"$python" -W ignore "$here/peers.py" to "$root/examples/translate/en-de.xf" "$data/small.test.tsv" "${3:-200}" || status=1
exit $status
