// Options and Philox keys; see sampling.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sampling.h"

#include "core/error.h"
#include "text/tokenizer.h"

namespace xf {
namespace {

constexpr char kOption[] = "data.sampling";
// Makes the draws independent of the shuffle order, which uses the same seed.
constexpr uint64_t kStream = 0x7365676D656E7473u;

bool is_supported(const Tokenizer &tokenizer) {
    return tokenizer.segmentation() == Segmentation::kMerges || tokenizer.segmentation() == Segmentation::kLikelihood;
}

}  // namespace

Sampling Sampling::from(const Options &options) {
    const uint64_t seed = options.i64("data.seed");
    return {options.f64(kOption), seed};
}

void Sampling::check(const Tokenizer *tokenizer) const {
    if (value <= 0) return;
    XF_CHECK(tokenizer != nullptr, XF_ERROR_INVALID_ARGUMENT, "option '%s' is %s for a corpus of ids, expected 0",
             kOption, number(value).c_str());
    const Tokenizer &source = tokenizer->source(), &target = tokenizer->target();
    const std::string kind = source.kind(), other = target.kind();
    XF_CHECK(is_supported(source) || is_supported(target), XF_ERROR_INVALID_ARGUMENT,
             "option '%s' is %s for a tokenizer of the kind %s, expected 0, or BPE or unigram on at least one side",
             kOption, number(value).c_str(), (kind == other ? kind : kind + " and " + other).c_str());
    for (const Tokenizer *side : {&source, &target})
        XF_CHECK(side->segmentation() != Segmentation::kMerges || value < 1, XF_ERROR_OUT_OF_RANGE,
                 "option '%s' is %s for a tokenizer of the kind %s, expected a probability below 1", kOption,
                 number(value).c_str(), side->kind());
}

Sampler::Sampler(const Sampling &sampling, uint64_t epoch, uint64_t text)
    : text_(text), threshold_(sampling.value * 4294967296.0), alpha_(sampling.value) {
    const Philox key = philox(sampling.seed ^ kStream, epoch, epoch >> 32, 0, 0);
    key_ = uint64_t{key.word[1]} << 32 | key.word[0];
}

}  // namespace xf
