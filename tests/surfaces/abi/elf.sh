#!/bin/sh
# Checks the shared object as the loader sees it: its name, dependencies, symbol versions, and hardening.
#
#   elf.sh library LIBRARY MAP        libxformer.so
#   elf.sh openblas|cuda PLUGIN       a plugin
#
# - NEEDED contains only the libraries that are listed here: a new dependency is a decision.
# - No RPATH or RUNPATH (the tree can be moved), no text relocations (its pages are shared), no executable stack, no
#   segment that is writable and executable, all relocations read-only after loading (RELRO, NOW).
# - The library has the SONAME libxformer.so.N, and every exported symbol is in the version node of the map.
# - A plugin has no SONAME (it is opened, not linked) and exports only xf_plugin_init.
#
# SPDX-License-Identifier: Apache-2.0
set -eu
kind=$1 file=$2
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fault() { echo "$file: $*"; failed=1; }

dynamic=$(readelf -dW "$file")
segments=$(readelf -lW "$file")
echo "$dynamic" | grep -q '(STRTAB)' || { echo "readelf shows no dynamic section of $file"; exit 1; }

common='libc.so.6 libm.so.6 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 libpthread.so.0'
case $kind in
    library) allowed="$common libutf8proc.so.2 libstdc++.so.6 libgcc_s.so.1 libdl.so.2" ;;
    openblas) allowed="$common" ;;
    cuda) allowed="$common libdl.so.2 librt.so.1 libstdc++.so.6 libgcc_s.so.1" ;;
    *) echo "elf.sh: found '$kind', expected library, openblas, or cuda"; exit 2 ;;
esac
for needed in $(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'); do
    case " $allowed " in
        *" $needed "*) ;;
        *) fault "needs $needed, expected only: $allowed" ;;
    esac
done
if echo "$dynamic" | grep -E '\((RPATH|RUNPATH)\)'; then fault 'has an RPATH or RUNPATH'; fi
if echo "$dynamic" | grep -E '\(TEXTREL\)|\(FLAGS\).*TEXTREL'; then fault 'has text relocations'; fi
echo "$segments" | grep -q 'GNU_STACK.* RW  *0x' || fault 'has an executable stack, or no GNU_STACK header'
if echo "$segments" | grep -E '^ *LOAD .* RWE '; then fault 'has a segment that is writable and executable'; fi
echo "$segments" | grep -q GNU_RELRO || fault 'has no read-only relocations'
echo "$dynamic" | grep -qE '\(FLAGS_1\).*NOW|\(BIND_NOW\)' || fault 'leaves relocations writable: link with -z now'

soname=$(echo "$dynamic" | sed -n 's/.*(SONAME).*\[\(.*\)\].*/\1/p')
exported=$(nm -D --defined-only "$file" | awk '$2 != "A" { print $3 }')
if [ "$kind" != library ]; then
    [ -z "$soname" ] || fault "has the SONAME $soname, expected none"
    [ "$exported" = xf_plugin_init ] || fault "exports $(echo "$exported" | tr '\n' ' '), expected xf_plugin_init"
    echo "$kind: $(echo "$dynamic" | grep -c '(NEEDED)') libraries needed"
    exit $failed
fi

echo "$soname" | grep -qxE 'libxformer\.so\.[0-9]+' || fault "has the SONAME '$soname', expected libxformer.so.N"
# "symbol@@node" of the map and of the library.
awk '{ sub(/#.*/, "") }
     /[{]/ { node = $1 }
     /^ *xf_[a-z0-9_]+;/ { sub(/;.*/, "", $1); print $1 "@@" node }' "$3" | sort >"$work/map"
echo "$exported" | sort >"$work/library"
diff "$work/map" "$work/library" >"$work/difference" || fault "the map (<) and the library (>) differ:
$(grep '^[<>]' "$work/difference")"
echo "$soname: $(echo "$exported" | wc -l) versioned symbols, $(echo "$dynamic" | grep -c '(NEEDED)') libraries needed"
exit $failed
