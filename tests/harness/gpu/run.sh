# Functions of tests/gpu.sh that run a command within its limits and record the result. Sourced.
#
# SPDX-License-Identifier: Apache-2.0
say() { printf '\n== %s  [%s s]\n' "$*" "$SECONDS"; }
# limit N: prints the smallest of N and the remaining seconds of the stage and the call
limit() {
    local rest=$((stage_begin + stage_limit - SECONDS)) all=$((budget - SECONDS))
    if [ $all -lt $rest ]; then rest=$all; fi
    if [ "$1" -lt $rest ]; then rest=$1; fi
    echo $((rest > 0 ? rest : 0))
}
# result STAGE NAME STATUS SECONDS DETAIL: one row of the table. STATUS: info, ok, note, FAILED, out of time.
result() {
    local IFS=$'\t'
    printf '%s\n' "$*" >>"$results"
    printf '%-9s %-12s %4s s  %s: %s\n' "$1" "$3" "$4" "$2" "$5"
}
log_of() { echo "$work/${1//[^A-Za-z0-9_.-]/_}.log"; }
# Adds the output of a command to OUT/log.txt, only the end if it is long; the file stays below 16 MiB.
keep_log() {
    local size
    size=$(stat -c %s "$out/log.txt" 2>/dev/null || echo 0)
    if [ "$size" -gt 14000000 ]; then return; fi
    { printf '\n===== %s\n' "$1" && tail -c 500000 "$(log_of "$1")"; } >>"$out/log.txt"
}
# attempt STAGE NAME SECONDS command...: runs the command, writes its output to log_of NAME, and adds a row. If `must`
# is set, the output must contain that text, and nothing may have been skipped because of a missing GPU. If `judge` is
# set, that function may change status and detail.
attempt() {
    local stage=$1 name=$2 begin=$SECONDS seconds log status rc detail
    seconds=$(limit "$3") log=$(log_of "$2")
    shift 3
    if [ "$seconds" -lt 1 ]; then
        result "$stage" "$name" "out of time" 0 "not begun"
        return 124
    fi
    timeout -k 5 "$seconds" "$@" </dev/null >"$log" 2>&1
    rc=$?
    detail=$(grep -v '^[[:space:]]*$' "$log" | tail -n 1 | tr '\t' ' ' | cut -c 1-150)
    case $rc in
        0) status=ok ;;
        124 | 137) status="out of time" detail="stopped after $seconds s; last line: $detail" ;;
        *) status=FAILED detail="exit status $rc; last line: $detail" ;;
    esac
    if [ $rc = 0 ] && [ -n "${must-}" ] && grep -m 1 -q -e 'skipped: cuda' -e 'NOT TESTED' "$log"; then
        rc=1 status=FAILED detail=$(grep -m 1 -e 'skipped: cuda' -e 'NOT TESTED' "$log" | cut -c 1-150)
    elif [ $rc = 0 ] && [ -n "${must-}" ] && ! grep -q -e "$must" "$log"; then
        rc=1 status=FAILED detail="it ended well, but its output does not say that anything ran on the GPU"
    fi
    [ -z "${judge-}" ] || "$judge" $rc "$log"
    result "$stage" "$name" "$status" $((SECONDS - begin)) "$detail"
    keep_log "$name"
    return $rc
}
pool() { while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n; done; } # in a subshell, whose jobs are its own

write_page() {
    "$python" tests/harness/bench/gpu_report.py "$out" >"$work/page.log" 2>&1 || result page gpu.md note 0 "$(tail -n 1 "$work/page.log")"
}
# failed STAGE: it has a row that failed.
failed() { awk -F '\t' -v stage="$1" '$1 == stage && $3 == "FAILED" { bad = 1 } END { exit !bad }' "$results"; }
# The GPU still works. A fault of a kernel does not prevent other processes from using it, but a lost device does.
alive() {
    [ $((budget - SECONDS)) -gt 5 ] || return 0
    stage_begin=$SECONDS stage_limit=30
    must='info.*cuda' attempt "$stage" "the GPU after the failure" 30 "$run/xf_bench" train context.device=cuda:0 "preset=tiny" \
        model.vocab_size=64 sentences=2 tokens=4 warmup=0 steps=1
}
# A rented machine returns at most eight files of 16 MiB each.
check_out() {
    local count big
    count=$(find "$out" -type f | wc -l)
    big=$(find "$out" -type f -size +16384k | head -n 1)
    if [ "$count" -gt 8 ] || [ -n "$big" ]; then
        echo "gpu.sh: $count files in $out, at most 8 are expected${big:+; $big is over 16 MiB}" >&2
    fi
}
