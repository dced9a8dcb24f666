#!/usr/bin/env bash
# Packs and unpacks the inputs of a fuzz target, which are stored as one archive: corpus/TARGET.tar.xz.
#
#     tests/harness/fuzz/corpus.sh unpack TARGET FOLDER     replaces FOLDER by the inputs
#     tests/harness/fuzz/corpus.sh pack TARGET FOLDER       replaces the archive by the files in FOLDER
#     tests/harness/fuzz/corpus.sh add TARGET FILE...       adds files to the archive
#
# The same files give the same archive on every machine with the same xz.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -lt 3 ]; then
    echo "usage: tests/harness/fuzz/corpus.sh unpack|pack TARGET FOLDER, or add TARGET FILE..." >&2
    exit 2
fi
what=$1 archive=$here/corpus/$2.tar.xz
shift 2

unpack() {
    rm -rf "$1"
    mkdir -p "$1"
    tar -xJf "$archive" -C "$1"
}

pack() {
    [ -n "$(ls "$1")" ] || { echo "corpus.sh: $1 contains no inputs" >&2; exit 1; }
    # A flat list of names in the order of bytes, without times and owners.
    (cd "$1" && find . -maxdepth 1 -type f -printf '%f\0' | LC_ALL=C sort -z |
        tar --null -T - --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -cf - | xz -9e -T1) >"$archive.new"
    mv "$archive.new" "$archive"
}

case $what in
    unpack) unpack "$1" ;;
    pack) pack "$1" ;;
    add)
        folder=$(mktemp -d)
        trap 'rm -rf "$folder"' EXIT
        unpack "$folder"
        cp -- "$@" "$folder"
        pack "$folder"
        ;;
    *)
        echo "corpus.sh: unknown command '$what', expected unpack, pack, or add" >&2
        exit 2
        ;;
esac
