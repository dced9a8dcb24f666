# Functions that check a program, for scripts that source this file. Each check is counted; end_checks reports the result.
#
# SPDX-License-Identifier: Apache-2.0
checks=0 failed=0

# expect STATUS WORDS COMMAND...: checks the exit status and that standard error contains WORDS. Writes the output of the
# command to the files stdout and stderr.
expect() {
    local status=$1 words=$2 found
    shift 2
    "$@" >stdout 2>stderr
    found=$?
    checks=$((checks + 1))
    if [ "$found" = "$status" ] && { [ -z "$words" ] || grep -qF -- "$words" stderr; }; then return; fi
    failed=$((failed + 1))
    echo "FAILED: $*: status $found, expected $status and '$words'; standard error:"
    cat stderr
}

# holds WHAT COMMAND...: checks that the command succeeds.
holds() {
    local what=$1
    shift
    checks=$((checks + 1))
    "$@" && return
    failed=$((failed + 1))
    echo "FAILED: $what"
}

# wait_for COMMAND...: repeats the command until it succeeds, for at most 60 s.
wait_for() {
    local i
    for i in $(seq 600); do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}

# end_checks LEAST: returns the result of the script. Fewer checks than LEAST mean that the script ended early.
end_checks() {
    echo "$checks checks, $failed failed"
    test "$checks" -ge "$1" && test "$failed" = 0
}
