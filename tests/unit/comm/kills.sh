#!/usr/bin/env bash
# The long form of the test comm_kills: COUNT deaths of ranks at random times, and 20 in one run. Prints rows for
# tests/harness/evidence/ledger.tsv at the end. Fails if a rank hangs, ends late or with a wrong status, or the final
# file differs.
#
#     tests/unit/comm/kills.sh BUILD [COUNT [SEED]]      2000 deaths, about 15 minutes, mostly waiting
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C
if [ $# -lt 1 ] || [ ! -x "$1/bin/comm_kills" ]; then
    echo "Usage: kills.sh BUILD [COUNT [SEED]]; BUILD contains bin/comm_kills" >&2
    exit 2
fi
build=$(cd "$1" && pwd -P)
count=${2:-2000}
seed=${3:-$(date +%s)}
commit=$(git -C "$(dirname "$0")" rev-parse --short HEAD)
said=$(mktemp)
trap 'rm -f "$said"' EXIT
export XF_BACKEND_PATH="$build/lib"

# rows NAME: converts lines such as "processes: 50 deaths in 19 runs, 13.3 s; ..."
rows() {
    awk -v name="$1" -v seed="$seed" -v day="$(date -u +%F)" -v commit="$commit" '
        /: [0-9]+ deaths in / {
            sub(":", "", $1)
            printf "%s\t%s\tkills of %s, %s\t%d\t%.0f\t-\t0 hung, late, wrong or other files; seed %s\n", day, commit, $1,
                name, $2, $7, seed
        }' "$said"
}

"$build/bin/comm_kills" "$count" 0 "$seed" | tee "$said"
table=$(rows "1 to 4 in a run")
"$build/bin/comm_kills" 20 20 "$seed" | tee "$said"
table+=$'\n'$(rows "all in one run")
printf '\n%s\n' "$table"
