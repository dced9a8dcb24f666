// eval.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/eval.h"

#include "api/guard.h"
#include "eval/bleu.h"
#include "eval/chrf.h"

using namespace xf;

namespace {

// Adds each pair of segments to a metric.
template <class Metric>
void add_segments(const char *const *hypotheses, const char *const *references, size_t count, Metric *metric) {
    check_pointer(hypotheses, "hypotheses");
    check_pointer(references, "references");
    XF_CHECK(count > 0, XF_ERROR_INVALID_ARGUMENT, "count is 0, expected at least 1");
    check_size(count, sizeof *hypotheses, "count");
    for (size_t i = 0; i < count; ++i) {
        XF_CHECK(hypotheses[i] != nullptr && references[i] != nullptr, XF_ERROR_INVALID_ARGUMENT, "segment %zu is NULL",
                 i);
        metric->add(hypotheses[i], references[i]);
    }
}

}  // namespace

extern "C" {

xf_status xf_bleu(const char *const *hypotheses, const char *const *references, size_t count, int32_t tokenize,
                  xf_bleu_score *score, xf_error *err) {
    return guard(err, [&] {
        check_struct(score, "score");
        XF_CHECK(tokenize >= XF_BLEU_13A && tokenize <= XF_BLEU_SPLIT_HYPHENS, XF_ERROR_OUT_OF_RANGE,
                 "tokenize is %d, expected XF_BLEU_13A, XF_BLEU_NONE or XF_BLEU_SPLIT_HYPHENS", tokenize);
        BleuOptions options;
        if (tokenize == XF_BLEU_NONE) options.tokenizer = BleuTokenizer::kNone;
        if (tokenize == XF_BLEU_SPLIT_HYPHENS) options = {BleuTokenizer::kSplitHyphens, BleuSmoothing::kNone};
        Bleu bleu(options);
        add_segments(hypotheses, references, count, &bleu);
        const BleuScore s = bleu.score();
        xf_bleu_score out{};
        out.score = s.score;
        std::copy(s.precisions.begin(), s.precisions.end(), out.precisions);
        out.brevity_penalty = s.brevity_penalty;
        out.hypothesis_length = s.hyp_len;
        out.reference_length = s.ref_len;
        const std::string signature = bleu.signature();
        std::memcpy(out.signature, signature.data(), std::min(signature.size(), sizeof out.signature - 1));
        put_struct(score, out);
    });
}

xf_status xf_chrf(const char *const *hypotheses, const char *const *references, size_t count, double *score,
                  xf_error *err) {
    return guard(err, [&] {
        check_pointer(score, "score");
        Chrf chrf;
        add_segments(hypotheses, references, count, &chrf);
        *score = chrf.score();
    });
}

}  // extern "C"
