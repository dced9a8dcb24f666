#!/bin/sh
# Starts the compiler for the copy that tree.py makes. CMake compiles each folder with mutants as one file ("unity").
# Only these files include mutant.h and are compiled with -O1; all others are compiled as in a release.
#
# XF_MUTATION_SYNTAX=1: checks only that they compile.
#
# SPDX-License-Identifier: Apache-2.0
here=$(dirname "$0")
cache=$(command -v ccache || true)
case "$*" in
    *Unity/unity_*)
        if [ -n "$XF_MUTATION_SYNTAX" ]; then exec "$@" -w -include "$here/mutant.h" -fsyntax-only; fi
        set -- "$@" -O1 -w -include "$here/mutant.h"
        ;;
esac
exec $cache "$@"
