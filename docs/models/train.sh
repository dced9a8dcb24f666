#!/usr/bin/env bash
# Trains the models of examples/translate:
#
#     docs/models/train.sh en-de CORPUS FOLDER
#     docs/models/train.sh en-fr CORPUS FOLDER
#
# CORPUS has train.tsv, dev.tsv, and test.tsv (see the section "Data" of en-de.md and en-fr.md). FOLDER/en-de or
# FOLDER/en-fr receives the model and the logs. The same command continues an interrupted run. apt-get downloads more
# texts: for en-de, the dictionary in Debian's package trans-de-en, and for en-fr, the localizations of Firefox and
# Thunderbird. en-fr begins with the parameters of examples/translate/en-de.xf. The program and the library are those of
# build/release, or TRANSLATE and XFORMER_LIBRARY.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
usage="usage: docs/models/train.sh en-de|en-fr CORPUS FOLDER"
name=${1:?$usage}
corpus=$(realpath "${2:?$usage}")
case $name in en-de | en-fr) ;; *) echo "$usage" >&2 && exit 2 ;; esac
translate=$(realpath "${TRANSLATE:-$root/build/release/bin/translate}")
library=$(realpath -m "${XFORMER_LIBRARY:-$root/build/release/lib/libxformer.so}")
mkdir -p "${3:?$usage}/$name"
cd "$3/$name"

# corpus_is_ready: whether the folder texts, the corpus, is complete. add_corpus writes its last file.
corpus_is_ready() { [ -e texts/train.tsv ]; }
add_corpus() { cp "$corpus/train.tsv" train.tsv.part && mv train.tsv.part texts/train.tsv; }

# get PACKAGE FOLDER: downloads and unpacks a Debian package.
get() {
    rm -rf "$2" "$2".deb && mkdir -p "$2.deb"
    (cd "$2.deb" && apt-get download "$1")
    dpkg-deb -x "$2".deb/*.deb "$2"
}

# train LOG MODEL BEGINNING OPTION...: trains a model. BEGINNING has the options of a new run; if MODEL.ckpt exists, the
# run continues.
train() {
    local log=$1 model=$2 from=()
    read -ra from <<<"$3"
    shift 3
    if [ -e "$model.ckpt" ]; then from=(--continue); fi
    "$translate" train --dev "$corpus/dev.tsv" --model "$model" "${from[@]}" --data.max_tokens 120 \
        --train.dropout 0.1 "$@" >>"$log" 2>&1
}

if [ "$name" = en-de ]; then
    if ! corpus_is_ready; then
        mkdir -p texts
        get trans-de-en package
        "$root/docs/models/dictionary.py" package/usr/share/trans/de-en texts/sentences.tsv texts/phrases.tsv \
            "$corpus/dev.tsv" "$corpus/test.tsv"
        add_corpus
    fi
    # First the corpus by itself, which also determines the vocabulary.
    if [ ! -e first.xf ]; then
        train first.log first.xf "" --train "$corpus/train.tsv" --steps 12500 --tokenizer.vocab_size 6000 \
            --data.batch_tokens 750 --model.encoder_layers 3 --model.decoder_layers 3 --model.d_model 256 \
            --model.d_ff 1024 --model.heads 4 --model.d_k 64 --model.d_v 64 --model.norm pre \
            --train.learning_rate 0.7 --train.warmup_steps 1000 --eval-every 2000 --save-every 1000 \
            --average 8 --average-every 500
    fi
    # Then with the dictionary, in larger batches, at a rate that falls to 0.
    train second.log "$name.xf" "--init first.xf" --train texts --data.mix sentences.tsv=3 --steps 4600 \
        --context.precision bf16 --data.batch_tokens 1500 --data.seed 2 --train.seed 2 --train.schedule linear \
        --train.learning_rate 0.0006 --train.warmup_steps 100 --train.total_steps 4600 --eval-every 1150 \
        --dev-sentences 200 --save-every 250 --average 5 --average-every 150 --model.weights fp16
else
    if ! corpus_is_ready; then
        mkdir -p texts
        for program in firefox-esr thunderbird; do
            for language in en-gb fr; do
                get $program-l10n-$language $program-$language
                pack=$(find $program-$language -name '*.xpi')
                python3 -m zipfile -e "$pack" $program-$language/texts
            done
            "$root/docs/models/localizations.py" $program-{en-gb,fr}/texts texts/$program.tsv \
                "$corpus/dev.tsv" "$corpus/test.tsv"
        done
        add_corpus
    fi
    if [ ! -e child.xf ]; then
        PYTHONPATH=$root/bindings/python XFORMER_LIBRARY=$library \
            "$root/docs/models/transfer.py" "$root/examples/translate/en-de.xf" "$corpus/train.tsv" child.xf
    fi
    # Three trainings in bf16, each with another rate: constant, falling, and, with the localizations, falling to 0.
    common=(--context.precision bf16 --data.batch_tokens 1500 --dev-sentences 200 --save-every 200)
    if [ ! -e first.xf ]; then
        train first.log first.xf "--init child.xf" --train "$corpus/train.tsv" "${common[@]}" --steps 1337 \
            --data.seed 2 --train.seed 2 --train.schedule constant --train.learning_rate 0.0006 \
            --train.warmup_steps 500 --eval-every 1000
    fi
    if [ ! -e second.xf ]; then
        train second.log second.xf "--init first.xf" --train "$corpus/train.tsv" "${common[@]}" --steps 650 \
            --data.seed 3 --train.seed 3 --train.schedule linear --train.learning_rate 0.0007 \
            --train.warmup_steps 100 --train.total_steps 2600 --eval-every 650
    fi
    train third.log "$name.xf" "--init second.xf" --train texts "${common[@]}" --steps 1900 \
        --data.seed 4 --train.seed 4 --train.schedule linear --train.learning_rate 0.0006 --train.warmup_steps 50 \
        --train.total_steps 1900 --eval-every 950 --average 4 --average-every 60 --model.weights int8
fi
"$translate" evaluate --model "$name.xf" --test "$corpus/test.tsv"
