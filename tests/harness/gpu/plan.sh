# The calls of tests/gpu.sh: their stages, the limit of each in seconds, and a description. Sourced. The sum of a call
# is at most 570 seconds, because a call may take ten minutes.
#
# SPDX-License-Identifier: Apache-2.0
plan=(
    "1 warm 60 the first work for the GPU, which loads the driver and cuBLASLt; if it fails, the call ends"
    "1 facts 20 the machine, the parts of CUDA that it has, and that the programs start"
    "1 steps 30 three steps of a tiny model, fp32 and bf16; a failure again with CUDA_LAUNCH_BLOCKING"
    "1 parity 140 every operation beside the CPU, row invariance, the tests of devices, the same bits in two processes"
    "1 bars 150 the cases of docs/benchmarks/gpu.md that have a bar, without PyTorch; decoding also by cuBLASLt, and with dependent launches"
    "1 kernels 30 the time of each kernel of a step and of decoding, by CUPTI"
    "1 batches 90 100 batches of real lengths, twice"
    "2 warm 60 as in call 1"
    "2 facts 20 as in call 1"
    "2 sanitize 310 memcheck, racecheck, initcheck and synccheck on our kernels"
    "2 profiles 180 Nsight Compute on five kernels"
    "3 warm 60 as in call 1"
    "3 facts 20 as in call 1"
    "3 compile 150 torch.compile of the peers, kept for the next stage"
    "3 torch 340 every case of the benchmark beside PyTorch, in turn"
    "4 warm 60 as in call 1"
    "4 facts 20 as in call 1"
    "4 ende 180 Table 2, en-de: base, BPE, as many updates as the time allows, averaged; BLEU on dev and test"
    "4 enfr 180 the same for en-fr with 32,000 word pieces"
    "4 small 130 a model of the size of en-de.xf, beside it on the same sets; small.xf is left in OUT"
)

stages_of() { printf '%s\n' "${plan[@]}" | awk -v call="$1" '$1 == call { print $2 }'; }
limit_of() { printf '%s\n' "${plan[@]}" | awk -v stage="$1" '$2 == stage { print $3; found = 1; exit } END { exit !found }'; }
show_plan() {
    printf '%s\n' "${plan[@]}" | awk '
        $1 != call { if (call) printf "call %d: %d s of 600\n\n", call, all; call = $1; all = 0 }
        { all += $3; line = "  " sprintf("%-9s", $2) sprintf("%4d s  ", $3); for (i = 4; i <= NF; ++i) line = line " " $i; print line }
        END { printf "call %d: %d s of 600\n", call, all }'
}
