# Checks of a program from outside, for the scripts that source this file: each check counts, and end_checks() tells.
#
# SPDX-License-Identifier: Apache-2.0
checks=0 failed=0

# expect STATUS WORDS COMMAND...: the exit status, and words that standard error holds. Leaves stdout and stderr.
expect() {
    local status=$1 words=$2 found
    shift 2
    "$@" >stdout 2>stderr
    found=$?
    checks=$((checks + 1))
    if [ "$found" = "$status" ] && { [ -z "$words" ] || grep -qF -- "$words" stderr; }; then return; fi
    failed=$((failed + 1))
    echo "FAILED: $*: status $found, expected $status with '$words'; it said:"
    cat stderr
}

# holds WHAT COMMAND...: the command succeeds.
holds() {
    local what=$1
    shift
    checks=$((checks + 1))
    "$@" && return
    failed=$((failed + 1))
    echo "FAILED: $what"
}

# wait_for COMMAND...: until the command succeeds; 60 s at most.
wait_for() {
    local i
    for i in $(seq 600); do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}

# end_checks LEAST: the result of the script; fewer checks than LEAST mean that it did not come to its end.
end_checks() {
    echo "$checks checks, $failed failed"
    test "$checks" -ge "$1" && test "$failed" = 0
}
