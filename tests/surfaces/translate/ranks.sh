#!/usr/bin/env bash
# Tests `translate train` under mpirun: the same files as one process, messages of rank 0 only, resuming after a rank
# was killed, and the end of all ranks when one receives a signal.
#
#   ranks.sh TRANSLATE DATA_FOLDER LIBRARY PYTHON_PACKAGE
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
translate=$(realpath "$1") data=$(realpath "$2") XFORMER_LIBRARY=$(realpath "$3") PYTHONPATH=$(realpath "$4")
export XFORMER_LIBRARY PYTHONPATH PYTHONDONTWRITEBYTECODE=1
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"

head -n 120 "$data/small.tsv" >pairs.tsv
options=(--train pairs.tsv --preset tiny --model.d_model 16 --model.d_ff 32 --tokenizer.vocab_size 300
    --data.batch_tokens 400 --threads 1 --dev-sentences 3)
train() { "$translate" train "${options[@]}" "$@" </dev/null; }
# As root and with more ranks than cores, as in a container.
ranks() {
    local count=$1
    shift
    timeout 100 mpirun --allow-run-as-root --oversubscribe -n "$count" "$translate" train "${options[@]}" "$@" </dev/null
}

# The same command for one process and for several.
job=(--train.shards 4 --steps 12 --eval-every 4 --save-every 4 --average 2 --report page.html)
expect 0 "" train --model alone.xf "${job[@]}"
evaluations() { sed -nE 's/^(dev|averaged) +(step .*)  [0-9:]+$/\1 \2/p' stdout; }
evaluations >alone.dev
holds "there are evaluations" test "$(grep -c BLEU alone.dev)" = 4
expect 0 "" ranks 2 --model two.xf "${job[@]}"
holds "two ranks make the model of one process" cmp two.xf alone.xf
holds "and its checkpoint" cmp two.xf.ckpt alone.xf.ckpt
holds "only rank 0 prints" test "$(grep -c '^corpus' stdout)" = 1
holds "the output names the ranks" grep -q '^ranks *2, 4 shards per step' stdout
for count in 3 4; do # 3 ranks compute 1, 1, and 2 shards
    expect 0 "" ranks $count --model some.xf --overwrite "${job[@]}"
    holds "$count ranks make the model of one process" cmp some.xf alone.xf
    holds "and its checkpoint, on $count ranks" cmp some.xf.ckpt alone.xf.ckpt
    evaluations >some.dev
    holds "and its evaluations, divided among $count ranks" cmp some.dev alone.dev
done
# Hypotheses with line ends, of a model that has learned to write two lines.
python3 - <<'EOF' || exit 1
import xformer

options = {"tokenizer.vocab_size": 280, "data.batch_tokens": 400, "train.warmup_steps": 20, "model.d_model": 32}
config = xformer.Config(options, preset="tiny")
with xformer.Context({"context.threads": 1}) as context:
    corpus = xformer.Corpus.from_pairs(context, [("go", "one\ntwo three four five six")] * 20)
    tokenizer = xformer.Tokenizer.train(context, corpus, config)
    model = xformer.Model(context, tokenizer, config)
    for stats in xformer.Trainer(model, config).train(xformer.Batcher(corpus, tokenizer, config), steps=100):
        pass
    model.save("lines.xf")
EOF
printf 'go\tone two three four five six\n%.0s' 1 2 3 4 5 6 7 >go.tsv
ends=(--train go.tsv --hold-out 0 --dev go.tsv --dev-sentences 7 --threads 1 --init lines.xf
    --train.schedule constant --train.learning_rate 1e-9 --train.shards 2 --steps 1 --eval-every 1)
expect 0 "" "$translate" train --model ends.xf "${ends[@]}" </dev/null
evaluations >ends.dev
holds "the translations are nearly right" grep -qE 'BLEU ([5-9][0-9]|100)' ends.dev
expect 0 "" timeout 100 mpirun --allow-run-as-root --oversubscribe -n 2 "$translate" train --model ends2.xf "${ends[@]}"
evaluations >ends2.dev
holds "line ends in translations change nothing" cmp ends2.dev ends.dev
holds "the output has only complete lines" test "$(grep -c "$(printf '\r')" stdout)" = 0
holds "no other file exists" test "$(ls | grep -c 'avg\|best\|part')" = 0
patient=(--train.shards 4 --steps 100 --eval-every 2 --patience 2 --train.schedule constant --train.learning_rate 0.05
    --train.warmup_steps 1)
expect 0 "" train --model patient.xf "${patient[@]}"
expect 0 "" ranks 2 --model patient2.xf "${patient[@]}"
holds "all ranks stop early together" cmp patient2.xf patient.xf
expect 0 "" ranks 2 --model default.xf --steps 1
holds "each rank has a shard" grep -q '^ranks *2, 2 shards per step' stdout

# A rank is killed. The same command resumes the run, here with another number of ranks.
killed() { # SIGNAL: starts a long job, sends the signal to one rank after the first checkpoint, and sets status
    ranks 2 --model killed.xf --train.shards 4 --eval-every 4 --save-every 1 --average 2 --average-every 4 --continue \
        --steps 1000000 >stdout 2>stderr &
    wait_for grep -q '^dev .*step 4' stdout
    pkill "-$1" -n -f -- "$translate train.*--model killed.xf"
    wait $!
    status=$?
}
again=(--model killed.xf --train.shards 4 --eval-every 4 --save-every 1 --average 2 --average-every 4 --continue)
killed KILL
holds "the job ends" test "$status" != 0
step=$(train --model killed.xf --train.shards 4 --continue --steps 1 | sed -nE 's/.*after step ([0-9]+)$/\1/p')
holds "it left a checkpoint" test "$step" -ge 4
last=$((step / 4 * 4 + 8))
expect 0 "" ranks 4 "${again[@]}" --steps "$last"
holds "training continues" grep -q "^resumed .*killed.xf.ckpt, after step $step\$" stdout
expect 0 "" train --model unbroken.xf "${again[@]:2}" --steps "$last"
holds "the result is the model of an uninterrupted run" cmp killed.xf unbroken.xf
holds "and to its checkpoint" cmp killed.xf.ckpt unbroken.xf.ckpt

# One rank receives a signal, and all ranks stop at the same step.
rm killed.xf*
killed TERM
if [ "$status" = 124 ]; then # mpirun of Open MPI 4.1.4 sometimes hangs after its ranks have ended
    rm killed.xf*
    killed TERM
fi
holds "an interrupted run is not complete" test "$status" = 130
holds "one rank reports it" test "$(grep -c 'rank 0: interrupted after step' stderr)" = 1
holds "and how to continue" grep -q -- "--resume killed.xf.ckpt" stderr
said=$(sed -nE 's/.*interrupted after step ([0-9]+)$/\1/p' stderr)
expect 0 "" train --model killed.xf --train.shards 4 --continue --steps "$said"
holds "the checkpoint is of that step" grep -q "^resumed .*after step $said\$" stdout

# A warning of the context, here of a file that is not a plugin, is printed once.
mkdir plugins
echo "not a plugin" >plugins/libxformer_openblas.so
XF_BACKEND_PATH=$PWD/plugins expect 0 "" ranks 2 --model warned.xf --steps 1
holds "only rank 0 prints a warning" test "$(grep -c 'warning:' stderr)" = 1

# Each message names its rank, and --continue works without --resume.
expect 1 "rank 1: train.shards is 1, expected at least 2, the number of ranks" \
    ranks 2 --model no.xf --train.shards 1 --steps 1
differ() { # FLAGS OF RANK 2, whose others are those of ranks 0 and 1
    local command=("$translate" train "${options[@]}" --model no.xf --train.shards 3 --steps 1)
    timeout 100 mpirun --allow-run-as-root --oversubscribe -n 2 "${command[@]}" : -n 1 "${command[@]}" "$@" </dev/null
}
expect 2 "rank 0: --steps is 1 on rank 0 and 2 on rank 2, expected the same on all ranks" differ --steps 2 --quiet
expect 2 "--save-every is 1000 on rank 0 and 7 on rank 2" differ --save-every 7 --train.learning_rate 3
expect 2 "--train is pairs.tsv on rank 0 and other.tsv on rank 2" differ --train other.tsv
expect 2 "--minutes is 0 on rank 0 and 0.5 on rank 2" differ --minutes 0.5
expect 2 "--overwrite is not set on rank 0 and set on rank 2" differ --overwrite
expect 2 "--train.learning_rate is 1 on rank 0 and 3 on rank 2" differ --train.learning_rate 3
expect 2 "--model.weights is same on rank 0 and int8 on rank 2" differ --model.weights int8
holds "each difference is printed once" test "$(grep -c 'expected the same' stderr)" = 1
expect 1 "rank 0: cannot open 'none.tsv'" ranks 2 --model no.xf --train none.tsv
expect 2 "--continue does not go with --overwrite" train --model no.xf --continue --overwrite
expect 2 "--continue does not go with --resume" train --model no.xf --continue --resume two.xf.ckpt
holds "they produced no output" test ! -e no.xf.ckpt

end_checks 53
