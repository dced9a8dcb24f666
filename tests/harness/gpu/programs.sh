# Selects the programs that tests/gpu.sh runs: the prepared ones; in a dry run, those of a build. Sourced. Sets run (the
# folder of xf_bench etc.), check (the folder of the tests), plugins, lib (searched for libraries), tests, and programs
# (identifies the build).
#
# SPDX-License-Identifier: Apache-2.0
stage_begin=$SECONDS stage_limit=300

# The GPU, as nvidia-smi prints it: "name, MiB, driver, capability".
gpu=$(timeout -k 5 20 nvidia-smi --query-gpu=name,memory.total,driver_version,compute_cap --format=csv,noheader,nounits 2>/dev/null | head -n 1)
[ -n "$gpu" ] || die 77 "there is no NVIDIA GPU on this machine (or no driver for it); nothing was checked"
nvcc=${NVCC-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
[ -z "$nvcc" ] || export PATH=$PATH:${nvcc%/*}

# Finds a library of CUDA that is not in the search path of the loader: in the toolkit, or in PyTorch's wheels, whose
# folder is found without loading PyTorch. Prints its folder.
folder_of() {
    local found=
    if ldconfig -p 2>/dev/null | grep -q "$1\.so\."; then return; fi
    found=$(ls /usr/local/cuda/lib64/"$1".so.1[0-9] /usr/local/cuda/extras/CUPTI/lib64/"$1".so.1[0-9] 2>/dev/null | head -n 1)
    [ -n "$found" ] || found=$("$python" -c 'import importlib.util as u; print(*u.find_spec("nvidia").submodule_search_locations)' \
        2>/dev/null | tr ' ' '\n' | xargs -r -I{} find {} -name "$1.so.1[0-9]*" 2>/dev/null | head -n 1)
    [ -z "$found" ] || echo "${found%/*}"
}
lib=
for name in libcublasLt libcupti; do
    folder=$(folder_of $name)
    [ -z "$folder" ] || lib=$lib:$folder
done

if [ $dry = 1 ]; then
    run=$build/bin check=$build/bin plugins=$build/tests/harness/cuda_host
    printf '%s\n' $dry_tests >"$work/tests.txt"
    tests=$work/tests.txt programs="a dry run"
else
    # In the tree that prepare.sh made, gpu-carry has the folders run and check; elsewhere it has that tree, packed.
    unpacked=$carry
    if [ ! -d "$carry/run" ]; then
        unpacked=$state/visit/gpu-carry
        if ! cmp -s "$carry/visit.tar.xz" "$state/visit.tar.xz"; then
            rm -rf "${state:?}/visit"
            [ ! -f "$carry/visit.tar.xz" ] || "$python" -m tarfile -e "$carry/visit.tar.xz" "$state" && cp "$carry/visit.tar.xz" "$state/"
        fi
    fi
    [[ $(LD_LIBRARY_PATH=$unpacked/run/lib "$unpacked/run/bin/xf_bench" 2>&1) = *usage* ]] ||
        die 77 "$carry is missing or does not start here; tests/gpu.sh --prepare elsewhere makes it"
    run=$unpacked/run/bin check=$unpacked/check/bin plugins=$unpacked/run/lib tests=$unpacked/check/tests.txt
    lib=$unpacked/run/lib:$unpacked/check/lib$lib
    # Some tests read files of the folder in which they were built.
    built_in=$(sed -n 's/^source //p' "$unpacked/run/built.txt")
    if [ -n "$built_in" ] && [ ! -e "$built_in" ]; then
        mkdir -p "${built_in%/*}" 2>/dev/null && ln -s "$root" "$built_in" 2>/dev/null
    fi
    programs=$(tr '\n' ';' <"$unpacked/run/built.txt")
fi
# PyTorch finds its own libraries of CUDA; another cuBLAS in the search path may be incompatible.
export XF_OTHERS_LIBRARY_PATH=${LD_LIBRARY_PATH-}
export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export XF_LIBRARY_PATH=$LD_LIBRARY_PATH XF_BACKEND_PATH=$plugins
[ $dry = 0 ] || export XF_BACKEND_PATH=$plugins:$build/lib
