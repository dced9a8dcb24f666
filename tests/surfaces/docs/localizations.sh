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
printf '# comment\nsave=Save the page\nsave.accesskey=S\nlong=One \\\n  and two\nnone=%%S files\n' >en/a/page.properties
printf 'save=Enregistrer la page\nsave.accesskey=E\nlong=Un \\\n  et deux\nnone=fichiers \\u00e9\n' >fr/b/page.properties
localizations() { python3 "$root/docs/models/localizations.py" "$@"; }

expect 0 "" localizations en fr pairs
holds "the count is printed" diff stdout <(echo "pairs: 5")
holds "texts of the same name are pairs" diff pairs - <<'EOF'
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
