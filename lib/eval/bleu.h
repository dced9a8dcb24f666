// Corpus BLEU (Papineni et al. 2002), one reference, equal to sacreBLEU 2 to the last digits.
//
// BLEU is a ratio of sums over the corpus, so segments are added one by one and only ten integers are kept.
// k13a on plain text is what papers should report; kNone on text that is tokenized already, without smoothing, is
// multi-bleu.perl; kSplitHyphens without smoothing is what the paper's Table 2 reports (s. 6.1). The trap: a score
// without its signature says nothing; print both.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace xf {

// kNone splits at what Python calls a blank. kSplitHyphens splits bytes at ASCII's blanks, as multi-bleu.perl, after
// s/(\S)-(\S)/$1 ##AT##-##AT## $2/g, the tokens of a split compound.
enum class BleuTokenizer { k13a, kNone, kSplitHyphens };

// What a precision without a match becomes. kExp: 1/2, 1/4, ... of one match (NIST); kNone: 0, and so is the score.
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
    std::array<int64_t, 4> counts = {};  // n-grams found in the reference, clipped
    std::array<int64_t, 4> totals = {};  // n-grams of the hypotheses
};

class Bleu {
public:
    explicit Bleu(const BleuOptions &options = {}) : options_(options) {}

    // Bytes that are not UTF-8 are taken one by one as characters of their own: a poor hypothesis is no error.
    void add(std::string_view hypothesis, std::string_view reference);

    // Of what was added so far; zeros if that is nothing.
    BleuScore score() const;

    // "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:xformer-0.1.0"
    std::string signature() const;

private:
    BleuOptions options_;
    int64_t hyp_len_ = 0, ref_len_ = 0;
    std::array<int64_t, 4> counts_ = {}, totals_ = {};
};

}  // namespace xf
