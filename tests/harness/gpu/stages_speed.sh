# Stages of tests/gpu.sh that measure. Sourced. Numbers go to OUT/bench.tsv (gpu_bench.py) and OUT/kernels.tsv;
# gpu_report.py makes tables of them.
#
# SPDX-License-Identifier: Apache-2.0
tiny=()
[ $dry = 0 ] || tiny=(--tiny --torch-device cpu)
gpu_bench() { # gpu_bench STAGE NAME SECONDS option...
    local stage=$1 name=$2 seconds
    seconds=$(limit "$3")
    shift 3
    attempt "$stage" "$name" "$seconds" env "LD_LIBRARY_PATH=$XF_OTHERS_LIBRARY_PATH" "$python" tests/harness/bench/gpu_bench.py --xf-bench "$run/xf_bench" \
        --log "$out/bench.tsv" --seconds $((seconds - 5)) "${tiny[@]}" "$@"
}

# A fault of the GPU ends a process permanently: a restarted process skips the measurements that had begun.
# Decoding also with cuBLASLt's products instead of our own, and with dependent launches (cuda/dependent.cuh).
stage_bars() {
    local step=$check/../step
    if [ $dry = 1 ]; then
        step=$work/step
        mkdir -p "$step"/{by_cuBLASLt,dependent_launch}
        for step in "$step"/*; do ln -sf "$plugins/libxformer_cuda.so" "$step/"; done
        step=$work/step
    fi
    local options=(--no-torch --bars)
    if [ -d "$step" ]; then options+=(--step "$step"); fi
    gpu_bench bars bars "$stage_limit" "${options[@]}" || [ $? = 1 ] || gpu_bench bars "bars, the rest" "$stage_limit" "${options[@]}"
}

stage_kernels() {
    local library=$check/../lib/libgpu_kernels.so common=(context.device=cuda:0 context.precision=bf16) case
    local preset=base sentences=782 sources=8 tokens=25 steps=5
    if [ $dry = 1 ]; then preset=tiny sentences=2 sources=1 tokens=3 steps=1 library=/dev/null; fi
    if [ ! -e "$library" ]; then
        result kernels CUPTI note 0 "its client was not built, for want of CUPTI"
        return
    fi
    "$run/xf_bench" init "model=$work/model" "sources=$work/sources" "preset=$preset" "sentences=$sources" "tokens=$tokens" \
        context.device=cpu >/dev/null 2>&1
    for case in train decode; do
        local program=("$run/xf_bench" train "${common[@]}" "preset=$preset" "sentences=$sentences" "tokens=$((tokens + 7))" warmup=2 "steps=$steps")
        if [ $case = decode ]; then
            program=("$run/xf_bench" decode "${common[@]}" "model=$work/model" "sources=$work/sources" warmup=$((steps > 1)) passes=1
                decode.beam=4 decode.batch_sentences=1 decode.max_extra_tokens=0)
        fi
        CUDA_INJECTION64_PATH=$library XF_KERNEL_TIMES=$work/kernels.$case attempt kernels "$case" 15 "${program[@]}"
        if [ -s "$work/kernels.$case" ]; then
            sed "s/^/$case\t/" "$work/kernels.$case" >>"$out/kernels.tsv"
        else
            result kernels "CUPTI, $case" note 0 "told of no kernel"
        fi
    done
}

stage_batches() {
    local tokens=0 steps=100 preset=(tokenizer.vocab_size=8000 preset=base) data=examples/translate/data/small.tsv
    if [ $dry = 1 ]; then
        steps=1 preset=(tokenizer.vocab_size=300 preset=tiny) data=$work/few.tsv
        head -n 60 examples/translate/data/small.tsv >"$data"
    fi
    for tokens in 4096 25000; do
        if [ $dry = 1 ]; then tokens=$((40 + tokens / 1000)); fi
        attempt batches "a file of $steps batches of $tokens tokens" 20 "$run/dump_batches" "train=$data" \
            "dev=examples/translate/data/small.test.tsv" "model=$work/fresh" "batches=$state/batches.$tokens" \
            "dev_batches=$work/dev_batches" "count=$steps" "${preset[@]}" "data.batch_tokens=$tokens" context.device=cpu || return
        gpu_bench batches "real lengths, $tokens tokens" 40 --no-torch --mixed "$state/batches.$tokens" --count "$steps"
        [ $dry = 0 ] || return 0
    done
}

stage_profiles() {
    local tool kernel mode common=(context.device=cuda:0 context.precision=bf16) preset=base sentences=128 tokens=25
    tool=$(tool_of ncu)
    if [ -z "$tool" ]; then
        result profiles ncu note 0 "is not on this machine"
        return
    fi
    if [ $dry = 1 ]; then preset=tiny sentences=2 tokens=3; fi
    "$run/xf_bench" init "model=$work/model" "sources=$work/sources" "preset=$preset" sentences=1 "tokens=$tokens" \
        context.device=cpu >/dev/null 2>&1
    for kernel in "${profiled[@]}"; do
        mode=(train "preset=$preset" "sentences=$sentences" "tokens=$((tokens + 7))" warmup=0 steps=2)
        [[ $kernel != attention_step* ]] || mode=(decode "model=$work/model" "sources=$work/sources" warmup=0 passes=1 decode.beam=4)
        attempt profiles "$kernel" 40 "$tool" --set full --clock-control none --kernel-name "regex:$kernel" \
            --launch-skip 3 --launch-count 1 "$run/xf_bench" "${mode[@]}" "${common[@]}"
        grep -q "$kernel.*Context\|$kernel.*Duration" "$(log_of "$kernel")" || result profiles "$kernel" note 0 "was not met"
    done
}
profiled=(forward_mma backward_mma kept_row_kernel warp_bwd_kernel attention_step_64)

have_torch() {
    if LD_LIBRARY_PATH=$XF_OTHERS_LIBRARY_PATH "$python" -c 'import torch' 2>/dev/null; then return; fi
    result "$1" PyTorch note 0 "is not on this machine; nothing was compared"
    return 1
}

# torch.compile takes minutes on one core; its output is cached. Nothing else runs during that time.
stage_compile() (
    have_torch compile || return
    for part in 0 1 2 3 4 5; do
        TORCHINDUCTOR_COMPILE_THREADS=2 gpu_bench compile "systems $part/6" "$stage_limit" "${peers[@]}" --warm $part/6 &
    done
    wait
)
stage_torch() {
    have_torch torch || return
    gpu_bench torch "${peers[1]-all} cases" "$stage_limit" "${peers[@]}" || [ $? = 1 ] || gpu_bench torch "the rest" "$stage_limit" "${peers[@]}"
}
peers=()
[ "$call" != short ] || peers=(--cases 1)
export TORCHINDUCTOR_CACHE_DIR=$state/inductor TRITON_CACHE_DIR=$state/triton
