# Stage of tests/gpu.sh that trains on real data: Table 2 of the paper. Sourced.
#
# The data are in gpu-carry/data (prepare.sh --data). A stage that runs again on the same machine continues from its
# checkpoint. OUT receives the translations of both sets, and the model with int8 weights, compressed and in parts of less
# than 16 MiB: cat base.xf.gz.* | gunzip >base.xf.
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

# score SET MODEL FILE: BLEU with the defaults of `translate evaluate`, beam 4 and alpha 0.6
score() {
    attempt ende "score on $1" 40 "$run/translate" evaluate --model "$2" --test "$3" --device cuda:0 \
        --context.precision bf16 --model.weights fp32 --output "$work/answers" "${scored[@]}" || return
    { printf '\n===== %s\n' "$1" && cat "$work/answers"; } >>"$out/answers.txt"
    result ende "BLEU on $1" info 0 "$(grep -E '^(BLEU|chrF2|perplexity|speed)' "$(log_of "score on $1")" | tr -s ' ' | paste -sd ';')"
}

seconds_of_training=300 scored=()
table2=(--context.precision bf16 --data.max_tokens 120 --train.warmup_steps 1000)
if [ $dry = 1 ]; then
    seconds_of_training=1 scored=(--decode.max_extra_tokens 1)
    table2+=(--preset tiny --data.batch_tokens 100 --average 2 --average-every 1)
else
    table2+=(--preset base --data.batch_tokens 25000 --average 5 --average-every 200)
fi

stage_ende() {
    local tokenizer=$data/en-de/tokenizer.json model=$state/base.xf set minutes begin
    if ! unpack en-de || [ ! -f "$tokenizer" ]; then
        result ende data note 0 "$data/en-de is not there; tests/gpu.sh --prepare --data makes it"
        return
    fi
    begin=(--tokenizer "$tokenizer" "${table2[@]}")
    if [ -f "$model.ckpt" ]; then begin=(--resume "$model.ckpt" --context.precision bf16); fi
    minutes=$(awk -v s="$(limit $seconds_of_training)" 'BEGIN { printf "%.2f", s / 60 }')
    attempt ende training $((seconds_of_training + 20)) "$run/translate" train --train "$state/en-de/train.tsv" \
        --dev "$state/en-de/dev.tsv" --model "$model" --minutes "$minutes" --steps 0 --eval-every 0 --save-every 0 \
        --model.weights int8 --device cuda:0 "${begin[@]}" || return
    result ende updates info 0 "$(grep -oE 'steps? [0-9]+( to [0-9]+)?' "$(log_of training)" | tail -n 1), $minutes minutes"
    rm -f "$out"/base.xf.gz.*
    gzip -1 <"$model" | split -b 16700000 - "$out/base.xf.gz."
    for set in ${dry_sets-dev test}; do score "$set" "$model" "$state/en-de/$set.tsv"; done
}
