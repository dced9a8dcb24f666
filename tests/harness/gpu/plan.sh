# The calls of tests/gpu.sh: their stages, the limit of each in seconds, and a description. Sourced. Each call takes at
# most 570 seconds, because a call may take ten minutes. Calls 1, 3, 2, and 4 together take at most 28 minutes, because a
# machine may be rented for 30. `short` is one call for a visit of 15 minutes, of which the rest is for the start of the
# machine and to repeat stages after a fix.
#
# SPDX-License-Identifier: Apache-2.0
plan=(
    "1 warm 60 the first work for the GPU, which loads the driver and cuBLASLt; if it fails, the call ends"
    "1 facts 20 the machine, the parts of CUDA that it has, and that the programs start"
    "1 steps 20 three steps of a tiny model, fp32 and bf16; a failure again with CUDA_LAUNCH_BLOCKING"
    "1 parity 150 every operation beside the CPU, the row sweep, the tests of devices, the same bits in two processes"
    "1 bars 130 the cases of docs/benchmarks/gpu.md that have a bar, without PyTorch; decoding also by cuBLASLt, and with dependent launches"
    "1 kernels 30 the time of each kernel of a step and of decoding, by CUPTI"
    "1 batches 70 100 batches of real lengths, twice"
    "3 warm 60 as in call 1"
    "3 facts 15 as in call 1"
    "3 compile 120 torch.compile of the peers, kept for the next stage"
    "3 torch 280 every case of the benchmark beside PyTorch, in turn"
    "2 warm 60 as in call 1"
    "2 facts 15 as in call 1"
    "2 sanitize 240 memcheck, racecheck, initcheck and synccheck on our kernels"
    "2 profiles 80 Nsight Compute on five kernels"
    "4 warm 60 as in call 1"
    "4 facts 15 as in call 1"
    "4 ende 390 Table 2, en-de: base, BPE, as many updates as the time allows, averaged; BLEU on dev and test; the model is left in OUT"
    "short warm 60 as in call 1"
    "short facts 15 as in call 1"
    "short steps 20 as in call 1"
    "short parity 120 as in call 1"
    "short bars 110 as in call 1"
    "short kernels 30 as in call 1"
    "short compile 90 torch.compile of the peers of the first case"
    "short torch 110 the first case beside PyTorch"
)
calls=(1 3 2 4) # in this order

# stages_of CALL: its stages and their limits
stages_of() { printf '%s\n' "${plan[@]}" | awk -v call="$1" '$1 == call { print $2, $3 }'; }
limit_of() { printf '%s\n' "${plan[@]}" | awk -v stage="$1" '$2 == stage { print $3; found = 1; exit } END { exit !found }'; }
show_plan() {
    printf '%s\n' "${plan[@]}" | awk '
        function total() { printf "call %s: %d s of 600\n\n", call, all; if (call != "short") visit += all - (call != 1) * warm }
        $1 != call { if (call) total(); call = $1; all = 0 }
        { all += $3; line = "  " sprintf("%-9s", $2) sprintf("%4d s  ", $3); for (i = 4; i <= NF; ++i) line = line " " $i; print line }
        $2 == "warm" { warm = $3 }
        END { total(); printf "calls 1, 3, 2, and 4 on one machine, which is warmed up once: %d s of 1680\n", visit }'
}
