#!/usr/bin/env bash
# Tests docs/models/localizations.py with a few texts: localizations.sh SOURCE_FOLDER
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
root=$(realpath "$1")
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"

mkdir -p en/a fr/b
cat >en/a/page.ftl <<'EOF'
# A comment = nothing
-brand-name = Firefox
open = Open the <a data-l10n-name="link">file</a>
    with { -brand-name }.
    .accesskey = O
    .title = Open a file
count = { $n ->
    [one] One file
   *[other] Many files
}
named = The file { $name } was saved.
other = The file { $name } was opened.
only-here = Nothing else.
same = Menu
EOF
cat >fr/b/page.ftl <<'EOF'
-brand-name = Firefox
open = Ouvrir le <a data-l10n-name="link">fichier</a>
    avec { -brand-name }.
    .accesskey = O
    .title = Ouvrir un fichier
count = { $n ->
    [one] Un fichier
   *[other] Beaucoup de fichiers
}
named = Le fichier { $name } a été enregistré.
other = Le fichier { $other } a été ouvert.
same = Menu
EOF
cat >en/a/page.properties <<'EOF'
# comment
save=Save the page
save.accesskey=S
long=One \
  and two
none=%S files
accent=Coffee house
EOF
cat >fr/b/page.properties <<'EOF'
save=Enregistrer la page
save.accesskey=E
long=Un \
  et deux
none=fichiers
accent=Maison du caf\u00e9
EOF
localizations() { python3 "$root/docs/models/localizations.py" "$@"; }

expect 0 "" localizations en fr pairs
holds "the count is printed" diff stdout <(echo "pairs: 6")
holds "texts of the same name are pairs" diff pairs - <<'EOF'
Coffee house	Maison du café
One and two	Un et deux
Open a file	Ouvrir un fichier
Open the file with Firefox.	Ouvrir le fichier avec Firefox.
Save the page	Enregistrer la page
The file { $name } was saved.	Le fichier { $name } a été enregistré.
EOF
printf 'Save the page\tSichern\n' >held-out
expect 0 "" localizations en fr pairs held-out
holds "near copies of held-out pairs are left out" test "$(grep -c 'Save the page' pairs)" = 0
expect 1 "localizations.py ENGLISH OTHER PAIRS.tsv" localizations en
end_checks 6
