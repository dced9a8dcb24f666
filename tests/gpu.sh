#!/usr/bin/env bash
# Builds, checks and measures the CUDA backend on a machine with an NVIDIA GPU: one command, under nine minutes.
#
#     tests/gpu.sh                        all stages: build, check, sanitize, bench
#     tests/gpu.sh build check            these alone (bench and check use what an earlier call built)
#     tests/gpu.sh --collect              on Debian: fills the folder of dependencies, for machines without a registry
#
# Needs nvcc, cmake, ninja or make, g++, and for the comparison a Python with PyTorch. Libraries that are not installed
# are taken from the folder that --collect filled. Every stage has a limit of time; one that runs out of it is reported
# and the next begins. Full logs go to OUT, the tables come last. Exit status: 0 all is well, 1 a check failed, 77 there
# is no GPU or no nvcc.
#
# Environment: OUT (logs, default build/gpu), XF_BUDGET (seconds in all, 520), XF_DEPS (the folder of dependencies,
# .deps), XF_GPU_BUILD (the build, build/gpu-build), PYTHON (python3), XF_COMMIT (what was built, where git can't tell),
# XF_GPU_DRY=1 (a test of this script without a GPU: the emulated one of tests/cuda_host, tiny models).
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
export LC_ALL=C PYTHONUNBUFFERED=1
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
root=$PWD
deps=${XF_DEPS:-.deps}
[[ $deps = /* ]] || deps=$root/$deps
build=${XF_GPU_BUILD:-build/gpu-build}
[[ $build = /* ]] || build=$root/$build
out=${OUT:-build/gpu}
[[ $out = /* ]] || out=$root/$out
python=${PYTHON:-python3}
budget=${XF_BUDGET:-520}
dry=${XF_GPU_DRY:-0}
modules=(libutf8proc libmd RapidJSON cmocka)

die() {
    echo "gpu.sh: $2" >&2
    exit "$1"
}

# What the build needs, unpacked into the folder, with .pc files that hold wherever the folder lies. pkgconf itself is
# there too. No OpenBLAS: its library alone is 56 MB, and the CPU plugin does without.
collect() {
    local packages=(libutf8proc-dev libutf8proc2 libmd-dev libmd0 rapidjson-dev libcmocka-dev libcmocka0
        pkgconf-bin libpkgconf3)
    work=$(mktemp -d) || exit 1
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    (cd "$work" && apt-get -o APT::Sandbox::User=root download -q "${packages[@]}") ||
        die 1 "apt-get could not fetch the packages; does 'apt-get update' help?"
    for package in "$work"/*.deb; do dpkg -x "$package" "$work/root" || exit 1; done
    local from=$work/root/usr
    rm -rf "$deps"
    mkdir -p "$deps/bin" "$deps/lib" "$deps/pkgconfig" || exit 1
    cp -r "$from/include" "$deps/"
    # /lib and /usr/lib are one in Debian, but not in every package.
    find "$work/root" -path '*/lib/*' \( -name 'lib*.so' -o -name 'lib*.so.*' \) -exec cp -P {} "$deps/lib/" \;
    cp "$from/bin/pkgconf" "$deps/bin/"
    local file
    find "$from" -name '*.pc' | while read -r file; do
        # shellcheck disable=SC2016 # ${pcfiledir} is pkgconf's
        sed -e 's|^prefix=.*||' -e 's|-L/usr/lib[^ ]*|-L${pcfiledir}/../lib|' \
            -e 's|-I/usr/include|-I${pcfiledir}/../include|' \
            -e 's|^libdir=.*|libdir=${pcfiledir}/../lib|' -e 's|^includedir=.*|includedir=${pcfiledir}/../include|' \
            -e 's|^exec_prefix=.*||' "$file" >"$deps/pkgconfig/${file##*/}"
    done
    find "$deps/lib" -xtype l -delete
    printf '%s\n' "$work"/*.deb | sed 's|.*/||' >"$deps/packages.txt"
    echo "$deps: $(du -sm "$deps" | cut -f 1) MiB of $(wc -l <"$deps/packages.txt") packages"
}

stages=()
for word in "$@"; do
    case $word in
        --collect) collect && exit 0 ;;
        build | check | sanitize | bench) stages+=("$word") ;;
        *) die 2 "'$word' is none of build, check, sanitize, bench, --collect" ;;
    esac
done
[ ${#stages[@]} -gt 0 ] || stages=(build check sanitize bench)
wanted() { [[ " ${stages[*]} " = *" $1 "* ]]; }

# A GPU and its compiler.
if [ "$dry" = 0 ]; then
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) ||
        die 77 "there is no nvcc on this machine; nothing was built or checked"
    gpu=$(nvidia-smi --query-gpu=name,memory.total,driver_version,compute_cap --format=csv,noheader,nounits \
        2>/dev/null | head -n 1)
    [ -n "$gpu" ] || die 77 "there is no NVIDIA GPU on this machine (or no driver for it); nothing was built or checked"
    export PATH=${nvcc%/*}:$PATH
fi

mkdir -p "$out" "$build" || exit 1
work=$(mktemp -d) || exit 1
results=$out/results.tsv
: >"$results"
warm=() # processes that compile PyTorch's side ahead of its turn
# shellcheck disable=SC2317,SC2329 # called by trap
clean() {
    [ ${#warm[@]} -eq 0 ] || kill "${warm[@]}" 2>/dev/null
    rm -rf "$work"
}
trap clean EXIT

say() { printf '\n== %s  [%s s]\n' "$*" "$SECONDS"; }
limit() { # limit N: at most N seconds, at most what is left
    local rest=$((budget - SECONDS))
    echo $(($1 < rest ? $1 : rest > 1 ? rest : 1))
}
# result STAGE NAME STATUS SECONDS DETAIL: one row of the table. STATUS: info, ok, note, FAILED, out of time.
result() {
    local IFS=$'\t'
    printf '%s\n' "$*" >>"$results"
    printf '%-9s %-12s %4s s  %s: %s\n' "$1" "$3" "$4" "$2" "$5"
}
log_of() { echo "$work/${1//[^A-Za-z0-9_.-]/_}.log"; }
# attempt STAGE NAME SECONDS command...: runs it, its output in log_of NAME, and writes a row. With `must` set, the
# GPU must have been used and the output hold that text; with `judge` set, that function may change status and detail.
attempt() {
    local stage=$1 name=$2 begin=$SECONDS seconds log status rc detail
    seconds=$(limit "$3") log=$(log_of "$2")
    shift 3
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
        status=note detail="it ended well, but its output does not say that anything ran on the GPU"
    fi
    [ -z "${judge-}" ] || "$judge" $rc "$log"
    result "$stage" "$name" "$status" $((SECONDS - begin)) "$detail"
    return $rc
}
pool() { while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n; done; } # in a subshell, whose jobs are its own
# gather FILE NAME...: the logs one after another, each cut to its last 2 MB.
gather() {
    local file=$1 name
    shift
    for name in "$@"; do
        [ -e "$(log_of "$name")" ] || continue
        printf '\n===== %s\n' "$name"
        tail -c 2000000 "$(log_of "$name")"
    done >"$file"
}

# Stage 0: what is here.
say "Machine"
have_torch=0
if torch=$("$python" -c 'import torch; print(torch.__version__, "CUDA", torch.version.cuda)' 2>&1); then
    have_torch=1
else
    torch="none: $(tail -n 1 <<<"$torch")"
fi
commit=${XF_COMMIT:-$(git describe --always --dirty 2>/dev/null || echo unknown)}
result machine commit info 0 "$commit"
result machine host info 0 "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(
    sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release), Linux $(uname -r)"
result machine PyTorch info 0 "$torch"
if [ "$dry" = 0 ]; then
    result machine GPU info 0 "$(sed -E 's/, ([^,]*), ([^,]*), /, \1 MiB, driver \2, compute capability /' <<<"$gpu")"
    result machine nvcc info 0 "$(nvcc --version | sed -n 's/.*release \(.*\)/\1/p')"
    read -r used busy < <(nvidia-smi --query-gpu=memory.used,utilization.gpu --format=csv,noheader,nounits | tr -d ,)
    if [ "${used:-0}" -gt 1000 ] || [ "${busy:-0}" -gt 5 ]; then
        result machine idle note 0 "the GPU is NOT idle: $used MiB in use, $busy % busy; do not quote the times"
    else
        result machine idle info 0 "$used MiB in use, $busy % busy"
    fi
    # The plugin opens cuBLASLt when it runs; where CUDA has none of its own, PyTorch's will do.
    if ! ldconfig -p 2>/dev/null | grep -q 'libcublasLt\.so\.' &&
        ! ls /usr/local/cuda/lib64/libcublasLt.so.* >/dev/null 2>&1; then
        lt=$("$python" -c 'import nvidia; print(*nvidia.__path__)' 2>/dev/null | tr ' ' '\n' |
            xargs -r -I{} find {} -name 'libcublasLt.so.*' 2>/dev/null | head -n 1)
        [ -z "$lt" ] || export LD_LIBRARY_PATH=${lt%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        result machine cuBLASLt info 0 "${lt:-not found}"
    fi
fi

# Stage 1: dependencies, the system's or the folder's.
pkgconf=$(command -v pkg-config || command -v pkgconf)
if [ -n "$pkgconf" ] && "$pkgconf" --exists "${modules[@]}" 2>/dev/null; then
    result machine libraries info 0 "the system's"
elif [ -f "$deps/bin/pkgconf" ]; then
    chmod +x "$deps/bin/pkgconf" 2>/dev/null
    export PKG_CONFIG_LIBDIR=$deps/pkgconfig LD_LIBRARY_PATH=$deps/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
    pkgconf=$deps/bin/pkgconf
    "$pkgconf" --exists --print-errors "${modules[@]}" || die 1 "$deps is not complete; tests/gpu.sh --collect fills it"
    result machine libraries info 0 "$deps"
else
    die 1 "${modules[*]} are not installed and $deps is not there; run tests/gpu.sh --collect on a Debian machine"
fi

export TORCHINDUCTOR_CACHE_DIR=$build/inductor TRITON_CACHE_DIR=$build/triton
bench=("$python" tests/bench/gpu_bench.py --xf-bench "$build/bin/xf_bench" --log "$out/bench.tsv")
[ "$dry" = 0 ] || bench+=(--tiny --torch-device cpu)
[ $have_torch = 1 ] || bench+=(--no-torch)
plugins=$build/lib
if [ "$dry" = 1 ]; then plugins=$build/tests/cuda_host; fi

# torch.compile takes minutes on one core, and its results are kept in a cache: it begins now, beside our own build.
if wanted bench && [ $have_torch = 1 ] && [ "$dry" = 0 ]; then
    for part in 0 1 2 3 4 5; do
        TORCHINDUCTOR_COMPILE_THREADS=2 nice -n 5 timeout -k 5 300 "${bench[@]}" --warm $part/6 </dev/null \
            >"$(log_of "warm $part")" 2>&1 &
        warm+=($!)
    done
fi

# Those that also run on the emulated GPU, and the one that it is too slow for.
device_tests() {
    ctest --test-dir "$build" -N 2>/dev/null | sed -n 's/.*: \(test_.*\)_cuda$/\1/p; s/.*: \(test_train_learning\)$/\1/p'
}

stage_build() {
    local generator=() options=(-DXF_CUDA=OFF) targets=()
    if command -v ninja >/dev/null; then generator=(-G Ninja); fi
    if [ "$dry" = 0 ]; then
        local arch=${gpu##*, } # "9.0": code for this GPU alone, with what only it has from 9.0 on
        arch=${arch/./}
        if [ "$arch" -ge 90 ]; then arch=${arch}a; fi
        options=(-DXF_CUDA=ON "-DXF_CUDA_ARCHITECTURES=$arch-real" "-DCMAKE_CUDA_COMPILER=$nvcc")
    fi
    attempt build configure 60 cmake -S . -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
        "-DPKG_CONFIG_EXECUTABLE=$pkgconf" "${options[@]}" || return
    mapfile -t targets < <(device_tests)
    [ ${#targets[@]} -gt 0 ] || result build "device tests" FAILED 0 "ctest -N names no test_..._cuda"
    if [ "$dry" = 0 ]; then targets+=(xformer_cuda); else targets+=(xformer_cuda_host); fi
    attempt build compile 240 cmake --build "$build" -j "$(nproc)" --target \
        xf_bench translate backend_ops "${targets[@]}"
}

stage_check() (
    export XF_BACKEND_PATH=$plugins:$build/lib
    names=("case list" comparisons)
    XF_TEST_PLUGINS=$plugins/libxformer_cuda.so must='OK.*cuda/base' \
        attempt check "case list" 150 "$build/bin/backend_ops" 'cuda/*' &
    attempt check comparisons 150 "$python" tests/bench/gpu_checks.py "$build/bin" "$results" "$dry" &
    while read -r name; do
        names+=("$name")
        pool 6
        XF_TEST_DEVICES=cuda must='on cuda\|cuda on' attempt check "$name" 150 "$build/bin/$name" &
    done < <(device_tests)
    wait
    gather "$out/checks.log" "${names[@]}"
)

# shellcheck disable=SC2034,SC2317,SC2329 # attempt's variables; called by name
judge_sanitizer() {
    local errors message
    errors=$(grep -cE '^=+ +(Invalid|Misaligned|(Error|Warning): (Potential |Race)|Uninitialized|Barrier|Program hit)' "$2")
    message=$(grep -m 1 -iE '^=+.*(not supported|unable to|failed to|could not)' "$2" | cut -c 1-140)
    if [ "$errors" -gt 0 ]; then
        status=FAILED detail="$errors reports, see sanitize.log"
    elif [ "$1" = 124 ] || [ "$1" = 137 ]; then
        detail="nothing was reported in the time it had"
    elif [ "$1" != 0 ] && [ -n "$message" ]; then
        status=note detail="does not work here: $message"
    fi
}

stage_sanitize() (
    tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
    if [ -z "$tool" ]; then
        result sanitize compute-sanitizer note 0 "is not on this machine"
        return
    fi
    export XF_TEST_PLUGINS=$plugins/libxformer_cuda.so
    for kind in memcheck racecheck; do
        judge=judge_sanitizer attempt sanitize "$kind" 110 "$tool" --tool "$kind" --error-exitcode 99 --print-limit 50 \
            "$build/bin/backend_ops" 'cuda/base/*parity' &
    done
    wait
    gather "$out/sanitize.log" memcheck racecheck
)

# A fault of the GPU ends a process for good: what was begun by then is left out when it is started anew.
stage_bench() {
    local begin=$SECONDS rc=3 status=ok seconds detail
    while [ ${#warm[@]} -gt 0 ] && [ $((SECONDS - begin)) -lt 60 ] && kill -0 "${warm[@]}" 2>/dev/null; do sleep 1; done
    [ ${#warm[@]} -eq 0 ] || kill "${warm[@]}" 2>/dev/null
    wait
    warm=()
    begin=$SECONDS
    : >"$out/bench.tsv"
    for _ in 1 2 3; do
        seconds=$(($(limit 1000) - 10))
        if [ "$seconds" -le 20 ] || [ $rc -lt 3 ]; then break; fi
        XF_BACKEND_PATH=$plugins:$build/lib timeout -k 5 "$seconds" "${bench[@]}" --seconds $((seconds - 15)) </dev/null \
            >>"$(log_of bench)" 2>&1
        rc=$?
        if [ $rc = 124 ] || [ $rc = 137 ]; then break; fi
    done
    case $rc in 0) ;; 124 | 137) status="out of time" ;; 1) status=FAILED ;; *) status=note ;; esac
    detail=$(tail -n 1 "$(log_of bench)" | tr '\t' ' ' | cut -c 1-150)
    result bench "all cases" "$status" $((SECONDS - begin)) "$detail"
    gather "$out/bench.log" bench "warm 0" "warm 1" "warm 2" "warm 3" "warm 4" "warm 5"
}

if wanted build; then
    say "Build"
    stage_build
    gather "$out/build.log" configure compile
fi
if [ -x "$build/bin/backend_ops" ]; then
    if wanted check || wanted sanitize; then say "Checks"; fi
    sanitizer=()
    if wanted sanitize; then
        stage_sanitize &
        sanitizer=($!)
    fi
    if wanted check; then stage_check; fi
    [ ${#sanitizer[@]} -eq 0 ] || wait "${sanitizer[@]}"
    if wanted bench; then
        say "Benchmarks"
        stage_bench
    fi
else
    result build "programs" FAILED 0 "$build/bin/backend_ops is not there; build.log says why"
fi

say "Results; all of it is in $out"
"$python" tests/bench/gpu_report.py "$results" "$out/bench.tsv" "$out/gpu.md" ||
    cat "$results"
# A check that did not end has not passed; a sanitizer or a benchmark that did not end is no defect.
! awk -F '\t' '$3 == "FAILED" || ($3 == "out of time" && $1 ~ /build|check/) { bad = 1 } END { exit !bad }' "$results"
