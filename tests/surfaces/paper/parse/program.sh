#!/usr/bin/env bash
# Tests the program of examples/paper/parse: a complete run on generated sentences, Ctrl-C and resuming, errors, and
# messages.
#
#   program.sh PAPER_PARSE
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
program=$(realpath "$1") here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
. "$here/../../../support/expect.sh"

run() { "$program" "$@" </dev/null; }
tiny=(--scale tiny --data.batch_tokens 400 --tokenizer.vocab_size 330 --threads 2 --quiet --dev-sentences 10)
train() { run train --train train.tsv --dev dev.tsv "${tiny[@]}" "$@"; }

run generate --sentences 300 --words 9 --seed 1 >train.tsv
run generate --sentences 20 --words 9 --seed 2 >dev.tsv
holds "as many pairs as requested" test "$(wc -l <train.tsv) $(wc -l <dev.tsv)" = "300 20"
run generate --sentences 300 --words 9 --seed 1 >again.tsv
holds "the same seed, the same pairs" cmp -s train.tsv again.tsv

# A run that is resumed has the bits of one that was not interrupted.
expect 0 "" train --model whole.xf --steps 30 --eval-every 10 --average 2 --average-every 10
expect 0 "" train --model parts.xf --steps 17 --eval-every 10 --average 2 --average-every 10
expect 2 "already exists from an earlier run" train --model parts.xf --steps 30
expect 2 "train.seed is 1 in the checkpoint and 2" train --model parts.xf --steps 30 --resume --train.seed 2
printf old >parts.xf.avg-20 # a snapshot that must be replaced
expect 2 "data.seed 2, expected 300 pairs" train --model parts.xf --steps 30 --resume --data.seed 2
expect 2 "data.batch_tokens 380, data.seed 1, expected" train --model parts.xf --steps 30 --resume \
    --data.batch_tokens 380
sed '2s/house/robot/' train.tsv >turned.tsv
expect 2 "expected 300 pairs of the sum" run train --train turned.tsv --dev dev.tsv "${tiny[@]}" --model parts.xf \
    --steps 30 --resume
printf '25\t1\t1\t1\t1\t1\t1\t1\t500.0\n' >>parts.xf.curve.tsv # killed after this evaluation, before the checkpoint
expect 0 "" train --model parts.xf --steps 30 --resume --eval-every 10 --average 2 --average-every 10
holds "seconds continue from the last line" awk 'END { exit !($9 >= 500) }' parts.xf.curve.tsv
holds "no older snapshot is kept" test -z "$(compgen -G 'parts.xf.avg-*.prev')"
holds "the averaged models are equal" cmp -s whole.xf parts.xf
cut -f 1,2,4-8 whole.xf.curve.tsv >whole.curve # without the loss since the last evaluation, and without the seconds
cut -f 1,2,4-8 parts.xf.curve.tsv | grep -v '^17' >parts.curve
holds "the curves are equal" cmp -s whole.curve parts.curve
holds "a line for each evaluation" test "$(wc -l <whole.curve)" = 4

# After a signal the run is saved and can be resumed. (SIGTERM, because a shell's `&` ignores SIGINT.)
"$program" train --train train.tsv --dev dev.tsv "${tiny[@]}" --model stopped.xf --steps 100000 --save-every 0 \
    --minutes 2 </dev/null >stdout 2>stderr &
pid=$!
for _ in $(seq 600); do [ -s stopped.xf.ckpt ] && break; sleep 0.1; done
sleep 0.5
kill -TERM "$pid"
wait "$pid"
holds "interrupted: exit status 130" test $? = 130
holds "the message states how to continue" grep -q -- "with --resume to continue" stderr
holds "the curve has its seconds, too" awk 'NR > 1 && $9 > 0 { found = 1 } END { exit !found }' stopped.xf.curve.tsv
awk -v OFS='\t' 'NR > 1 { $9 += 1000 } 1' stopped.xf.curve.tsv >moved && mv moved stopped.xf.curve.tsv
expect 0 "" train --model stopped.xf --resume --minutes 0.001
holds "and the run continues from them" awk 'END { exit !($9 > 1000 && $7 != "nan") }' stopped.xf.curve.tsv
holds "without the line of the stop" test "$(grep -c nan stopped.xf.curve.tsv)" = 0
holds "a model exists afterwards" test -s stopped.xf

# Parsing: each result is a tree with the words of its sentence; an empty line remains empty.
printf 'the dog sleeps .\n\n  a  cat   runs quickly .\n' >sentences
"$program" parse --model whole.xf --words --beam 3 <sentences >trees
holds "three lines" test "$(wc -l <trees)" = 3
holds "the second is empty" test -z "$(sed -n 2p trees)"
holds "the words are those of the sentence" \
    test "$(sed -n 3p trees | tr -s '()A-Z' ' ' | sed 's/^ *//; s/ *$//')" = "a cat runs quickly ."
"$program" parse --model whole.xf --beam 3 <sentences >trees
holds "four leaves" test "$(sed -n 1p trees | grep -o XX | wc -l)" = 4
printf 'the ( dog ) sleeps :)\n' >sentences.brackets
"$program" parse --model whole.xf --words --beam 3 <sentences.brackets >trees
holds "brackets of the sentence are not those of the tree: $(cat trees)" \
    test "$(tr -cd '(' <trees | wc -c)" = "$(tr -cd ')' <trees | wc -c)" -a "$(grep -c -- '-LRB-.*-RRB-.*:-RRB-' trees)" = 1
printf 'a \xff b\nthe dog sleeps .\n' >bad
"$program" parse --model whole.xf --beam 2 <bad >trees 2>stderr
holds "a bad line is reported" test $? = 1
holds "with its number" grep -q "line 1:" stderr
holds "and the next one is translated" test "$(sed -n 2p trees | grep -o XX | wc -l)" = 4

printf 'the dog sleeps .\n\ncat\n' >sentences.cat
cat_parse() { "$program" parse --model whole.xf --beam 2 --decode.max_extra_tokens 0 <sentences.cat; }
expect 1 "line 3: no tree fits" cat_parse
holds "its line is empty" test "$(wc -l <stdout)$(sed -n 3p stdout)" = 3

# A signal ends the program while it waits for a line.
mkfifo pipe
sleep 20 >pipe &
writer=$!
"$program" parse --model whole.xf <pipe >stdout 2>stderr &
pid=$!
sleep 1
kill -TERM "$pid"
for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
kill -KILL "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
holds "a signal ends a parser that waits: $?" test $? = 143
kill "$writer"

expect 0 "" run evaluate --model whole.xf --test dev.tsv --beam 3 --output answers --sentences 15
holds "no malformed tree" grep -q "^malformed    0 of 15 outputs" stdout
holds "one tree per line" test "$(wc -l <answers)" = 15
holds "the output states that the trees are generated" grep -qF "against generated (PCFG) trees" stdout
{ cat dev.tsv && printf '. .\t(S XX XX )S\n'; } >points.tsv
expect 0 "" run evaluate --model whole.xf --test points.tsv --beam 3
holds "an output without a score is not malformed" grep -q "^malformed    0 of 21 outputs" stdout
holds "it is reported" grep -q "^skipped      1 sentences with only punctuation" stdout
expect 0 "" run evaluate --model whole.xf --test dev.tsv --beam 3 --unconstrained --decode.max_extra_tokens 20

# Other trees are silver, unless the user says that people made them.
for name in train dev; do sed 's/dog/hound/g' $name.tsv >silver-$name.tsv; done
evaluate() { run evaluate --model whole.xf --test silver-dev.tsv --beam 2 "$@"; }
expect 0 "" evaluate
holds "the output states that the trees are silver" grep -qF "against silver trees" stdout
expect 0 "" evaluate --gold
holds "the output states that the trees are gold" grep -qF "against gold trees" stdout
holds "and the output does not contain silver" test "$(grep -ci silver stdout)" = 0
expect 0 "" run train --train silver-train.tsv --dev dev.tsv "${tiny[@]}" --model kinds.xf --steps 1
holds "the output names both kinds of trees" grep -qF "silver for training, generated (PCFG) for dev" stdout
holds "an evaluation reports its own values" grep -qF "on 10 with generated (PCFG) trees" stdout
expect 0 "" run train --train silver-train.tsv --dev silver-dev.tsv "${tiny[@]}" --model kinds.xf --steps 1 --overwrite \
    --gold
holds "an evaluation on gold trees" grep -qF "on 10 with gold trees" stdout

# The same command completes Table 4 of a small run that was stopped halfway.
table4() { run table4 --train silver-train.tsv --dev silver-dev.tsv --test silver-dev.tsv --out table "${tiny[@]}" \
    --decode.beam 3 --decode.max_extra_tokens 30 "$@"; }
expect 0 "" table4 --steps 10
expect 0 "" table4 --steps 20
for name in table4.md table4.tsv table4.svg table4-loss.svg; do holds "$name is there" test -s "table/$name"; done
for name in table4.md table4.tsv table4.svg table4-loss.svg; do
    holds "$name states the kind of the trees" grep -q silver "table/$name"
    holds "$name uses only this name for them" test "$(grep -c generated "table/$name")" = 0
done
holds "two rows and the paper's twelve" test "$(wc -l <table/table4.tsv)" = 15
holds "the run continued" grep -q "20 updates" table/table4.md
expect 0 "" table4 --steps 20 --gold
holds "gold trees, as requested" test "$(head -n 1 table/table4.md)" = "# Table 4: constituency parsing, on gold trees"
holds "and the table does not contain silver" test "$(cat table/table4.md table/table4.tsv table/*.svg | grep -ci silver)" = 0

# One run at a time in a folder.
"$program" table4 --train silver-train.tsv --dev silver-dev.tsv --test silver-dev.tsv --out table "${tiny[@]}" \
    --decode.beam 3 --decode.max_extra_tokens 30 --steps 100000 </dev/null >first 2>&1 &
pid=$!
wait_for grep -q resumed first
expect 1 "another run is using the folder table" table4 --steps 20
kill -TERM $pid
wait $pid

# A run that begins with another parser: its weights, words, and labels.
from() { run train --train silver-train.tsv --dev silver-dev.tsv "${tiny[@]}" --init table/table4.xf "$@"; }
expect 0 "" from --model from.xf --steps 1 --train.learning_rate 1e-30
holds "the output reports it" grep -q "started .*table/table4.xf" stdout
parsed() { run evaluate --model "$1" --test silver-dev.tsv --sentences 10 --beam 1 --threads 1 | grep -E "^(loss|brackets)"; }
holds "the weights are those of the other" test "$(parsed from.xf)" = "$(parsed table/table4.xf)"
expect 0 "" from --model from.xf --steps 2 --train.learning_rate 1e-30 --resume
holds "training continues" grep -q "after step 1" stdout
expect 2 "model.d_model is 64 in table/table4.xf and 32 on the command line; a run that starts from it cannot change it" \
    from --model none.xf --model.d_model 32
expect 0 "" run table4 --train silver-train.tsv --dev silver-dev.tsv --test silver-dev.tsv --out second "${tiny[@]}" \
    --init table/table4.xf --steps 2 --decode.beam 2 --test-sentences 4
holds "the table names the initial model" grep -qF "These updates began with the weights of table4.xf." second/table4.md
holds "the other files have no such message" test "$(grep -c "These updates" table/table4.md)" = 0
printf 'Stop .\t(XYZ XX XX )XYZ\n' >strange.tsv
expect 1 "strange.tsv, line 1: a label that is unknown" run train --train strange.tsv --dev silver-dev.tsv "${tiny[@]}" --init table/table4.xf --model none.xf
expect 2 "--model table/table4.xf is the file of --init" from --model table/table4.xf --overwrite
holds "an error leaves no files" test -z "$(compgen -G 'none.xf*')"

# Leaves with several ids in turn: the trees are the same, but the vocabulary of the model differs.
numbered() { train --model numbered.xf --leaves 3 "$@"; }
expect 0 "" numbered --steps 20
holds "the labels begin with it" test "$(head -n 1 numbered.xf.labels)" = "XX 3"
holds "the other labels are the same" cmp -s <(tail -n +2 numbered.xf.labels) whole.xf.labels
vocabulary() { "$program" train --train train.tsv --dev dev.tsv "${tiny[@]}" --model "$1" --resume --steps "$2" "${@:3}" |
    sed -n 's/.*vocabulary //p' | tr -d ' ' ; }
holds "two more ids" test $((($(vocabulary numbered.xf 20 --leaves 3)) - ($(vocabulary whole.xf 30)))) = 2
"$program" parse --model numbered.xf --beam 3 <sentences >trees
holds "four leaves" test "$(sed -n 1p trees | grep -o XX | wc -l)" = 4
expect 0 "" run evaluate --model numbered.xf --test dev.tsv --beam 3
holds "none malformed" grep -q "^malformed    0 of 20 outputs" stdout
expect 0 "" run evaluate --model numbered.xf --test dev.tsv --beam 3 --unconstrained --decode.max_extra_tokens 20
expect 2 "--leaves is 3 in numbered.xf.labels and 1 on the command line" train --model numbered.xf --steps 30 --resume
expect 0 "" numbered --steps 21 --resume
for given in 0 1001; do expect 2 "--leaves is $given, expected 1 to 1000" train --model none.xf --leaves $given; done
expect 2 "--leaves is 3 in numbered.xf.labels and 4 on the command line; a run that starts from it cannot change it" \
    train --model none.xf --init numbered.xf --leaves 4
expect 0 "" train --model begun.xf --init numbered.xf --steps 1
holds "a run that begins with it has its leaves" cmp -s begun.xf.labels numbered.xf.labels
sed -i 1d begun.xf.labels
expect 1 "use files from the same training run" run evaluate --model begun.xf --test dev.tsv
for line in "XX 1" "XX 1001" "XX 3x" "XX "; do
    { echo "$line" && cat whole.xf.labels; } >begun.xf.labels
    expect 1 "is not a list of labels" run evaluate --model begun.xf --test dev.tsv
done
expect 0 "" run table4 --train silver-train.tsv --dev silver-dev.tsv --test silver-dev.tsv --out third "${tiny[@]}" \
    --leaves 3 --steps 2 --decode.beam 2 --test-sentences 4
holds "the table reports it" grep -qF "The leaves have 3 ids in turn" third/table4.md
holds "the other files have no such message" test "$(grep -c "The leaves" table/table4.md)" = 0

# Additional pairs, made of the existing ones.
more() { train --model more.xf --recombine 2 "$@"; }
expect 0 "" more --steps 20 --average 2 --average-every 10
holds "the output reports it" grep -qE "^recombined +[0-9]+ of the pairs are recombined from the other 300" stdout
cp more.xf more.whole
expect 0 "" more --steps 10 --average 2 --average-every 10 --overwrite
expect 2 "pairs of the sum" train --model more.xf --recombine 1 --steps 20 --resume
expect 0 "" more --steps 20 --average 2 --average-every 10 --resume
holds "a resumed run has the same pairs" cmp -s more.xf more.whole
longest=$(awk -F '\t' '{ n = split($2, symbols, " ") + 1; if (n > most) most = n } END { print most }' train.tsv)
expect 0 "" train --model deep.xf --recombine 20 --data.batch_tokens "$longest" --steps 1
expect 2 "--recombine is 101, expected at most 100" train --model none.xf --recombine 101
expect 0 "" run table4 --train silver-train.tsv --dev silver-dev.tsv --test silver-dev.tsv --out fifth "${tiny[@]}" \
    --recombine 1 --steps 2 --decode.beam 2 --test-sentences 4
holds "the table reports it" grep -qE "^Another [0-9]+ pairs were made from these" fifth/table4.md
holds "and how many were read" grep -q "updates on 300 pairs" fifth/table4.md
holds "the other files have no such message" test "$(grep -c "were made of these" table/table4.md)" = 0

# An output file must not be an input file, under any of the names of a parser's files.
for name in trees.data trees.labels trees.ckpt trees.curve.tsv trees.tokenizer.json trees.ckpt.prev; do
    cp train.tsv $name
    expect 2 "the file $name is the file of --train" run train --train $name --dev dev.tsv "${tiny[@]}" --model trees \
        --overwrite --steps 1
    holds "$name is unchanged" cmp -s $name train.tsv
    rm $name
done
cp dev.tsv trees.avg-100
expect 2 "--dev trees.avg-100 has the name of a file that this run writes" run train --train train.tsv \
    --dev trees.avg-100 "${tiny[@]}" --model trees --steps 1
for name in table4.md table4.tsv table4.xf.labels; do
    mkdir -p fourth && cp dev.tsv "fourth/$name"
    expect 2 "is the file of --test" run table4 --train train.tsv --dev dev.tsv --test "fourth/$name" --out fourth \
        "${tiny[@]}" --steps 1
    rm -r fourth
done
for name in labels tokenizer.json ckpt; do
    cp numbered.xf.$name kept
    expect 2 "the file numbered.xf.$name is the file of --output" \
        run evaluate --model numbered.xf --test dev.tsv --output numbered.xf.$name
    holds "the file is unchanged" cmp -s kept numbered.xf.$name
done

# An existing parser is not changed until all arguments of a new run with its name have been validated.
sums() { cat numbered.xf numbered.xf.labels numbered.xf.tokenizer.json numbered.xf.data numbered.xf.ckpt | cksum; }
before=$(sums)
expect 2 "already exists from an earlier run" run train --train turned.tsv --dev dev.tsv "${tiny[@]}" --model numbered.xf
expect 2 "expected at most 20 (data.batch_tokens)" run train --train turned.tsv --dev dev.tsv "${tiny[@]}" \
    --model numbered.xf --overwrite --data.batch_tokens 20
holds "the file is unchanged" test "$(sums)" = "$before"
rm numbered.xf.ckpt
expect 2 "--model numbered.xf already exists; use another name" run train --train turned.tsv --dev dev.tsv "${tiny[@]}" \
    --model numbered.xf
expect 0 "" run train --train turned.tsv --dev dev.tsv "${tiny[@]}" --model numbered.xf --overwrite --steps 2
holds "no file of the older one remains" test "$(echo numbered.xf*.prev)" = numbered.xf.ckpt.prev

# A pipe can be read only once.
expect 0 "" run train --train train.tsv --dev <(cat dev.tsv) "${tiny[@]}" --model piped.xf --steps 1
# A word may contain any byte.
printf 'the d\0og sleeps .\n' >zero
"$program" parse --model whole.xf --words --beam 2 <zero >trees
holds "all words exist" test "$(tr '\0' '_' <trees | tr -s '()A-Z' ' ' | sed 's/^ *//; s/ *$//')" = "the d_og sleeps ."

# Without data, the command generates trees in the folder, continues with them, and marks all results accordingly.
alone() { run table4 "${tiny[@]}" --decode.beam 2 --decode.max_extra_tokens 20 --test-sentences 20 "$@"; }
expect 2 "found --gold without files" alone --gold
holds "an error leaves no files" test ! -e table4
expect 0 "" alone --steps 4
holds "300 test trees" test "$(wc -l <table4/test.tsv)" = 300
holds "no sentence twice" test -z "$(cut -f 1 table4/train.tsv table4/dev.tsv table4/test.tsv | sort | uniq -d)"
holds "the trees are not called silver" test "$(cat stdout table4/table4.md table4/table4.tsv table4/*.svg | grep -ci silver)" = 0
for name in table4.md table4.tsv table4.svg table4-loss.svg; do
    holds "$name states that the trees are generated" grep -qF "generated (PCFG)" "table4/$name"
done
cat table4/train.tsv table4/dev.tsv table4/test.tsv >drawn
rm table4/dev.tsv
expect 0 "" alone --steps 6
holds "the run continued" grep -q "after step 4" stdout
holds "to the end" grep -q " 6 updates" table4/table4.md
holds "with the same trees" cmp -s drawn <(cat table4/train.tsv table4/dev.tsv table4/test.tsv)
holds "the output does not mention what a preset scales" test "$(grep -c Scaled table4/table4.md)" = 0
expect 0 "" alone --steps 1 --scale generated --out claims
holds "no beam is named that was not used" test "$(grep -c 'beam 21' claims/table4.md)" = 0
holds "the table refers to the options" grep -q "^Scaled, with other options than those of --scale" claims/table4.md
sed -i '7s/the/a/' table4/test.tsv
cp table4/test.tsv mine
expect 1 "table4/test.tsv has other contents, expected the 300 generated trees" alone --steps 6
holds "it is unchanged" cmp -s mine table4/test.tsv
expect 2 "--train FILE.tsv is missing: found --dev" run table4 --dev dev.tsv
expect 2 "--dev FILE.tsv is missing: found --train" run table4 --train train.tsv --test dev.tsv
expect 2 "--test FILE.tsv is missing: found --train" run table4 --train train.tsv --dev dev.tsv

# Errors.
expect 2 "" run
expect 2 "nearest is 'parse'" run pares
expect 2 "nearest is '--train'" run train --trian x
expect 2 "--train FILE.tsv is missing" run train --model m.xf --dev dev.tsv
expect 2 "is the file of --train" run train --train train.tsv --dev dev.tsv --model train.tsv
expect 2 "--steps is 0, expected a limit" train --model m.xf --steps 0
expect 1 "cannot create the folder train.tsv: it is a file" table4 --out train.tsv
expect 2 "there is no preset" run train --train train.tsv --dev dev.tsv --model m.xf --scale huge
expect 2 "expected at most 20 (data.batch_tokens)" train --model m.xf --data.batch_tokens 20
expect 1 "cannot open nowhere.tsv" run train --train nowhere.tsv --dev dev.tsv --model m.xf --scale tiny
expect 1 "line 1: the line has no tab" run evaluate --model whole.xf --test sentences
printf 'a b\t(S XX )S\n' >short.tsv
expect 1 "line 1: a number of leaves that differs" run evaluate --model whole.xf --test short.tsv
printf 'a b\t(QQ XX XX )QQ\n' >label.tsv
expect 1 "line 1: a label that is unknown" run evaluate --model whole.xf --test label.tsv
printf 'S\nNP\n' >whole.xf.labels
expect 1 "use files from the same training run" run evaluate --model whole.xf --test dev.tsv
printf 'S NP\n' >whole.xf.labels
expect 1 "is not a list of labels" run evaluate --model whole.xf --test dev.tsv
rm whole.xf.labels
expect 1 "cannot open whole.xf.labels" run evaluate --model whole.xf --test dev.tsv
"$program" generate --sentences 100000 | head -n 1 >/dev/null
holds "a closed pipe is not an error" test "${PIPESTATUS[0]}" = 0
for command in train parse evaluate generate table4; do
    expect 0 "" run $command --help
    holds "$command --help fits 100 columns" test "$(awk 'length > 100' stdout | wc -l)" -le 2
done

end_checks 114
