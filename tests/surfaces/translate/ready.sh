#!/usr/bin/env bash
# Tests the models of the repository: the program finds the default one, they are small, BLEU of en-de.xf is that of its
# card, and en-fr.xf translates five sentences as its card shows.
#
#   ready.sh TRANSLATE EXAMPLE_FOLDER
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
translate=$(realpath "$1") example=$(realpath "$2")
model=$example/en-de.xf
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"

# Slightly below the score in docs/models/en-de.md for this set, because other processors may round differently.
bar=37.8

holds "$model has at most 15 MB" test "$(stat -Lc %s "$model")" -le 15000000
expect 0 "" "$translate" evaluate --test "$example/data/small.test.tsv" --output answers
holds "BLEU is at least $bar: $(grep BLEU stdout)" awk -v bar=$bar '$1 == "BLEU" { found = $2 } END { exit found < bar }' stdout

cut -f 1 "$example/data/small.test.tsv" >sources
translated() { "$translate" translate "$@" <sources; }
expect 0 "" translated --model "$model" --threads 1
holds "the output is the same by name, with one thread, in other batches" cmp stdout answers
head -n 12 answers >few
head -n 12 sources >sources.few
plain() { "$translate" translate --device cpu:ref <sources.few; }
expect 0 "" plain
holds "11 of 12 answers at least are those of plain loops" test "$(paste -d '\n' stdout few | uniq -d | wc -l)" -ge 11

french=$example/en-fr.xf
holds "$french has at most 8 MB" test "$(stat -Lc %s "$french")" -le 8000000
cat >expected <<'END'
The file could not be found.|Impossible de trouver le fichier.
Do you want to save the changes?|Voulez-vous enregistrer les modifications ?
Open the file.|Ouvrez le fichier.
The connection to the server was lost.|La connexion au serveur a été perdue.
Enter your name and your password.|Saisissez votre nom et votre mot de passe.
END
cut -d '|' -f 1 expected >sources.french
to_french() { "$translate" translate --model "$french" <sources.french; }
expect 0 "" to_french
holds "it translates five sentences as its card shows" diff stdout <(cut -d '|' -f 2 expected)

# No model next to the program, and none on the command line.
cp "$translate" alone
alone() { ./alone "$@" <sources.few; }
expect 2 "the folder of the program has no en-de.xf" alone translate
expect 2 "the folder of the program has no en-de.xf" alone evaluate --test x.tsv
expect 2 "the folder of the program has no en-de.xf" alone inspect
end_checks 13
