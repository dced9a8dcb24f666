#!/bin/bash
# Measures this library, PyTorch, and CTranslate2 alternately in one run, and prints Markdown tables.
#
#     run.sh BUILD [train|decode|all]        BUILD: a Release build of this tree with xf_bench in BUILD/bin
#     run.sh BUILD imported                  the model that imported.py made in FOLDER, beside transformers too
#
# Environment: PYTHON (a Python with torch, ctranslate2, numpy; default python3), THREADS (2), ROUNDS (3), WARMUP (1),
# STEPS (2, timed steps or passes per process), LOG (the raw lines, default BUILD/bench.tsv), PEERS=0 (only this
# library), SENTENCES1 and SENTENCES32 (sources to decode at batch 1 and 32: 16, 64), PRECISIONS (what this library
# trains in: "fp32 bf16"), FOLDER (BUILD/imported), XF_ARGS (more arguments for xf_bench, such as context.isa=avx2).
#
# Every round runs each system once in a fresh process, so that a slow minute of the machine affects all of them.
# Meanwhile, the CPU time of other processes and of the hypervisor is computed from /proc/stat. report.py marks rows in
# which it exceeds 3 % of a core; these numbers must not be quoted.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: run.sh BUILD [train|decode|all]}" && pwd)
what=${2:-all}
python=${PYTHON:-python3}
threads=${THREADS:-2} rounds=${ROUNDS:-3} warmup=${WARMUP:-1} steps=${STEPS:-2}
peers=${PEERS:-1}
read -r -a xf_args <<<"${XF_ARGS:-}"
log=${LOG:-$build/bench.tsv}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XF_BACKEND_PATH=$build/lib OMP_NUM_THREADS=$threads

cpu_times() { # busy and stolen clock ticks of all CPUs
    local _ user nice system irq soft steal
    read -r _ user nice system _ _ irq soft steal _ </proc/stat
    echo $((user + nice + system + irq + soft)) "$steal"
}

# measure TABLE SYSTEM command...: appends "TABLE, SYSTEM, what, value" lines to the log.
measure() {
    local table=$1 system=$2 busy stolen busy2 stolen2 wall user sys
    shift 2
    echo "$table: $system" >&2
    read -r busy stolen < <(cpu_times)
    local TIMEFORMAT='%R %U %S'
    if ! { time "$@" >"$work/out" 2>"$work/err"; } 2>"$work/time"; then
        echo "$* failed:" >&2
        cat "$work/err" >&2
        exit 1
    fi
    read -r busy2 stolen2 < <(cpu_times)
    read -r wall user sys <"$work/time"
    sed "s|^|$table\t$system\t|" "$work/out" >>"$log"
    awk -v OFS='\t' -v t="$table" -v s="$system" -v hz="$(getconf CLK_TCK)" -v busy=$((busy2 - busy)) \
        -v stolen=$((stolen2 - stolen)) -v wall="$wall" -v own="$(awk "BEGIN {print $user + $sys}")" 'BEGIN {
            others = (busy / hz - own) / wall
            print t, s, "others", (others > 0 ? others : 0)
            print t, s, "stolen", stolen / hz / wall
        }' >>"$log"
}

train_round() {
    local table="train base, 4096 + 4096 tokens"
    local precision
    for precision in ${PRECISIONS:-fp32 bf16}; do
        measure "$table" "libxformer $precision" "$build/bin/xf_bench" train warmup="$warmup" steps="$steps" \
            context.threads="$threads" context.precision="$precision" "${xf_args[@]}"
    done
    [ "$peers" = 1 ] || return 0
    local common=("$python" "$here/bench_train.py" --threads "$threads" --warmup "$warmup" --steps "$steps")
    measure "$table" "PyTorch fp32" "${common[@]}"
    measure "$table" "PyTorch fp32, chunked loss" "${common[@]}" --chunked
    measure "$table" "PyTorch bf16 autocast" "${common[@]}" --precision bf16
    measure "$table" "PyTorch bf16 autocast, chunked loss" "${common[@]}" --precision bf16 --chunked
}

decode_prepare() {
    local init=("$build/bin/xf_bench" init "${xf_args[@]}") weights
    "${init[@]}" model="$work/base" sources="$work/sources1" sentences="${SENTENCES1:-16}"
    for weights in fp32 bf16 int8; do # the same weights in each type
        "${init[@]}" model="$work/base-$weights" model.weights="$weights" sources="$work/sources32" \
            sentences="${SENTENCES32:-64}"
    done
    [ "$peers" = 1 ] || return 0
    "$python" "$here/bench_decode.py" convert "$work/base" "$work/float32"
    "$python" "$here/bench_decode.py" convert "$work/base" "$work/int8" --quantization int8
}

decode_round() {
    local search beam batch table weights compute inter
    for search in '4 1' '4 32' '1 32'; do # hypotheses, sentences
        read -r beam batch <<<"$search"
        table="decode base, beam $beam, batch $batch, 25 source and 25 target tokens"
        for weights in fp32 bf16 int8; do
            measure "$table" "libxformer $weights" "$build/bin/xf_bench" decode model="$work/base-$weights" \
                sources="$work/sources$batch" warmup="$warmup" passes="$steps" decode.beam="$beam" \
                decode.max_extra_tokens=0 decode.batch_sentences="$batch" context.threads="$threads" "${xf_args[@]}"
        done
        [ "$peers" = 1 ] || continue
        for compute in float32 int8; do
            for inter in $(printf '%s\n' 1 "$threads" | sort -un); do
                measure "$table" "CTranslate2 $compute ${inter}x$((threads / inter))" "$python" \
                    "$here/bench_decode.py" run "$work/$compute" "$work/sources$batch" --compute "$compute" \
                    --beam "$beam" --length 25 --batch "$batch" --warmup "$warmup" --passes "$steps" \
                    --inter "$inter" --intra $((threads / inter))
            done
        done
    done
}

imported_round() {
    local beam batch system compute
    for search in '4 1' '4 32' '1 32'; do
        read -r beam batch <<<"$search"
        for system in 'libxformer fp32' 'libxformer int8' ctranslate2-{1x2,2x1}' '{float32,int8} 'transformers float32'; do
            read -r system compute <<<"$system"
            measure "OPUS-size model, beam $beam, batch $batch, 25 source and 25 target tokens" "$system $compute" \
                "$python" -W ignore "$here/imported.py" run "${FOLDER:-$build/imported}" "$system" "$compute" "$beam" "$batch"
        done
    done
}

: >"$log"
case $what in imported | train | decode | all) ;; *) echo "unknown: $what" >&2 && exit 2 ;; esac
[[ $what = train || $what = imported ]] || decode_prepare
for ((round = 1; round <= rounds; ++round)); do
    echo "round $round of $rounds, load $(cut -d ' ' -f 1-3 /proc/loadavg)" >&2
    case $what in train | all) train_round ;; esac
    case $what in decode | all) decode_round ;; imported) imported_round ;; esac
done
commit=$(git -C "$here" describe --always --dirty 2>/dev/null || echo unknown)
if [ "$peers" = 1 ]; then
    "$python" "$here/report.py" "$log" "$commit" "$threads" "$rounds"
else
    awk -F '\t' '$3 == "step" || $3 == "rss" || $3 == "others"' "$log"
fi
