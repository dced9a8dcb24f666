#!/usr/bin/env bash
# Checks and measures the CUDA backend on a machine with an NVIDIA GPU that is rented by the minute. It makes few calls,
# each shorter than ten minutes, with programs that were built on another machine.
#
#     tests/gpu.sh --prepare [--data DIR]   on a machine with nvcc: builds the folder gpu-carry (prepare.sh)
#     tests/gpu.sh 1                        a call with all its stages: 1, then 3, 2, and 4 (tests/harness/gpu/plan.sh)
#     tests/gpu.sh short                    the call for a visit of 15 minutes
#     tests/gpu.sh facts parity             only these stages
#     tests/gpu.sh --plan                   prints the calls, their stages, and time limits
#     tests/gpu.sh --dry-run [CALL|STAGE]   everything, or one call or stage, without a GPU: tiny models, the emulation of
#                                           tests/harness/cuda_host, and stubs for NVIDIA's tools (tests/harness/gpu/stub.sh)
#
# Every stage has a time limit and writes its results before the next begins. OUT contains results.tsv (a row for each
# check), the numbers of the tables, and gpu.md, which are complete at any time: at most eight files of 16 MiB. A row
# reports missing tools. A call that was cut continues when it is made again: stages that ended are not repeated
# (tests/harness/gpu/resume.sh).
# Exit status: 0 success, 1 a check failed, 77 no GPU, or no gpu-carry whose programs start.
#
# Environment: OUT (build/gpu), XF_BUDGET (total seconds, 580), XF_CARRY (gpu-carry), XF_GPU_BUILD (the build of a dry
# run, build/dev), XF_STATE (files that calls keep for later calls on the same machine,
# build/gpu-state), PYTHON (python3), NVCC (empty: nvcc is not used).
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
export LC_ALL=C PYTHONUNBUFFERED=1
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
root=$PWD
absolute() { [[ $1 = /* ]] && echo "$1" || echo "$root/$1"; }
out=$(absolute "${OUT:-build/gpu}")
carry=$(absolute "${XF_CARRY:-gpu-carry}")
build=$(absolute "${XF_GPU_BUILD:-build/dev}")
state=$(absolute "${XF_STATE:-build/gpu-state}")
python=${PYTHON:-python3}
budget=${XF_BUDGET:-580}
dry=0

die() {
    echo "gpu.sh: $2" >&2
    exit "$1"
}
source tests/harness/gpu/plan.sh
source tests/harness/gpu/run.sh

wanted=() # stages and their limits
call=     # the calls that were named; empty if single stages were
named=
while [ $# -gt 0 ]; do
    case $1 in
        --prepare) exec tests/harness/gpu/prepare.sh "$carry" "${@:2}" ;;
        --plan) show_plan && exit 0 ;;
        --dry-run) dry=1 ;;
        [1-4] | short) mapfile -t -O ${#wanted[@]} wanted < <(stages_of "$1") && call=$call${call:+-}$1 ;;
        *) limit=$(limit_of "$1") || die 2 "unknown call or stage '$1'; tests/gpu.sh --plan lists them"
            wanted+=("$1 $limit") named=1 ;;
    esac
    shift
done
if [ ${#wanted[@]} -eq 0 ]; then
    [ $dry = 1 ] || die 2 "no call was named, expected 1, 3, 2, 4, or short; tests/gpu.sh --plan describes them"
    mapfile -t wanted < <(for call in "${calls[@]}"; do stages_of "$call"; done) && call=all
fi
[ -z "$named" ] || call=

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$state" || exit 1
results=$out/results.tsv
if [ $dry = 1 ]; then
    budget=${XF_BUDGET:-100000}
    show_plan
    source tests/harness/gpu/dry.sh
fi
source tests/harness/gpu/programs.sh
source tests/harness/gpu/resume.sh
source tests/harness/gpu/stages_check.sh
source tests/harness/gpu/stages_speed.sh
source tests/harness/gpu/stages_paper.sh

resume
no_device=
for stage in "${wanted[@]}"; do
    read -r stage stage_limit <<<"$stage"
    if finished "$stage"; then continue; fi
    stage_begin=$SECONDS
    say "$stage, at most $(limit "$stage_limit") s"
    if [ "$(limit "$stage_limit")" -lt 3 ]; then
        result "$stage" "stage" "out of time" 0 "not begun: the call's $budget s are over"
    else
        "stage_$stage"
    fi
    keep "$stage"
    write_page
    if [ -z "$no_device" ] && failed "$stage" && ! alive; then no_device=1; fi
    if [ -n "$no_device" ]; then
        say "The GPU does not start, or has failed; the other stages are left out. The reason is in results.tsv and log.txt"
        break
    fi
done
say "All of it is in $out"
"$python" tests/harness/bench/gpu_report.py "$out" --short || cat "$results"
check_out
# A check that did not end has failed; a sanitizer or a benchmark that did not end has not.
! awk -F '\t' '$3 == "FAILED" || ($3 == "out of time" && $1 ~ /build|warm|steps|parity/) { bad = 1 } END { exit !bad }' "$results"
