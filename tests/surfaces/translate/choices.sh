#!/usr/bin/env bash
# Tests the values that `translate train` selects by the corpus, and that it does not change values of the command line.
#
#   choices.sh TRANSLATE DATA_FOLDER
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
translate=$(realpath "$1") data=$(realpath "$2")
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"

head -n 400 "$data/small.tsv" >pairs.tsv
# A model that is trained immediately, with any preset.
narrow=(--model.encoder_layers 1 --model.decoder_layers 1 --model.d_model 16 --model.d_ff 16 --model.heads 1
    --model.d_k 16 --model.d_v 16 --threads 1 --hold-out 0)
train() { "$translate" train --train pairs.tsv "${narrow[@]}" "$@" </dev/null; }
# begun OPTION...: runs until the values are printed, and stops. The output is in stdout.
begun() {
    rm -f stdout # remove the output of the previous run
    "$translate" train "${narrow[@]}" --model b.xf --overwrite "$@" >stdout 2>stderr </dev/null &
    local job=$!
    wait_for grep -qs '^step' stdout
    kill -TERM $job
    wait $job
    holds "it was stopped: $*" test $? = 130
}
chosen() { # WORDS: all selected values
    local found
    found=$(sed -nE 's/^chosen *(.*); set these options to override$/\1/p' stdout)
    holds "'$found' was chosen, expected '$1'" test "$found" = "$1"
}

# The shortest command.
begun --train "$data/small.tsv"
options=$(grep '^chosen' stdout)
holds "a vocabulary is chosen" grep -q -- "--tokenizer.vocab_size 4000 " <<<"$options"
holds "the steps are those of some epochs" grep -qE -- "--steps 4[0-9]00\b" <<<"$options"
batches=$(sed -nE 's/^epoch .* pairs in ([0-9]+) batches.*/\1/p' stdout)
holds "an epoch has $batches batches" test "$batches" -ge 100 -a "$batches" -le 300
holds "the first progress line comes before the first step" test "$(grep -m 1 '^step' stdout | cut -d / -f 1)" = "step 0"
holds "it is followed by the limit" grep -qE '^step 0/4[0-9]00 epoch 0.00$' stdout

# By preset.
begun --train pairs.tsv --preset base
chosen "--tokenizer.vocab_size 1000 --data.batch_tokens 256 --steps 4000 --train.warmup_steps 2000"
begun --train pairs.tsv --preset tiny
chosen "--tokenizer.vocab_size 1000 --data.batch_tokens 256 --steps 4000"
yes "$(head -n 1 pairs.tsv)" | head -n 210000 >many.tsv
for preset in tiny:2000 small:4000 base:; do
    begun --train many.tsv --preset "${preset%:*}" --tokenizer.vocab_size 300 --steps 1000
    batch=$(sed -nE 's/^chosen .*--data.batch_tokens ([0-9]+).*/\1/p' stdout)
    holds "$preset: batches of $batch" test "${batch:-0}" = "${preset#*:}" -o "$preset" = base: -a "${batch:-0}" -gt 4000
done

# A value of the command line is not replaced by a chosen one.
begun --train pairs.tsv --data.batch_tokens 500
chosen "--tokenizer.vocab_size 1000 --steps 4000"
begun --train pairs.tsv --train.warmup_steps 5000 --tokenizer.vocab_size 300
chosen "--data.batch_tokens 256 --steps 10000"
begun --train pairs.tsv --minutes 5 --data.max_tokens 600
chosen "--tokenizer.vocab_size 1000 --data.batch_tokens 600"
begun --train pairs.tsv --train.schedule cosine
chosen "--tokenizer.vocab_size 1000 --data.batch_tokens 256 --steps 4000 --train.total_steps 4000"
begun --train pairs.tsv --train.schedule linear --train.total_steps 7000
chosen "--tokenizer.vocab_size 1000 --data.batch_tokens 256 --steps 7000"
all=(--tokenizer.vocab_size 1000 --data.batch_tokens 256)
expect 0 "" train --model given.xf --steps 3 "${all[@]}" --dev "$data/small.test.tsv" --dev-sentences 0
holds "no value is selected" test "$(grep -c '^chosen' stdout)" = 0
loss=$(grep -o 'dev loss .*perplexity [0-9.]*' stdout)
expect 0 "" train --model same.xf --steps 3 --dev "$data/small.test.tsv" --dev-sentences 0
holds "with the value as an option, the model is the same" test "$(grep -o 'dev loss .*perplexity [0-9.]*' stdout)" = "$loss" -a -n "$loss"

# A resumed run uses the values that were chosen first, also with another preset, and ends with the same bits.
expect 0 "" train --model whole.xf --preset tiny --steps 6
expect 0 "" train --model half.xf --preset tiny --steps 3
expect 0 "" train --model half.xf --steps 6 --resume half.xf.ckpt
chosen "--data.batch_tokens 256, as before"
holds "in the same bits" cmp half.xf whole.xf
begun --train pairs.tsv
begun --train pairs.tsv --resume b.xf.ckpt
chosen "--data.batch_tokens 256 --steps 4000, as before"
expect 0 "" train --model half.xf --resume half.xf.ckpt --steps 9 --data.batch_tokens 300
holds "it accepts other batches" test "$(grep -c '^chosen' stdout)" = 0

# A run that begins with another model does not use the values that were selected for that model.
expect 0 "" train --model init.xf --init same.xf --steps 2 --data.batch_tokens 300
expect 0 "" train --model init.xf --resume init.xf.ckpt --steps 3 --data.batch_tokens 300
holds "none of their files remains" test "$(grep -c '^chosen' stdout)" = 0
end_checks 40
