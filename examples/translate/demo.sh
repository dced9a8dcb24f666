#!/usr/bin/env bash
# Translates with the English-German model that is ready beside this file, then trains a small one on the corpus beside
# it and shows what that has learnt; see README.md.
#
# In the sources of libxformer it installs what is missing (Debian packages), builds the library and the program into
# build/demo, translates, trains and measures, all within about ten minutes on two cores, without a question. The
# training is 7 minutes of that; DEMO_MINUTES=1 makes it one. Elsewhere, as in /usr/share/doc/libxformer-dev/examples,
# where the ready model is left out, it compiles the program against the installed library, into the folder xformer-demo
# of the folder that it is run in.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

fresh=no
case "${1-}" in
    "") ;;
    --fresh) fresh=yes ;;
    --help | -h)
        echo "Usage: [DEMO_MINUTES=7] $0 [--fresh]"
        echo "Translates with the ready model and trains a small one in DEMO_MINUTES minutes (0: no training)."
        echo "--fresh trains anew although one is there."
        exit 0
        ;;
    *)
        echo "demo.sh: '$1' is not an option; --fresh is the only one" >&2
        exit 2
        ;;
esac
minutes=${DEMO_MINUTES:-7}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ -e "$here/../../lib/xformer.map" ]; then
    sources=yes
    cd "$here/../.."
    build=build/demo
    data=examples/translate/data
    ready=examples/translate/en-de.xf
else
    sources=no
    build=xformer-demo
    data=$here/data
    ready=$here/en-de.xf
fi
model=$build/small.xf
translate=$build/bin/translate

say() { printf '\n== %s\n' "$*"; }

# Builds the library too.
build_sources() {
    tests/packages.sh
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

# Builds the program alone, which needs a C compiler, pkg-config, and CMake for the pages that are compiled in.
build_program() {
    local flags tool
    say "Building into $PWD/$build"
    for tool in cc pkg-config cmake; do
        command -v $tool >/dev/null || {
            echo "demo.sh needs $tool, which was not found (Debian: apt install gcc libc6-dev pkg-config cmake)" >&2
            exit 1
        }
    done
    flags=$(pkg-config --cflags --libs xformer) || exit 1
    cmake -DPAGES="$here/pages" -DOUTPUT="$build/pages.c" -P "$here/embed.cmake" || exit 1
    # shellcheck disable=SC2086 # several words
    cc -std=c11 -O2 -I"$here" "$here"/*.c "$build/pages.c" $flags -lm -o "$translate"
}

# The ready model. The program finds it by itself.
show_ready() {
    [ -e "$ready" ] || return 0
    say "The model that comes with the program knows the language of computers, and little else"
    while read -r sentence; do
        printf '\n  EN  %s\n  ->  ' "$sentence"
        echo "$sentence" | "$translate" translate
    done <<'END'
Do you want to save the changes to this document?
Opens a dialog where you can select a different printer.
The file could not be found.
This command prints a list of all packages that are installed on your system.
You do not have permission to open this file.
END
    say "The same model on the test set ($data/small.test.tsv, 349 sentences it has not seen)"
    "$translate" evaluate --test "$data/small.test.tsv"
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
        say "Training on 19,500 sentence pairs, for so many minutes: $minutes"
        rm -f "$model" "$model".*
    fi
    "$translate" train --train "$data/small.tsv" --model "$model" "${start[@]}" --minutes "$minutes" \
        --tokenizer.vocab_size 4000 --data.batch_tokens 750 --data.max_tokens 100 \
        --model.encoder_layers 3 --model.decoder_layers 3 --model.d_model 192 --model.d_ff 768 \
        --model.heads 3 --model.d_k 64 --model.d_v 64 --model.norm pre \
        --train.learning_rate 0.7 --train.warmup_steps 400 --train.dropout 0.1 \
        --eval-every 500 --save-every 500 --average 8 --average-every 50 </dev/null
}

show_results() {
    say "Test set ($data/small.test.tsv, 349 sentences the model has not seen): greedy search"
    "$translate" evaluate --model "$model" --test "$data/small.test.tsv" --greedy
    say "The same with beam search"
    "$translate" evaluate --model "$model" --test "$data/small.test.tsv" --beam 4 --output "$build/small.test.de"
    say "Some of these sentences: the source, the model's translation, the reference"
    paste "$data/small.test.tsv" "$build/small.test.de" |
        awk -F '\t' 'NR % 43 == 1 { printf "\n  EN  %s\n  ->  %s\n  DE  %s\n", $1, $3, $2 }'
}

mkdir -p "$build/bin" || {
    echo "demo.sh: run it in a folder that you may write to" >&2
    exit 1
}
if [ $sources = yes ]; then build_sources; else build_program; fi
show_ready
if [ "$minutes" != 0 ]; then
    train_model
    show_results
fi
say "Your turn"
use=" --model $model"
if [ -e "$ready" ]; then
    use=
    echo "  $translate translate                      # the ready model: type sentences"
fi
if [ -e "$model" ]; then
    echo "  $translate translate --model $model  # the one just trained"
fi
cat <<END
  $translate translate$use <FILE >FILE.de       # a file, one sentence a line
  $translate inspect$use                        # look inside a model
  $translate train --help                   # train your own
END
