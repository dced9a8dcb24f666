// eval.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/eval.h"

#include "api/guard.h"
#include "eval/bleu.h"
#include "eval/chrf.h"

using namespace xf;

namespace {

std::string_view text_at(const char *const *texts, const size_t *lengths, size_t i) {
    return lengths != nullptr ? std::string_view(texts[i], lengths[i]) : std::string_view(texts[i]);
}

// Adds each pair of segments to a metric.
template <class Metric>
void add_segments(const char *const *hypotheses, const size_t *hypothesis_lengths, const char *const *references,
                  const size_t *reference_lengths, size_t count, Metric *metric) {
    check_pointer(hypotheses, "hypotheses");
    check_pointer(references, "references");
    XF_CHECK(count > 0, XF_ERROR_INVALID_ARGUMENT, "count is 0, expected at least 1");
    check_size(count, sizeof *hypotheses, "count");
    for (size_t i = 0; i < count; ++i) {
        XF_CHECK(hypotheses[i] != nullptr && references[i] != nullptr, XF_ERROR_INVALID_ARGUMENT, "segment %zu is NULL",
                 i);
        metric->add(text_at(hypotheses, hypothesis_lengths, i), text_at(references, reference_lengths, i));
    }
}

template <size_t N>
void put_signature(const std::string &signature, char (&out)[N]) {
    std::memcpy(out, signature.data(), std::min(signature.size(), N - 1));
}

}  // namespace

extern "C" {

xf_status xf_bleu(const char *const *hypotheses, const size_t *hypothesis_lengths, const char *const *references,
                  const size_t *reference_lengths, size_t count, int32_t tokenize, xf_bleu_score *score,
                  xf_error *err) {
    return guard(err, [&] {
        check_struct(score, "score");
        XF_CHECK(tokenize >= XF_BLEU_13A && tokenize <= XF_BLEU_SPLIT_HYPHENS, XF_ERROR_OUT_OF_RANGE,
                 "tokenize is %d, expected XF_BLEU_13A, XF_BLEU_NONE, or XF_BLEU_SPLIT_HYPHENS", tokenize);
        BleuOptions options;
        if (tokenize == XF_BLEU_NONE) options.tokenizer = BleuTokenizer::kNone;
        if (tokenize == XF_BLEU_SPLIT_HYPHENS) options = {BleuTokenizer::kSplitHyphens, BleuSmoothing::kNone};
        Bleu bleu(options);
        add_segments(hypotheses, hypothesis_lengths, references, reference_lengths, count, &bleu);
        const BleuScore s = bleu.score();
        xf_bleu_score out{};
        out.score = s.score;
        std::copy(s.precisions.begin(), s.precisions.end(), out.precisions);
        out.brevity_penalty = s.brevity_penalty;
        out.hypothesis_length = s.hyp_len;
        out.reference_length = s.ref_len;
        put_signature(bleu.signature(), out.signature);
        put_struct(score, out);
    });
}

xf_status xf_chrf(const char *const *hypotheses, const size_t *hypothesis_lengths, const char *const *references,
                  const size_t *reference_lengths, size_t count, xf_chrf_score *score, xf_error *err) {
    return guard(err, [&] {
        check_struct(score, "score");
        Chrf chrf;
        add_segments(hypotheses, hypothesis_lengths, references, reference_lengths, count, &chrf);
        xf_chrf_score out{};
        out.score = chrf.score();
        put_signature(chrf.signature(), out.signature);
        put_struct(score, out);
    });
}

}  // extern "C"
