#!/usr/bin/env bash
# Makes system calls fail with strace, from outside the process, including those of the C library and the loader, which
# the program itself cannot intercept. Also limits the address space.
#
#     tests/harness/fault/strace.sh BUILD [DEVICE [STEP]]
#
# Fails each system call of a short program (life.c) after the start of main(), one at a time (every STEP-th), with each
# errno. The process must end by itself, with a result or with an error message; the checkpoint must then be the
# complete old or new one. Prints a row for tests/harness/evidence/ledger.tsv at the end.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=$(cd "$1" && pwd)
device=${2:-cpu:openblas}
step=${3:-1}
life=$build/bin/fault_life
command -v strace >/dev/null || {
    echo "strace.sh: strace is not installed" >&2
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
begin=$SECONDS

# Not brk, which reports failure by returning the old end, nor futex, whose errors are valid only for some of its uses.
calls='openat EACCES EIO EMFILE ENFILE ENOMEM ENOSPC EROFS EINTR
read EIO EINTR
pread64 EIO EINTR
pwrite64 EIO EDQUOT EFBIG ENOSPC EINTR
fallocate ENOSPC EDQUOT EOPNOTSUPP EINTR
fsync EIO ENOSPC EDQUOT
close EIO EINTR ENOSPC
newfstatat EACCES EIO ENOMEM
renameat EACCES EIO ENOSPC EROFS
linkat EACCES EMLINK EPERM ENOSPC
unlinkat EACCES EIO EROFS
getdents64 EIO ENOENT
flock EINTR ENOLCK
access EACCES EIO
mmap ENOMEM EAGAIN
munmap ENOMEM
mprotect ENOMEM EACCES
madvise ENOMEM EAGAIN
clone3 EAGAIN ENOMEM
sched_getaffinity EPERM EINVAL
getrandom EAGAIN EINTR
rt_sigprocmask EINVAL'

mkdir "$work/files" "$work/new" "$work/at"
printf 'one two three\teins zwei drei\nfour\tvier\ntwo three\tzwei drei\none four two\teins vier zwei\n' >"$work/files/corpus"
"$life" "$work/files" "$device" make >/dev/null
cp "$work/files/"* "$work/new"
"$life" "$work/new" "$device" >/dev/null

runs=0 refused=0 bad=0

# judge STATUS WHAT: checks a run in $work/at, whose output is in $work/said.
judge() {
    runs=$((runs + 1))
    local why=
    case $1 in
        0) ;;
        3) refused=$((refused + 1)) ;;
        124 | 137) why="hangs" ;;
        *) why="ends with $1" ;;
    esac
    if [ -z "$why" ] && ! cmp -s "$work/at/checkpoint" "$work/files/checkpoint" &&
        ! cmp -s "$work/at/checkpoint" "$work/new/checkpoint"; then
        why="leaves another checkpoint"
    fi
    if [ "$1" = 0 ] && ! cmp -s "$work/at/checkpoint" "$work/new/checkpoint"; then why="is fine, and did not save"; fi
    [ -z "$why" ] && return
    bad=$((bad + 1))
    echo "$2: $why: $(head -c 300 "$work/said")"
}

while read -r call errors; do
    # System calls before main() do not belong to the library.
    strace -f -qq -e trace="$call" -o "$work/trace" "$life" >/dev/null
    before=$(grep -c "$call(" "$work/trace" || true)
    for error in $errors; do
        for ((n = before + 1; ; n += step)); do
            rm -rf "$work/at" && cp -r "$work/files" "$work/at"
            status=0
            timeout -s KILL 20 strace -f -qq -e trace="$call" -e inject="$call:error=$error:when=$n" -o "$work/trace" \
                "$life" "$work/at" "$device" >"$work/said" 2>&1 || status=$?
            grep -q INJECTED "$work/trace" || break
            judge "$status" "$call $n $error"
        done
    done
done <<<"$calls"

# Address space: from too little to load the plugin to more than enough.
for ((kib = 20000; kib < 600000; kib += 4000 * step)); do
    rm -rf "$work/at" && cp -r "$work/files" "$work/at"
    status=0
    (ulimit -v "$kib" && exec timeout -s KILL 20 "$life" "$work/at" "$device") >"$work/said" 2>&1 || status=$?
    # The loader itself may run out of memory for the libraries of the program.
    [ "$status" = 127 ] && grep -q 'shared libraries' "$work/said" && continue
    judge "$status" "$kib KiB of address space"
done

echo "$runs runs on $device: $refused refused, $bad bad"
printf '%s\t%s\t%s\t%d\t%d\t-\t%s\n' "$(date +%F)" "$(git rev-parse --short HEAD)" "strace.sh $device" "$runs" \
    $((SECONDS - begin)) "$refused refused with a sentence, $bad bad" | tee "$work/row"
[ "$bad" -eq 0 ]
