# Stages of tests/gpu.sh that train on real data: Table 2 of the paper, and a model of the size of en-de.xf. Sourced.
#
# The data are in gpu-carry/data (prepare.sh --data). A stage that runs again on the same machine continues from its
# checkpoint. OUT receives the translations of both sets and small.xf; a base model is too large to be returned.
#
# SPDX-License-Identifier: Apache-2.0
data=$carry/data
[ $dry = 0 ] || data=$work/data

# unpack NAME: train, dev and test.tsv of a pair of languages, in $state/NAME
unpack() {
    if [ ! -f "$data/$1/train.tsv.xz" ]; then
        return 1
    fi
    mkdir -p "$state/$1"
    "$python" - "$data/$1" "$state/$1" <<'P'
import lzma, pathlib, sys
for name in "train", "dev", "test":
    text = lzma.open(pathlib.Path(sys.argv[1]) / f"{name}.tsv.xz").read()
    (pathlib.Path(sys.argv[2]) / f"{name}.tsv").write_bytes(text)
P
}

# train_and_score STAGE DATA TOKENIZER SECONDS option...
train_and_score() {
    local stage=$1 from=$2 tokenizer=$data/$3/tokenizer.json seconds=$4 model=$state/$1.xf set minutes
    shift 4
    if ! unpack "$from" || [ ! -f "$tokenizer" ]; then
        result "$stage" data note 0 "$data/$from is not there; tests/gpu.sh --prepare --data makes it"
        return
    fi
    local begin=(--tokenizer "$tokenizer" "$@")
    if [ -f "$model.ckpt" ]; then begin=(--resume "$model.ckpt" --context.precision bf16); fi
    minutes=$(awk -v s="$(limit "$seconds")" 'BEGIN { printf "%.2f", s / 60 }')
    attempt "$stage" training $((seconds + 20)) "$run/translate" train --train "$state/$from/train.tsv" \
        --dev "$state/$from/dev.tsv" --model "$model" --minutes "$minutes" --steps 0 \
        --eval-every 0 --save-every 0 --device cuda:0 "${begin[@]}" || return
    result "$stage" updates info 0 "$(grep -oE 'steps? [0-9]+( to [0-9]+)?' "$(log_of training)" | tail -n 1), $minutes minutes"
    for set in ${dry_sets-dev test}; do
        score "$stage" "$set" "$model" "$state/$from/$set.tsv"
    done
}
# score STAGE SET MODEL FILE: BLEU with the defaults of `translate evaluate`, beam 4 and alpha 0.6
score() {
    attempt "$1" "score on $2" 40 "$run/translate" evaluate --model "$3" --test "$4" --device cuda:0 \
        --context.precision bf16 --output "$work/answers" "${scored[@]}" || return
    { printf '\n===== %s, %s\n' "$1" "$2" && cat "$work/answers"; } >>"$out/answers.txt"
    result "$1" "BLEU on $2" info 0 "$(grep -E '^(BLEU|chrF2|perplexity|speed)' "$(log_of "score on $2")" | tr -s ' ' | paste -sd ';')"
}

scored=()
[ $dry = 0 ] || scored=(--decode.max_extra_tokens 1)
table2=(--context.precision bf16 --data.max_tokens 120 --train.warmup_steps 1000)
if [ $dry = 1 ]; then
    table2+=(--preset tiny --data.batch_tokens 100 --average 2 --average-every 1)
    model_of_card=(--preset tiny --data.batch_tokens 100 --average 2 --average-every 1)
else
    table2+=(--preset base --data.batch_tokens 25000 --average 5 --average-every 200)
    # As docs/models/en-de.md describes en-de.xf, except for batches that fill a GPU.
    model_of_card=(--model.encoder_layers 3 --model.decoder_layers 3 --model.d_model 256 --model.d_ff 1024
        --model.heads 4 --model.d_k 64 --model.d_v 64 --model.norm pre --data.max_tokens 120 --data.batch_tokens 6000
        --train.warmup_steps 1000 --train.learning_rate 0.7 --average 8 --average-every 200 --model.weights fp16
        --context.precision bf16)
fi
seconds_of_training() { if [ $dry = 1 ]; then echo 1; else echo "$1"; fi; }

stage_ende() { train_and_score ende en-de en-de "$(seconds_of_training 130)" "${table2[@]}"; }
stage_enfr() { train_and_score enfr en-fr en-fr "$(seconds_of_training 130)" "${table2[@]}"; }
stage_small() {
    local set
    train_and_score small en-de small "$(seconds_of_training 80)" "${model_of_card[@]}"
    [ -f "$state/small.xf" ] || return
    cp "$state/small.xf" "$out/"
    for set in ${dry_sets-dev test}; do
        score "small" "$set, en-de.xf" examples/translate/en-de.xf "$state/en-de/$set.tsv"
    done
}
