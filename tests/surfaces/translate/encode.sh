#!/usr/bin/env bash
# Tests `translate encode` and training with an encoded corpus: the same model as with the texts, exact resuming within
# and between chunks, any number of ranks, interruptions, a full disk, and damaged files.
#
#   encode.sh TRANSLATE DATA_FOLDER [MPIRUN]
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
translate=$(realpath "$1") data=$(realpath "$2") mpirun=${3:-}
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"

head -n 1000 "$data/small.tsv" >pairs.tsv
cut -f 1 pairs.tsv >sources
cut -f 2 pairs.tsv >targets
encode() { "$translate" encode --threads 1 --tokenizer.vocab_size 300 --data.part_pairs 100 "$@" </dev/null; }
train() {
    "$translate" train --preset tiny --model.d_model 16 --model.d_ff 32 --data.batch_tokens 400 --threads 1 \
        --eval-every 0 --quiet "$@" </dev/null
}
sum() { (cd "$1" && sha256sum ./*.safetensors tokenizer.json); }
parts() { (cd "$1" && sha256sum ./part-*.safetensors tokenizer.json); }

# One chunk: the model of the same texts.
expect 0 "" encode --output all pairs.tsv
holds "the vocabulary is learned from all pairs" grep -q '^vocabulary .*learned from 1000 pairs' stdout
holds "there are ten parts" test "$(ls all/part-0000?.safetensors | wc -l)" = 10
expect 0 "" train --train all --model encoded.xf --steps 40
holds "there is no dev set" grep -q '^held out *none: an encoded corpus has no text' stdout
expect 0 "" train --train pairs.tsv --hold-out 0 --tokenizer all/tokenizer.json --model texts.xf --steps 40
holds "the model is that of the texts" cmp encoded.xf texts.xf
holds "and so is the checkpoint" cmp encoded.xf.ckpt texts.xf.ckpt
expect 0 "" train --train pairs.tsv --hold-out 0 --resume encoded.xf.ckpt --model mixed.xf --steps 50
expect 0 "" train --train all --resume texts.xf.ckpt --model again.xf --steps 50
holds "each continues the other's checkpoint" cmp mixed.xf again.xf

# The parts depend on the texts only; the index also contains the names of the files.
expect 0 "" encode --output parallel --threads 3 sources targets
holds "two files give the same parts" test "$(parts parallel)" = "$(parts all)"
expect 0 "" bash -c "'$translate' encode --output piped --data.part_pairs 100 --tokenizer all/tokenizer.json /dev/stdin \
    < <(cat pairs.tsv)"
holds "a pipe gives the same parts" test "$(parts piped)" = "$(parts all)"
expect 2 "can be read only once" encode --output none <(cat pairs.tsv)
gzip -c pairs.tsv >pairs.tsv.gz
expect 0 "" encode --output compressed pairs.tsv.gz # is read twice, for the tokenizer and the pairs
holds "compressed text gives the same parts" test "$(parts compressed)" = "$(parts all)"
head -c 5000 pairs.tsv.gz >cut.tsv.gz
expect 1 "the compressed data of 'cut.tsv.gz' is damaged: it ends early" encode --output cut \
    --tokenizer all/tokenizer.json cut.tsv.gz
expect 0 "" encode --output sampled --data.sample 200 pairs.tsv
holds "a sample is for the tokenizer only" grep -q '^corpus *1000 pairs' stdout
holds "its size is shown" grep -q '^vocabulary .*learned from 200 pairs' stdout

# Several chunks: every interruption resumes exactly. An epoch has four chunks.
chunks=(--train all --data.chunk_pairs 250 --train.shards 2 --save-every 0)
expect 0 "" train "${chunks[@]}" --model whole.xf --steps 160
holds "the run has more than one epoch" grep -q '^epoch' stdout
for step in 1 20 34 70; do
    rm -f parts.xf*
    expect 0 "" train "${chunks[@]}" --model parts.xf --steps "$step"
    expect 0 "" train "${chunks[@]}" --model parts.xf --continue --steps 160
    holds "resuming after step $step makes the same model" cmp parts.xf whole.xf
    holds "and the same checkpoint" cmp parts.xf.ckpt whole.xf.ckpt
done
expect 0 "" train "${chunks[@]}" --model threads.xf --threads 3 --steps 160
holds "threads make the same model" cmp threads.xf whole.xf
expect 0 "" train "${chunks[@]:2}" --train piped --resume whole.xf.ckpt --model piped.xf --steps 161
expect 1 "different pairs" train "${chunks[@]}" --data.chunk_pairs 500 --resume whole.xf.ckpt --model other.xf --steps 161

# Two files in proportion, from the texts and encoded in chunks: an interrupted run resumes exactly.
mkdir texts
head -n 700 pairs.tsv >texts/a.tsv
tail -n 300 pairs.tsv >texts/b.tsv
expect 0 "" encode --output two --tokenizer all/tokenizer.json texts
holds "the parts are those of one file" test "$(parts two)" = "$(parts all)"
mixed=(--data.mix a.tsv=0.4,b.tsv=2.5 --train.shards 2 --save-every 0)
for kind in "texts --hold-out 0 --data.augment 0.3 --tokenizer all/tokenizer.json" "two --data.chunk_pairs 250"; do
    rm -f mix*.xf*
    expect 0 "" train --train $kind "${mixed[@]}" --model mix.xf --steps 150
    for step in 21 75; do
        rm -f mix-parts.xf*
        expect 0 "" train --train $kind "${mixed[@]}" --model mix-parts.xf --steps "$step"
        expect 0 "" train --train $kind "${mixed[@]}" --model mix-parts.xf --continue --threads 2 --steps 150
        holds "resuming with data.mix after step $step makes the same model" cmp mix-parts.xf mix.xf
    done
done
expect 1 "option 'data.mix' is ''" train --train two --data.chunk_pairs 250 --train.shards 2 --resume mix.xf.ckpt \
    --model other.xf --steps 151
if [ -n "$mpirun" ]; then
    ranks() {
        timeout 100 "$mpirun" --allow-run-as-root --oversubscribe -n "${count:-2}" "$translate" train --preset tiny \
            --model.d_model 16 --model.d_ff 32 --data.batch_tokens 400 --threads 1 --eval-every 0 --quiet "$@" </dev/null
    }
    expect 0 "" ranks "${chunks[@]}" --model ranks.xf --steps 160
    holds "two ranks make the same model" cmp ranks.xf whole.xf
    holds "and the same checkpoint" cmp ranks.xf.ckpt whole.xf.ckpt
    four=(--train two --data.chunk_pairs 250 "${mixed[@]:0:2}" --train.shards 4 --steps 60)
    expect 0 "" train "${four[@]}" --model one.xf
    count=4 expect 0 "" ranks "${four[@]}" --model four.xf
    holds "four ranks make the model of one process" cmp four.xf one.xf
    # A part that is damaged during training stops all ranks with a message; the last checkpoint remains.
    cp -r all damaged
    printf x | dd of=damaged/part-00003.safetensors bs=1 seek=2000 conv=notrunc status=none
    expect 1 "part-00003.safetensors' is damaged" ranks "${chunks[@]:2}" --train damaged --model d.xf --steps 160
fi

# A run with every third byte of a part, and with a missing one, ends with a sentence.
cp -r all bad
rm bad/part-00004.safetensors
expect 1 "'bad/part-00004.safetensors' is missing" train --train bad --model bad.xf --steps 1
cp all/part-00005.safetensors bad/part-00004.safetensors
expect 1 "is not the part with which the corpus was completed" train --train bad --model bad.xf --steps 1
rm bad/corpus.safetensors
expect 1 "is incomplete" train --train bad --model bad.xf --steps 1
expect 1 "has other texts" encode --output bad --tokenizer all/tokenizer.json pairs.tsv
rm bad/part-00004.safetensors
expect 0 "" encode --output bad --tokenizer all/tokenizer.json pairs.tsv
holds "a missing part is encoded again" test "$(sum bad)" = "$(sum all)"
expect 0 "" encode --output other --tokenizer.vocab_size 280 pairs.tsv
expect 1 "encoded with another tokenizer" train --train all --tokenizer other/tokenizer.json --model bad.xf --steps 1
expect 1 "data.sampling is set, but an encoded corpus has no text" train --train all --data.sampling 0.1 \
    --model bad.xf --steps 1
expect 1 "data.augment is set, but an encoded corpus has no text" train --train all --data.augment 0.1 \
    --model bad.xf --steps 1
expect 1 "'x.tsv', which is not in the corpus (its first file is 'pairs.tsv')" train --train all \
    --data.mix x.tsv=2 --model bad.xf --steps 1
expect 0 "" train --train all --data.mix pairs.tsv=2 --model mixed.xf --steps 1
expect 1 "has no text to translate" "$translate" evaluate --model encoded.xf --test all
expect 1 "no text for BLEU" train --train all --dev all --model bad.xf --steps 1
# The dev loss is that of all pairs, in one chunk or in several. The texts for training are in memory.
dev=(--train pairs.tsv --hold-out 0 --tokenizer all/tokenizer.json --dev all --dev-sentences 0 --eval-every 1 --steps 1)
expect 0 "" train "${dev[@]}" --model dev.xf
losses() { grep -o '^dev .*step .*perplexity [0-9.]*' stdout; } # without the time
losses >dev
holds "the dev set is evaluated" test -s dev
expect 0 "" train "${dev[@]}" --model dev2.xf --data.chunk_pairs 300
holds "chunks have the dev loss of all pairs" cmp dev <(losses)
: >empty
expect 1 "no valid sentence pair" encode --output nothing --tokenizer all/tokenizer.json empty
expect 1 "cannot open 'nowhere'" encode --output nothing --tokenizer all/tokenizer.json nowhere
holds "a wrong path leaves no folder" test ! -e nothing

# A signal between two parts: what is complete is kept. The pipe holds the program there. Not SIGINT, which the shell
# makes background programs ignore.
mkfifo pipe
exec 3<>pipe # opening it for writing would wait for the program, which would find no writer
encode --output stopped --tokenizer all/tokenizer.json pipe >stdout 2>stderr 3>&- &
program=$!
head -n 250 pairs.tsv >&3
wait_for test -e stopped/part-00001.safetensors
pkill -TERM -P $program translate || kill -TERM $program
wait $program
holds "an interrupted program has status 130" test $? = 130
exec 3>&-
holds "it says how to continue" grep -q 'the same command continues' stderr
before=$(stat -c %Y%i stopped/part-00000.safetensors)
expect 0 "" encode --output stopped --tokenizer all/tokenizer.json pairs.tsv
holds "the rest is encoded" test "$(sum stopped)" = "$(sum all)"
holds "the first part was kept" test "$(stat -c %Y%i stopped/part-00000.safetensors)" = "$before"

# A full disk, as a limit of the size of files.
expect 1 "File too large" bash -c "ulimit -f 4; '$translate' encode --output full --data.part_pairs 1000 \
    --tokenizer all/tokenizer.json pairs.tsv"
holds "no partial file remains" test -z "$(ls -A full)"
end_checks 79
