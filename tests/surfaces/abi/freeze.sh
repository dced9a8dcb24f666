#!/bin/sh
# Records the current ABI as the baseline of later versions: dump, constants, options, headers, and a client program.
#
#   tests/surfaces/abi/freeze.sh BUILD_FOLDER [--break SOVERSION]
#
# BUILD_FOLDER is a build with tests and the shared library, such as build/release; the script rebuilds what it needs.
# Growth is recorded. If the gate reports a break, nothing is recorded unless the break is declared: --break 1 requires
# that the library is now libxformer.so.1 and has a new version.
#
# SPDX-License-Identifier: Apache-2.0
set -eu
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../../../include
usage() { echo "usage: tests/surfaces/abi/freeze.sh BUILD_FOLDER [--break SOVERSION]" >&2; exit 2; }
[ $# -eq 1 ] || [ $# -eq 3 ] || usage
build=$1 soversion=
if [ $# -eq 3 ]; then
    [ "$2" = --break ] || usage
    soversion=$3
fi
cmake --build "$build" --target xformer abi_options >/dev/null || { echo "freeze.sh: the build failed" >&2; exit 1; }
library=$build/lib/libxformer.so
options=$build/bin/abi_options
compiler=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

part() { sed -n "s/^#define XF_VERSION_$1 //p" "$include/xformer/version.h"; }
version=$(part MAJOR).$(part MINOR)
refuse() { echo "freeze.sh: $*; nothing was recorded" >&2; exit 1; }

set -- "$here"/xformer-*.dump
if [ -f "$1" ]; then
    old=$(basename "$1" .dump)
    old=${old#xformer-}
    status=0
    sh "$here/gate.sh" "$here" "$include" "$library" "$options" "$compiler" "$work" || status=$?
    case $status in
        0 | 2) [ -z "$soversion" ] || refuse "nothing is broken, so --break is not needed" ;;
        1)
            [ -n "$soversion" ] || refuse "the ABI of $old is broken"
            was=$(perl "$here/normalise.pl" --surface "$1" | sed -n 's/^soname //p')
            is=$(perl "$here/normalise.pl" --surface "$work/abi.dump" | sed -n 's/^soname //p')
            [ "$is" != "$was" ] || refuse "the SONAME is $is as before, expected a new one: set SOVERSION in lib/CMakeLists.txt"
            [ "$is" = "libxformer.so.$soversion" ] || refuse "the SONAME is $is, expected libxformer.so.$soversion"
            [ "$version" != "$old" ] || refuse "the version is $version as before, expected a new one"
            rm -r "$here"/include-* # older programs cannot run on this library
            ;;
        *) refuse "the gate exited with $status" ;;
    esac
else
    sh "$here/dump.sh" "$library" "$include" "$work/abi.dump"
    python3 "$here/constants.py" "$include" "$compiler" >"$work/constants.txt"
    "$options" >"$work/options.txt"
fi

frozen=$here/include-$version
mkdir -p "$frozen/xformer"
rm -f "$here"/xformer-*.dump "$frozen"/xformer/*.h
cp "$work/abi.dump" "$here/xformer-$version.dump"
cp "$work/constants.txt" "$work/options.txt" "$here"
cp "$include"/xformer/*.h "$frozen/xformer"
cp "$here/client.c" "$frozen"
echo "recorded as $version: xformer-$version.dump, constants.txt, options.txt, include-$version"
