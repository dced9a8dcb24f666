#!/bin/sh
# Writes the ABI of a library, read from its debug information, in the format of xformer-*.dump.
#
#   dump.sh LIBRARY INCLUDE_FOLDER OUTPUT
#
# Only the files that define the functions need debug information (see CMakeLists.txt). Exits with 77 if the tools are
# missing (Debian: abi-dumper).
#
# SPDX-License-Identifier: Apache-2.0
set -eu
library=$1 include=$2 output=$3
here=$(dirname "$0")
for tool in abi-dumper eu-readelf readelf perl; do
    command -v $tool >/dev/null || { echo "NOT TESTED: $tool was not found"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

part() { sed -n "s/^#define XF_VERSION_$1 //p" "$include/xformer/version.h"; }
soname=$(readelf -dW "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\].*/\1/p')
abi-dumper "$library" -o "$work/raw" -lver "$(part MAJOR).$(part MINOR)" >"$work/log" 2>&1 || {
    cat "$work/log"
    echo "abi-dumper failed on $library"
    exit 1
}
perl "$here/normalise.pl" "$work/raw" "$include" "${soname:-none}" >"$output"

# A dump without functions or types would accept every change.
perl "$here/normalise.pl" --surface "$output" >"$work/surface"
sed -n 's/^XF_API [a-z0-9_ *]*\(xf_[a-z0-9_]*\)(.*/\1/p' "$include/xformer/experimental.h" | sort >"$work/experimental"
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort |
    comm -23 - "$work/experimental" >"$work/exported"
sed -n 's/^function \([a-z0-9_]*\):.*/\1/p' "$work/surface" | sort | comm -3 - "$work/exported" >"$work/difference"
if [ -s "$work/difference" ]; then
    echo "functions in the dump only, and (indented) exported functions without debug information:"
    cat "$work/difference"
    exit 1
fi
