// The most likely segmentation of a text by a unigram model, and a random one (Kudo 2018, "subword regularization").
//
// best_path() is the Viterbi algorithm over the bytes:
//
//     best(0) = 0,   best(j) = max over pieces w = text[i .. j) of best(i) + score(w)
//
// Sums are floats, in text order. If two segmentations have the same score, the one whose last piece begins first is
// chosen. If no path extends beyond the current offset, every path passes through it. The pieces before it are then
// final; they are taken, and their buffers are reused.
//
// sample_path() draws a segmentation with probability proportional to P(segmentation)^alpha (l = infinity). score(w) is
// the logarithm of the probability of piece w. For all pieces w that begin at i,
//
//     suffix(end) = 0,   suffix(i) = log sum over w of exp(alpha score(w) + suffix(i + |w|))
//
// is computed from the end of the text to its beginning. Then, from the beginning, the piece w at i is drawn with
// probability exp(alpha score(w) + suffix(i + |w|) - suffix(i)). (Kudo filters forward and samples backward, which
// gives the same distribution.)
//
// A character without a piece has no probability. Therefore only the segmentations with the fewest such characters are
// considered, and sampling never adds unknown tokens.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "text/encode_scratch.h"
#include "text/sampling.h"
#include "text/stable_log.h"

namespace xf {

// In both functions, for_each_piece(begin, offer) calls offer(end, id, score, fallback) at least once, for every piece
// that begins at the character at `begin`. take(begin, end, id) is called for the drawn pieces in order. The ids are
// only passed on.
//
// Where best() is below min_sum, it is subtracted from all sums, which preserves precision.
template <class ForEachPiece, class Take>
void best_path(std::string_view text, ForEachPiece for_each_piece, float min_sum, EncodeScratch *scratch, Take take) {
    std::vector<EncodeScratch::Path> &paths = scratch->paths, &pieces = scratch->pieces;
    paths.assign(1, {});
    size_t base = 0;  // paths[0] belongs to offset `base` of the text, and the last one to the furthest offset
    const auto finish = [&](size_t end) {
        pieces.clear();
        for (size_t at = end; at > base; at -= pieces.back().size) pieces.push_back(paths[at - base]);
        for (size_t i = pieces.size(); i-- > 0; base += pieces[i].size) take(base, base + pieces[i].size, pieces[i].id);
    };
    for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).size) {
        if (at > base && at - base + 1 == paths.size()) {
            const float score = paths.back().score;
            finish(at);
            paths.assign(1, {-1, score, 0});
        }
        const float sum = paths[at - base].score;
        for (size_t i = at - base; i < paths.size() && sum < min_sum; ++i) paths[i].score -= sum;
        const float before = paths[at - base].score;
        for_each_piece(at, [&](size_t end, int32_t id, float score, bool) {
            if (paths.size() <= end - base) paths.resize(end - base + 1);
            EncodeScratch::Path &path = paths[end - base];
            if (path.size > 0 && before + score <= path.score) return;
            path.id = id;
            path.score = before + score;
            path.size = end - at;
        });
    }
    finish(text.size());
}

template <class ForEachPiece, class Take>
void sample_path(std::string_view text, ForEachPiece for_each_piece, Sampler *sampler, EncodeScratch *scratch,
                 Take take) {
    using Suffix = EncodeScratch::Suffix;
    const double alpha = sampler->alpha();
    std::vector<uint32_t> &starts = scratch->starts;
    std::vector<Suffix> &suffixes = scratch->suffixes;
    starts.clear();
    for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).size) starts.push_back(at);
    suffixes.assign(text.size() + 1, {});
    const auto extend = [&](size_t end, double score, bool fallback) {
        const Suffix &rest = suffixes[end];
        return Suffix{alpha * score + rest.log_sum, rest.fallbacks + (fallback ? 1 : 0)};
    };

    for (size_t i = starts.size(); i-- > 0;) {
        Suffix sum;
        double scaled = 0;  // the sum so far, divided by exp(sum.log_sum)
        for_each_piece(starts[i], [&](size_t end, int32_t, float score, bool fallback) {
            const Suffix one = extend(end, score, fallback);
            if (scaled > 0 && one.fallbacks > sum.fallbacks) return;
            if (scaled == 0 || one.fallbacks < sum.fallbacks) {
                sum = one;
                scaled = 1;
            } else if (one.log_sum <= sum.log_sum) {
                scaled += stable_exp(one.log_sum - sum.log_sum);
            } else {
                scaled = scaled * stable_exp(sum.log_sum - one.log_sum) + 1;
                sum.log_sum = one.log_sum;
            }
        });
        sum.log_sum += stable_log(scaled);
        suffixes[starts[i]] = sum;
    }

    for (size_t at = 0; at < text.size();) {
        const Suffix &all = suffixes[at];
        double left = sampler->uniform();
        size_t chosen_end = at;
        int32_t chosen = -1;
        bool found = false;
        for_each_piece(at, [&](size_t end, int32_t id, float score, bool fallback) {
            const Suffix one = extend(end, score, fallback);
            if (found || one.fallbacks != all.fallbacks) return;
            chosen_end = end;  // the last piece is chosen if rounding makes the probabilities sum to less than 1
            chosen = id;
            left -= stable_exp(std::min(one.log_sum - all.log_sum, 0.0));
            found = left < 0;
        });
        take(at, chosen_end, chosen);
        at = chosen_end;
    }
}

}  // namespace xf
