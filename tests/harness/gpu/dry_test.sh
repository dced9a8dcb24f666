#!/usr/bin/env bash
# Tests tests/gpu.sh on a machine without a GPU: a dry run of every stage passes, and errors are reported.
#
#     dry_test.sh BUILD FOLDER      FOLDER is emptied first
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
build=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/stubs" || exit 1
export XF_GPU_BUILD=$build XF_STATE=$folder/state
failures=0
expect() { # expect TEXT command...
    local text=$1
    shift
    "$@" || { echo "FAILED: $text" && failures=$((failures + 1)); }
}
has() { grep -qP "$2" "$folder/$1/results.tsv"; }
gpu() { # gpu NAME argument...: returns its exit status; its output is in FOLDER/NAME
    local name=$1
    shift
    OUT=$folder/$name tests/gpu.sh "$@" >"$folder/$name.log" 2>&1
    echo $? >"$folder/$name.rc"
}
ended() { [ "$(cat "$folder/$1.rc")" = "$2" ] || { tail -n 25 "$folder/$1.log" && return 1; }; }

gpu first --dry-run 1 &
gpu others --dry-run 2 3 4
XF_STUB_FINDS=racecheck gpu races --dry-run sanitize
XF_BUDGET=0 gpu late --dry-run parity

# Prepared programs instead of a build, as on the machine with the GPU: here the GPU is the plugin of the emulation.
# Also a program that fails until the host waits for its kernels, and one that never starts the device.
for tool in nvidia-smi compute-sanitizer ncu; do ln -s "$PWD/tests/harness/gpu/stub.sh" "$folder/stubs/$tool"; done
for name in whole broken dead; do
    mkdir -p "$folder/$name.carry"/{run/bin,run/lib,check/bin}
    ln -s "$build/tests/harness/cuda_host/libxformer_cuda.so" "$folder/$name.carry/run/lib/"
    printf 'commit test\nsource %s\n' "$PWD" >"$folder/$name.carry/run/built.txt"
done
ln -s "$build/bin/xf_bench" "$folder/whole.carry/run/bin/"
cat >"$folder/broken.carry/run/bin/xf_bench" <<P
#!/bin/sh
case "\$*" in *precision=bf16*) [ -n "\$CUDA_LAUNCH_BLOCKING" ] || exit 3 ;; esac
exec $build/bin/xf_bench "\$@"
P
printf '#!/bin/sh\n[ $# = 0 ] && echo usage\nexit 3\n' >"$folder/dead.carry/run/bin/xf_bench"
chmod +x "$folder"/{broken,dead}.carry/run/bin/xf_bench
for name in whole broken dead; do for part in run check; do
    tar -C "$folder/$name.carry" -chf - $part | xz -0 >"$folder/$name.carry/$part.tar.xz" && rm -r "$folder/$name.carry/$part"
done; done
for name in whole broken; do PATH=$folder/stubs:$PATH NVCC='' XF_CARRY=$folder/$name.carry gpu $name warm facts steps kernels; done
PATH=$folder/stubs:$PATH NVCC='' XF_CARRY=$folder/dead.carry gpu dead 1
PATH=$folder/stubs:$PATH NVCC='' XF_CARRY=$folder/none gpu none facts
wait

expect "call 1 passes" ended first 0
expect "calls 2 to 4 pass" ended others 0
for stage in warm facts steps parity bars kernels batches; do expect "$stage is well" has first "^$stage\t[^\t]*\tok\t"; done
for stage in facts sanitize profiles ende enfr small; do expect "$stage is well" has others "^$stage\t[^\t]*\tok\t"; done
expect "nothing failed or was late" bash -c "! grep -hP '\t(FAILED|out of time)\t' '$folder'/{first,others}/results.tsv"
for tool in memcheck racecheck initcheck synccheck; do
    expect "$tool proves that it sees" has others "^sanitize\t$tool, planted, [^\t]*\tok\t"
    expect "$tool has every operation" has others "^sanitize\t$tool, all operations\tok\t"
done
expect "five kernels are profiled" [ "$(grep -cP '^profiles\t[^\t]*\tok\t' "$folder/others/results.tsv")" = 5 ]
expect "none is missed" bash -c "! grep '^profiles.*was not met' '$folder/others/results.tsv'"
for name in by_cuBLASLt dependent_launch; do
    expect "decoding is measured $name" grep -q $'^decode .*, '$name$'\tstep\t' "$folder/first/bench.tsv"
done
expect "the page of a dry run says so" grep -q 'A dry run' "$folder/first/gpu.md"
for name in first others; do
    expect "$name: eight files at most" [ "$(find "$folder/$name" -type f | wc -l)" -le 8 ]
done
expect "a call's stages fit into it" [ "$(tests/gpu.sh --plan | grep -c '^call [1-4]: [45][0-7][0-9] s of 600')" = 4 ]

expect "a race is a failure" ended races 1
expect "it is told" has races '^sanitize\tracecheck, all operations\tFAILED\t'
expect "memcheck continues" has races '^sanitize\tmemcheck, all operations\tok\t'
expect "a check that was not begun has not passed" ended late 1
expect "it is told" has late '^parity\t[^\t]*\tout of time\t'
expect "carried programs run" ended whole 0
expect "what was not built is said" has whole '^kernels\tCUPTI\tnote\t'
expect "a step that fails is a failure" ended broken 1
expect "it is tried again, each kernel waited for" has broken '^steps\tthe same, bf16, [^\t]*\tok\t'
expect "a device that does not start ends the call" ended dead 1
expect "its error is reported" has dead '^warm\t[^\t]*\tFAILED\t'
expect "nothing else is tried" bash -c "! grep -qE '^(facts|steps|parity|bars)' '$folder/dead/results.tsv'"
expect "no programs: nothing was tested" ended none 77
echo "$failures failures"
[ $failures = 0 ]
