#!/usr/bin/env bash
# Tests how `translate inspect` distinguishes models from texts, and the format of --help on a terminal of 80 columns.
#
#   usage.sh TRANSLATE MODEL
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
translate=$(realpath "$1") model=$(realpath "$2")
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"

inspect() { "$translate" inspect "$@" </dev/null; }
# told WORD: checks whether the previous command printed the configuration of a model or the pieces of a text.
told() { holds "it tells of $1: $(head -c 200 stdout)" grep -q "^$1" stdout; }

ln -s "$model" ok.xf
cp "$model" named
echo "one two" >notes
expect 0 "" inspect --model ok.xf
cp stdout whole
told configuration
expect 0 "" inspect ok.xf
holds "the first argument is the model" cmp stdout whole
expect 0 "" inspect named
holds "whatever its name" cmp stdout whole
expect 0 "" inspect ok.xf "one two"
told pieces
holds "it is the text" grep -q '^back *one two$' stdout
cp stdout pieces
expect 0 "" inspect --model ok.xf "one two"
holds "as with --model" cmp stdout pieces
expect 0 "" inspect "one two"
told pieces
for text in "-- ok.xf" "--model ok.xf ok.xf" "--model ok.xf -- ok.xf" "ok.xf -- ok.xf"; do
    # shellcheck disable=SC2086 # several words
    expect 0 "" inspect $text
    holds "$text: the text is ok.xf" grep -q '^back *ok.xf$' stdout
done
expect 1 "cannot open 'typo.xf'" inspect typo.xf
expect 1 "'typo.xf' was taken for a model" inspect typo.xf
holds "it is not printed" test ! -s stdout
expect 1 "'notes' was taken for a model" inspect notes
expect 1 "'one' was taken for a model" inspect one two
expect 1 "cannot open 'typo.xf'" inspect --model typo.xf
holds "what --model names is a model" test "$(grep -c taken stderr)" = 0
expect 2 "'b' is one argument too many" inspect --model ok.xf a b
expect 2 "'c' is one argument too many" inspect ok.xf b c
expect 2 "'x' is one argument too many" "$translate" evaluate x

expect 0 "" "$translate" --help
holds "no line of the list of commands is longer than 80" test -z "$(grep -E '.{81}' stdout)"
for command in train translate score evaluate inspect; do
    expect 0 "" "$translate" "$command" --help
    holds "$command: no line is longer than 80" test -z "$(grep -E '.{81}' stdout)"
    holds "$command: no line ends with a space" test -z "$(grep ' $' stdout)"
    holds "$command: an empty default is visible" grep -qF -- '--context.backend_path ""' stdout
    holds "$command: whole numbers are whole" test -z "$(grep -E 'From [0-9]+ to [0-9.]+e' stdout | grep -v '1e+18')"
    tr -s ' \n' ' ' <stdout >words
    holds "$command: a bound is exact" grep -q "From 0 to 9000000000000000\." words
done
end_checks 50
