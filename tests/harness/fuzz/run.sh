#!/usr/bin/env bash
# Runs one fuzzer for some seconds and adds the result to tests/harness/evidence/ledger.tsv.
#
#     tests/harness/fuzz/run.sh TARGET SECONDS [LIBFUZZER-OPTION...]
#
# TARGET is one of CMakeLists.txt; TARGET_oom makes allocations fail. Builds the program with clang in build/fuzz, or in
# XF_FUZZ_BUILD, if it does not exist. Starts with the inputs of corpus/TARGET.tar.xz and with those that earlier runs
# found, which remain in the build folder until merge.sh adds them to the archive. Inputs that crash, hang, leak, or use
# too much memory are saved as crash-*, timeout-*, leak-*, or oom-* in findings/TARGET of the build, and the exit status
# is 1.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../../.." && pwd)
if [ $# -lt 2 ]; then
    echo "usage: tests/harness/fuzz/run.sh TARGET SECONDS [LIBFUZZER-OPTION...]" >&2
    exit 2
fi
target=$1 seconds=$2
shift 2
build=${XF_FUZZ_BUILD:-$source/build/fuzz}
program=$build/bin/fuzz_$target
if [ ! -x "$program" ]; then "$here/build.sh" "$build" "fuzz_$target"; fi

name=${target%_oom}
if [ ! -f "$here/$name.cpp" ] || [ ! -f "$here/corpus/$name.tar.xz" ]; then
    echo "run.sh: unknown target $name" >&2
    exit 2
fi
found=$build/corpus/$name findings=$build/findings/$target log=$build/$target.log
seeds=$build/seeds/$name
mkdir -p "$found" "$findings"
"$here/corpus.sh" unpack "$name" "$seeds"
# Longer inputs are slower and reach nothing more.
case $name in
    utf8) length=64 ;;
    text | calls | options | messages) length=512 ;;
    header) length=5000 ;;
    model | checkpoint) length=24576 ;;
    *) length=4096 ;;
esac
case $name in
    header | model | checkpoint) words=file ;;
    *) words=$name ;;
esac
dictionary=()
if [ -f "$here/$words.dict" ]; then dictionary=(-dict="$here/$words.dict"); fi
# libFuzzer contains templates of the C++ library compiled without exceptions, which leak when an allocation fails.
# fuzz_replay, which does not contain libFuzzer, checks for leaks in that case.
leaks=1
case $target in *_oom) leaks=0 ;; esac

# A larger quarantine of freed memory would take most of the time.
status=0 began=$SECONDS
ASAN_OPTIONS=quarantine_size_mb=16:detect_leaks=$leaks UBSAN_OPTIONS=print_stacktrace=1 \
    "$program" -max_total_time="$seconds" -max_len=$length -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=256 \
    -print_final_stats=1 -detect_leaks=$leaks "${dictionary[@]}" -artifact_prefix="$findings/" "$@" "$found" "$seeds" \
    >"$log" 2>&1 || status=$?

spent=$((SECONDS - began))
executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
if [ -z "$executions" ]; then executions=$(grep -o '^#[0-9]*' "$log" | tail -n 1 | cut -c2- || true); fi
coverage=$(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | cut -d' ' -f2 || true)
result=clean
if [ $status -eq 72 ]; then # by a signal
    result="clean, until it was stopped"
    status=0
elif [ $status -ne 0 ]; then
    result=$(grep -m 1 -E 'DEFECT:|ERROR: |runtime error:' "$log" | sed 's/^==[0-9]*== *//; s/\t/ /g' | cut -c1-120 || true)
    result="finding: ${result:-status $status}"
    tail -n 60 "$log"
fi
ledger=$source/tests/harness/evidence/ledger.tsv
if [ ! -f "$ledger" ]; then
    mkdir -p "${ledger%/*}"
    printf 'date\tcommit\ttarget\texecutions\tseconds\tcoverage\tresult\n' >"$ledger"
fi
commit=${XF_FUZZ_COMMIT:-$(git -C "$source" rev-parse --short=10 HEAD 2>/dev/null || echo -)}
row=$(printf '%s\t%s\t%s\t%s\t%s\t%s\t%s' "$(date -u +%F)" "$commit" "fuzz/$target" "${executions:-0}" \
    "$spent" "${coverage:--}" "$result")
printf '%s\n' "$row" | tee -a "$ledger"
exit $((status != 0))
