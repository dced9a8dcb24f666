#!/usr/bin/env bash
# Measures greedy decoding at batch 1 with and without a draft, on a text that the draft knows and on one that it does
# not know.
#
#     draft.sh BUILD FOLDER        BUILD: a Release build of this tree with translate in BUILD/bin
#
# There are two targets: en-de.xf, and a model of the preset base that is trained on translations of the known text by
# en-de.xf. The draft has one layer per side and is trained on the same pairs. FOLDER keeps the models, so a second run
# only measures. Environment: THREADS (2), ROUNDS (5), XF_ARGS (more arguments for translate, such as --model.weights).
#
# Every round runs each variant once, in a fresh process. The time for an empty input is subtracted. Fails if a draft
# changes a translation.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: draft.sh BUILD FOLDER}" && pwd)
example=$(cd "$here/../../../examples/translate" && pwd)
mkdir -p "${2:?usage: draft.sh BUILD FOLDER}"
cd "$2"
threads=${THREADS:-2} rounds=${ROUNDS:-5}
read -r -a xf_args <<<"${XF_ARGS:-}"
export XF_BACKEND_PATH=$build/lib

translate() { "$build/bin/translate" translate --greedy --batch-lines 1 --threads "$threads" "$@"; }

train() { # MODEL OPTION...
    [ -e "$1" ] || "$build/bin/translate" train --train known.tsv --hold-out 0 --tokenizer tokenizer.json \
        --model "$1" --threads "$threads" --quiet --overwrite --save-every 0 --eval-every 0 --train.dropout 0 "${@:2}" >&2
}

cut -f 1 "$example/data/small.test.tsv" | head -n 200 >known
cut -f 1 "$example/data/small.test.tsv" | tail -n +201 >unknown
: >empty
paste known <(translate --model "$example/en-de.xf" <known) >known.tsv
python3 - "$example/en-de.xf" >tokenizer.json <<'PY'
import json, struct, sys
with open(sys.argv[1], "rb") as file:
    size, = struct.unpack("<Q", file.read(8))
    print(json.loads(file.read(size))["__metadata__"]["tokenizer"], end="")
PY
train draft.xf --preset tiny --steps 3000 --model.encoder_layers 1 --model.decoder_layers 1 --model.d_model 128 \
    --model.d_ff 512 --model.norm pre
train base.xf --preset base --steps 400 --model.norm pre --context.precision bf16

seconds_of() { # INPUT OPTION...: writes the translation to `found`
    local TIMEFORMAT=%R
    { time translate "${xf_args[@]}" "${@:2}" <"$1" >found; } 2>&1
}

ratios() { # TARGET INPUT
    for ((round = 0; round < rounds; ++round)); do
        local base alone base_with with
        base=$(seconds_of empty --model "$1")
        alone=$(seconds_of "$2" --model "$1")
        mv found expected
        base_with=$(seconds_of empty --model "$1" --draft draft.xf)
        with=$(seconds_of "$2" --model "$1" --draft draft.xf)
        cmp found expected >&2
        awk -v a="$alone" -v b="$base" -v c="$with" -v d="$base_with" 'BEGIN { printf "%.3f\n", (a - b) / (c - d) }'
    done | sort -n | awk '{ r[NR] = $1 } END { printf "%.2f (%.2f to %.2f)\n", r[int((NR + 1) / 2)], r[1], r[NR] }'
}

echo "times as fast with the draft: median and range of $rounds rounds, $threads threads"
for target in "$example/en-de.xf" base.xf; do
    for text in known unknown; do echo "$(basename "$target"), $text text: $(ratios "$target" "$text")"; done
done
