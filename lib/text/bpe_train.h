// Learns pieces from counted words: a BPE table (Sennrich et al. 2016, algorithm 1), or those of WordPiece (Schuster
// and Nakajima 2012; Wu et al. 2016, s. 4.1).
//
// The algorithm merges the most frequent pair of neighbouring pieces, again and again. Counting all pairs anew after
// each merge would take days; here every pair keeps its count and the places where it occurs, and a merge visits only
// those places. The result depends on the counts alone: equal counts are decided by the bytes of the left and then
// the right piece, smallest first, never by the order of the text or of a hash table.
//
// WordPiece chooses, instead of the most frequent pair, the one whose merging raises the likelihood of the text most,
// where pieces are drawn independently by their counts c of N in all:
//
//     gain(a, b) = f(c_a - m) + f(c_b - m) + f(m) - f(N - m) - f(c_a) - f(c_b) + f(N),   f(x) = x log x,  m = c_ab
//
// A gain falls as other merges use a pair up, and rises when they use up a or b alone. Falls are seen at once, rises
// whenever the vocabulary has grown by a twentieth; N is that of the last such look. It goes on to the size asked for,
// even where no merge gains: the text still becomes shorter.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/call.h"
#include "text/bpe_model.h"
#include "text/hash_index.h"
#include "text/wordpiece_model.h"

namespace xf {

// For the hash of training text: one that no text can have been made for.
uint64_t random_hash_seed();

// The distinct words of a text with their counts.
class WordCounts {
public:
    struct Word {
        size_t offset;
        uint32_t size;
        int64_t count;
    };

    WordCounts();

    void add(std::string_view word);
    const std::vector<Word> &words() const { return words_; }
    std::string_view bytes(const Word &word) const { return std::string_view(bytes_).substr(word.offset, word.size); }

private:
    uint64_t seed_;  // of the hash alone: words stay in the order in which they came
    std::string bytes_;
    std::vector<Word> words_;
    HashIndex index_;
};

struct BpeTrainOptions {
    int64_t vocab_size;         // all pieces: specials, bytes, characters, merges
    int64_t min_pair_count;     // rarer pairs (unigram: strings) are no pieces
    double character_coverage;  // share of the characters above U+007F that get a piece, the most frequent first
};

// The characters above U+007F that get a piece, the most frequent first, then by code point; at most `room`.
std::vector<uint32_t> choose_characters(const WordCounts &words, double coverage, int64_t room);

// Frees the words as soon as they are not needed. call hears "tokenizer", in pieces.
BpeTable train_bpe(WordCounts words, const BpeTrainOptions &options, const Call &call = Call());
WordPieceTable train_wordpiece(WordCounts words, const BpeTrainOptions &options, const Call &call = Call());

}  // namespace xf
