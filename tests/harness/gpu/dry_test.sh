#!/usr/bin/env bash
# Tests tests/gpu.sh on a machine without a GPU: a dry run of every stage passes, errors are reported, and a call that was
# cut continues.
#
#     dry_test.sh BUILD FOLDER      FOLDER is emptied first
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
build=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/stubs" || exit 1
export XF_GPU_BUILD=$build TMPDIR=$folder
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
    OUT=$folder/$name XF_STATE=${state:-$folder/$name.state} "${tree:-.}"/tests/gpu.sh "$@" >"$folder/$name.log" 2>&1
    echo $? >"$folder/$name.rc"
}
ended() { [ "$(cat "$folder/$1.rc")" = "$2" ] || { tail -n 25 "$folder/$1.log" && return 1; }; }

gpu others --dry-run 3 2 4
XF_STUB_FINDS=racecheck gpu races --dry-run sanitize
XF_BUDGET=0 gpu late --dry-run parity

# A call that is killed within a stage, the same call again, and on another machine, where only OUT is left; also another
# call, and programs of another build.
set -m
gpu cut --dry-run 1 &
set +m
for _ in {1..600}; do
    if grep -qsP '\tend\t' "$folder/cut/bench.tsv"; then break; fi
    sleep 0.1
done
kill -KILL -- -$!
wait $! 2>/dev/null
state=$folder/cut.state gpu first --dry-run 1
mkdir "$folder/moved.carry"
cp -R "$folder/cut" "$folder/moved.carry/results"
XF_BUDGET=0 XF_CARRY=$folder/moved.carry gpu moved --dry-run 1
XF_BUDGET=0 XF_CARRY=$folder/moved.carry gpu another --dry-run short
sed -i '1s/a dry run/another build/' "$folder/moved.carry/results/results.tsv"
XF_BUDGET=0 XF_CARRY=$folder/moved.carry gpu rebuilt --dry-run 1

# Prepared programs instead of a build, as on the machine with the GPU: here the GPU is the plugin of the emulation.
# Also a program that fails until the host waits for its kernels, one that never starts the device, and one for which
# the device is lost after two runs.
for tool in nvidia-smi compute-sanitizer ncu; do ln -s "$PWD/tests/harness/gpu/stub.sh" "$folder/stubs/$tool"; done
for name in whole broken dead lost; do
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
cat >"$folder/lost.carry/run/bin/xf_bench" <<P
#!/bin/sh
[ \$# = 0 ] || echo >>"$folder/lost.runs"
[ "\$(cat "$folder/lost.runs" | wc -l)" -lt 3 ] || exit 3
exec $build/bin/xf_bench "\$@"
P
: >"$folder/lost.runs"
chmod +x "$folder"/{broken,dead,lost}.carry/run/bin/xf_bench

# The tree that --prepare packs, used by this checkout, and by itself.
source tests/harness/gpu/pack.sh
mkdir -p "$folder/packed/gpu-carry" "$folder/packed.carry"
cp -RL "$folder/whole.carry"/* "$folder/packed/gpu-carry/"
pack_visit "$folder/packed" "$folder/packed.carry/visit.tar.xz"
echo $? >"$folder/pack.rc"
(visit_limit=100000 && pack_visit "$folder/packed" "$folder/large.tar.xz") >"$folder/large.log" 2>&1
echo $? >"$folder/large.rc"
mkdir "$folder/unpacked"
tar -xJf "$folder/packed.carry/visit.tar.xz" -C "$folder/unpacked"
(
    export PATH=$folder/stubs:$PATH NVCC=''
    XF_CARRY=$folder/broken.carry gpu broken warm facts steps
    XF_CARRY=$folder/packed.carry gpu packed warm facts
    tree=$folder/unpacked/visit gpu unpacked warm facts kernels
    for name in dead lost; do XF_CARRY=$folder/$name.carry gpu $name 1; done
    XF_CARRY=$folder/none gpu none facts
)
wait

expect "the call was killed" [ ! -e "$folder/cut.rc" ]
expect "it continues and passes" ended first 0
expect "calls 3, 2, and 4 pass" ended others 0
for stage in warm facts steps parity bars kernels batches; do expect "$stage is well" has first "^$stage\t[^\t]*\tok\t"; done
for stage in facts sanitize profiles ende; do expect "$stage is well" has others "^$stage\t[^\t]*\tok\t"; done
expect "nothing failed or was late" bash -c "! grep -hP '\t(FAILED|out of time)\t' '$folder'/{first,others}/results.tsv"
cat "$folder"/others/base.xf.gz.* | gunzip | cmp - "$folder/others.state/base.xf"
expect "the model is returned" [ $? = 0 ]
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
tests/gpu.sh --plan >"$folder/plan"
expect "a call's stages fit into it" awk '/^call / { ++calls; late += $3 > 570 } END { exit !(calls == 5 && !late) }' "$folder/plan"
expect "the calls fit into a visit" awk '/^calls/ { fit = $(NF - 3) <= 1680 } END { exit !fit }' "$folder/plan"

expect "it says what ended before" grep -q '^== Continues the call: warm, facts, steps, parity ended before' "$folder/first.log"
for stage in warm facts steps parity; do
    expect "$stage is not repeated" bash -c "! grep -q '^== $stage,' '$folder/first.log'"
    expect "its results are kept" [ "$(grep -P "^$stage\t" "$folder/cut/results.tsv" | sort | cksum)" = "$(grep -P "^$stage\t" "$folder/first/results.tsv" | sort | cksum)" ]
done
for stage in bars kernels batches; do expect "$stage ends" has first "^$stage\tstage\tdone\t"; done
expect "each case is measured once" [ "$(cut -f 1,3 "$folder/first/bench.tsv" | grep -P '\tbegin$' | sort | uniq -d)" = "" ]
expect "all cases are measured" [ "$(grep -cP '\tend\t' "$folder/first/bench.tsv")" = 6 ]
expect "the results of a lost machine count" has moved '^parity\tstage\tdone\t'
expect "its cases count" grep -qP '\tend\t' "$folder/moved/bench.tsv"
expect "another machine is warmed up" has moved '^warm\tstage\tout of time\t'
expect "results of another call do not count" bash -c "! grep -P '^parity\tstage\tdone\t' '$folder/another/results.tsv'"
expect "results of another build do not count" bash -c "! grep -P '^parity\tstage\tdone\t' '$folder/rebuilt/results.tsv'"

expect "a race is a failure" ended races 1
expect "it is told" has races '^sanitize\tracecheck, all operations\tFAILED\t'
expect "memcheck continues" has races '^sanitize\tmemcheck, all operations\tok\t'
expect "a check that was not begun has not passed" ended late 1
expect "it is told" has late '^parity\t[^\t]*\tout of time\t'
expect "it has not ended" bash -c "! grep -qP '\tdone\t' '$folder/late/results.tsv'"
for name in packed unpacked; do expect "$name: carried programs run" ended $name 0; done
expect "the tree is packed" ended pack 0
expect "it has its own script" [ -x "$folder/unpacked/visit/tests/gpu.sh" ]
expect "a tree that is too large is an error" ended large 1
expect "it is told" grep -q 'at most 100000 are expected' "$folder/large.log"
expect "what was not built is said" has unpacked '^kernels\tCUPTI\tnote\t'
expect "a step that fails is a failure" ended broken 1
expect "it is tried again, each kernel waited for" has broken '^steps\tthe same, bf16, [^\t]*\tok\t'
expect "a device that does not start ends the call" ended dead 1
expect "its error is reported" has dead '^warm\t[^\t]*\tFAILED\t'
expect "nothing else is tried" bash -c "! grep -qE '^(facts|steps|parity|bars)' '$folder/dead/results.tsv'"
expect "a sentence says so" grep -q '^== The GPU does not start, or has failed; the other stages are left out' "$folder/dead.log"
expect "a device that is lost ends the call" ended lost 1
expect "nothing else is tried" bash -c "! grep -qE '^(parity|bars)' '$folder/lost/results.tsv'"
expect "no programs: nothing was tested" ended none 77
echo "$failures failures"
[ $failures = 0 ]
