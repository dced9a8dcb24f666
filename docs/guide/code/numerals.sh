# numerals.sh - makes the data of the guides: train.tsv and dev.tsv. SPDX-License-Identifier: Apache-2.0
words="one/eins two/zwei three/drei four/vier five/fünf six/sechs"
for a in $words; do
    for b in $words; do
        for c in $words; do
            printf '%s %s %s\t%s %s %s\n' ${a%/*} ${b%/*} ${c%/*} ${a#*/} ${b#*/} ${c#*/}
        done
    done
done >all.tsv
awk 'NR % 9 == 5 { print > "dev.tsv"; next } { print > "train.tsv" }' all.tsv
