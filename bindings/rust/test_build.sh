# shellcheck shell=bash disable=SC2154,SC2164 # the variables and set -e are of test.sh
# Sourced by test.sh: checks how the build script of xformer-sys finds the library, and its messages if it does not.
#
# SPDX-License-Identifier: Apache-2.0

cd "$work"
# Runs the build script with `cargo check` in a separate target folder; the arguments are passed to env.
check() { env CARGO_TARGET_DIR="$work/check" "$@" cargo check --quiet "${manifest[@]}" -p xformer-sys 2>&1; }

# Runs check with the arguments after the first, which must fail with a message that contains the first argument.
refuses() {
    local expected=$1 output
    shift
    if output=$(check "$@"); then
        echo "the build script succeeded with env $*, expected an error" >&2
        exit 1
    fi
    if ! grep -qF -- "$expected" <<<"$output"; then
        printf 'the build script printed\n%s\nexpected: %s\n' "$output" "$expected" >&2
        exit 1
    fi
}

rm -rf check other
check XFORMER_LIB_DIR="$XFORMER_LIBDIR" PKG_CONFIG=/none
root=$(cat check/debug/build/xformer-sys-*/output | sed -n 's/^cargo:root=//p')
if [ "$(cd "$root" && pwd -P)" != "$XFORMER_PREFIX" ]; then
    echo "the build script printed root '$root', expected $XFORMER_PREFIX" >&2
    exit 1
fi

mkdir -p other/lib/pkgconfig other/include/xformer
refuses "libxformer was not found; install libxformer-dev" PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR="$work/other"
refuses "cannot run /none" PKG_CONFIG=/none
refuses "which contains no libxformer.so" XFORMER_LIB_DIR="$work/other/lib"
touch other/lib/libxformer.so
refuses "the headers are not in ../include" XFORMER_LIB_DIR="$work/other/lib"
printf '#define XF_VERSION_%s\n' 'MAJOR 0' 'MINOR 2' 'PATCH 7' >other/include/xformer/version.h
refuses "is version 0.2.7, but xformer-sys 0.1.0 needs version 0.1" XFORMER_LIB_DIR="$work/other/lib"
for version in 0.0.9 1.1.0 one; do
    sed "s/^Version:.*/Version: $version/" "$XFORMER_LIBDIR/pkgconfig/xformer.pc" >other/lib/pkgconfig/xformer.pc
    refuses "is version $version, but xformer-sys 0.1.0 needs version 0.1" PKG_CONFIG_PATH="$work/other/lib/pkgconfig"
done
