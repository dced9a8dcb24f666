# Stages of tests/gpu.sh that find faults. Sourced.
#
# SPDX-License-Identifier: Apache-2.0
# No time is measured. Later stages have limits that assume a warm disk and driver.
stage_warm() {
    must='info.*cuda' attempt warm "three steps" 60 "$run/xf_bench" train context.device=cuda:0 "preset=tiny" \
        model.vocab_size=300 sentences=7 tokens=9 warmup=0 steps=3 || no_device=1
}

stage_facts() {
    local used busy name tool
    result facts commit info 0 "$(git describe --always --dirty 2>/dev/null || echo "see build")"
    result facts host info 0 "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(
        sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release), Linux $(uname -r)"
    result facts GPU info 0 "$(sed -E 's/, ([^,]*), ([^,]*), /, \1 MiB, driver \2, compute capability /' <<<"$gpu")"
    read -r used busy < <(nvidia-smi --query-gpu=memory.used,utilization.gpu --format=csv,noheader,nounits | tr -d ,)
    if [ "${used:-0}" -gt 1000 ] || [ "${busy:-0}" -gt 5 ]; then
        result facts idle note 0 "the GPU is NOT idle: $used MiB in use, $busy % busy; do not quote the times"
    else
        result facts idle info 0 "$used MiB in use, $busy % busy"
    fi
    result facts nvcc info 0 "$([ -n "$nvcc" ] && "$nvcc" --version | sed -n 's/.*release \(.*\)/\1/p' || echo none)"
    for name in libcublasLt libcupti; do
        result facts $name info 0 "$(ldconfig -p 2>/dev/null | sed -n "s/.*$name.so.* => //p" | head -n 1 | grep . || folder_of $name | grep . || echo none)"
    done
    for name in compute-sanitizer ncu; do
        tool=$(tool_of $name)
        result facts $name info 0 "${tool:-none}"
    done
    result facts PyTorch info 0 "$("$python" -c 'import importlib.metadata as m; print(m.version("torch"))' 2>/dev/null || echo none)"
    must='cuda' attempt facts "the plugin" 15 "$run/xf_bench" train context.device=cuda:0 "preset=tiny" model.vocab_size=64 \
        sentences=2 tokens=4 warmup=0 steps=1
    if grep -q 'no cuBLASLt' "$(log_of "the plugin")"; then
        result facts cuBLASLt FAILED 0 "the plugin found none: own kernels compute all products, so no time is worth a look"
    fi
}

tool_of() { # the path of a tool of NVIDIA, even if it is not in PATH
    command -v "$1" || ls "/usr/local/cuda/bin/$1" /opt/nvidia/nsight-compute/*/"$1" 2>/dev/null | tail -n 1
}

# The first work for a GPU. If it fails, the second attempt shows which kernel failed, because it waits for each.
stage_steps() {
    local precision steps
    for precision in fp32 bf16; do
        steps=("$run/xf_bench" train context.device=cuda:0 "context.precision=$precision" preset=tiny
            model.vocab_size=300 sentences=7 tokens=9 warmup=0 steps=3)
        must='info.*cuda' attempt steps "three steps, $precision" 12 "${steps[@]}" ||
            CUDA_LAUNCH_BLOCKING=1 attempt steps "the same, $precision, each kernel waited for" 12 "${steps[@]}"
    done
}

# Parity, row invariance, etc. of each operation; the device tests; the same results in two processes.
stage_parity() (
    export XF_TEST_PLUGINS=$plugins/libxformer_cuda.so
    must='OK.*cuda' attempt parity "case list" "$stage_limit" "$check/backend_ops" "${dry_cases:-cuda/*}" '*/sweep' &
    # Every number of rows of the products that decoding uses.
    must='OK.*cuda' attempt parity "row sweep" "$stage_limit" "$check/backend_ops" "${dry_cases:-cuda/*/sweep}" &
    attempt parity comparisons "$stage_limit" "$python" tests/harness/bench/gpu_checks.py "$run" "$results" $dry &
    # The memory ordering of the GPU determines whether dependent launches are correct: repeats decoding and training
    # with them.
    if [ -d "$check/../step/dependent_launch" ]; then
        for name in "unit_decode batch" "unit_decode request" "golden parity"; do
            if [ ! -x "$check/${name% *}" ]; then continue; fi
            # shellcheck disable=SC2086 # a program and its argument
            XF_BACKEND_PATH=$check/../step/dependent_launch:$XF_BACKEND_PATH XF_TEST_DEVICES=cuda must='on cuda\|cuda on' \
                attempt parity "$name, dependent launches" "$stage_limit" "$check"/$name &
        done
    fi
    while read -r name; do
        pool 6
        # shellcheck disable=SC2086 # a program and its argument
        XF_TEST_DEVICES=cuda must='on cuda\|cuda on' attempt parity "$name" "$stage_limit" "$check"/$name &
    done <"$tests"
    wait
)

# shellcheck disable=SC2034,SC2317,SC2329 # attempt's variables; called by name
judge_sanitizer() {
    local errors message
    errors=$(grep -cE '^=+ +(Invalid|Misaligned|(Error|Warning): (Potential |Race)|Uninitialized|Barrier|Divergent|Program hit)' "$2")
    message=$(grep -m 1 -iE '^=+.*(not supported|unable to|failed to|could not)' "$2" | cut -c 1-140)
    if [ "$errors" -gt 0 ]; then
        status=FAILED detail="$errors reports, see log.txt"
    elif [ "$1" = 124 ] || [ "$1" = 137 ]; then
        detail="nothing was reported in the time it had"
    elif [ "$1" != 0 ] && [ -n "$message" ]; then
        status=note detail="does not work here: $message"
    fi
}
# shellcheck disable=SC2034,SC2317,SC2329
judge_planted() { # inverted: the planted faults must be reported
    if grep -qE '^=+ +(Invalid|(Error|Warning): (Potential |Race)|Uninitialized|Barrier|Divergent)' "$2"; then
        status=ok detail="found what was planted"
    else
        status=note detail="did not find what was planted; its silence says nothing"
    fi
}

# Selects our kernels: their names contain the namespace, those of cuBLASLt do not.
stage_sanitize() (
    tool=$(tool_of compute-sanitizer)
    if [ -z "$tool" ]; then
        result sanitize compute-sanitizer note 0 "is not on this machine"
        return
    fi
    export XF_TEST_PLUGINS=$plugins/libxformer_cuda.so
    for kind in memcheck racecheck initcheck synccheck; do
        (
            common=("$tool" --tool "$kind" --error-exitcode 99 --print-limit 50)
            # Mangled names. If this version expects demangled ones, the planted fault is not reported.
            for filter in kernel_substring=xf4cuda kernel_substring=xf::cuda; do
                judge=judge_planted attempt sanitize "$kind, planted, $filter" 40 "${common[@]}" --kernel-name $filter \
                    "$check/gpu_planted" $kind
                grep -q "$kind, planted, $filter.ok" "$results" && break
            done
            grep -q "$kind, planted, $filter.ok" "$results" && common+=(--kernel-name $filter)
            judge=judge_sanitizer attempt sanitize "$kind, a step" 90 "${common[@]}" "$run/xf_bench" train \
                context.device=cuda:0 context.precision=bf16 preset=tiny model.vocab_size=300 \
                sentences=7 tokens=9 warmup=0 steps=2
            judge=judge_sanitizer attempt sanitize "$kind, all operations" "$stage_limit" "${common[@]}" "$check/backend_ops" 'cuda/base/*parity'
        ) &
    done
    wait
)
