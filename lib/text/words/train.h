// Learns BPE, WordPiece, and unigram models from word counts.
//
// BPE (Sennrich et al. 2016, algorithm 1) repeatedly merges the most frequent pair of adjacent pieces. Recounting all
// pairs after each merge would take days. Instead, every pair stores its count and its positions, and a merge visits
// only those positions. The result depends only on the counts: ties are resolved by the bytes of the left piece and
// then of the right piece, smallest first, and never by the order of the text or of a hash table.
//
// WordPiece (Schuster and Nakajima 2012; Wu et al. 2016, s. 4.1) merges the pair that increases the likelihood of the
// text most, where pieces are drawn independently according to their counts c, N in total:
//
//     gain(a, b) = f(c_a - m) + f(c_b - m) + f(m) - f(N - m) - f(c_a) - f(c_b) + f(N),   f(x) = x log x,  m = c_ab
//
// A gain decreases when other merges use up the pair, and increases when they use up only a or only b. Decreases are
// applied immediately; increases, and changes of N, are applied whenever the vocabulary has grown by 5 %. Training
// continues to the requested size even if no merge has a positive gain, because the text still becomes shorter.
//
// Unigram (Kudo 2018, s. 3.2) begins with all frequent strings of 2 to 16 characters inside words and repeats
//
//     E       c(w) = sum over words of count * (expected number of occurrences of piece w in the word)
//     M       p(w) = c(w) / sum of c
//     prune   remove the quarter of the pieces whose removal decreases the likelihood of the text least,
//
// until the requested number of pieces is left. The loss of a piece is computed by replacing it with its best
// segmentation into other pieces. Characters are never removed. Words are processed in the order of their bytes, sums
// are doubles, and logarithms are stable_log(), so the result depends only on the counts, on every machine.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/call.h"
#include "text/hash_index.h"
#include "text/words/model.h"

namespace xf {

// Returns a random seed for hashes of training text, so that text with colliding hashes cannot be prepared.
uint64_t random_hash_seed();

// The distinct words of a text with their counts, in order of first occurrence.
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
    uint64_t seed_;
    std::string bytes_;
    std::vector<Word> words_;
    HashIndex index_;
};

struct BpeTrainOptions {
    int64_t vocab_size;         // all pieces: control tokens, bytes, characters, and learned pieces
    int64_t min_pair_count;     // rarer pairs (unigram: strings) do not become pieces
    double character_coverage;  // fraction of the characters above U+007F that get a piece, the most frequent first
};

// Returns the characters above U+007F that get a piece, at most `room`: the most frequent first, ties by code point.
std::vector<uint32_t> choose_characters(const WordCounts &words, double coverage, int64_t room);

// Text and initial pieces of unigram.

// The distinct words sorted by their bytes, split into chunks of at most 32 bytes so that no product of probabilities
// underflows.
struct UnigramText {
    struct Chunk {
        size_t offset, size;
        int64_t count;
    };
    UnigramText(const WordCounts &words, const Call &call);
    std::string_view text(const Chunk &chunk) const { return std::string_view(bytes).substr(chunk.offset, chunk.size); }

    std::string bytes;
    std::vector<Chunk> chunks;
};

struct UnigramSeed {
    std::string_view text;  // a view into UnigramText::bytes
    int64_t count;
    int characters;
};

// Returns the strings of 2 to 16 characters that occur at least min_count times and consist of ASCII characters and
// `characters`: the max_count ones with the greatest count times length, in that order, ties by bytes.
std::vector<UnigramSeed> find_seeds(const UnigramText &text, const std::vector<uint32_t> &characters, int64_t min_count,
                                    size_t max_count, const Call &call);

// Each frees the words as soon as they are no longer needed and reports progress as "tokenizer", in pieces.
WordTable train_bpe(WordCounts words, const BpeTrainOptions &options, const Call &call = Call());
WordTable train_wordpiece(WordCounts words, const BpeTrainOptions &options, const Call &call = Call());
WordTable train_unigram(WordCounts words, const BpeTrainOptions &options, const Call &call = Call());

}  // namespace xf
