// Learns the pieces of unigram, and their probabilities, from counted words (Kudo 2018, s. 3.2).
//
// It begins with every string of 2 to 16 characters inside a word that occurs often enough, and goes on:
//
//     E   c(w) = sum over words of count * (expected number of times that w is a piece of the word)
//     M   p(w) = c(w) / sum of c
//     prune   a quarter of the pieces, those whose loss costs the least likelihood of the text,
//
// until as many are left as were asked for. A piece that goes is replaced by the best way to cut it into others, which
// is how its loss is judged. Characters never go. Words are taken in the order of their bytes, sums are doubles and
// logarithms are stable_log(), so the result depends on the counts alone, on every machine.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/call.h"
#include "text/bpe_train.h"
#include "text/unigram_model.h"

namespace xf {

// Strings that occur less often than options.min_pair_count are no pieces. Frees the words as soon as they are not
// needed. call hears "tokenizer", in pieces.
UnigramTable train_unigram(WordCounts words, const BpeTrainOptions &options, const Call &call = Call());

}  // namespace xf
