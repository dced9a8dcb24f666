// Corpus BLEU (Papineni et al. 2002) with one reference, equal to sacreBLEU 2 up to rounding.
//
// BLEU is a ratio of sums over the corpus, so segments are added one by one and only ten integers are stored. Papers
// should report k13a on plain text. kNone without smoothing, on tokenized text, equals multi-bleu.perl. kSplitHyphens
// without smoothing equals Table 2 of the Transformer paper (s. 6.1). Always report a score with its signature.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace xf {

// kNone splits at the characters that Python treats as white space. kSplitHyphens splits bytes at ASCII white space, as
// multi-bleu.perl does, after splitting compounds: s/(\S)-(\S)/$1 ##AT##-##AT## $2/g.
enum class BleuTokenizer { k13a, kNone, kSplitHyphens };

// How a precision without matches is computed. kExp: from 1/2, 1/4, ... of a match (NIST). kNone: the precision is 0,
// and so is the score.
enum class BleuSmoothing { kExp, kNone };

struct BleuOptions {
    BleuTokenizer tokenizer = BleuTokenizer::k13a;
    BleuSmoothing smoothing = BleuSmoothing::kExp;
};

struct BleuScore {
    double score = 0;                       // 0 to 100
    std::array<double, 4> precisions = {};  // percent, n-grams of 1 to 4 words, smoothed
    double brevity_penalty = 0;
    int64_t hyp_len = 0, ref_len = 0;    // words
    std::array<int64_t, 4> counts = {};  // clipped matches
    std::array<int64_t, 4> totals = {};  // n-grams of the hypotheses
};

// The tokens of k13a, separated by white space; split_words() (characters.h) gives a list.
std::string tokenize_13a(std::string_view segment);

class Bleu {
public:
    explicit Bleu(const BleuOptions &options = {}) : options_(options) {}

    // Each byte that is not valid UTF-8 counts as one character, so any hypothesis is accepted.
    void add(std::string_view hypothesis, std::string_view reference);

    // The score of all segments added so far; all zeros if there are none.
    BleuScore score() const;

    // "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:xformer-0.1.0"
    std::string signature() const;

private:
    BleuOptions options_;
    int64_t hyp_len_ = 0, ref_len_ = 0;
    std::array<int64_t, 4> counts_ = {}, totals_ = {};
};

}  // namespace xf
