#!/usr/bin/env bash
# Builds a wheel that holds the library and its openblas plugin: `pip install` of it needs nothing else.
#
#     bindings/python/build_wheel.sh PREFIX OUTPUT      PREFIX: where cmake --install put the library
#
# What libxformer.so needs beyond the libraries that every Linux has (manylinux, PEP 600) goes in beside it, under a
# name of its own so that it meets no other copy in the process: what auditwheel does. setup.py computes the wheel's
# platform tag. The CUDA plugin stays out: it would be useless without NVIDIA's libraries. Needs no network; Debian
# packages: python3-pip, python3-setuptools, python3-wheel, patchelf, binutils, and those that building the library
# needs, whose licences are copied. PYTHON names another interpreter.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=${1:?usage: build_wheel.sh PREFIX OUTPUT}
output=${2:?usage: build_wheel.sh PREFIX OUTPUT}
python=${PYTHON:-/usr/bin/python3}
. "$here/../environment.sh" "$prefix"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

cp -RL "$here"/{LICENSE,README.md,pyproject.toml,setup.py,xformer} "$stage"
chmod -R u+w "$stage"
find "$stage" -name __pycache__ -prune -exec rm -rf {} +
lib=$stage/xformer/lib
rm -rf "$lib"
mkdir "$lib"
plugin=$XFORMER_LIBDIR/xformer/libxformer_openblas.so
[ -e "$plugin" ] || { echo "build_wheel.sh: there is no $plugin: build with -DXF_OPENBLAS=ON" >&2; exit 1; }
# The library finds plugins in its own folder too.
install "$XFORMER_LIBDIR/libxformer.so.0" "$plugin" "$lib"

# licence FILE NAME: its Debian package's, into the wheel.
licence() {
    local package
    package=$(dpkg-query -S "$1" | sed 's/:.*//; q')
    cp "/usr/share/doc/$package/copyright" "$stage/LICENSE.$2"
}
# These are compiled into the library and the plugin.
licence '*/include/rapidjson/rapidjson.h' RapidJSON
licence '*/libopenblas.a' OpenBLAS

strip --strip-unneeded "$lib"/*
ldd "$lib/libxformer.so.0" | sed -nE 's/^\s*(\S+) => (\S+) .*/\1 \2/p' | while read -r name path; do
    case $name in
        libc.* | libm.* | libdl.* | librt.* | libpthread.* | libstdc++.* | libgcc_s.* | ld-linux*) continue ;;
    esac
    own=${name%%.so*}-xformer.so${name##*.so}
    install "$path" "$lib/$own"
    patchelf --set-soname "$own" "$lib/$own"
    patchelf --replace-needed "$name" "$own" "$lib/libxformer.so.0" # one change a call: Debian 12's mixes up two
    licence "$(readlink -f "$path")" "${name%%.so*}"
done
patchelf --set-rpath '$ORIGIN' "$lib/libxformer.so.0"

mkdir -p "$output"
# Without its cache pip needs no home.
"$python" -m pip --quiet --disable-pip-version-check --no-cache-dir wheel --no-index --no-deps --no-build-isolation \
    --wheel-dir "$output" "$stage"
ls "$output"/xformer-*.whl
