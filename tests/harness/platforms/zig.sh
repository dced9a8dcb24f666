#!/usr/bin/env bash
# Cross-compiles with zig, and runs what can run here: the targets macos-* and musl-* of tests/platforms.sh.
#
# zig (PyPI: ziglang; `zig` in PATH or a module of python3) has the C library and the C++ library of each target. The
# other dependencies are built here from the sources of Debian in XF_SOURCES (default: build/platforms/sources):
#     mkdir -p build/platforms/sources && cd build/platforms/sources && apt-get source utf8proc cmocka
# (apt-get needs the type deb-src in its list of sources.) The headers of RapidJSON are those of rapidjson-dev.
# Programs for musl need its loader: the Debian packages musl and, with qemu-user-static, musl:arm64.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
target=$1
sources=${XF_SOURCES:-$PWD/build/platforms/sources}
build=$PWD/build/platforms/$target
emulator=() loader=
case $target in
    macos-arm64) triple=aarch64-macos system=Darwin processor=arm64 ;;
    macos-x86_64) triple=x86_64-macos system=Darwin processor=x86_64 ;;
    musl-x86_64) triple=x86_64-linux-musl system=Linux processor=x86_64 loader=/lib/ld-musl-x86_64.so.1 ;;
    musl-aarch64)
        triple=aarch64-linux-musl system=Linux processor=aarch64 loader=/lib/ld-musl-aarch64.so.1
        emulator=(qemu-aarch64-static -cpu max)
        ;;
esac
skip() { echo "platforms.sh: $*; see tests/harness/platforms/zig.sh" >&2; exit 77; }

zig=(zig)
command -v zig >/dev/null || zig=(python3 -m ziglang)
"${zig[@]}" version >/dev/null 2>&1 || skip "zig was not found"
utf8proc=$(echo "$sources"/utf8proc-*/) cmocka=$(echo "$sources"/cmocka-*/)
[ -e "$utf8proc/utf8proc.c" ] && [ -e "$cmocka/src/cmocka.c" ] || skip "the sources of utf8proc and cmocka are missing"
[ -d /usr/include/rapidjson ] || skip "the Debian package rapidjson-dev is missing"

mkdir -p "$build"/{tools,prefix/include,prefix/lib}
for tool in cc c++ ar ranlib; do
    options=
    case $tool in c*) options="-target $triple" ;; esac
    # Without -dynamic, programs for musl are static and cannot load plugins.
    case $tool-$system in c*-Linux) options="$options -dynamic" ;; esac
    # zig selects processors, not architectures, and links no bundles; dlopen() also opens a dynamic library.
    cat >"$build/tools/$tool" <<END
#!/bin/sh
for option; do
    shift
    case \$option in
        -march=armv8.2-a*) option=-mcpu=generic\${option#-march=armv8.2-a} ;;
        -bundle) option=-dynamiclib ;;
    esac
    set -- "\$@" "\$option"
done
exec ${zig[*]} $tool $options "\$@"
END
    chmod +x "$build/tools/$tool"
done

uintptr=-D_UINTPTR_T_DEFINED # else cmocka.h defines this type

# package NAME FILE OPTION...: compiles a library of one file, and describes it to pkg-config.
package() {
    local name=$1 file=$2
    shift 2
    "$build/tools/cc" -O2 -fPIC -fvisibility=hidden -w "$@" -c "$file" -o "$build/prefix/$name.o"
    "$build/tools/ar" rcs "$build/prefix/lib/lib$name.a" "$build/prefix/$name.o"
    describe "$name" "$name" "-L$build/prefix/lib -l$name"
}
describe() {
    local form='Name: %s\nDescription: %s\nVersion: 0\nLibs: %s\nCflags: -I%s %s\n'
    printf "$form" "$2" "$2" "$3" "$build/prefix/include" $uintptr >"$build/prefix/lib/$1.pc"
}
cp "$utf8proc/utf8proc.h" "$cmocka"/include/cmocka*.h "$build/prefix/include/"
ln -sfn /usr/include/rapidjson "$build/prefix/include/rapidjson"
describe RapidJSON RapidJSON ""
if [ ! -e "$build/prefix/lib/libcmocka.a" ]; then
    package utf8proc "$utf8proc/utf8proc.c" -DUTF8PROC_STATIC
    mv "$build/prefix/lib/utf8proc.pc" "$build/prefix/lib/libutf8proc.pc"
    package cmocka "$cmocka/src/cmocka.c" -I"$cmocka/include" -I"$build/prefix" -DHAVE_SIGNAL_H -DHAVE_STRINGS_H \
        -DHAVE_INTTYPES_H -DHAVE_UNISTD_H -DHAVE_SYS_TYPES_H -DHAVE_SETJMP_H $uintptr
fi

export PKG_CONFIG_LIBDIR=$build/prefix/lib
targets=(xformer xformer_openblas translate first bits unit_core unit_core_atomic_file backend_ops)
cmake -S . -B "$build" -G Ninja -DCMAKE_SYSTEM_NAME=$system -DCMAKE_SYSTEM_PROCESSOR=$processor \
    -DCMAKE_C_COMPILER="$build/tools/cc" -DCMAKE_CXX_COMPILER="$build/tools/c++" \
    -DCMAKE_AR="$build/tools/ar" -DCMAKE_RANLIB="$build/tools/ranlib" -DCMAKE_CXX_FLAGS="${XF_CXX_FLAGS-}" \
    -DCMAKE_INSTALL_NAME_TOOL=/bin/true -DXF_UNITY=ON -DXF_CUDA=OFF -DXF_CUDA_HOST=OFF -DXF_MPI=OFF -DXF_NCCL=OFF \
    >"$build.log" 2>&1 &&
    cmake --build "$build" ${XF_JOBS:+-j$XF_JOBS} --target "${targets[@]}" >>"$build.log" 2>&1 || {
    grep -E -A 5 '(error|FAILED):' "$build.log" || tail -n 40 "$build.log"
    echo "platforms.sh: the build failed; its complete output is in $build.log" >&2
    exit 1
}

if [ -z "$loader" ]; then
    echo "platforms.sh: $target, linked: $(cd "$build" && ls lib/libxformer* bin/* | tr '\n' ' ')"
    exit 0
fi
[ -e "$loader" ] || skip "the Debian package musl of this architecture is missing"
[ ${#emulator[@]} -eq 0 ] || command -v "${emulator[0]}" >/dev/null || skip "qemu-user-static is missing"
on() { XF_BACKEND_PATH=$build/lib "${emulator[@]}" "$build/bin/$1" "${@:2}"; }
failed=()
translation=$(echo "The file could not be found." | on translate translate)
[ "$translation" = "Die Datei konnte nicht gefunden werden." ] || failed+=(translate)
bits=(bits examples/translate/en-de.xf examples/translate/data/small.test.tsv tests/golden/bits.txt)
if [ ${#emulator[@]} -eq 0 ]; then
    on "${bits[@]}" || failed+=(bits)
    on backend_ops 'openblas/*' || failed+=(backend_ops)
    on unit_core_atomic_file || failed+=(unit_core_atomic_file)
else # too slow for all
    for isa in neon neon-dot neon-i8mm; do on "${bits[@]}" $isa few || failed+=("bits $isa"); done
fi
on unit_core || failed+=(unit_core)
echo "platforms.sh: $target, ${#failed[@]} failed: ${failed[*]:-none}"
[ ${#failed[@]} -eq 0 ]
