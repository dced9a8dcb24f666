#!/usr/bin/env bash
# Tests the pages of examples/translate: `translate --attention` and `train --report`. Creates them with a tiny model,
# from texts that would be interpreted as HTML if they were not escaped. pages.py checks their data.
#
#   pages.sh TRANSLATE DATA_FOLDER FOLDER
#
# The pages remain in FOLDER/translate_pages, where the test in a browser (pages_browser.py) finds them.
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
translate=$(realpath "$1") data=$(realpath "$2") here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
rm -rf "$3/translate_pages"
mkdir -p "$3/translate_pages" && cd "$3/translate_pages" || exit 1
. "$here/../../support/expect.sh"

# Half of the corpus looks like markup, so that some of its pieces become tokens.
hostile='</script><img src=x onerror="alert(1)"><!-- <script>&lt;'
head -n 200 "$data/small.tsv" >pairs.tsv
for _ in $(seq 100); do printf '%s\t%s\n' "$hostile" "$hostile"; done >>pairs.tsv

train() {
    "$translate" train --train pairs.tsv --preset tiny --tokenizer.vocab_size 400 --data.batch_tokens 800 --threads 1 \
        --quiet --train.schedule constant --train.learning_rate 0.005 --train.warmup_steps 1 \
        --eval-every 10 --save-every 10 --dev-sentences 2 "$@" </dev/null
}

# A run in two parts has the history of one in a single part.
expect 0 "" train --model m.xf --steps 30 --report whole.html
holds "the history is next to the model" test -s m.xf.tsv
cp m.xf.tsv whole.tsv
expect 0 "" train --model m.xf --steps 20 --report report.html --overwrite
cp m.xf.tsv half.tsv
printf 'train\t25\t1\t1\t9\t1\t1\t1\t1\t-\t-\n' >>m.xf.tsv # a step after the checkpoint, which will be repeated
expect 0 "" train --model m.xf --steps 30 --report report.html --resume m.xf.ckpt
holds "earlier records are kept" cmp <(head -n "$(wc -l <half.tsv)" m.xf.tsv) half.tsv
holds "the losses are those of one run" cmp <(cut -f 1,2,5,6 whole.tsv) <(cut -f 1,2,5,6 m.xf.tsv)
holds "no temporary files next to the page" test -z "$(compgen -G '*.part-*')"
expect 0 "" train --model m.xf --steps 32 --resume m.xf.ckpt
holds "without --report the history is unchanged" test "$(tail -n 1 m.xf.tsv | cut -f 2)" = 30

# With --patience a resumed run evaluates its starting point again and prints the result once.
patient() { train --model q.xf --patience 9 --report q.html "$@"; }
expect 0 "" patient --steps 20
expect 0 "" patient --steps 30 --resume q.xf.ckpt
holds "it is measured" grep -qE '^dev +step 20 ' stdout
holds "each step has one row" test "$(grep -P '^dev\t' q.xf.tsv | cut -f 2 | tr '\n' ' ')" = "10 20 30 "

# A run without --dev pairs has a page, too; so has one of a million steps that was interrupted.
expect 0 "" train --model n.xf --steps 3 --hold-out 0 --report bare.html
"$translate" train --train pairs.tsv --preset tiny --threads 1 --model i.xf --steps 1000000 --hold-out 0 --quiet \
    --save-every 2 --report stopped.html >stdout 2>stderr </dev/null &
job=$!
for _ in $(seq 600); do
    grep -qs train i.xf.tsv && break
    sleep 0.1
done
kill -TERM $job
wait $job
holds "it was interrupted" test $? = 130
holds "the page reports it" grep -qF '"state":"stopped"' stopped.html
holds "the command to continue has the page" grep -qF -- "--report stopped.html" stderr

# Errors are reported before the first step.
cp pairs.tsv before.tsv
expect 2 "--report pairs.tsv is the file of --train" train --model r.xf --steps 1 --report pairs.tsv
expect 2 "--report r.xf is the name of --model" train --model r.xf --steps 1 --report r.xf
expect 2 "--report r.xf.ckpt is the name of the checkpoint" train --model r.xf --steps 1 --report r.xf.ckpt
expect 2 "--report r.xf.tsv is the name of the report's history" train --model r.xf --steps 1 --report r.xf.tsv
expect 1 "can't write /nonexistent/r.html" train --model r.xf --steps 1 --report /nonexistent/r.html
ln pairs.tsv r.xf.tsv
expect 2 "the report's history r.xf.tsv is the file of --train" train --model r.xf --steps 1 --report r.html
holds "the corpus is unchanged" cmp pairs.tsv before.tsv
printf 'a\tb\n' >mine.tsv
expect 1 "mine.tsv is not the history of a training run: its first line is 'a	b', expected" train --model mine --steps 1 --report r.html
holds "the file is unchanged" test "$(cat mine.tsv)" = "$(printf 'a\tb')"
again() { train --model m.xf --steps 40 --report report.html --resume m.xf.ckpt; }
cp m.xf.tsv good.tsv
echo 'source	target' >m.xf.tsv
expect 1 "m.xf.tsv is not the history of a training run: its first line is 'source" again
{ cat good.tsv && printf 'train\t30\tx\n'; } >m.xf.tsv
expect 1 "line $(($(wc -l <good.tsv) + 1)): 2 valid columns, expected 11" again
cp good.tsv m.xf.tsv

# Attention: the requested number of sentences, of those that have a translation; the translations do not change.
lines() { printf '%s\n\nChoose File.\n\xff\nAdd the file.\nNot drawn.\n' "$hostile"; }
translate() { "$translate" translate --model m.xf --threads 1 --decode.max_extra_tokens 4 "$@" < <(lines); }
expect 1 "line 4: " translate
cp stdout plain.txt
expect 1 "line 4: " translate --attention attention.html --attention-lines 3
holds "the page does not change the translations" cmp stdout plain.txt
expect 1 "line 4: " translate --attention attention.html --attention-lines 3 --n-best 2
cp attention.html again.html
expect 1 "line 4: " translate --attention attention.html --attention-lines 3 --batch-lines 1
holds "the page does not depend on the batches" cmp attention.html again.html
echo 'Choose File.' >one.txt
one() { "$translate" translate --model m.xf --threads 1 "$@" <one.txt; }
expect 0 "" one --attention one.html --greedy
expect 2 "--attention m.xf is the file of --model" one --attention m.xf
expect 2 "--attention-lines is 0, expected 1 or more" one --attention x.html --attention-lines 0
expect 1 "can't write /nonexistent/a.html" one --attention /nonexistent/a.html
echo >one.txt
expect 1 "none.html is not written, because it would show no sentence" one --attention none.html
holds "it is not" test ! -e none.html
yes word | head -n 300 | tr '\n' ' ' >one.txt
expect 1 "; the maximum is 4000000" one --attention none.html --greedy

# A model that has not learned the end symbol, so translations are cut off at the maximum length, without an end symbol.
expect 0 "" train --model c.xf --steps 1 --model.max_length 40 --hold-out 0
endless() { printf 'Choose File.\n\n' | "$translate" translate --model c.xf --threads 1 --greedy --attention none.html; }
expect 1 "line 1 is not in none.html: its translation has 41 tokens; the maximum is model.max_length, 40" endless
holds "the lines after it are translated" test "$(wc -l <stdout)" = 2

holds "the data of the pages is right" python3 "$here/pages.py" "$hostile"
end_checks 39
