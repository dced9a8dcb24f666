// Tokenizing, counting, and scoring; see bleu.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "eval/bleu.h"

#include <cmath>
#include <unordered_map>
#include <vector>

#include "eval/characters.h"
#include "eval/ngrams.h"
#include "xformer/version.h"

namespace xf {
namespace {

constexpr size_t kOrders = 4;

// Maps words to numbers that are equal if and only if the words are equal.
class WordNumbers {
public:
    std::vector<uint32_t> number(const std::vector<std::string_view> &words) {
        std::vector<uint32_t> numbers;
        numbers.reserve(words.size());
        for (std::string_view word : words) numbers.push_back(known_.try_emplace(word, known_.size()).first->second);
        return numbers;
    }

private:
    std::unordered_map<std::string_view, uint32_t> known_;
};

// Perl's \s for a string of bytes. multi-bleu.perl and the script that splits compounds process bytes, so U+00A0 is
// part of a word.
bool ascii_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// As in the original script, a match consumes both neighbors of a hyphen, so only one hyphen of "a-b-c" is split.
std::string split_hyphens(std::string_view text) {
    std::string out;
    for (size_t at = 0; at < text.size(); ++at) {
        out += text[at];
        if (at + 2 >= text.size() || text[at + 1] != '-' || ascii_blank(text[at]) || ascii_blank(text[at + 2]))
            continue;
        out.append(" ##AT##-##AT## ").append(1, text[at + 2]);
        at += 2;
    }
    return out;
}

std::vector<std::string_view> split_bytes(std::string_view text) {
    std::vector<std::string_view> words;
    for (size_t at = 0; at < text.size();) {
        size_t end = at;
        while (end < text.size() && !ascii_blank(text[end])) ++end;
        if (end > at) words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

std::string tokenized(BleuTokenizer tokenizer, std::string_view text) {
    switch (tokenizer) {
        case BleuTokenizer::k13a:
            return tokenize_13a(text);
        case BleuTokenizer::kSplitHyphens:
            return split_hyphens(text);
        case BleuTokenizer::kNone:
            break;
    }
    return std::string(text);
}

}  // namespace

void Bleu::add(std::string_view hypothesis, std::string_view reference) {
    const std::string hyp_text = tokenized(options_.tokenizer, hypothesis);
    const std::string ref_text = tokenized(options_.tokenizer, reference);
    const auto split = options_.tokenizer == BleuTokenizer::kSplitHyphens ? split_bytes : split_words;
    WordNumbers numbers;
    const std::vector<uint32_t> hyp = numbers.number(split(hyp_text)), ref = numbers.number(split(ref_text));
    std::array<NgramCounts, kOrders> counts;
    for (size_t k = 0; k < kOrders; ++k) counts[k] = count_ngrams(hyp, ref, k + 1, 32);
    // Nothing below throws, so a segment is added completely or not at all.
    hyp_len_ += std::ssize(hyp);
    ref_len_ += std::ssize(ref);
    for (size_t k = 0; k < kOrders; ++k) {
        counts_[k] += counts[k].common;
        totals_[k] += counts[k].hyp;
    }
}

BleuScore Bleu::score() const {
    BleuScore result;
    result.hyp_len = hyp_len_;
    result.ref_len = ref_len_;
    result.counts = counts_;
    result.totals = totals_;
    const double hyp_len = hyp_len_, ref_len = ref_len_;
    if (hyp_len_ >= ref_len_)
        result.brevity_penalty = 1;
    else if (hyp_len_ > 0)
        result.brevity_penalty = std::exp(1 - ref_len / hyp_len);
    // Without 1-gram matches there are no matches of longer n-grams.
    if (counts_[0] == 0) return result;

    double smoothed = 1, sum_of_logs = 0;
    bool zero = false;
    for (size_t k = 0; k < kOrders; ++k) {
        double matched = counts_[k];
        if (counts_[k] == 0 && options_.smoothing == BleuSmoothing::kExp) matched = smoothed /= 2;
        if (totals_[k] > 0) result.precisions[k] = 100 * matched / totals_[k];
        zero = zero || result.precisions[k] == 0;
        if (!zero) sum_of_logs += std::log(result.precisions[k]);
    }
    if (!zero) result.score = result.brevity_penalty * std::exp(sum_of_logs / kOrders);
    return result;
}

std::string Bleu::signature() const {
    std::string text = "nrefs:1|case:mixed|eff:no|tok:";
    const bool split = options_.tokenizer == BleuTokenizer::kSplitHyphens;
    text += options_.tokenizer == BleuTokenizer::k13a ? "13a" : split ? "none-hyphens-split" : "none";
    text += "|smooth:";
    text += options_.smoothing == BleuSmoothing::kExp ? "exp" : "none";
    return text + "|version:xformer-" + xf_version();
}

}  // namespace xf
