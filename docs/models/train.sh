#!/usr/bin/env bash
# Trains the model en-de.xf: docs/models/train-en-de.sh CORPUS FOLDER
#
# CORPUS has train.tsv, dev.tsv, and test.tsv (see en-de.md, "Data"). The dictionary of Debian's package trans-de-en is
# downloaded with apt-get. The same command continues an interrupted run. FOLDER receives en-de.xf and the logs.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
corpus=$(realpath "${1:?docs/models/train-en-de.sh CORPUS FOLDER}")
mkdir -p "${2:?docs/models/train-en-de.sh CORPUS FOLDER}"
cd "$2"
translate=${TRANSLATE:-$here/../../build/release/bin/translate}

if [ ! -e texts/train.tsv ]; then
    mkdir -p package texts
    (cd package && apt-get download trans-de-en && dpkg-deb -x trans-de-en_*.deb .)
    "$here/dictionary.py" package/usr/share/trans/de-en texts/sentences.tsv texts/phrases.tsv \
        "$corpus/dev.tsv" "$corpus/test.tsv"
    cp "$corpus/train.tsv" texts
fi

# First the corpus by itself, which also determines the vocabulary.
if [ ! -e first.xf ]; then
    "$translate" train --train "$corpus/train.tsv" --dev "$corpus/dev.tsv" --model first.xf --continue --steps 12500 \
        --tokenizer.vocab_size 6000 --data.batch_tokens 750 --data.max_tokens 120 \
        --model.encoder_layers 3 --model.decoder_layers 3 --model.d_model 256 --model.d_ff 1024 \
        --model.heads 4 --model.d_k 64 --model.d_v 64 --model.norm pre \
        --train.learning_rate 0.7 --train.warmup_steps 1000 --train.dropout 0.1 \
        --eval-every 2000 --save-every 1000 --average 8 --average-every 500 >>first.log 2>&1
fi

# Then with the dictionary, in larger batches, at a rate that falls to 0.
from=(--init first.xf)
[ ! -e en-de.xf.ckpt ] || from=(--continue)
"$translate" train --train texts --data.mix sentences.tsv=3 --dev "$corpus/dev.tsv" --model en-de.xf "${from[@]}" \
    --steps 4600 --context.precision bf16 --data.batch_tokens 1500 --data.max_tokens 120 --data.seed 2 --train.seed 2 \
    --train.schedule linear --train.learning_rate 0.0006 --train.warmup_steps 100 --train.total_steps 4600 \
    --train.dropout 0.1 --eval-every 1150 --dev-sentences 200 --save-every 250 --average 5 --average-every 150 \
    --model.weights fp16 \
    >>second.log 2>&1
"$translate" evaluate --model en-de.xf --test "$corpus/test.tsv"
