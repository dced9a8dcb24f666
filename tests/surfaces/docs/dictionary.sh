#!/usr/bin/env bash
# Tests docs/models/dictionary.py with a few entries: dictionary.sh SOURCE_FOLDER
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
root=$(realpath "$1")
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"

cat >dictionary <<'EOF'
# Version :: devel
Haus {n}; Gebäude {n} [arch.] | Häuser {pl} | Das Haus ist groß. | Es ist nicht weit. :: house; building | houses | The house is / was big (not small). | It’s not far.
etw. tun {vt} :: to do sth.
Katze {f} | Die Katze schläft auf dem Haus. :: cat (animal /abbr./) <cats> | The cat sleeps on the house.
ohne Entsprechung :: one | two
Tür {f} :: door
Er öffnet die Tür. | Er öffnet die Tür. :: He opens the door. | He opens the door.
EOF
printf 'He opens the door.\tEr macht die Tür auf.\n' >held-out
dictionary() { python3 "$root/docs/models/dictionary.py" "$@"; }

expect 0 "" dictionary dictionary sentences phrases
holds "the counts are printed" diff stdout - <<'EOF'
phrases: 1
rare phrases: 3
sentences: 4
EOF
holds "notes are removed, alternatives and repetitions too" diff sentences - <<'EOF'
The house is big.	Das Haus ist groß.
It's not far.	Es ist nicht weit.
The cat sleeps on the house.	Die Katze schläft auf dem Haus.
He opens the door.	Er öffnet die Tür.
EOF
holds "phrases of common words remain" diff phrases <(printf 'house\tHaus\n')
expect 0 "" dictionary dictionary sentences phrases held-out
holds "near copies of held-out pairs are left out" test "$(grep -c 'opens the door' sentences)" = 0
expect 1 "dictionary.py DICTIONARY SENTENCES.tsv" dictionary dictionary
end_checks 7
