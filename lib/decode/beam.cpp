// See beam.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/beam.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nn/packed_batch.h"

namespace xf {

double length_penalty(int64_t length, double alpha) {
    return std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha);
}

BeamSearch::BeamSearch(const BeamOptions &options, int64_t limit) : options_(options), limit_(limit) {
    live_.push_back({0, kStartToken, 0});
    live_node_.push_back(-1);
}

void BeamSearch::finish(int32_t node, double log_probability) {
    const double score = log_probability / length_penalty(length_, options_.alpha);
    const auto worse = [&](const Finished &other) { return other.score < score; };
    finished_.insert(std::find_if(finished_.begin(), finished_.end(), worse), {node, log_probability, score});
    if (finished_.size() > static_cast<size_t>(options_.n_best)) finished_.pop_back();
}

void BeamSearch::advance(const float *values, const int32_t *ids, int64_t k) {
    candidates_.clear();
    for (size_t beam = 0; beam < live_.size(); ++beam) {
        for (int64_t j = 0; j < k; ++j) {
            const size_t at = beam * static_cast<size_t>(k) + static_cast<size_t>(j);
            if (!(values[at] > -INFINITY)) break;  // nothing possible is left in this row
            candidates_.push_back({live_[beam].log_probability + values[at], static_cast<int32_t>(beam),
                                   static_cast<int32_t>(j), ids[at]});
        }
    }
    const auto better = [](const Candidate &a, const Candidate &b) {
        if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
        return a.beam != b.beam ? a.beam < b.beam : a.rank < b.rank;
    };
    const size_t looked_at = std::min(candidates_.size(), static_cast<size_t>(continuations(options_)));
    std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(looked_at),
                      candidates_.end(), better);
    candidates_.resize(looked_at);

    ++length_;
    std::vector<Live> next;
    std::vector<int32_t> next_node;
    for (const Candidate &c : candidates_) {
        const int32_t previous = live_node_[static_cast<size_t>(c.beam)];
        if (c.token == kEndToken) {
            finish(previous, c.log_probability);
        } else if (next.size() < static_cast<size_t>(options_.beam)) {
            nodes_.push_back({previous, c.token});
            next.push_back({c.beam, c.token, c.log_probability});
            next_node.push_back(static_cast<int32_t>(nodes_.size()) - 1);
        }
    }
    // Rows of impossibilities (a constraint that forbids everything, weights beyond fp32): what was there is the
    // unfinished answer, and an impossible one.
    if (next.empty()) {
        done_ = true;
        --length_;
        if (finished_.empty())
            for (Live &live : live_) live.log_probability = -std::numeric_limits<double>::infinity();
        return;
    }
    live_ = std::move(next);
    live_node_ = std::move(next_node);
    if (length_ >= limit_) {
        done_ = true;
    } else if (finished_.size() >= static_cast<size_t>(options_.n_best)) {
        const double best_possible = live_[0].log_probability / length_penalty(limit_, options_.alpha);
        done_ = best_possible < finished_.back().score;
    }
}

std::vector<int32_t> BeamSearch::path(int32_t node) const {
    std::vector<int32_t> ids;
    for (; node >= 0; node = nodes_[static_cast<size_t>(node)].previous)
        ids.push_back(nodes_[static_cast<size_t>(node)].token);
    std::reverse(ids.begin(), ids.end());
    return ids;
}

std::vector<Hypothesis> BeamSearch::result() const {
    std::vector<Hypothesis> hypotheses;
    for (const Finished &f : finished_) hypotheses.push_back({path(f.node), f.log_probability, f.score, true});
    if (hypotheses.empty()) {
        const double penalty = length_penalty(std::max<int64_t>(length_, 1), options_.alpha);
        hypotheses.push_back(
            {path(live_node_[0]), live_[0].log_probability, live_[0].log_probability / penalty, false});
    }
    return hypotheses;
}

}  // namespace xf
