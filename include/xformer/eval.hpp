/*
 * xformer/eval.hpp - eval.h for C++: BLEU and chrF.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_EVAL_HPP
#define XFORMER_EVAL_HPP

#include <string>

#include "xformer/base.hpp"
#include "xformer/eval.h"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @cond INTERNAL */
namespace detail {
// Texts of both sides; throws Error unless their numbers are equal.
struct Segments {
    Texts hypotheses, references;

    template <class First, class Second>
    Segments(const First &first, const Second &second) : hypotheses(first), references(second) {
        if (hypotheses.size() != references.size())
            throw Error(XF_ERROR_INVALID_ARGUMENT, "found " + std::to_string(hypotheses.size()) + " hypotheses and " +
                                                       std::to_string(references.size()) +
                                                       " references, expected equal numbers");
    }
};
}  // namespace detail
/** @endcond */

/** @brief Computes corpus BLEU.
 *  @param hypotheses [in] a range of UTF-8 strings
 *  @param references [in] the same number of UTF-8 strings
 *  @param tokenize [in] one of XF_BLEU_...
 *  @return 0 to 100, with its parts */
template <class Hypotheses, class References>
xf_bleu_score bleu(const Hypotheses &hypotheses, const References &references, std::int32_t tokenize = XF_BLEU_13A) {
    const detail::Segments given(hypotheses, references);
    xf_bleu_score score = XF_BLEU_SCORE_INIT;
    detail::call(xf_bleu, given.hypotheses.pointers.data(), given.hypotheses.lengths.data(),
                 given.references.pointers.data(), given.references.lengths.data(), given.hypotheses.size(), tokenize,
                 &score);
    return score;
}

/** @brief Computes corpus chrF2.
 *  @param hypotheses [in] a range of UTF-8 strings
 *  @param references [in] the same number of UTF-8 strings
 *  @return 0 to 100, with its signature */
template <class Hypotheses, class References>
xf_chrf_score chrf(const Hypotheses &hypotheses, const References &references) {
    const detail::Segments given(hypotheses, references);
    xf_chrf_score score = XF_CHRF_SCORE_INIT;
    detail::call(xf_chrf, given.hypotheses.pointers.data(), given.hypotheses.lengths.data(),
                 given.references.pointers.data(), given.references.lengths.data(), given.hypotheses.size(), &score);
    return score;
}

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_EVAL_HPP */
