#!/usr/bin/env bash
# The bindings for ARM64: builds each one with the library of a cross build, and runs it in an emulator.
#
#     tests/harness/platforms/bindings.sh BUILD [BINDING]    BUILD: that of tests/platforms.sh
#
# Writes below BUILD/bindings/arm64.
#
# python    the wheel: its tag and files; the contracts with Debian's arm64 Python, which is downloaded with apt-get
# rust      translates with an example; requires the target's standard library (libstd-rust-dev:arm64, or rustup)
# go        translates with an example, and tests the contracts
# java      compiles the native library, which contains assertions of the layout of each struct, and translates with
#           Debian's arm64 JRE, which is downloaded with apt-get
# A binding is skipped if its tools are missing.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C.UTF-8
build=$(cd "${1:?usage: bindings.sh BUILD}" && pwd -P)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd -P)
target=aarch64-linux-gnu libraries=/usr/lib/aarch64-linux-gnu
work=$build/bindings/arm64
rm -rf "$work"
mkdir -p "$work"
cd "$work"
cmake --install "$build" --prefix "$work/installed" >log
. "$root/bindings/environment.sh" installed
unset LD_LIBRARY_PATH # for the emulated programs only
export PKG_CONFIG_LIBDIR=$libraries/pkgconfig
model=$root/examples/translate/en-de.xf english="Choose File - Save." german="Wählen Sie Datei – Speichern."

fail() {
    echo "bindings.sh: $*" >&2
    exit 1
}

# emulate FOLDER PROGRAM...: runs a program with the libraries of FOLDER. A qemu that hangs is stopped.
emulate() { timeout 1200 "${XF_QEMU:-qemu-aarch64-static}" -E LD_LIBRARY_PATH="$1" "${@:2}"; }

# translates NAME COMMAND...: the command prints the expected translation.
translates() {
    local found
    found=$("${@:2}") || fail "$1: exit status $?"
    [ "$found" = "$german" ] || fail "$1 printed '$found', expected '$german'"
}

is_arm64() { readelf -h "$1" | grep -q 'Machine: *AArch64$' || fail "$1 is not an ARM64 file"; }

# download FOLDER PACKAGE...: unpacks arm64 packages, which cannot be installed next to those of this system.
download() {
    mkdir -p "$1/debs"
    (cd "$1/debs" && shift && apt-get download -q "${@/%/:arm64}") >log 2>&1 || return 1
    local deb
    for deb in "$1"/debs/*.deb; do dpkg -x "$deb" "$1"; done
}

test_python() {
    STRIP=$target-strip "$root/bindings/python/build_wheel.sh" installed wheel $libraries
    local wheel file required promised
    wheel=$(echo wheel/*.whl)
    promised=$(sed -nE 's/.*-py3-none-manylinux_2_([0-9]+)_aarch64.whl$/\1/p' <<<"$wheel")
    [ -n "$promised" ] || fail "$wheel, expected a tag for aarch64"
    /usr/bin/python3 -m wheel unpack -d unpacked "$wheel" >log # compares the files with RECORD
    mv unpacked/* site
    grep -qx "Tag: py3-none-manylinux_2_${promised}_aarch64" site/*.dist-info/WHEEL || fail "the tag in WHEEL"
    for file in site/xformer/lib/*.so*; do is_arm64 "$file"; done
    required=$(for file in site/xformer/lib/*.so*; do readelf -VW "$file"; done | grep -oE 'GLIBC_2\.[0-9]+' |
        sort -V | tail -n 1)
    [ "$promised" -ge "${required#GLIBC_2.}" ] || fail "$wheel requires $required"

    if ! download interpreter {libpython3.11,python3.11}-minimal libpython3.11-stdlib libexpat1 zlib1g libffi8; then
        echo "python: the wheel was built and checked; not run, because apt-get cannot download Python for arm64"
        return
    fi
    local found=$PWD/interpreter/usr/lib/$target:$PWD/interpreter/lib/$target
    export PYTHONPATH=$PWD/site:/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
    translates "the wheel" emulate "$found" interpreter/usr/bin/python3.11 -c \
        'import sys, xformer; print(*xformer.translate(sys.argv[1], sys.argv[2:]))' "$model" "$english"
    emulate "$found" interpreter/usr/bin/python3.11 -m pytest -q -p no:cacheprovider \
        "$root"/bindings/python/tests/test_{arguments,contracts}.py
    unset PYTHONPATH
}

test_rust() {
    local triple=aarch64-unknown-linux-gnu
    if ! compgen -G "$(rustc --target $triple --print target-libdir 2>/dev/null)/libstd-*.rlib" >/dev/null; then
        echo "rust: skipped, because rustc has no standard library for $triple (Debian: libstd-rust-dev:arm64)"
        return
    fi
    export CARGO_TARGET_DIR=$work/cargo CARGO_NET_OFFLINE=true CARGO_PROFILE_DEV_DEBUG=0
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$target-gcc
    cargo build --quiet --manifest-path "$root/bindings/rust/Cargo.toml" --locked --target $triple --examples
    translates rust emulate "$XFORMER_LIBDIR" cargo/$triple/debug/examples/sentence "$model" "$english"
}

test_go() {
    command -v go >/dev/null || { echo "go: skipped, because go is missing"; return; }
    export GOCACHE=$work/go/cache GOPATH=$work/go/path GOENV=off GOWORK=off GOPROXY=off GOFLAGS=-mod=mod
    export CGO_ENABLED=1 GOARCH=arm64 CC=$target-gcc
    (cd "$root/bindings/go" && go build -o "$work/go/" ./examples/translate && go test -c -o "$work/go/tests" .)
    is_arm64 go/tests
    echo "$english" >go/input
    translates go emulate "$XFORMER_LIBDIR" go/translate "$model" <go/input
    (cd "$root/bindings/go" && emulate "$XFORMER_LIBDIR" "$work/go/tests" -test.run Contracts)
}

test_java() {
    command -v javac >/dev/null || { echo "java: skipped, because javac is missing"; return; }
    CXX=$target-g++ "$root/bindings/java/build.sh" java
    is_arm64 java/libxformer_jni.so
    if ! download jre openjdk-17-jre-headless zlib1g; then
        echo "java: compiled; not run, because apt-get cannot download a JRE for arm64"
        return
    fi
    cat >Arm64.java <<'END'
class Arm64 {
    public static void main(String[] a) {
        System.out.println(xformer.Xformer.translate(java.nio.file.Path.of(a[0]), java.util.List.of(a[1])).get(0));
    }
}
END
    javac -cp java/xformer.jar Arm64.java
    translates java emulate "$XFORMER_LIBDIR:$PWD/jre/lib/$target" jre/usr/lib/jvm/java-17-openjdk-arm64/bin/java \
        -Xint -XX:+UseSerialGC -XX:-UsePerfData -cp java/xformer.jar:. -Dxformer.library.path="$PWD/java" \
        Arm64 "$model" "$english"
}

for binding in ${2:-python rust go java}; do
    echo "== $binding"
    (test_$binding)
done
