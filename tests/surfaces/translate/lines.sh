#!/usr/bin/env bash
# Options of `translate translate` for single lines (prefixes, alignments, banned words, warnings), and `translate
# score`, with the model of the program and with a multilingual one.
#
#   lines.sh TRANSLATE EXAMPLE_FOLDER
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
translate=$(realpath "$1") example=$(realpath "$2")
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"

# said TEXT OPTION...: translates a text of one or more lines.
said() {
    local text=$1
    shift
    printf "$text" | "$translate" translate --model "$example/en-de.xf" --threads 1 "$@"
}

# Several sentences in a line: one warning, which names the first such line.
expect 0 "warning: line 2 seems to contain several sentences" \
    said 'Open the file.\nOpen the file. Close the window.\nClose it! Open it.\n'
holds "the warning is printed once" test "$(grep -c warning stderr)" = 1
holds "each line has a translation" test "$(wc -l <stdout)" = 3
expect 0 "" said 'Mr. Smith went home.\nIt grew by 3.5 percent.\nThe U.S. Army has 3.5 percent.\n'
holds "abbreviations and numbers do not end a sentence" test ! -s stderr

# Prefixes: the second column of a line.
expect 0 "" said 'Open the file.\n'
cp stdout free
expect 0 "" said 'Open the file.\tBitte\nOpen the file.\nOpen the file.\t\n' --prefixes
holds "the translation begins with the prefix: $(head -n 1 stdout)" grep -q '^Bitte .' <(head -n 1 stdout)
holds "a line without prefix is translated as usual" test "$(sed -n 2p stdout)" = "$(cat free)"
holds "so is a line with an empty one" test "$(sed -n 3p stdout)" = "$(cat free)"
holds "scores and n-best include the prefix" test "$(said 'Open the file.\tBitte\n' --prefixes --n-best 3 --scores |
    grep -c $'^1\t-[0-9.]*\tBitte')" = 3
expect 1 "line 1: " said "Open.\\t$(yes Wort | head -n 2000 | tr '\n' ' ')\\n" --prefixes
expect 1 "line 2: " said 'Open.\nOpen.\t\xff\n' --prefixes

# Alignments: a column after the translation, which is the same as without it.
expect 0 "" said 'Open the file.\n' --decode.alignment true
holds "the translation does not change" test "$(cut -f 1 stdout)" = "$(cat free)"
holds "each link has a source and a target token: $(cut -f 2 stdout)" \
    grep -qxE '[0-9]+-0( [0-9]+-[0-9]+)+' <(cut -f 2 stdout)

# Banned words: none of them begins a word of a translation, however the vocabulary spells it.
words() { tr -cs '[:alnum:]äöüÄÖÜß' '\n' <stdout; }
head -n 40 "$example/data/small.test.tsv" | cut -f 1 >sources
banned() { "$translate" translate --model "$example/en-de.xf" --threads 1 --ban list "$@" <sources; }
plain() { "$translate" translate --model "$example/en-de.xf" --threads 1 "$@" <sources; }
expect 0 "" plain
printf 'Datei\r\n\n  ausgewähl \nden\nSie \nin d\n.\n' >list
for word in Datei ausgewähl den Sie; do holds "$word is usual" grep -q "^$word" <(words); done
for option in "" --greedy "--n-best 4"; do
    # shellcheck disable=SC2086 # one word or none
    expect 0 "" banned $option
    holds "no banned word remains" test -z "$(words | grep -E '^(Datei|ausgewähl|den|Sie)')"
    holds "no banned phrase remains" test -z "$(grep -E '(^|[^[:alnum:]])in d' stdout)"
    holds "punctuation can be banned" test -z "$(grep -F . stdout)"
    holds "parts of words are not banned" grep -qE '[[:lower:]](den|datei)' stdout
done
: >list
expect 0 "" banned
cp stdout nothing
expect 0 "" plain
holds "an empty list bans nothing" cmp stdout nothing
expect 1 "can't open none: No such file or directory" plain --ban none
expect 1 "reading . failed: Is a directory" plain --ban .

# Output files: pairs for training, and runs that continue.
expect 0 "" plain --pairs forward
cp stdout forward
holds "a pair has the source first" diff forward <(paste sources nothing)
expect 0 "" plain --pairs back
holds "or the translation first" diff stdout <(paste nothing sources)
expect 0 "" plain --pairs forward --output whole
holds "a file has the same lines" cmp forward whole
holds "nothing is printed" test ! -s stdout
head -c $(($(head -n 17 whole | wc -c) + 9)) whole >part
expect 0 "continuing after line 17" plain --pairs forward --output part --continue
holds "a run continues after the last complete line" cmp part whole
expect 0 "continuing after line 40" plain --pairs forward --output part --continue
holds "a complete file remains" cmp part whole
expect 0 "" plain --pairs forward --output new --continue
holds "a first run may say --continue" cmp new whole
mkfifo input
test_lines() { [ -e "$1" ] && [ "$(wc -l <"$1")" = "$2" ]; }
"$translate" translate --model "$example/en-de.xf" --threads 1 --pairs forward --output killed <input &
exec 3>input
head -n 12 sources >&3
wait_for test_lines killed 12
kill -TERM $!
wait $!
exec 3>&-
holds "a run that is killed has written the lines that it has read" test "$(wc -l <killed)" = 12
expect 0 "continuing after line 12" plain --pairs forward --output killed --continue
holds "and continues" cmp killed whole
head -n 3 sources >short
expect 1 "part has 40 lines, and standard input only 3" \
    "$translate" translate --model "$example/en-de.xf" --threads 1 --output part --continue <short
holds "which does not change the file" cmp part whole
expect 1 "line 2: invalid UTF-8" said 'Open.\nOpen.\t\xff\nOpen.\n' --pairs back
holds "a refused line has an empty translation" test "$(cut -f 1 stdout | sed -n 2p)" = "" -a "$(wc -l <stdout)" = 3
expect 1 "writing failed: No space left on device" plain --output /dev/full
expect 1 "can't write .: Is a directory" plain --output .
expect 2 "--continue requires --output" plain --continue
expect 2 "--pairs is 'both', expected forward or back" plain --pairs both
expect 2 "--pairs cannot be combined with --scores" plain --pairs back --scores
expect 2 "--continue cannot be combined with --n-best" plain --output part --continue --n-best 2
cp "$example/en-de.xf" own.xf
ln own.xf linked
expect 2 "--output linked" "$translate" translate --model own.xf --output linked <short
printf 'Datei\n' >list
expect 2 "--output list" plain --ban list --output list
expect 2 "--output and --attention have the same file page" plain --output page --attention page
expect 1 "can't write short: it is the file that standard input reads" \
    "$translate" translate --model own.xf --output short <short
holds "no file that is read was changed" test "$(cat short list | wc -l) $(cmp own.xf "$example/en-de.xf")" = "4 "
expect 1 "can't write /dev/full: --continue requires a regular file" plain --output /dev/full --continue
head -c 9 whole >part
expect 0 "" plain --pairs forward --output part --continue
holds "a file with a part of one line begins anew" cmp part whole

# Scores: one for each pair, equal to that of the search.
head -n 5 sources | "$translate" translate --model "$example/en-de.xf" --threads 1 --greedy --alpha 0 --scores >searched
paste <(head -n 5 sources) <(cut -f 2 searched) >pairs
scores() { "$translate" score --model "$example/en-de.xf" --threads 1 "$@"; }
from_pairs() { scores "$@" <pairs; }
expect 0 "" from_pairs
cp stdout sums
holds "each pair has a score" test "$(grep -c '^-[0-9]*\.[0-9][0-9][0-9][0-9]$' sums)" = 5
holds "it equals that of the search" awk '{ d = $1 - $2; if (d > 0.01 || d < -0.01) exit 1 }' <(paste sums searched)
cut -f 1 pairs >left
cut -f 2 pairs >right
expect 0 "" scores left right
holds "two files have the same scores" cmp stdout sums
slow() { while read -r line; do printf '%s\n' "$line" && sleep 0.1; done <pairs | scores; }
expect 0 "" slow
holds "the result does not depend on the batches" cmp stdout sums
expect 0 "" from_pairs --normalize
holds "divided by the tokens, scores are at least as high" test "$(paste stdout sums | awk '$1 < $2' | wc -l)" = 0
tab=$'\t'
expect 1 "line 2: the line has no tab, expected source TAB translation" scores <<<"one${tab}eins
two
one${tab}eins"
holds "the other lines have scores" test "$(sed -n 2p stdout)" = nan -a "$(sed -n 1p stdout)" = "$(sed -n 3p stdout)"
expect 1 "line 1: the line has several tabs" scores <<<"one${tab}eins${tab}x"
expect 1 "line 2: invalid UTF-8" scores < <(printf 'one\teins\none\t\xff\n')
holds "no message names a pair" test -z "$(grep 'pair 0' stderr)"
expect 0 "" scores < <(printf 'one\teins\r\n\xef\xbb\xbfone\teins\n' | head -n 1)
expect 0 "" scores </dev/null
holds "without pairs there are no scores" test ! -s stdout
head -n 3 right >short
expect 1 "short has 3 lines, and left has more; expected the same number" scores left short
expect 1 "can't open none: No such file or directory" scores left none
expect 1 "reading . failed: Is a directory" scores left .
expect 1 "reading standard input failed: Is a directory" scores <.
expect 2 "the file of the translations of 'left' is missing" scores left
expect 2 "'c' is one argument too many" scores a b c
typed() { # on a terminal
    printf '\004' | timeout 60 script -qec "'$translate' score --model '$example/en-de.xf' --threads 1" /dev/null
}
if command -v script >/dev/null; then
    expect 0 "" typed
    holds "a terminal shows what to enter" grep -q 'Enter pairs: source TAB translation; Ctrl-D ends' stdout
fi
expect 0 "" "$translate" score --help
holds "its options are listed" grep -q -- --normalize stdout

# BLEU of texts that are too short for it.
measured() { "$translate" evaluate --model "$example/en-de.xf" --threads 1 --test "$@"; }
printf 'Save\tSpeichern\nFile\tDatei\nOpen\tÖffnen\n' >words.tsv
expect 0 "" measured words.tsv
holds "BLEU is 0" grep -q '^BLEU *0\.00' stdout
holds "a line says why and names chrF" test "$(grep -A 1 'BLEU is 0 because no translation has 4 words in a row' stdout |
    grep -c 'use chrF2')" = 1
printf 'Save\tqqq\n' >words.tsv
expect 0 "" measured words.tsv
holds "this does not apply to a wrong translation" test -z "$(grep 'BLEU is 0' stdout)"

# A multilingual model: a language tag in the text is an error that names the option.
head -n 200 "$example/data/small.tsv" >corpus.tsv
"$translate" train --train corpus.tsv --preset tiny --tokenizer.vocab_size 300 --steps 2 --hold-out 0 --threads 1 \
    --quiet --model many.xf --model.languages eng=3,deu=4,fra=5 --model.target_language start --text.target_language deu \
    >stdout 2>stderr </dev/null || cat stderr
many() { "$translate" "$1" --model many.xf --threads 1 "${@:2}"; }
expect 1 "line 2 begins with the language tag >>fra<<; remove it, and select the language with --text.target_language fra" \
    many translate --greedy --text.target_language deu < <(printf 'Hello\n>>fra<< Hello\nHello\n')
holds "the other lines are translated" test "$(wc -l <stdout)" = 3 -a -z "$(sed -n 2p stdout)"
expect 1 "text.target_language is not set" many translate < <(printf 'Hello\n')
expect 0 "" said '>>fra<< Hello\n'
pair() { printf 'Hello\tHallo\n'; }
german() { pair | many score --text.target_language deu "$@"; }
expect 0 "" german
cp stdout deu
expect 0 "" german --normalize
holds "the tokens of a target are those with a probability" \
    awk '{ n = $1 / $2; exit !(n > 1.5 && n - int(n + 0.5) < 0.01 && int(n + 0.5) - n < 0.01) }' <(paste deu stdout)
french() { pair | many score --text.target_language fra; }
expect 0 "" french
holds "languages have different scores" test -n "$(cmp deu stdout)"
end_checks 116
