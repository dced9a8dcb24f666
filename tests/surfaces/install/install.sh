#!/usr/bin/env bash
# Tests both ways to link the library: an installed tree of this build, and the sources inside another project.
#
#     install.sh tree      components, DESTDIR, a prefix that is moved; programs with pkg-config and find_package,
#                          with and without the plugins
#     install.sh parent    FetchContent and add_subdirectory, which must not change the parent, and the libxformer.a that
#                          the latter builds, installed, with plugins next to the program and with XF_BACKEND_PATH
#
# CMakeLists.txt sets these environment variables: SOURCE and BUILD, VERSION, LIBDIR and INCLUDEDIR below the prefix,
# PLUGINS (those of this build, separated by spaces), GENERATOR, CMAKE, CTEST, PKG_CONFIG, READELF, CC, CXX.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C
what=$1
: "${SOURCE:?}" "${BUILD:?}" "${VERSION:?}" "${LIBDIR:?}" "${INCLUDEDIR:?}" "${GENERATOR:?}" "${CMAKE:?}" "${CTEST:?}"
: "${PKG_CONFIG:?}" "${READELF:?}" "${CC:?}" "${CXX:?}"
plugins=()
if [ -n "${PLUGINS-}" ]; then read -ra plugins <<<"$PLUGINS"; fi
unset DESTDIR XF_BACKEND_PATH
consumer=$SOURCE/tests/surfaces/install/consumer
work=$(cd "$(mktemp -d)" && pwd -P)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
    echo "FAILED: $*"
    exit 1
}

# quietly COMMAND...: shows the output only if the command fails.
quietly() {
    "$@" >log 2>&1 && return
    cat log
    fail "$*"
}

# files FOLDER: prints the names of all files except folders, sorted. One of them contains the build type.
files() {
    if [ ! -d "$1" ]; then return; fi
    (cd "$1" && find . ! -type d | sed -E 's|^\./||; s|(xformerTargets)-[a-z]+\.cmake|\1-TYPE.cmake|' | sort)
}

# equal WHAT EXPECTED FOUND: compares two lists with one name per line.
equal() {
    diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") || fail "$1: expected (<) and found (>) differ"
}

# says WORDS: checks that the output of the last program has a line with these words.
says() {
    grep -qF -- "$1" output && return
    cat output
    fail "the program did not say: $1"
}

# with_plugins TREE COMMAND...: checks that the program trains and finds plugins in this tree.
with_plugins() {
    local tree=$1 plugin
    shift
    "$@" >output 2>&1 || { cat output; fail "$*"; }
    says "version $VERSION"
    says "trained 3 steps"
    for plugin in ${plugins[@]+"${plugins[@]}"}; do
        if [[ "$plugin" == [mn]* ]]; then continue; fi # mpi and nccl are not backends
        if [ "$plugin" = openblas ] && [ "$what" = parent ]; then continue; fi # built in
        says "from '$tree/$LIBDIR/xformer/libxformer_$plugin.so'"
    done
    if [[ " ${plugins[*]-} " == *" openblas "* ]]; then says "cpu:openblas active 1, "; fi
}

# without_plugins COMMAND...: checks that the program trains on a built-in backend and that the log states the reason.
without_plugins() {
    "$@" >output 2>&1 || { cat output; fail "$*"; }
    says "cuda:cuda active 0, from '', reason 'libxformer_cuda.so was not found'"
    says "trained 3 steps"
    if [ "$what" = parent ]; then
        says "cpu:openblas active 1, from '', reason ''"
        return
    fi
    says "cpu:ref active 1, from '', reason ''"
    says "cpu:openblas active 0, from '', reason 'libxformer_openblas.so was not found'"
    if "$@" cpu:openblas >output 2>&1; then fail "$* computes on a plugin that is not there"; fi
    says "libxformer_openblas.so was not found"
}

# pkg_config TREE ARGUMENT...: runs pkg-config for the installed tree.
pkg_config() {
    local tree=$1
    shift
    PKG_CONFIG_PATH=$tree/$LIBDIR/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} "$PKG_CONFIG" "$@"
}

# by_pkg_config TREE FOLDER [--static]: compiles both programs into the folder.
by_pkg_config() {
    local tree=$1 folder=$2 text flags
    shift 2
    text=$(pkg_config "$tree" "$@" --cflags --libs "xformer = $VERSION") || fail "pkg-config finds no xformer $VERSION"
    read -ra flags <<<"$text"
    mkdir -p "$folder"
    quietly "$CC" -std=c11 -Wall -Wextra -Werror "$consumer/use.c" "${flags[@]}" -o "$folder/use_c"
    quietly "$CXX" -std=c++17 -Wall -Wextra -Werror "$consumer/use.cpp" "${flags[@]}" -o "$folder/use_cpp"
}

# by_find_package TREE FOLDER [CMAKE-OPTION...]: compiles the programs into the folder.
by_find_package() {
    local tree=$1 folder=$2
    shift 2
    quietly "$CMAKE" -S "$consumer" -B "$folder" -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
        -DCMAKE_PREFIX_PATH="$tree" -DWANTED="${VERSION%.*}" "$@"
    grep -qF "plugins: $tree/$LIBDIR/xformer" log || fail "find_package took another: $(grep plugins: log)"
    quietly "$CMAKE" --build "$folder"
    if "$CMAKE" -DWANTED=0.99 "$folder" >log 2>&1; then fail "find_package takes this version for 0.99"; fi
    grep -q "compatible" log || { cat log; fail "find_package refuses 0.99, but not for its version"; }
}

# names_nothing TREE WORD...: checks that no installed text contains a folder of this machine, and no library a search
# path.
names_nothing() {
    local tree=$1 word library
    shift
    for word in "$SOURCE" "$BUILD" "$@"; do
        if grep -rIF -- "$word" "$tree"; then fail "installed files name $word"; fi
    done
    while read -r library; do
        if "$READELF" -d "$library" | grep -E 'RPATH|RUNPATH'; then fail "$library has a path to search"; fi
    done < <(find "$tree" -type f -name '*.so*')
}

tree() {
    local component plugin all tree folder libraries version=$VERSION
    local -A expected
    expected[runtime]=$(printf '%s\n' "$LIBDIR/libxformer.so.${version%%.*}" "$LIBDIR/libxformer.so.$version")
    expected[devel]=$({
        files "$SOURCE/include" | sed "s|^|$INCLUDEDIR/|"
        printf "$LIBDIR/%s\n" libxformer.so pkgconfig/xformer.pc cmake/xformer/xformerConfig.cmake \
            cmake/xformer/xformerConfigVersion.cmake cmake/xformer/xformerTargets{,-TYPE}.cmake
    } | sort)
    for plugin in ${plugins[@]+"${plugins[@]}"}; do
        expected[$plugin]=$LIBDIR/xformer/libxformer_$plugin.so
    done
    for component in "${!expected[@]}"; do
        DESTDIR=$work/$component quietly "$CMAKE" --install "$BUILD" --prefix /usr/local --component "$component"
        equal "component $component" "${expected[$component]}" "$(files "$component/usr/local")"
    done
    all=$(printf '%s\n' "${expected[@]}" | sort)

    DESTDIR=$work/destdir quietly "$CMAKE" --install "$BUILD" --prefix /usr/local
    equal "everything" "$all" "$(files destdir/usr/local)"
    equal "outside of the prefix" "" "$(find destdir ! -type d ! -path 'destdir/usr/local/*')"
    names_nothing destdir "$work" /usr/local
    quietly "$CMAKE" --install "$BUILD" --prefix "$work/first"
    names_nothing first "$work"
    mkdir elsewhere
    mv first elsewhere/moved

    for tree in "$work/destdir/usr/local" "$work/elsewhere/moved"; do
        folder=$work/by/${tree##*/}
        libraries=$tree/$LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        by_pkg_config "$tree" "$folder/pkg_config"
        by_find_package "$tree" "$folder/find_package"
        with_plugins "$tree" env LD_LIBRARY_PATH="$libraries" "$folder/pkg_config/use_c"
        with_plugins "$tree" "$folder/find_package/use_c"
        quietly env LD_LIBRARY_PATH="$libraries" "$folder/pkg_config/use_cpp"
        quietly "$folder/find_package/use_cpp"
        rm -rf "${tree:?}/$LIBDIR/xformer"
        without_plugins env LD_LIBRARY_PATH="$libraries" "$folder/pkg_config/use_c"
        without_plugins "$folder/find_package/use_c"
    done
}

parent() {
    local text flags
    # Installed files have the same layout as in this build, so that the checks below find them.
    local options=(-S "$SOURCE/tests/surfaces/install/parent" -G "$GENERATOR" -DXFORMER="$SOURCE" -DXF_CUDA=OFF
        -DXF_KERNEL_OPTIMIZATION=-O0 -DXF_MPI=OFF -DXF_NCCL=OFF -DCMAKE_INSTALL_LIBDIR="$LIBDIR" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX")
    quietly "$CMAKE" -B plain "${options[@]}"
    (cd plain && quietly "$CTEST" -N && grep -q '^Total Tests: 0$' log) || fail "the parent has tests"
    quietly "$CMAKE" --install plain --prefix "$work/nothing"
    equal "installed by a parent" "" "$(files nothing)"

    # Compiled once, without optimization: as part of the parent, and as libxformer.a of an installed tree. If clang is
    # installed, it does this in less time; the programs that link libxformer.a are compiled by the compiler of the build.
    if command -v clang >/dev/null && command -v clang++ >/dev/null; then
        options+=(-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++)
    fi
    quietly "$CMAKE" -B chosen "${options[@]}" -DCHOSEN=ON -DXF_INSTALL=ON -DXF_PRECOMPILE=ON -DXF_UNITY=ON
    quietly "$CMAKE" --build chosen --parallel 1
    without_plugins chosen/use_c
    quietly chosen/use_cpp
    quietly "$CMAKE" --install chosen --prefix "$work/static"
    [ -f "static/$LIBDIR/libxformer.a" ] || fail "libxformer.a was not installed: $(files static)"
    names_nothing static "$work/chosen" "$work/static"
    by_pkg_config "$work/static" "$work/by/pkg_config" --static
    by_find_package "$work/static" "$work/by/find_package" -DC_ONLY=ON
    without_plugins by/pkg_config/use_c
    without_plugins by/find_package/use_c
    quietly by/pkg_config/use_cpp

    # The built-in backend has the bits of bits_base.txt, which are also those of WebAssembly.
    text=$(pkg_config "$work/static" --static --cflags --libs xformer)
    read -ra flags <<<"$text"
    quietly "$CC" -std=c11 "$SOURCE/tests/golden/bits.c" "${flags[@]}" -o bits
    quietly ./bits "$SOURCE"/examples/translate/{en-de.xf,data/small.test.tsv} "$SOURCE/tests/golden/bits_base.txt" base few

    # The plugins of a static program: those of the installed tree, even if it was moved, or those next to the program.
    local plugin
    for plugin in ${plugins[@]+"${plugins[@]}"}; do
        quietly "$CMAKE" --install "$BUILD" --prefix "$work/static" --component "$plugin"
    done
    mkdir elsewhere
    mv static elsewhere/moved
    [ "$(pkg_config "$work/elsewhere/moved" --variable=plugindir xformer)" -ef "elsewhere/moved/$LIBDIR/xformer" ] ||
        [ ${#plugins[@]} = 0 ] || fail "pkg-config names another folder of plugins"
    with_plugins "$work/elsewhere/moved" env XF_BACKEND_PATH="$work/elsewhere/moved/$LIBDIR/xformer" by/pkg_config/use_c
    without_plugins by/pkg_config/use_c
    mkdir -p "beside/$LIBDIR"
    cp by/pkg_config/use_c "beside/$LIBDIR"
    if [ ${#plugins[@]} != 0 ]; then mv "elsewhere/moved/$LIBDIR/xformer" "beside/$LIBDIR"; fi
    mv beside elsewhere/beside
    with_plugins "$work/elsewhere/beside" "elsewhere/beside/$LIBDIR/use_c"
}

case "$what" in
    tree | parent) "$what" ;;
    *) fail "'$what' is none of tree, parent" ;;
esac
echo "install: $what passed"
