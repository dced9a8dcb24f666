#!/usr/bin/env bash
# `translate translate` and `translate score` with several models: --ensemble and --draft.
#
#   models.sh TRANSLATE EXAMPLE_FOLDER
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
translate=$(realpath "$1") example=$(realpath "$2")
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"

# Models of different sizes with equal tokenizers, and one with another tokenizer.
head -n 200 "$example/data/small.tsv" >corpus.tsv
head -n 20 corpus.tsv | cut -f 1 >sources
made() { # NAME TOKENS OPTION...
    "$translate" train --train corpus.tsv --preset tiny --tokenizer.vocab_size "$2" --hold-out 0 --threads 1 --quiet \
        --data.batch_tokens 400 --steps 20 --model "$1.xf" "${@:3}" </dev/null
}
expect 0 "" made large 300 --model.decoder_layers 6
expect 0 "" made small 300 --model.decoder_layers 1 --model.seed 2
expect 0 "" made other 310
said() { "$translate" translate --model large.xf --threads 1 --decode.max_extra_tokens 10 "$@" <sources; }
scored() { "$translate" score --threads 1 "$@" <pairs; }

# An ensemble: scores are the means of those of its models.
expect 0 "" said --scores --alpha 0
cp stdout alone
expect 0 "" said --scores --alpha 0 --ensemble small.xf
holds "an ensemble has other results than its first model" test -n "$(cmp alone stdout)"
cut -f 1 stdout >searched
paste sources <(cut -f 2 stdout) >pairs
for model in large small; do
    expect 0 "" scored --model $model.xf
    cp stdout $model.scores
done
expect 0 "" scored --model large.xf --ensemble small.xf
holds "a score is the mean" \
    awk '{ d = $3 - ($1 + $2) / 2; if (d > 2e-4 || d < -2e-4) exit 1 }' <(paste large.scores small.scores stdout)
holds "the models differ" test -n "$(cmp large.scores small.scores)"
expect 0 "" scored --model large.xf --ensemble small.xf --ensemble=small.xf
holds "each use of the option adds a model" \
    awk '{ d = $3 - ($1 + 2 * $2) / 3; if (d > 2e-4 || d < -2e-4) exit 1 }' <(paste large.scores small.scores stdout)
expect 0 "" said --ensemble large.xf --scores --alpha 0
holds "equal models have the results of one" cmp alone stdout

# A draft changes nothing.
expect 0 "" said --greedy --scores
cp stdout greedy
expect 0 "" said --greedy --scores --draft small.xf
holds "translations and scores are the same" cmp greedy stdout
expect 2 "--draft is set with a beam of 4, expected greedy search (--greedy)" said --draft small.xf
expect 2 "--draft is set with --ensemble" said --greedy --draft small.xf --ensemble small.xf

# Errors name the file.
for option in --ensemble "--greedy --draft"; do
    # shellcheck disable=SC2086 # one word or two
    expect 1 "cannot open 'none.xf'" said $option none.xf
    # shellcheck disable=SC2086
    expect 1 "other.xf has another tokenizer than the first model" said $option other.xf
    # shellcheck disable=SC2086
    expect 2 "is empty, expected" said $option ""
done
expect 1 "other.xf has another tokenizer" scored --model large.xf --ensemble small.xf --ensemble other.xf
# shellcheck disable=SC2046 # several words
expect 2 "--ensemble is given more than 7 times" said $(yes -- --ensemble=small.xf | head -n 8)
cp small.xf page.html
expect 2 "--attention page.html is the file of --ensemble, which would be overwritten" \
    said --ensemble page.html --attention page.html
expect 2 "--attention page.html is the file of --draft, which would be overwritten" \
    said --greedy --draft page.html --attention page.html
holds "it is unchanged" cmp small.xf page.html
end_checks 31
