#!/usr/bin/env bash
# Tests the program of examples/translate: errors, messages, and which files remain unchanged.
#
#   program.sh TRANSLATE DATA_FOLDER
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
translate=$(realpath "$1") data=$(realpath "$2")
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"

head -n 400 "$data/small.tsv" >pairs.tsv
head -n 4 "$data/small.test.tsv" >few.tsv
tiny=(--preset tiny --tokenizer.vocab_size 300 --data.batch_tokens 800 --threads 1 --quiet)
run() { "$translate" "$@" </dev/null; }
train() { run train --train pairs.tsv "${tiny[@]}" "$@"; }

expect 0 "" train --model m.xf --steps 20 --hold-out 0
holds "the model exists" test -s m.xf
expect 1 "can't write none/m.xf: No such file or directory" train --model none/m.xf --steps 1
holds "the error precedes reading the corpus" test -z "$(grep corpus stdout)"

# The properties of a file.
shown() { grep -qE "^  $1 +$2\$" stdout; }
expect 0 "" run inspect m.xf
holds "it is a model" shown kind model
holds "of this size" shown size "$(stat -c %s m.xf) bytes"
holds "of this precision" shown weights fp32
holds "of this many steps" shown translate.step 20
holds "it needs more memory for training" test "$(awk '/memory to/ { print $(NF - 1) }' stdout | sort -n | tail -n 1)" = \
    "$(awk '/memory to train/ { print $(NF - 1) }' stdout)"
expect 0 "" run inspect m.xf.ckpt
holds "a checkpoint has a step" shown kind "checkpoint after step 20"
holds "a checkpoint has a size" shown size "$(stat -c %s m.xf.ckpt) bytes"

# A file that is read is never written.
cp pairs.tsv before.tsv
ln pairs.tsv m2.xf.ckpt
ln -s pairs.tsv link.xf
expect 2 "--model pairs.tsv is the file of --train" train --model pairs.tsv --steps 1
expect 2 "--model link.xf is the file of --train" train --model link.xf --steps 1
expect 2 "the checkpoint m2.xf.ckpt is the file of --train" train --model m2.xf --steps 1 --overwrite
expect 2 "is the file of --dev" train --model few.tsv --dev few.tsv --steps 1
expect 2 "is the file of --resume" train --model m.xf.ckpt --resume m.xf.ckpt
holds "the corpus is unchanged" cmp pairs.tsv before.tsv
cp few.tsv before.tsv
evaluate() { run evaluate --model m.xf --test few.tsv --threads 1 --greedy "$@"; }
expect 2 "--output few.tsv is the file of --test" evaluate --output few.tsv
expect 2 "--output m.xf is the file of --model" evaluate --output m.xf
holds "the references are unchanged" cmp few.tsv before.tsv
expect 1 "can't write /nonexistent/x" evaluate --output /nonexistent/x
holds "the error precedes the evaluation" test ! -s stdout
echo old >out.txt
chmod 600 out.txt
ln -s out.txt out.link
expect 0 "" evaluate --output out.link
holds "the output has a line for each source" test "$(wc -l <out.txt)" = 4
holds "the output keeps its mode" test "$(stat -c %a out.txt)" = 600
holds "the link is still a link" test -L out.link
holds "no temporary files next to the output" test -z "$(ls | grep '\.part-')"
expect 0 "" evaluate --output /dev/null
holds "BLEU is sacreBLEU's" grep -qF "|tok:13a|smooth:exp|" stdout
holds "a BLEU above 0 needs no hint" test -z "$(grep 'BLEU is 0' stdout)"
expect 2 "--bleu is 'papers', expected 13a or paper" evaluate --bleu papers
printf 'a well-known file\teine Open-Source-Datei und ein E-Mail-Konto\n' >compounds.tsv
expect 0 "" evaluate --test compounds.tsv --bleu paper
holds "--bleu paper is the paper's" grep -qF "|tok:none-hyphens-split|smooth:none|" stdout
holds "it splits compounds: 5 words are 13" grep -qE '^BLEU .* words for 13$' stdout

# Wrong usage is reported immediately.
expect 2 "decode.beam is 3" evaluate --beam 3
expect 2 "decode.n_best is 2" run translate --model m.xf --n-best 2 --greedy
expect 2 "model.d_model is 7" train --model d.xf --model.d_model 7 --steps 1
holds "the error precedes reading the corpus" test -z "$(grep corpus stdout)"
expect 2 "there is no option '-x'; options begin with two dashes" run inspect --model m.xf -x
expect 0 "" run inspect --model m.xf -- -x
expect 0 "" run inspect --model m.xf -- --help
holds "a text after -- is split" grep -q pieces stdout
expect 2 "one argument too many" run inspect --model m.xf a b
expect 2 "'x' is one argument too many" run --version x
expect 2 "'train' is one argument too many" run help train
expect 2 "--tokenizer does not go with --resume" train --model m.xf --resume m.xf.ckpt --tokenizer none.json
expect 2 "data.max_tokens is 64, expected at most model.max_length, which is 40" \
    train --model l.xf --model.max_length 40 --data.max_tokens 64 --steps 1

# A run that begins with another model: its weights, its tokenizer, its sizes, and none of its moments.
head -n 800 "$data/small.tsv" | tail -n 400 >others.tsv
from() { run train --train others.tsv --threads 1 --quiet --data.batch_tokens 800 --hold-out 0 --init m.xf "$@"; }
expect 0 "" from --model i.xf --steps 1 --train.learning_rate 1e-30
holds "the output names the source of the weights" grep -q "begins .*m.xf" stdout
measured() { run evaluate --model "$1" --test few.tsv --threads 1 --greedy --output "$1.out" | grep perplexity; }
holds "the weights are those of m.xf" test "$(measured i.xf)" = "$(measured m.xf)"
holds "and so are the translations" cmp i.xf.out m.xf.out
expect 0 "" from --model i.xf --steps 40 --overwrite --save-every 20
holds "training continues from there" test "$(measured i.xf)" != "$(measured m.xf)"
# int8: a smaller file that translates. A training run can begin with it, which converts it to fp32.
expect 0 "" from --model eight.xf --steps 1 --train.learning_rate 1e-30 --model.weights int8
holds "the int8 file is smaller than the fp32 file" test $((2 * $(stat -c %s eight.xf))) -lt "$(stat -c %s i.xf)"
expect 0 "" run inspect eight.xf
holds "int8 is shown" shown weights int8
holds "its training had one step" shown translate.step 1
holds "the int8 model translates" test -n "$(measured eight.xf)"
expect 0 "" run evaluate --model m.xf --test few.tsv --threads 1 --greedy --model.weights int8 --output m8.out
holds "as a model with this type" cmp eight.xf.out m8.out
expect 0 "" from --init eight.xf --model wide.xf --steps 1
holds "training begins with the int8 model" grep -q "begins .*eight.xf" stdout
holds "and is converted to fp32" test "$(stat -c %s wide.xf)" -gt $((2 * $(stat -c %s eight.xf)))
expect 2 "--preset does not go with --init" from --model n.xf --preset tiny
expect 2 "--tokenizer does not go with --init" from --model n.xf --tokenizer none.json
expect 2 "--init does not go with --resume" from --model i.xf --resume i.xf.ckpt
expect 2 "model.d_model is 64 in m.xf and 32 on the command line" from --model n.xf --model.d_model 32
expect 2 "--model m.xf is the file of --init" from --model m.xf --overwrite
expect 1 "none.xf" run train --train others.tsv --model n.xf --init none.xf
holds "an error leaves no files" test -z "$(compgen -G 'n.xf*')"
"$translate" train --train others.tsv --threads 1 --quiet --hold-out 0 --init m.xf --model i2.xf --steps 1000000 \
    >stdout 2>stderr </dev/null &
job=$!
wait_for test -s i2.xf.ckpt
sleep 0.5
kill -TERM $job
wait $job
holds "the command to continue has --resume once" test "$(grep -c -- "--resume i2.xf.ckpt" stderr)" = 1
holds "and names no other model" test -z "$(grep -- "--init" stderr)"

# A multilingual model: languages are selected by name; their tokens are bytes 1 and 2. A run that begins with the model
# has the same languages and must select them, too.
spoken=(--text.source_language English --text.target_language German)
expect 0 "" train --model many.xf --steps 30 --model.languages English=3,German=4 --model.source_language before \
    --model.target_language first "${spoken[@]}" --eval-every 15
holds "the dev set is translated by name" test "$(grep -c "dev BLEU" stdout)" = 2
expect 1 "text.source_language is not set, expected one of the model's 2 languages, such as 'English'" \
    from --init many.xf --model n.xf --steps 1
expect 1 "text.target_language is 'Germn', which is not one of the model's 2 languages; the nearest is 'German'" \
    from --init many.xf --model n.xf --steps 1 --text.source_language English --text.target_language Germn
expect 1 "but the model has no languages" from --model n.xf --steps 1 "${spoken[@]}"
holds "an error leaves no files" test -z "$(compgen -G 'n.xf*')"
loss() { run evaluate --model "$1" --test others.tsv --threads 1 --greedy "${spoken[@]}" | awk '$1 == "loss" { print $2 }'; }
expect 0 "" from --init many.xf --model tuned.xf --steps 60 "${spoken[@]}" --save-every 30
holds "its loss decreases" awk -v a="$(loss many.xf)" -v b="$(loss tuned.xf)" 'BEGIN { exit !(b > 0 && b < a) }'
ask() { "$translate" translate --model tuned.xf --threads 1 --greedy "$@" <<<"Open the file."; }
expect 0 "" ask "${spoken[@]}"
holds "it translates to the selected language" test "$(head -c 1 stdout)" = $'\x02'
expect 1 "text.source_language is not set" ask
on() { run train --train others.tsv --threads 1 --quiet --data.batch_tokens 800 --hold-out 0 --model tuned.xf "$@"; }
expect 1 "the batcher has different pairs than the one of the checkpoint" on --resume tuned.xf.ckpt --steps 62 \
    --text.source_language German --text.target_language English
expect 0 "" on --resume tuned.xf.ckpt --steps 62 "${spoken[@]}"

# Pairs that are longer than the position table are skipped, before the first step and after a resume.
expect 0 "" train --model l.xf --model.max_length 40 --steps 40 --save-every 20 --hold-out 0
holds "the new limit is printed" grep -q "data.max_tokens is 40 rather than 256" stdout
expect 0 "" train --model l.xf --steps 44 --hold-out 0 --resume l.xf.ckpt
expect 1 "translate: pair 1: the source has 42 tokens; the maximum is 40" run evaluate --model l.xf --test few.tsv --threads 1 --greedy
holds "the pair that fits is measured" grep -q "^BLEU" stdout

# Messages name the line of the input, and the reason.
printf 'one\n\xff\n' >bad.txt
long() { { yes word | head -n 3000 | tr '\n' ' '; echo; } >long.txt; }
long
lines() { "$translate" translate --model m.xf --greedy --threads 1 <"$1"; }
expect 1 "translate: line 2: " lines bad.txt
holds "the message names only the line" test -z "$(grep 'text 0' stderr)"
expect 1 "translate: line 1: " lines long.txt
holds "the message names only the line" test -z "$(grep -E 'text 0|sentence 0' stderr)"
expect 1 "reading standard input failed: Is a directory" lines "$work"
closed() { "$translate" translate --model m.xf --greedy <&-; }
expect 1 "reading standard input failed: Bad file descriptor" closed

# Signals. A shell ignores SIGINT for children started with `&`, so SIGTERM is used in place of Ctrl-C.
"$translate" train --train pairs.tsv "${tiny[@]}" --model s.xf --steps 1000000 --hold-out 0 >stdout 2>stderr </dev/null &
job=$!
wait_for test -s s.xf.ckpt
sleep 0.5
kill -TERM $job
wait $job
holds "an interrupted run ends with 130, not $?" test $? = 130
holds "the output reports it" grep -q "interrupted after step" stderr
holds "the message is not that of the library" test -z "$(grep 'by the caller' stderr)"

(trap '' HUP && exec "$translate" train --train pairs.tsv "${tiny[@]}" --model h.xf --steps 60 --hold-out 0) >stdout 2>stderr &
job=$!
wait_for test -s h.xf.ckpt
kill -HUP $job
wait $job
holds "a run that ignores SIGHUP continues" test $? = 0

"$translate" train --train pairs.tsv "${tiny[@]}" --model e.xf --dev "$data/small.tsv" --dev-sentences 20000 --steps 1 \
    >stdout 2>stderr </dev/null &
job=$!
wait_for test -s e.xf
kill -TERM $job
wait $job
holds "an interrupt in the last evaluation ends with 130" test $? = 130
holds "the output states that the model is saved" grep -q "interrupted during the last evaluation; the model is saved as e.xf" stderr

# A checkpoint that cannot be written is reported once.
mkdir gone
train --model gone/g.xf --steps 100000 --minutes 0.05 --save-every 1 --hold-out 0 >stdout 2>stderr &
job=$!
wait_for test -s gone/g.xf.ckpt
mv gone lost # immediately, even while a file in it is being written
wait $job
holds "a lost folder is a failure" test $? = 1
holds "steps are not saved" grep -q 'is not saved' stderr
holds "each of them is reported once" test -z "$(grep -o 'step [0-9]* is not saved' stderr | uniq -d)"

expect 2 "--average 2 needs snapshots" train --model a.xf --steps 1 --average 2 --save-every 0
# If a snapshot is replaced, no older one remains.
printf old >a.xf.avg-10
expect 0 "" train --model a.xf --steps 20 --average 2 --average-every 10 --hold-out 0
holds "no snapshot remains: $(echo a.xf*)" test -z "$(compgen -G 'a.xf.avg-*')"
cp a.xf averaged.xf
expect 0 "" train --model a.xf --steps 20 --average 2 --average-every 10 --hold-out 0 --resume a.xf.ckpt
holds "repeating a completed command changes nothing" cmp -s a.xf averaged.xf
holds "the output reports it" grep -q "which was finished before" stdout

# Snapshots that cannot be written are not part of the average, and older ones are not used instead.
mkdir f.xf.avg-{10..20}
expect 1 "the average goes without step 20" train --model f.xf --steps 20 --average 3 --average-every 2 --hold-out 0
holds "a model of early steps is not reported as the average" test "$(grep -c averaged stdout)" = 0
rmdir f.xf.avg-*
rm -f f.xf*
expect 0 "" train --model f.xf --steps 20 --average 3 --average-every 2 --hold-out 0 --minutes 5
holds "as many as requested" grep -q "averaged .*3 snapshots, steps 16 to 20" stdout
cp f.xf f.xf.avg-14 # as after a run that was killed before it deleted old snapshots
expect 0 "" train --model f.xf --steps 20 --average 3 --average-every 2 --hold-out 0 --resume f.xf.ckpt
holds "an old snapshot is deleted" test ! -e f.xf.avg-14

# Files next to a model belong only to its run.
for name in f.xf.avg-4 f.xf.best-4; do
    cp f.xf $name
    expect 2 "--init $name has the name of a file that this run writes or deletes" \
        run train --train pairs.tsv --model f.xf --init $name --overwrite --threads 1 --steps 1
    holds "it exists" test -s $name
    rm $name
done
cp f.xf.ckpt f.xf.ckpt.prev
expect 2 "the file f.xf.ckpt.prev is the file of --init" \
    run train --train pairs.tsv --model f.xf --init f.xf.ckpt.prev --overwrite --threads 1 --steps 1
other() { train --model f.xf --hold-out 0 --steps 30 --resume a.xf.ckpt "$@"; }
cp f.xf.ckpt before.ckpt
expect 2 "f.xf.ckpt exists from an earlier run: continue with --resume f.xf.ckpt, or replace it" other
holds "its checkpoint is unchanged" cmp -s f.xf.ckpt before.ckpt
cp f.xf f.xf.avg-20
expect 0 "" other --overwrite --average 3 --average-every 5
holds "snapshots of another run are not used" grep -q "averaged .*2 snapshots, steps 25 to 30" stdout
rm -f f.xf.avg-20

# A resumed run computes its dev loss in the same way as the original run.
smoothed() { train --model l2.xf --hold-out 20 --dev-sentences 0 "$@"; }
expect 0 "" smoothed --steps 2 --train.label_smoothing 0.3
cp l2.xf.ckpt l2.ckpt
expect 0 "" smoothed --steps 4 --resume l2.xf.ckpt
told=$(grep -o 'step 4  dev loss [0-9.]*' stdout)
cp l2.ckpt l2.xf.ckpt
expect 0 "" smoothed --steps 4 --resume l2.xf.ckpt --train.label_smoothing 0.3
holds "the losses are of the same kind: $told" test "$(grep -o 'step 4  dev loss [0-9.]*' stdout)" = "$told" -a -n "$told"

# The printed command to continue is valid for any name of the model.
"$translate" train --train pairs.tsv "${tiny[@]}" --model=--w.xf --steps 100000 --hold-out 0 >stdout 2>stderr </dev/null &
job=$!
wait_for test -s ./--w.xf.ckpt
kill -TERM $job
wait $job
holds "it gives the checkpoint as the flag's value" grep -q -- "--resume=--w.xf.ckpt" stderr

# Early stopping: the run ends when the dev loss has not decreased for some evaluations; the model is that with the
# lowest loss.
expect 2 "--patience 3 does not go with --average" train --model p.xf --patience 3 --average 2
expect 2 "--eval-every is 0" train --model p.xf --patience 3 --eval-every 0
expect 2 "--patience needs dev pairs" train --model p.xf --patience 3 --hold-out 0
patient() {
    head -n 120 pairs.tsv >short.tsv
    run train --train short.tsv "${tiny[@]}" --model p.xf --train.schedule constant --train.learning_rate 0.02 \
        --train.warmup_steps 1 --eval-every 5 --dev-sentences 0 --patience 3 "$@"
}
expect 0 "" patient --steps 100000
holds "the output states why the run ended" grep -q 'ends .*after 3 evaluations' stdout
cp stdout before.patience
losses=$(sed -nE 's/^dev .*dev loss ([0-9.]+) .*/\1/p' stdout)
lowest=$(sort -n <<<"$losses" | head -n 1)
holds "three evaluations after the lowest" test "$(tail -n 4 <<<"$losses" | head -n 1)" = "$lowest"
holds "the model is that of the lowest loss" grep -qE "^best .*dev loss $lowest " stdout
lowest_step=$(sed -nE "s/^dev .*step ([0-9]+) .*dev loss $lowest .*/\1/p" stdout | head -n 1)
holds "its step is printed in all places" test "$(grep -c "^best .*step $lowest_step\b" stdout)" = 2
holds "and in the table, with its epoch" test "$(awk '$NF == "best" { print $1, $2 }' stdout)" = \
    "$(awk -v step="$lowest_step" '$1 == step && NF == 6 { print $1, $2 }' stdout)"
holds "the best model remains for a resumed run" test "$(echo p.xf.best-*)" = "p.xf.best-$(
    sed -nE "s/^dev .*step ([0-9]+) .*dev loss $lowest .*/\1/p" stdout | head -n 1)"
cp p.xf whole.xf
expect 0 "" run inspect p.xf
holds "and its step is stored" shown translate.step "$lowest_step"
loud() { run train --train short.tsv --preset tiny --tokenizer.vocab_size 300 --threads 1 --model q.xf --steps 3 "$@"; }
expect 0 "" loud --eval-every 2 --patience 9
holds "the time that is left is an upper bound" grep -qE '^step 1/3 .* at most [0-9]+:[0-9]+$' stdout
holds "it is not an estimate" test -z "$(grep ETA stdout)"
expect 0 "" loud --overwrite
holds "without --patience it is an estimate" grep -qE '^step 1/3 .* ETA [0-9]+:[0-9]+$' stdout
expect 0 "" patient --steps 100000 --resume p.xf.ckpt
holds "repeating a completed command gives the same model" cmp -s p.xf whole.xf
expect 0 "" patient --steps "$lowest_step" --overwrite
cp p.xf.ckpt lowest.ckpt
expect 0 "" patient --steps 100000 --resume lowest.ckpt --overwrite
holds "a resumed run must improve on its starting point" grep -qE "^best .*dev loss $lowest " stdout
expect 0 "" patient --steps 10 --overwrite
cp p.xf.ckpt first.ckpt
expect 0 "" patient --steps 100000 --resume first.ckpt --overwrite
holds "a resumed run ends too" grep -q 'ends .*after 3 evaluations' stdout

# By BLEU, on pairs that the model learns by heart.
expect 2 "--best is 'chrf', expected loss or bleu" patient --best chrf
expect 2 "--best bleu needs --patience" patient --patience 0 --best bleu
expect 2 "--best bleu needs --dev-sentences" patient --best bleu
by_bleu() {
    awk -F '\t' 'split($2, words, " ") >= 6' "$data/small.tsv" | head -n 8 >learned.tsv
    run train --train learned.tsv --dev learned.tsv --preset tiny --model.norm pre --tokenizer.vocab_size 270 --threads 1 --quiet \
        --model b.xf --train.schedule constant --train.learning_rate 0.004 --train.warmup_steps 20 --eval-every 25 \
        --patience 3 --best bleu "$@"
}
expect 0 "" by_bleu --steps 400
highest=$(sed -nE 's/^dev .*dev BLEU ([0-9.]+) .*/\1/p' stdout | sort -rn | head -n 1)
holds "the output states the score" grep -q "^ends .*after 3 evaluations without a dev BLEU above $highest" stdout
holds "the model is that of the highest BLEU" grep -qE "^best .*dev BLEU $highest, after step" stdout
cp b.xf bleu.xf
expect 0 "" by_bleu --steps 75 --overwrite
expect 0 "" by_bleu --steps 400 --continue
holds "a resumed run ends with the same model" cmp -s b.xf bleu.xf

# A killed run keeps its count of evaluations without improvement: 2 of 3 have passed.
expect 0 "" patient --steps "$lowest_step" --overwrite
cp p.xf lowest.xf
expect 0 "" patient --steps "$((lowest_step + 10))" --overwrite
rm -f p.xf.best-*
cp lowest.xf "p.xf.best-$lowest_step"
cp lowest.xf p.xf.best-0 # an older one, which should have been deleted
expect 0 "" patient --steps 100000 --resume p.xf.ckpt
holds "it waits only for the third" grep -qE "^dev .*step $((lowest_step + 15)) " stdout
holds "and then ends" grep -q 'ends .*after 3 evaluations' stdout
holds "as the uninterrupted run did" test "$(grep '^ends' stdout)" = "$(grep '^ends' before.patience)"
holds "the model is that of the lowest loss again" cmp -s p.xf lowest.xf
holds "only the best model remains" test "$(echo p.xf.best*)" = "p.xf.best-$lowest_step"
touch p.xf.best-7 p.xf.best-x
expect 0 "" patient --steps 5 --overwrite
holds "a new run neither uses nor deletes the files of another run" \
    test "$(echo p.xf.best*)" = "p.xf.best-5 p.xf.best-x"
rm p.xf.best-x

# A file that was left by a killed process with the same process id is ignored.
stale() { bash -c 'echo half >"$1.part-$$"; exec "$2" evaluate --model m.xf --test few.tsv --greedy --output "$1"' - out.de "$translate"; }
expect 0 "" stale
holds "the output is complete" test "$(wc -l <out.de)" = 4
holds "and no other files remain" test "$(echo out.de*)" = out.de

end_checks 81
