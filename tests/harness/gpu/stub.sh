#!/usr/bin/env bash
# Replaces a tool of NVIDIA in dry runs of tests/gpu.sh, under its name: prints the same output, and rejects arguments
# that the tool would reject, or the lack of required ones.
#
# SPDX-License-Identifier: Apache-2.0
all=" $* "
die() {
    echo "${0##*/} (stub): $1: $all" >&2
    exit 64
}
case ${0##*/} in
    nvidia-smi)
        case $all in
            *" --query-gpu=name,memory.total,driver_version,compute_cap "*) echo "Emulated GPU, 80000, 580.0, 9.0" ;;
            *" --query-gpu=memory.used,utilization.gpu "*) echo "0, 0" ;;
            *) die "a query that it does not know" ;;
        esac ;;
    compute-sanitizer)
        [[ $all =~ \ --tool\ (memcheck|racecheck|initcheck|synccheck)\  ]] || die "no tool"
        [[ $all =~ \ --kernel-name\ kernel_substring=([^ ]+)\  ]] || die "not on our kernels only"
        filter=${BASH_REMATCH[1]}
        [[ $all = *" --error-exitcode 99 "* ]] || die "errors would pass"
        while [[ $1 = --* ]]; do shift 2; done
        if [[ ${1##*/} = gpu_planted ]]; then # mangled names; a filter of demangled names matches nothing
            if [[ _ZN2xf4cuda16planted = *"$filter"* ]]; then
                echo "========= Invalid __global__ write of size 4 bytes"
                exit 99
            fi
            exit 0
        fi
        [ -x "$1" ] || die "$1 is no program"
        echo "========= COMPUTE-SANITIZER"
        if [[ ${1##*/} = xf_bench && $all = *" --tool memcheck "* ]]; then "$@" || exit; fi
        if [[ -n ${XF_STUB_FINDS-} && $all = *" --tool $XF_STUB_FINDS "* ]]; then # for dry_test.sh
            echo "========= Error: Race reported between Write access and Read access"
            exit 99
        fi
        echo "========= ERROR SUMMARY: 0 errors" ;;
    ncu)
        [[ $all =~ \ --kernel-name\ regex:([^ ]+)\  ]] || die "no kernel"
        kernel=${BASH_REMATCH[1]}
        [[ $all = *" --clock-control none "* ]] || die "it would set the clocks"
        grep -rqE "\b$kernel\(" --include='*.cu*' cuda || die "cuda/ has no such kernel"
        while [[ $1 != */* ]]; do shift; done
        [ -x "$1" ] || die "$1 is no program"
        echo "  xf::cuda::$kernel: Duration usecond 1" ;;
    *) die "which tool is this?" ;;
esac
