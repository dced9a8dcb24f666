// Options and keys of sampling; see sampling.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sampling.h"

#include "core/error.h"
#include "text/tokenizer.h"

namespace xf {
namespace {

constexpr char kDropout[] = "data.bpe_dropout", kAlpha[] = "data.unigram_alpha";
// Keeps the draws independent of the order of the pairs, which has the same seed.
constexpr uint64_t kStream = 0x7365676D656E7473u;

void check_side(const char *option, double value, const Tokenizer *tokenizer, Segmentation wanted, const char *kinds) {
    if (value <= 0) return;
    XF_CHECK(tokenizer != nullptr, XF_ERROR_INVALID_ARGUMENT, "option '%s' is %s for a corpus of ids, expected 0",
             option, number(value).c_str());
    const Tokenizer &source = tokenizer->source(), &target = tokenizer->target();
    if (source.segmentation() == wanted || target.segmentation() == wanted) return;
    const std::string kind = source.kind(), other = target.kind();
    fail(XF_ERROR_INVALID_ARGUMENT, "option '%s' is %s, and the tokenizer is of the kind %s, expected %s", option,
         number(value).c_str(), (kind == other ? kind : kind + " and " + other).c_str(), kinds);
}

}  // namespace

Sampling Sampling::from(const Options &options) {
    return {options.f64(kDropout), options.f64(kAlpha), static_cast<uint64_t>(options.i64("data.seed"))};
}

void Sampling::check(const Tokenizer *tokenizer) const {
    check_side(kDropout, bpe_dropout, tokenizer, Segmentation::kMerges, "bpe or sentencepiece-bpe");
    check_side(kAlpha, unigram_alpha, tokenizer, Segmentation::kLikelihood, "unigram or sentencepiece-unigram");
}

Sampler::Sampler(const Sampling &how, int64_t epoch, uint64_t text)
    : text_(text), threshold_(static_cast<uint64_t>(how.bpe_dropout * 4294967296.0)), alpha_(how.unigram_alpha) {
    const auto e = static_cast<uint64_t>(epoch);
    const Philox key = philox(how.seed ^ kStream, static_cast<uint32_t>(e), static_cast<uint32_t>(e >> 32), 0, 0);
    key_ = static_cast<uint64_t>(key.word[1]) << 32 | key.word[0];
}

}  // namespace xf
