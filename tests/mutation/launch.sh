#!/bin/sh
# Starts the compiler for the copy that tree.py makes. Files with mutants lie in one file for each folder (CMake's
# "unity"): these alone get mutant.h, and little optimization. All others are compiled as in a release.
#
# XF_MUTATION_SYNTAX=1: says only whether they compile.
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
