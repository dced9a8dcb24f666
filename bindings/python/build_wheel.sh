#!/usr/bin/env bash
# Builds a wheel that contains the library and its OpenBLAS plugin, so that `pip install` needs nothing else.
#
#     bindings/python/build_wheel.sh PREFIX OUTPUT [LIBRARIES]      PREFIX: of cmake --install
#
# For Windows, the wheel contains xformer.dll and its plugin. For a cross build, LIBRARIES is the folder of the target's
# libraries, and STRIP the target's strip.
#
# Like auditwheel, it adds the libraries that libxformer.so needs and that not every Linux has (manylinux, PEP 600),
# renamed so that they do not conflict with other copies in a process. setup.py computes the platform tag. The CUDA
# plugin is not included, because it needs NVIDIA's libraries. Needs no network. Debian packages: python3-pip,
# python3-setuptools, python3-wheel, patchelf, binutils, and those for building the library, whose licenses are copied.
# PYTHON selects another interpreter.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=${1:?usage: build_wheel.sh PREFIX OUTPUT [LIBRARIES]}
output=${2:?usage: build_wheel.sh PREFIX OUTPUT [LIBRARIES]}
libraries=${3-}
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
windows=
plugin=$XFORMER_LIBDIR/xformer/libxformer_openblas.so library=$XFORMER_LIBDIR/libxformer.so.0
if [ -e "$XFORMER_PREFIX/bin/xformer.dll" ]; then
    windows=1 plugin=$XFORMER_PREFIX/bin/xformer/xformer_openblas.dll library=$XFORMER_PREFIX/bin/xformer.dll
fi
[ -e "$plugin" ] || { echo "build_wheel.sh: $plugin does not exist; build with -DXF_OPENBLAS=ON" >&2; exit 1; }
# The library also searches its own folder for plugins.
install "$library" "$plugin" "$lib"

# license FILE NAME: copies the license of the file's Debian package into the wheel.
license() {
    local package
    package=$(dpkg-query -S "$1" | sed 's/:.*//; q')
    cp "/usr/share/doc/$package/copyright" "$stage/LICENSE.$2"
}
# These are compiled into the library and the plugin.
license '*/include/rapidjson/rapidjson.h' RapidJSON
if [ -n "$windows" ]; then # which needs only DLLs of Windows
    license '*/include/utf8proc.h' utf8proc
    license '*/x86_64-w64-mingw32/lib/libkernel32.a' mingw-w64
    license '*/x86_64-w64-mingw32/*-posix/libstdc++.a' GCC
else
    license '*/libopenblas.a' OpenBLAS
fi

"${STRIP:-strip}" --strip-unneeded "$lib"/*
# needed: prints name and file of each library that libxformer.so needs.
needed() {
    if [ -n "$libraries" ]; then # ldd would run the target's loader
        readelf -dW "$lib/libxformer.so.0" | sed -nE "s|.*\(NEEDED\).*\[(.*)\]|\1 $libraries/\1|p"
    else
        ldd "$lib/libxformer.so.0" | sed -nE 's/^\s*(\S+) => (\S+) .*/\1 \2/p'
    fi
}
[ -n "$windows" ] || needed | while read -r name path; do
    case $name in
        libc.* | libm.* | libdl.* | librt.* | libpthread.* | libstdc++.* | libgcc_s.* | ld-linux*) continue ;;
    esac
    own=${name%%.so*}-xformer.so${name##*.so}
    install "$path" "$lib/$own"
    patchelf --set-soname "$own" "$lib/$own"
    patchelf --replace-needed "$name" "$own" "$lib/libxformer.so.0" # one change per call: patchelf of Debian 12 confuses two
    license "$(readlink -f "$path")" "${name%%.so*}"
done
[ -n "$windows" ] || patchelf --set-rpath '$ORIGIN' "$lib/libxformer.so.0"

mkdir -p "$output"
# Without a cache pip does not need a home folder.
"$python" -m pip --quiet --disable-pip-version-check --no-cache-dir wheel --no-index --no-deps --no-build-isolation \
    --wheel-dir "$output" "$stage"
ls "$output"/xformer-*.whl
