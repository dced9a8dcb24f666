#!/usr/bin/env bash
# Installs missing Debian packages for building, with "serve" for examples/serve, with "test" for testing, with
# "checkers" for checkers.sh.
#
#     tests/packages.sh [serve | test | checkers]
#
# Never asks for confirmation; uses sudo only if a package is missing and the user is not root.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

# The serial OpenBLAS starts no threads; its static library becomes part of the plugin.
packages=(cmake ninja-build g++ pkg-config libutf8proc-dev rapidjson-dev libopenblas-serial-dev)
if [ "${1-}" = checkers ]; then
    packages+=(libcmocka-dev clang libclang-rt-14-dev python3 valgrind libc6-dbg clang-tidy-14 cppcheck)
fi
if [ "${1-}" = serve ] || [ "${1-}" = test ]; then
    packages+=(libmicrohttpd-dev libcld2-dev) # examples/serve
fi
if [ "${1-}" = test ]; then
    packages+=(libcmocka-dev doxygen binutils python3)
    packages+=(abi-dumper abi-compliance-checker dpkg-dev lintian)        # tests/surfaces/abi, tests/surfaces/package
    packages+=(golang-go openjdk-17-jdk-headless junit4)                   # bindings
    packages+=(python3-pytest python3-setuptools python3-wheel python3-pip python3-numpy patchelf)
    packages+=(libopenmpi-dev openmpi-bin)                                 # lib/comm/mpi, tests/unit/comm
    packages+=(chromium)                                                   # tests/surfaces/translate: the pages in a browser
    packages+=(python3-yaml)                                               # tests/surfaces/cluster
    packages+=(xz-utils)                                                   # tests/harness/fuzz
    packages+=(clang-format-14)                                            # tests/surfaces/style
    packages+=(clang)                                                      # tests/harness/platforms/amalgamation.sh
    command -v cargo >/dev/null || packages+=(cargo rustc)
fi

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi
if ! command -v apt-get >/dev/null; then
    echo "packages.sh: apt-get was not found; install the equivalents of these Debian packages: ${missing[*]}" >&2
    exit 1
fi
root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "packages.sh: packages are missing, and sudo was not found; run as root: apt-get install ${missing[*]}" >&2
        exit 1
    }
    root=(sudo)
fi
echo "Installing ${missing[*]}"
"${root[@]}" apt-get update -q
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
