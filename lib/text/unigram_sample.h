// One of all ways to cut a text into pieces, drawn by P(way)^alpha (Kudo 2018, "subword regularization", l = infinity).
//
// With score(w) the logarithm of a piece's probability, and all pieces w that begin at i,
//
//     ways(end) = 0,   ways(i) = log sum over w of exp(alpha score(w) + ways(i + |w|))
//
// is found from the end of the text to its beginning; then, from the beginning on, the piece w at i is taken with
// probability exp(alpha score(w) + ways(i + |w|) - ways(i)). (Kudo filters forward and samples backward: the same.)
//
// What is no piece (an unknown character, or one in bytes) has no probability to draw by. So of all ways only those
// count that have the fewest such characters: nothing is lost by sampling.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

#include "core/utf8.h"
#include "text/encode_scratch.h"
#include "text/sampling.h"
#include "text/stable_log.h"

namespace xf {

// for_each_piece(at, offer) calls offer(end, id, score, fallback) for all that the text may go on with at a character's
// beginning, at least one; an id of any meaning. take(begin, end, id) hears of the pieces drawn, first one first.
template <class ForEachPiece, class Take>
void sample_path(std::string_view text, ForEachPiece for_each_piece, Sampler *sampler, EncodeScratch *scratch,
                 Take take) {
    using Ways = EncodeScratch::Ways;
    const double alpha = sampler->alpha();
    std::vector<uint32_t> &starts = scratch->starts;
    std::vector<Ways> &ways = scratch->ways;
    starts.clear();
    for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).size) starts.push_back(static_cast<uint32_t>(at));
    ways.assign(text.size() + 1, {});
    const auto through = [&](size_t end, float score, bool fallback) {
        const Ways &rest = ways[end];
        return Ways{alpha * static_cast<double>(score) + rest.log_sum, rest.fallbacks + (fallback ? 1 : 0)};
    };

    for (size_t i = starts.size(); i-- > 0;) {
        Ways sum;
        double share = 0;  // exp(ways - sum.log_sum), of all so far
        for_each_piece(starts[i], [&](size_t end, int32_t, float score, bool fallback) {
            const Ways one = through(end, score, fallback);
            if (share > 0 && one.fallbacks > sum.fallbacks) return;
            if (share == 0 || one.fallbacks < sum.fallbacks) {
                sum = one;
                share = 1;
            } else if (one.log_sum <= sum.log_sum) {
                share += stable_exp(one.log_sum - sum.log_sum);
            } else {
                share = share * stable_exp(sum.log_sum - one.log_sum) + 1;
                sum.log_sum = one.log_sum;
            }
        });
        sum.log_sum += stable_log(share);
        ways[starts[i]] = sum;
    }

    for (size_t at = 0; at < text.size();) {
        const Ways &all = ways[at];
        double left = sampler->uniform();
        size_t chosen_end = at;
        int32_t chosen = -1;
        bool found = false;
        for_each_piece(at, [&](size_t end, int32_t id, float score, bool fallback) {
            const Ways one = through(end, score, fallback);
            if (found || one.fallbacks != all.fallbacks) return;
            chosen_end = end;  // where the shares sum up to less than 1 by rounding, the last one has the rest
            chosen = id;
            left -= stable_exp(std::min(one.log_sum - all.log_sum, 0.0));
            found = left < 0;
        });
        take(at, chosen_end, chosen);
        at = chosen_end;
    }
}

}  // namespace xf
