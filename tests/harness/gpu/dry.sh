# A dry run of tests/gpu.sh: every stage, on a machine without a GPU. Sourced. The programs are those of a build of this
# checkout (XF_GPU_BUILD), the device is the emulation of tests/harness/cuda_host, models are tiny, and NVIDIA's tools are
# stubs that check their arguments. The result shows that the stages work and nothing about speed.
#
# SPDX-License-Identifier: Apache-2.0
export XF_GPU_DRY=1
[ -n "${OUT-}" ] || out=$root/build/gpu-dry
state=${XF_STATE:-$work/state}
results=$out/results.tsv
mkdir -p "$out" "$state" "$work/stubs" || exit 1
for program in xf_bench dump_batches translate backend_ops unit_decode_memory; do
    [ -x "$build/bin/$program" ] || die 2 "a dry run needs $build/bin/$program: build it, or name another build by XF_GPU_BUILD"
done

for tool in nvidia-smi compute-sanitizer ncu; do ln -sf "$root/tests/harness/gpu/stub.sh" "$work/stubs/$tool"; done
export PATH=$work/stubs:$PATH
dry_tests=unit_decode_memory dry_cases='cuda/base/no_memory' dry_sets=test

# The data of call 4: some pairs, and a tokenizer.
if [[ " ${wanted[*]} " != *" ende "* ]]; then return 0; fi
mkdir -p "$work/data/en-de"
head -n 40 examples/translate/data/small.tsv >"$work/train.tsv"
"$build/bin/dump_batches" "train=$work/train.tsv" "dev=$work/train.tsv" "model=$work/fresh" "batches=$work/b" "dev_batches=$work/d" \
    count=1 preset=tiny context.device=cpu tokenizer.vocab_size=300 tokenizer.kind=bpe \
    "save_tokenizer=$work/data/en-de/tokenizer.json" >/dev/null || exit 1
"$python" - "$work/data/en-de" "$work/train.tsv" <<'P' || exit 1
import lzma, pathlib, sys
folder, lines = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_bytes().splitlines(keepends=True)
for name, count in ("train", 40), ("dev", 1), ("test", 1):
    with lzma.open(folder / f"{name}.tsv.xz", "w") as file:
        file.write(b"".join(lines[:count]))
P
