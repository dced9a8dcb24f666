#!/usr/bin/env bash
# Trains a small English-German model on the corpus beside this file and shows what it has learnt; see README.md.
#
# It installs what is missing (Debian packages), builds the library, trains, measures and translates, all within about
# ten minutes on two cores, without a question. The training is 7 minutes of that; DEMO_MINUTES=1 makes it one.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

fresh=no
case "${1-}" in
    "") ;;
    --fresh) fresh=yes ;;
    --help | -h)
        echo "Usage: [DEMO_MINUTES=7] examples/translate/demo.sh [--fresh]"
        echo "Trains a small English-German model in DEMO_MINUTES minutes. --fresh trains anew although one is there."
        exit 0
        ;;
    *)
        echo "demo.sh: '$1' is not an option; --fresh is the only one" >&2
        exit 2
        ;;
esac
minutes=${DEMO_MINUTES:-7}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
data=examples/translate/data
build=build/demo
model=$build/small.xf
translate=$build/bin/translate

say() { printf '\n== %s\n' "$*"; }

build_program() {
    say "Building into $build"
    cuda=(-DXF_CUDA=OFF) # minutes of compiling for nothing, unless there is a GPU
    if nvidia-smi -L >"$build.log" 2>&1; then cuda=(-DXF_CUDA=AUTO -DXF_CUDA_ARCHITECTURES=native); fi
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DXF_BUILD_TESTS=OFF -DXF_BUILD_EXAMPLES=ON "${cuda[@]}" \
        >"$build.log" 2>&1 &&
        cmake --build "$build" >>"$build.log" 2>&1 || {
        tail -n 40 "$build.log" >&2
        echo "demo.sh: the build failed; all of its output is in $build.log" >&2
        exit 1
    }
}

train_model() {
    local start=(--overwrite)
    if [ "$fresh" = no ] && [ -e "$model" ]; then
        say "$model is there from an earlier run (--fresh trains a new one)"
        return
    fi
    if [ "$fresh" = no ] && [ -e "$model.ckpt" ]; then
        say "Going on from the checkpoint of an interrupted run (--fresh begins anew)"
        start=(--resume "$model.ckpt")
    else
        say "Training on 19,500 sentence pairs for $minutes minutes"
        rm -f "$model" "$model".*
    fi
    "$translate" train --train $data/small.tsv --model "$model" "${start[@]}" --minutes "$minutes" \
        --tokenizer.vocab_size 4000 --data.batch_tokens 750 --data.max_tokens 100 \
        --model.encoder_layers 3 --model.decoder_layers 3 --model.d_model 192 --model.d_ff 768 \
        --model.heads 3 --model.d_k 64 --model.d_v 64 --model.norm pre \
        --train.learning_rate 0.7 --train.warmup_steps 400 --train.dropout 0.1 \
        --eval-every 500 --save-every 500 --average 8 --average-every 50 </dev/null
}

show_results() {
    say "Test set ($data/small.test.tsv, 349 sentences the model has not seen): greedy search"
    "$translate" evaluate --model "$model" --test $data/small.test.tsv --greedy
    say "The same with beam search"
    "$translate" evaluate --model "$model" --test $data/small.test.tsv --beam 4 --output $build/small.test.de
    say "Some of these sentences: the source, the model's translation, the reference"
    paste $data/small.test.tsv $build/small.test.de |
        awk -F '\t' 'NR % 43 == 1 { printf "\n  EN  %s\n  ->  %s\n  DE  %s\n", $1, $3, $2 }'
}

mkdir -p build
tests/packages.sh
build_program
train_model
show_results
say "Your turn"
cat <<END
  $translate translate --model $model                 # type sentences
  $translate translate --model $model <FILE >FILE.de  # or translate a file, one sentence a line
  $translate inspect --model $model                   # look inside
  $translate train --help                             # train your own
END
