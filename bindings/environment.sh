# Sourced by bindings/*/test.sh: sets the variables in which compilers, loaders, and interpreters find the installed
# library.
#
#     . ../environment.sh PREFIX
#
# SPDX-License-Identifier: Apache-2.0
XFORMER_PREFIX=$(cd "$1" && pwd -P)
xformer_pc=$(find "$XFORMER_PREFIX" -name xformer.pc -path '*/pkgconfig/*' | head -n 1)
[ -n "$xformer_pc" ] || {
    echo "$XFORMER_PREFIX contains no xformer.pc; run cmake --install BUILD --prefix $XFORMER_PREFIX" >&2
    exit 1
}
XFORMER_LIBDIR=$(dirname "$(dirname "$xformer_pc")")
export XFORMER_PREFIX XFORMER_LIBDIR
export PKG_CONFIG_PATH="$XFORMER_LIBDIR/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export LD_LIBRARY_PATH="$XFORMER_LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
unset XF_BACKEND_PATH XFORMER_LIBRARY
