# Packs the tree for a visit of a machine with a GPU. Sourced by prepare.sh and by dry_test.sh.
#
# SPDX-License-Identifier: Apache-2.0
visit_limit=$((8 << 20))

# pack_visit TREE FILE: adds the files of this checkout that the calls read to TREE, which has the programs, and packs it
# into FILE, as the folder "visit". The programs have much in common, so that they are compressed as one stream.
pack_visit() {
    local size
    mkdir -p "$1/tests/harness/bench" "$1/examples/translate/data" "$1/tests/golden" &&
        cp tests/gpu.sh "$1/tests/" &&
        cp -R tests/harness/gpu "$1/tests/harness/" &&
        cp tests/harness/bench/{gpu_*.py,torch_model.py,model_file.py} "$1/tests/harness/bench/" &&
        cp tests/golden/*.safetensors "$1/tests/golden/" &&
        cp examples/translate/data/small*.tsv "$1/examples/translate/data/" &&
        tar -C "$1" --transform 's,^\.,visit,' --sort=name --owner=0 --group=0 -c . |
        xz -T1 --x86 --lzma2=preset=9e,dict=64MiB >"$2" || return
    size=$(stat -c %s "$2")
    if [ "$size" -gt $visit_limit ]; then
        echo "$2 has $size bytes, at most $visit_limit are expected: tests/harness/gpu/pack.sh lists its contents" >&2
        return 1
    fi
}
