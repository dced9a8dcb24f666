#!/usr/bin/env bash
# Translates with the English-German model in this folder, then trains a small model on the corpus in data/ and shows
# its translations; see README.md.
#
# In the sources of libxformer, it installs missing Debian packages, builds the library and the program in build/demo,
# translates, trains, and measures. It takes about ten minutes on two cores and asks no questions. The training takes 7
# of these minutes, or the number in DEMO_MINUTES. Outside the sources, for example in
# /usr/share/doc/libxformer-dev/examples, the English-German model is not included. There, it compiles the program
# against the installed library, in the folder xformer-demo of the current folder.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

fresh=no
case "${1-}" in
    "") ;;
    --fresh) fresh=yes ;;
    --help | -h)
        echo "Usage: [DEMO_MINUTES=7] $0 [--fresh]"
        echo "Translates with the included model and trains a small one for DEMO_MINUTES minutes (0: no training)."
        echo "--fresh trains a new model even if one exists."
        exit 0
        ;;
    *)
        echo "demo.sh: unknown option '$1'; expected --fresh or --help" >&2
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

# Builds the library and the program.
build_sources() {
    tests/packages.sh
    say "Building into $build"
    cuda=(-DXF_CUDA=OFF) # saves minutes of compilation without a GPU
    if nvidia-smi -L >"$build.log" 2>&1; then cuda=(-DXF_CUDA=AUTO -DXF_CUDA_ARCHITECTURES=native); fi
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DXF_BUILD_TESTS=OFF -DXF_BUILD_EXAMPLES=ON "${cuda[@]}" \
        >"$build.log" 2>&1 &&
        cmake --build "$build" >>"$build.log" 2>&1 || {
        tail -n 40 "$build.log" >&2
        echo "demo.sh: the build failed; see $build.log for its output" >&2
        exit 1
    }
}

# Builds only the program. This requires a C compiler, pkg-config, and CMake, which generates the embedded pages.
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
    cc -std=c11 -O2 -I"$here" -I"$here/../common" "$here"/*.c "$here"/../common/*.c "$build/pages.c" $flags -lm -o "$translate"
}

# Translates with the included model, which is the default of the program.
show_ready() {
    [ -e "$ready" ] || return 0
    say "Translations by the included model, which is trained on texts about software"
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
    say "The same model on the test set ($data/small.test.tsv, 349 sentences not used for training)"
    "$translate" evaluate --test "$data/small.test.tsv"
}

train_model() {
    local start=(--overwrite)
    if [ "$fresh" = no ] && [ -e "$model" ]; then
        say "Using $model from an earlier run (--fresh trains a new model)"
        return
    fi
    if [ "$fresh" = no ] && [ -e "$model.ckpt" ]; then
        say "Continuing from the checkpoint of an interrupted run (--fresh starts a new run)"
        start=(--resume "$model.ckpt")
    else
        say "Training on 19,500 sentence pairs; time limit in minutes: $minutes"
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
    say "Test set ($data/small.test.tsv, 349 sentences not used for training): greedy search"
    "$translate" evaluate --model "$model" --test "$data/small.test.tsv" --greedy
    say "The same with beam search"
    "$translate" evaluate --model "$model" --test "$data/small.test.tsv" --beam 4 --output "$build/small.test.de"
    say "Some of these sentences: the source, the model's translation, the reference"
    paste "$data/small.test.tsv" "$build/small.test.de" |
        awk -F '\t' 'NR % 43 == 1 { printf "\n  EN  %s\n  ->  %s\n  DE  %s\n", $1, $3, $2 }'
}

mkdir -p "$build/bin" || {
    echo "demo.sh: the current folder is not writable; run it in a folder where you can write" >&2
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
    echo "  $translate translate                      # the included model: type sentences"
fi
if [ -e "${ready%/*}/en-fr.xf" ]; then
    echo "  $translate translate --model ${ready%/*}/en-fr.xf  # English to French"
fi
if [ -e "$model" ]; then
    echo "  $translate translate --model $model  # the trained model"
fi
cat <<END
  $translate translate$use <FILE >FILE.de       # a file, one sentence per line
  $translate inspect$use                        # show the contents of a model
  $translate train --help                   # help on training your own model
END
