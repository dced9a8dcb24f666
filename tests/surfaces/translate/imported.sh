#!/usr/bin/env bash
# Tests the program of examples/translate with models that `python -m xformer.convert` converted from transformers.
#
#   imported.sh TRANSLATE LIBRARY CHECKPOINTS BINDING
#
# Requires a Python with NumPy (PYTHON, by default that of Debian); otherwise, exits with 77.
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
translate=$(realpath "$1") checkpoints=$(realpath "$3")
XFORMER_LIBRARY=$(realpath "$2") PYTHONPATH=$(realpath "$4") PYTHONDONTWRITEBYTECODE=1
export XFORMER_LIBRARY PYTHONPATH PYTHONDONTWRITEBYTECODE
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import numpy' || exit 77
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"

run() { "$translate" "$@" </dev/null; }
convert() { "$python" -m xformer.convert "$@"; }
# pairs NAME: the lines of a folder's expected.json; answers MODEL OPTION...: their translations; right FILE: how many
# of these are the targets.
pairs() {
    "$python" -c 'import json, sys
for s in json.load(open(sys.argv[1]))["sentences"]: print(s["text"], s["target_text"], sep="\t")' \
        "$checkpoints/$1/expected.json"
}
answers() { cut -f 1 pairs.tsv | "$translate" translate --threads 1 --greedy --model "$@"; }
right() { paste "$1" targets | awk -F '\t' '$1 == $2 { n++ } END { print n + 0 }'; }
train() {
    run train --train pairs.tsv --hold-out 0 --threads 1 --quiet --data.batch_tokens 200 --train.schedule constant \
        --train.learning_rate 3e-3 --train.warmup_steps 20 "$@"
}
for name in marian marian-many bart; do
    expect 0 "" convert from-hf "$checkpoints/$name" $name.xf
done

# Training continues a model of transformers with the same tokenizers and precision, and the result can be exported.
pairs marian >pairs.tsv
holds "pairs exist" test "$(wc -l <pairs.tsv)" = 12
expect 0 "" train --init marian.xf --model same.xf --steps 1 --train.learning_rate 1e-30
holds "the output names the source of the weights" grep -q "begins .*marian.xf" stdout
answers marian.xf >before
answers same.xf >after
holds "they are those of marian.xf" cmp before after
cut -f 2 pairs.tsv >targets
holds "the model has not learned all pairs" test "$(right before)" -lt 7
expect 0 "" train --init marian.xf --model tuned.xf --steps 1500
answers tuned.xf >after
holds "after training, it translates nearly all correctly" test "$(right after)" -gt 9
expect 0 "" convert to-hf tuned.xf tuned-hf
expect 0 "" convert from-hf tuned-hf back.xf
answers back.xf >again
holds "and the type is kept when it is exported and converted again" cmp again after
answers tuned.xf --model.weights int8 >eight
holds "also in int8" test "$(right eight)" -gt 9

# Banned words, in a SentencePiece vocabulary.
word=$(tr -s ' ' '\n' <before | sort | uniq -c | sort -n | tail -n 1 | sed 's/^ *[0-9]* //')
printf '%s\n' "$word" >list
holds "'$word' is usual" grep -qE "(^| )$word" before
answers marian.xf --ban list >without
holds "no word begins with '$word'" test "$(wc -l <without)" = 12 -a -z "$(grep -E "(^| )$word" without)"

# Languages by name.
pairs marian-many >pairs.tsv
answers marian-many.xf --text.target_language deu >deu
answers marian-many.xf --text.target_language fra >fra
holds "languages have different results" test "$(wc -l <deu)" = 12 -a -n "$(cmp deu fra)"
expect 1 "deu" answers marian-many.xf --text.target_language deuu
expect 1 "text.target_language is not set, expected one of the model's 3 languages, such as 'deu'" \
    train --init marian-many.xf --model many.xf --steps 1
expect 1 "the nearest is 'deu'" \
    train --init marian-many.xf --model many.xf --steps 1 --text.target_language deuu
holds "an error leaves no files" test -z "$(compgen -G 'many.xf*')"
# tuned NAME OPTION...: trains on texts with these options, then decodes with the corresponding options.
tuned() {
    local name=$1
    shift
    expect 0 "" convert from-hf "$checkpoints/$name" "$name.xf"
    pairs "$name" >pairs.tsv
    cut -f 2 pairs.tsv >targets
    answers "$name.xf" "${@/#--data/--decode}" >before
    expect 0 "" train --init "$name.xf" --model "tuned-$name.xf" --steps 400 "$@"
    answers "tuned-$name.xf" "${@/#--data/--decode}" >after
    holds "$name: $(right after) of 12 are right, $(right before) were before" \
        test "$(right after)" -gt "$(right before)" -a "$(right after)" -gt 9
}
tuned m2m100 --text.source_language en --text.target_language de
tuned nllb --text.source_language eng_Latn --text.target_language deu_Latn
tuned mbart --text.source_language en_XX
tuned mbart50 --text.source_language en_XX --text.target_language ro_RO

# No texts without a tokenizer.
expect 1 "bart.xf has no tokenizer" train --init bart.xf --model none.xf --steps 1
holds "an error leaves no files" test -z "$(compgen -G 'none.xf*')"
end_checks 30
