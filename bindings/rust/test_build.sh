# shellcheck shell=bash disable=SC2154,SC2164 # the variables and set -e are of test.sh
# For test.sh, which sources it: how the build script of xformer-sys finds the library, and what it says when it can't.
#
# SPDX-License-Identifier: Apache-2.0

cd "$work"
# Runs the build script by `cargo check` in a target folder of its own; the arguments are for env.
check() { env CARGO_TARGET_DIR="$work/check" "$@" cargo check --quiet "${manifest[@]}" -p xformer-sys 2>&1; }

# check COMMAND... fails and says this.
refuses() {
    local words=$1 said
    shift
    if said=$(check "$@"); then
        echo "the build script took env $*" >&2
        exit 1
    fi
    if ! grep -qF -- "$words" <<<"$said"; then
        printf 'the build script said\n%s\nexpected: %s\n' "$said" "$words" >&2
        exit 1
    fi
}

rm -rf check other
check XFORMER_LIB_DIR="$XFORMER_LIBDIR" PKG_CONFIG=/none
root=$(cat check/debug/build/xformer-sys-*/output | sed -n 's/^cargo:root=//p')
if [ "$(cd "$root" && pwd -P)" != "$XFORMER_PREFIX" ]; then
    echo "the build script gave root '$root', expected $XFORMER_PREFIX" >&2
    exit 1
fi

mkdir -p other/lib/pkgconfig other/include/xformer
refuses "libxformer was not found; install libxformer-dev" PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR="$work/other"
refuses "can't run /none" PKG_CONFIG=/none
refuses "in which there is no libxformer.so" XFORMER_LIB_DIR="$work/other/lib"
touch other/lib/libxformer.so
refuses "its headers are not in ../include" XFORMER_LIB_DIR="$work/other/lib"
printf '#define XF_VERSION_%s\n' 'MAJOR 0' 'MINOR 2' 'PATCH 7' >other/include/xformer/version.h
refuses "is version 0.2.7, expected 0.1" XFORMER_LIB_DIR="$work/other/lib"
for version in 0.0.9 1.1.0 one; do
    sed "s/^Version:.*/Version: $version/" "$XFORMER_LIBDIR/pkgconfig/xformer.pc" >other/lib/pkgconfig/xformer.pc
    refuses "is version $version, expected 0.1" PKG_CONFIG_PATH="$work/other/lib/pkgconfig"
done
