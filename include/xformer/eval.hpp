/*
 * xformer/eval.hpp - eval.h for C++: translation metrics.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_EVAL_HPP
#define XFORMER_EVAL_HPP

#include <string>
#include <vector>

#include "xformer/base.hpp"
#include "xformer/eval.h"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @cond INTERNAL */
namespace detail {
template <class Score, class Function, class... Args>
Score compare(Score score, Function *function, const std::vector<std::string> &hypotheses,
              const std::vector<std::string> &references, Args... args) {
    if (hypotheses.size() != references.size())
        throw Error(XF_ERROR_INVALID_ARGUMENT, std::to_string(hypotheses.size()) + " hypotheses and " +
                                                   std::to_string(references.size()) + " references, expected as many");
    return fill(score, function, pointers(hypotheses).data(), pointers(references).data(), hypotheses.size(), args...);
}
}  // namespace detail
/** @endcond */

/** @brief Computes corpus BLEU.
 *  @param hypotheses [in] UTF-8
 *  @param references [in] as many
 *  @param tokenize [in] how text is split into words
 *  @return 0 to 100, with its parts */
inline xf_bleu_score bleu(const std::vector<std::string> &hypotheses, const std::vector<std::string> &references,
                          xf_bleu_tokenize tokenize = XF_BLEU_13A) {
    return detail::compare(xf_bleu_score XF_BLEU_SCORE_INIT, xf_bleu, hypotheses, references, std::int32_t{tokenize});
}

/** @brief Computes corpus chrF2. @param hypotheses [in] UTF-8 @param references [in] as many @return 0 to 100 */
inline double chrf(const std::vector<std::string> &hypotheses, const std::vector<std::string> &references) {
    return detail::compare(0.0, xf_chrf, hypotheses, references);
}

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_EVAL_HPP */
