#!/usr/bin/env bash
# The Debian packages of this build: names, fields, files, permissions, the dpkg metadata of the library, lintian, and
# programs compiled against the unpacked packages.
#
#     package.sh [FOLDER]    keeps the packages in FOLDER, for clean_root.sh
#
# CMakeLists.txt sets these environment variables: SOURCE, BUILD, VERSION, LIBDIR below the prefix, PLUGINS (those of this
# build, separated by spaces), SERVE (a model, if examples/serve is part of it), GENERATOR, CMAKE, CPACK, PKG_CONFIG,
# CC, and CXX. A cross build also has TOOLCHAIN, its toolchain file, and EMULATOR, the program that runs its programs.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C
: "${SOURCE:?}" "${BUILD:?}" "${VERSION:?}" "${LIBDIR:?}" "${GENERATOR:?}" "${CMAKE:?}" "${CPACK:?}" "${PKG_CONFIG:?}"
: "${CC:?}" "${CXX:?}" "${PLUGINS=}" "${SERVE=}" "${TOOLCHAIN=}" "${EMULATOR=}"
unset DESTDIR XF_BACKEND_PATH SOURCE_DATE_EPOCH DEB_HOST_ARCH
work=$(cd "$(mktemp -d)" && pwd -P)
trap 'rm -rf "$work"' EXIT
target=${1:-$work/debs}
mkdir -p "$target"
target=$(cd "$target" && pwd -P)
cd "$work"
packages=(libxformer-dev libxformer0)
for plugin in cuda mpi nccl; do
    if [[ " $PLUGINS " == *" $plugin "* ]]; then packages+=("libxformer-$plugin"); fi
done
if [ -n "$SERVE" ]; then packages+=(xformer-serve); fi
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort)
root=$work/root lib=$work/root/usr/$LIBDIR
revision=$(dpkg-parsechangelog -l "$SOURCE/lib/debian/changelog" -S Version)
architecture=$(dpkg --print-architecture)
if [ -n "$TOOLCHAIN" ]; then architecture=arm64; fi # tests/platforms.sh
read -ra emulator <<<"$EMULATOR"
model=$SOURCE/examples/translate/en-de.xf english="Choose File - Save." german="Wählen Sie Datei – Speichern."

fail() {
    echo "FAILED: $*"
    exit 1
}

# quietly COMMAND...: shows the output only if the command fails.
quietly() {
    "$@" >"$work/log" 2>&1 && return
    cat "$work/log"
    fail "$*"
}

# equal WHAT EXPECTED FOUND: compares two texts of any number of lines.
equal() {
    diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") || fail "$1: expected (<) and found (>) differ"
}

deb() { echo "$target/$1_${revision}_$architecture.deb"; }
field() { dpkg-deb -f "$(deb "$1")" "$2"; }

# files FOLDER: prints the names of all files except folders, sorted.
files() { (cd "$1" && find . ! -type d | sed 's|^\./||' | sort); }

# Configurations that would give an unusable package are rejected with a message.
refuses() {
    if "$CPACK" -G DEB --config "$BUILD/CPackConfig.cmake" -B refused "$@" >log 2>&1; then fail "cpack took $*"; fi
}
refuses -D CPACK_XFORMER_LIBDIR=lib
grep -qF "go into lib, expected" log || { cat log; fail "the reason for refusing lib"; }
refuses -D CPACK_XFORMER_VERSION=99.0.0
grep -qF "revision of 99.0.0" log || { cat log; fail "the reason for refusing a version without a changelog"; }

# The build is reproducible. The second packages need no compression; permissions are checked below.
umask 027
compression=()
if [ $# = 0 ]; then compression=(-D CPACK_DEBIAN_COMPRESSION_TYPE=gzip); fi # xz takes much longer
quietly "$CPACK" -G DEB --config "$BUILD/CPackConfig.cmake" -B "$target" "${compression[@]}"
rm -rf "$target/_CPack_Packages"
equal "packages" "$(for package in "${packages[@]}"; do basename "$(deb "$package")"; done)" \
    "$(find "$target" -name '*.deb' -exec basename {} \; | sort)"
quietly "$CPACK" -G DEB --config "$BUILD/CPackConfig.cmake" -B again -D CPACK_DEBIAN_COMPRESSION_TYPE=none
for package in "${packages[@]}"; do
    again=again/$(basename "$(deb "$package")")
    for part in --ctrl-tarfile --fsys-tarfile; do
        cmp <(dpkg-deb "$part" "$(deb "$package")") <(dpkg-deb "$part" "$again") ||
            fail "$package differs when it is made again"
    done
    rm "$again"
done

# Fields.
for package in "${packages[@]}"; do
    equal "$package: version" "$revision" "$(field "$package" Version)"
    multi=same
    if [ "$package" = xformer-serve ]; then multi=foreign; fi # a program
    equal "$package: architecture" "$architecture, $multi" \
        "$(field "$package" Architecture), $(field "$package" Multi-Arch)"
    equal "$package: source" libxformer "$(field "$package" Source)"
    [[ "$(field "$package" Maintainer)" =~ ^"The libxformer authors <" ]] || fail "$package: maintainer"
done
sections=$(for package in "${packages[@]}"; do echo "$package $(field "$package" Section)"; done)
equal "sections" "$(printf '%s\n' 'libxformer-cuda non-free/libs' 'libxformer-dev libdevel' 'libxformer-mpi libs' \
    'libxformer-nccl contrib/libs' 'libxformer0 libs' 'xformer-serve net' |
    grep -E "^($(IFS='|' && echo "${packages[*]}")) ")" "$sections"
for needed in libc6 'libstdc++6' libutf8proc2; do
    [[ "$(field libxformer0 Depends)" == *"$needed (>= "* ]] || fail "libxformer0 does not depend on $needed"
done
equal "libxformer-dev: depends" "libxformer0 (= $revision)" "$(field libxformer-dev Depends)"
if [[ " $PLUGINS " == *" cuda "* ]]; then
    found=$(field libxformer-cuda Depends)
    [[ "$found" == "libxformer0 (= $revision), "*"libc6 (>= "* ]] || fail "libxformer-cuda depends on $found"
    # Only dependencies that are part of Debian.
    if grep -iE 'nvidia|cuda|cublas' <<<"$found"; then fail "libxformer-cuda depends on packages of NVIDIA"; fi
    [[ "$(field libxformer-cuda Recommends)" =~ ^libcublas-[0-9]+-[0-9]+\ \|\ libcublaslt[0-9]+$ ]] ||
        fail "libxformer-cuda recommends $(field libxformer-cuda Recommends)"
fi

# Files: each installed file is in exactly one package; each package has its documents.
install_component() { DESTDIR=$work/components/$1 quietly "$CMAKE" --install "$BUILD" --prefix /usr --component "$2"; }
install_component libxformer0 runtime
install_component libxformer-dev devel
for plugin in $PLUGINS; do
    package=libxformer0
    if [ "$plugin" != openblas ]; then package=libxformer-$plugin; fi
    install_component $package "$plugin"
done
mkdir unpacked control
DESTDIR=$work/everything quietly "$CMAKE" --install "$BUILD" --prefix /usr
for package in "${packages[@]}"; do
    quietly dpkg-deb -x "$(deb "$package")" "unpacked/$package"
    if [ "$package" = xformer-serve ]; then continue; fi # see serve.sh
    dpkg-deb -x "$(deb "$package")" root
    equal "$package: installed files" "$(files "components/$package")" \
        "$(files "unpacked/$package" | grep -v '^usr/share/doc/')"
    equal "$package: documents" "$(printf '%s\n' changelog.Debian.gz changelog.gz copyright)" \
        "$(files "unpacked/$package/usr/share/doc/$package" | grep -v '^examples/')"
done
equal "all packages together" "$(files everything)" "$(files root | grep -v '^usr/share/doc/')"
twice=$(for package in "${packages[@]}"; do files "unpacked/$package"; done | sort | uniq -d)
equal "no file in two packages" "" "$twice"
examples=$root/usr/share/doc/libxformer-dev/examples
# All except the trained models, which are larger than everything else in the packages.
equal "examples" "$(files "$SOURCE/examples" | grep -v '^translate/en-..[.]xf$')" "$(files "$examples")"
equal "first lines of examples/translate/demo.sh" "$(head -n 3 "$SOURCE/examples/translate/demo.sh")" \
    "$(head -n 3 "$examples/translate/demo.sh")"

# Owners, permissions, and checksums; no scripts that run as root, except those of xformer-serve.
for package in "${packages[@]}"; do
    dpkg-deb -c "$(deb "$package")" >contents
    wrong=$(grep -vE '^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x|lrwxrwxrwx) root/root ' contents || true)
    equal "$package: owners and permissions" "" "$wrong"
    wrong=$(grep -E '^-rwx' contents | grep -vE '\.sh$|/usr/bin/' || true)
    equal "$package: what is no script can't be run" "" "$wrong"
    quietly dpkg-deb -e "$(deb "$package")" "control/$package"
    (cd "unpacked/$package" && quietly md5sum -c --strict "$work/control/$package/md5sums")
    equal "$package: files with sums" "$(cd "unpacked/$package" && find . -type f | sed 's|^\./||' | sort)" \
        "$(sed 's/^[0-9a-f]*  //' "control/$package/md5sums" | sort)"
done
equal "control of libxformer0" "$(printf '%s\n' control md5sums shlibs symbols triggers)" "$(ls control/libxformer0)"
for package in "${packages[@]}"; do
    if [ "$package" = libxformer0 ] || [ "$package" = xformer-serve ]; then continue; fi
    equal "control of $package" "$(printf '%s\n' control md5sums)" "$(ls "control/$package")"
done
equal "triggers" "activate-noawait ldconfig" "$(cat control/libxformer0/triggers)"

# No file contains a folder of this machine; libraries are stripped.
for word in "$SOURCE" "$BUILD" "$work"; do
    if grep -rlF -- "$word" unpacked control; then fail "packages name $word"; fi
done
while read -r library; do
    if readelf -SW "$library" | grep -E '\.(symtab|comment|debug_info)'; then fail "$library is not stripped"; fi
done < <(find unpacked -type f -name '*.so*')

# The symbols are those of the library, and a program that links it depends on this minor version.
export DEB_HOST_ARCH=$architecture
mkdir -p source/debian
printf 'Source: other\n\nPackage: libxformer0\nArchitecture: any\n\nPackage: other\nArchitecture: any\n' \
    >source/debian/control
(cd source && quietly dpkg-gensymbols -c4 -plibxformer0 -v"$VERSION" -P"$work/unpacked/libxformer0" \
    -I"$work/control/libxformer0/symbols" -e"$lib/libxformer.so.$VERSION" -O/dev/null)
count=$(grep -c '^ xf_' control/libxformer0/symbols)
[ "$count" -ge 80 ] || fail "only $count symbols"

text=$(PKG_CONFIG_PATH=$lib/pkgconfig "$PKG_CONFIG" --cflags --libs "xformer = $VERSION") || fail "pkg-config"
read -ra flags <<<"$text"
for program in first train; do
    quietly "$CC" -std=c11 -Wall -Wextra -Werror "$examples/first/$program.c" "${flags[@]}" -o "$program"
done
quietly "$CC" -std=c11 "$SOURCE/tests/surfaces/install/consumer/use.c" "${flags[@]}" -o use
mkdir -p packaged/DEBIAN source/lib
cp control/libxformer0/symbols packaged/DEBIAN/
cp -a "root/usr" packaged/
IFS=. read -r major minor _ <<<"$VERSION"
expected="libxformer0 (>= 0.1.0)"
if [ "$major" = 0 ]; then expected+=", libxformer0 (<< 0.$((minor + 1))~)"; fi
found=$(cd source && dpkg-shlibdeps -O -S"$work/packaged" "$work/first" 2>"$work/log") || { cat log; fail "$found"; }
[[ "$found" == *"$expected"* ]] || fail "a program depends on $found, expected $expected"

# They run with the unpacked library and plugins.
export LD_LIBRARY_PATH=$lib
equal "first.c" "$german" "$("${emulator[@]}" ./first "$model" "$english")"
quietly "${emulator[@]}" ./use
for plugin in $PLUGINS; do
    if [[ "$plugin" == [mn]* ]]; then continue; fi # mpi and nccl are not backends
    grep -qF "from '$lib/xformer/libxformer_$plugin.so'" log || { cat log; fail "the program found no $plugin"; }
done

if [ -n "$SERVE" ]; then bash "$SOURCE/tests/surfaces/package/serve.sh" "$work"; fi

# The examples, built with CMake outside of the sources. clean_root.sh runs the demo. The translation server is built
# only if its libraries are found.
configure_examples() {
    quietly "$CMAKE" -S "$examples" -B examples -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
        -DCMAKE_PREFIX_PATH="$root/usr" -DCMAKE_TOOLCHAIN_FILE="$TOOLCHAIN" "$@"
}
configure_examples -DCLD2_LIBRARY= -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
grep -qF 'examples/serve is not built' log || { cat log; fail "a server without its libraries"; }
rm -r examples
configure_examples
quietly "$CMAKE" --build examples
if [ -n "$SERVE" ]; then
    [[ "$("${emulator[@]}" examples/serve/xformer-serve --help)" == *--translation-timeout* ]] ||
        fail "the server of the examples"
fi
built=$(find examples -name translate -type f) first=$(find examples -name first -type f)
equal "first.c by CMake" "$german" "$("${emulator[@]}" "$first" "$model" "$english")"
equal "translate by CMake" "$german" "$(echo "$english" | "${emulator[@]}" "$built" translate --model "$model" 2>/dev/null)"

# In a cross build, texts and scores have the bits of x86-64.
if [ ${#emulator[@]} -gt 0 ]; then
    quietly "$CC" -std=c11 "$SOURCE/tests/golden/bits.c" "${flags[@]}" -o bits
    "${emulator[@]}" ./bits "$model" "$SOURCE/examples/translate/data/small.test.tsv" "$SOURCE/tests/golden/bits.txt" \
        neon-dot few
fi

if command -v lintian >/dev/null; then
    quietly lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$target"/*.deb
    if grep -E '^[EW]:' log; then fail "lintian"; fi
else
    echo "lintian was not run: it is not installed"
fi
echo "package: ${packages[*]} passed"
