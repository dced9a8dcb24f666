#!/usr/bin/env bash
# Compares converted models with transformers and CTranslate2: encoder, log-probabilities, outputs, ids of texts.
#
#     tests/surfaces/convert/peers.sh BUILD FOLDER [SENTENCES [NAME...]]
#
# BUILD: build folder of the library and encoder_outputs. FOLDER: for the models and a virtual environment, which is
# reused. SENTENCES: number of sentences for the model of the repository (200). NAME: models of make_checkpoints.py
# (all). Takes 15 minutes and requires PyPI. run.sh does not run this script; the tests of the Python package compare
# with the results in checkpoints/.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=$(cd "${1:?usage: peers.sh BUILD FOLDER [SENTENCES [NAME...]]}" && pwd)
mkdir -p "${2:?usage: peers.sh BUILD FOLDER [SENTENCES [NAME...]]}"
work=$(cd "$2" && pwd)
data=$root/examples/translate/data
export XFORMER_LIBRARY=$build/lib/libxformer.so PYTHONPATH=$root/bindings/python PYTHONDONTWRITEBYTECODE=1
export XF_BACKEND_PATH=$build/lib OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} HF_HUB_OFFLINE=1

[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
python=$work/venv/bin/python
"$python" -c 'import ctranslate2, sentencepiece, torch, transformers' 2>/dev/null ||
    "$python" -m pip -q install ctranslate2 numpy sentencepiece torch transformers
"$python" -c 'import ctranslate2, torch, transformers as t; print(t.__version__, torch.__version__, ctranslate2.__version__)'

rm -rf "$work/checkpoints"
"$python" -W ignore "$here/make_checkpoints.py" --many "$data/small.tsv" "$work/checkpoints" "${@:4}"
status=0
"$python" -W ignore "$here/peers.py" from "$work/checkpoints" || status=1
"$python" -W ignore "$here/peers.py" back "$work/checkpoints" || status=1
"$python" -W ignore "$here/peers_parts.py" "$work/checkpoints" "$build/bin/encoder_outputs" || status=1
"$python" -W ignore "$here/peers_search.py" "$work/checkpoints" || status=1
own=("$root/examples/translate/en-de.xf" "$data/small.test.tsv" "${3:-200}")
"$python" -W ignore "$here/peers.py" to "${own[@]}" || status=1
"$python" -W ignore "$here/peers_search.py" "${own[@]}" || status=1
exit $status
