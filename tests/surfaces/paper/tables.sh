#!/usr/bin/env bash
# Tests the commands table1 to table3 of examples/paper with tiny models: the files that they write, errors of
# arguments, and that a killed run continues to the numbers of an uninterrupted one.
#
#   tables.sh PAPER DATA_FOLDER
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
paper=$(realpath "$1") data=$(realpath "$2") here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"

head -n 400 "$data/small.tsv" >train.tsv
head -n 12 "$data/small.test.tsv" >held.tsv
tiny=(--train train.tsv --scale 16 --steps 4 --tokenizer.vocab_size 400 --data.batch_tokens 150 --quiet
    --context.threads 1 --context.device cpu)

expect 2 "there is no command 'tabel1'; the nearest is 'table1'" "$paper" tabel1
for command in "" table1 table2 table3; do
    # shellcheck disable=SC2086 # one word or none
    expect 0 "" "$paper" $command --help
    holds "paper $command --help fits 80 columns" test -z "$(grep -E '.{81}' stdout)"
done
expect 2 "found d 30" "$paper" table1 --d 30 --heads 4
expect 0 "" "$paper" table1 --out t1 --d 16 --heads 2 --window 8 --min-length 16 --max-length 64 --repeats 2 --cpu-time
holds "tables and plots belong together" python3 "$here/check_svg.py" t1/table1.svg t1/table1.tsv t1/table1.md
holds "table1.tsv has 3 lengths of 6 layers" test "$(wc -l <t1/table1.tsv)" = 19
holds "a layer over OpenBLAS has no memory that was measured" \
    test "$(grep -E '^(recurrent|convolution)' t1/table1.tsv | cut -f 12,13 | sort -u)" = "$(printf -- '-\t-')"
expect 0 "" "$paper" table1 --out t1f --d 16 --heads 2 --window 8 --min-length 16 --max-length 16 --repeats 1 \
    --cpu-time --forward-only
holds "values that were not measured have no number" test "$(cut -f 6-8,13 t1f/table1.tsv | sed 1d | tr -d '\t' | sort -u)" = ----
holds "nor in the table" grep -qE '^\| 16 \|.* / - \| .* / - \|$' t1f/table1.md

expect 2 "there is no row 'C-N3'" "$paper" table3 "${tiny[@]}" --dev held.tsv --out t3 --rows base,C-N3
expect 2 "there is no row 'C-N2'" "$paper" table2 "${tiny[@]}" --test held.tsv --out t2 --rows base,C-N2
expect 2 "--scale is 5, expected a divisor of 512" "$paper" table3 --scale 5 --out t3
expect 2 "an option of the library that this command does not use" "$paper" table3 --model.d_model 64 --out t3
expect 1 "missing.tsv" "$paper" table3 "${tiny[@]}" --dev missing.tsv --out t0
expect 2 "expected a limit in at least one" "$paper" table3 --steps 0 --out t3

# An uninterrupted run and its results.
run=(table3 "${tiny[@]}" --dev held.tsv --rows base,C-N2,B-dk16,E-learned)
expect 0 "" "$paper" "${run[@]}" --out whole
holds "tables and plots belong together" python3 "$here/check_svg.py" whole/table3.svg whole/table3.bleu.svg whole/table3.tsv whole/table3.md
holds "results.tsv has 4 rows" test "$(wc -l <whole/results.tsv)" = 5
files="lock results.tsv settings table3.bleu.svg table3.md table3.svg table3.tsv tokenizer.json"
holds "no other file remains: $(ls whole)" test "$(cd whole && echo *)" = "$files"

expect 0 "" "$paper" table3 "${tiny[@]}" --dev held.tsv --rows C-N2 --train.learning_rate 0.00025 --out rate
holds "the table has the rate" grep -qE '^times 0\.00025, pre-LN' rate/table3.md

# Killed after a checkpoint in its first row (on a busy machine this takes more than one attempt), then repeatedly until
# the run completes.
killed=("$paper" "${run[@]}" --out killed --save-seconds 0)
for _ in $(seq 10); do
    rm -rf killed
    "${killed[@]}" >stdout 2>stderr &
    pid=$!
    while [ ! -e killed/base.ckpt ] && kill -0 $pid 2>/dev/null; do :; done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ -e killed/base.ckpt ] && [ ! -e killed/results.tsv ] && break
done
holds "the run was killed within its first row" test -e killed/base.ckpt -a ! -e killed/results.tsv
for round in $(seq 12); do
    "${killed[@]}" >stdout 2>stderr &
    pid=$!
    sleep "0.$((15 + round * 7 % 60))"
    kill -9 $pid 2>/dev/null || break
    wait $pid 2>/dev/null
done
wait $pid 2>/dev/null
expect 0 "" "${killed[@]}"
cut -f 1-6,8 whole/results.tsv >expected
cut -f 1-6,8 killed/results.tsv >found
holds "a run that was killed has the same numbers" diff expected found

expect 2 "found 'steps 5', expected 'steps 4' as in earlier runs" "$paper" "${run[@]}" --out whole --steps 5
expect 2 "train.seed" "$paper" "${run[@]}" --out whole --train.seed 7
expect 0 "" "$paper" "${run[@]}" --out whole
holds "completed rows are not repeated" cmp <(cut -f 1-6,8 whole/results.tsv) expected
printf 'nonsense\n' >>whole/results.tsv
expect 1 "found 'nonsense" "$paper" "${run[@]}" --out whole

# After a signal, a checkpoint and a message how to continue remain (SIGTERM, because background children of a shell ignore
# SIGINT).
"$paper" "${run[@]}" --steps 100000 --out stopped >stdout 2>stderr &
pid=$!
wait_for test -e stopped/tokenizer.json
sleep 0.5
"$paper" "${run[@]}" --steps 100000 --out stopped >/dev/null 2>second
holds "a second run in one folder is an error: $(cat second)" grep -qF "another run is using the folder stopped" second
kill -TERM $pid
wait $pid
holds "the exit status shows that the run was stopped: $?" test $? = 130
holds "the message states how to continue" grep -qF "run the same command to resume" stderr
holds "a checkpoint exists" test -e stopped/base.ckpt
cp stopped/base.log whole.log
head -c -4 whole.log >stopped/base.log # the last line was torn
expect 1 "base.log has no line for step" "$paper" "${run[@]}" --steps 100000 --out stopped
{ head -n -1 whole.log && printf '5 0.1 1e9' && tail -n 2 whole.log; } >stopped/base.log # an earlier one was
"$paper" "${run[@]}" --steps 100000 --out stopped >stdout 2>stderr &
pid=$!
sleep 1
kill -TERM $pid
wait $pid
holds "an incomplete line that is not needed is ignored: $?" test $? = 130

mkdir -p t2
printf old >t2/base.avg-9 # a snapshot that must be replaced
expect 0 "" "$paper" table2 "${tiny[@]}" --steps 10 --test held.tsv --out t2 --sustained 50
holds "tables and plots belong together" python3 "$here/check_svg.py" t2/table2.svg t2/table2.tsv t2/table2.md
holds "the big model has three times the steps" grep -qE "^big\s30\s" t2/results.tsv
holds "no snapshot remains: $(ls t2)" test "$(cd t2 && echo *.avg-* *.ckpt*)" = "*.avg-* *.ckpt*"
holds "the sustained rate is the one of the option" grep -qF "here 50.0 GFLOP/s (--sustained)" t2/table2.md
holds "no other model is mentioned" test "$(grep -c "other data" t2/table2.md)" = 0
others=(table2 "${tiny[@]}" --steps 10 --test held.tsv --out t2 --sustained 50)
expect 0 "" "$paper" "${others[@]}" --models "$here/../../../docs/models/results.tsv"
holds "other models have rows" grep -qE '^\| en-fr.xf \| 20987 \| 7\.06 \| 6\.07 \| 33\.19 \| 8\.80e\+14 \| - \| - \|' t2/table2.md
holds "and their difference is stated" grep -qF "from results.tsv: models of other sizes" t2/table2.md
holds "tables and plots belong together" python3 "$here/check_svg.py" t2/table2.svg t2/table2.tsv t2/table2.md
holds "other models have points" grep -qF ">en-de.xf<" t2/table2.svg
expect 1 "cannot open 'absent.tsv'" "$paper" "${others[@]}" --models absent.tsv
expect 1 "t2/results.tsv:2: found 'base" "$paper" "${others[@]}" --models t2/results.tsv
head -c 40 t2/results.tsv >torn.tsv
expect 1 "torn.tsv:1: found 'row" "$paper" "${others[@]}" --models torn.tsv
head -n 1 t2/results.tsv >empty.tsv
expect 1 "'empty.tsv' contains no rows" "$paper" "${others[@]}" --models empty.tsv
expect 1 "cannot read '.': Is a directory" "$paper" "${others[@]}" --models .
for i in 1 2 3 4 5 6 7 8 9; do printf 'a<b|&%s\t1\t1\t1\t1\t1\tnan\t1e9\n' $i; done >rows
head -n 8 rows | cat empty.tsv - >many.tsv
expect 0 "" "$paper" "${others[@]}" --models many.tsv
holds "names are escaped" python3 "$here/check_svg.py" t2/table2.svg t2/table2.tsv t2/table2.md
cat empty.tsv rows >many.tsv
expect 1 "many.tsv:10: found 'a<b|&9" "$paper" "${others[@]}" --models many.tsv
holds "the limit is stated" grep -qF "expected at most 8 rows" stderr
holds "the snapshots are as they were taken" grep -qF "last 5 snapshots, taken every 1 steps" t2/table2.md

# The table is written after each row, even if the next row fails.
mkdir -p t2b/big.ckpt
holds "BLEU is sacreBLEU's" grep -qF "sacreBLEU's with 13a tokens" t2/table2.md
expect 2 "--bleu is 'moses', expected 13a or paper" "$paper" table2 "${tiny[@]}" --test held.tsv --out t2p --bleu moses
expect 2 "t2" "$paper" table2 "${tiny[@]}" --steps 10 --test held.tsv --out t2 --sustained 50 --bleu paper
expect 0 "" "$paper" table2 "${tiny[@]}" --test held.tsv --out t2p --sustained 50 --bleu paper --rows base
holds "the table states that BLEU is that of the paper" grep -qF "BLEU is the paper's, multi-bleu with compounds split" t2p/table2.md
expect 1 "big.ckpt" "$paper" table2 "${tiny[@]}" --test held.tsv --out t2b --sustained 50
holds "the base model has its row" grep -qE '^Transformer \(base model\)\s4\s' t2b/table2.tsv
holds "with its plot" test -s t2b/table2.svg

# Pairs that are too long for the model or for the options are skipped and reported.
long=(table3 "${tiny[@]}" --dev held.tsv --rows C-N2)
expect 0 "" "$paper" "${long[@]}" --steps 30 --model.max_length 40 --out short
holds "the limit is reported" grep -q "data.max_tokens is 40 rather than 120" stdout
holds "so are the pairs" grep -qE " [0-9]+ pairs are not in the perplexity" stdout
holds "and in the table" grep -qE "\(12 pairs, perplexity of the [0-9]+ of 1 to 40 tokens a side\)" short/table3.md
holds "if all are included, there is no message" test "$(grep -c "perplexity of the" whole/table3.md)" = 0
expect 2 "data.max_tokens is 300, expected at most model.max_length, which is 256" "$paper" "${long[@]}" \
    --data.max_tokens 300 --out short2

end_checks 61
