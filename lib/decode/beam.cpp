// SPDX-License-Identifier: Apache-2.0
#include "decode/beam.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace xf {

double length_penalty(int64_t length, double alpha) {
    return std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha);
}

void BeamSearch::begin(const BeamOptions &options, int64_t limit, int64_t prefix) {
    options_ = options;
    limit_ = limit;
    prefix_ = prefix;
    length_ = 0;
    done_ = ended_ = false;
    nodes_.clear();
    finished_.clear();
    live_.assign(1, {0, options.start_token, 0});
    live_node_.assign(1, -1);
}

int64_t BeamSearch::continuations() const {
    if (options_.kind != SearchKind::kBeam) return length_ == prefix_ ? options_.n_best : 1;
    return continuations(options_);
}

void BeamSearch::finish(int32_t node, float end, double log_probability) {
    const double score = log_probability / length_penalty(length_, options_.alpha);
    const auto worse = [&](const Finished &other) { return other.score < score; };
    finished_.insert(std::find_if(finished_.begin(), finished_.end(), worse), {node, end, log_probability, score});
    if (std::ssize(finished_) > options_.n_best) finished_.pop_back();
}

// Lists the continuations that may become hypotheses, the best first. Samples and alternatives: all continuations.
void BeamSearch::choose_candidates(const float *values, const int32_t *ids, int64_t k, int64_t ld) {
    candidates_.clear();
    for (int32_t parent = 0; parent < std::ssize(live_); ++parent) {
        for (int32_t j = 0; j < k; ++j) {
            const int64_t at = parent * ld + j;
            if (!(values[at] > -INFINITY)) break;  // the rest of the row is impossible
            candidates_.push_back({live_[parent].log_probability + values[at], parent, j, ids[at], values[at]});
        }
    }
    if (options_.kind != SearchKind::kBeam) return;
    const auto better = [](const Candidate &a, const Candidate &b) {
        if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
        return a.parent != b.parent ? a.parent < b.parent : a.index < b.index;
    };
    const int64_t considered = std::min<int64_t>(std::ssize(candidates_), continuations());
    std::partial_sort(candidates_.begin(), candidates_.begin() + considered, candidates_.end(), better);
    candidates_.resize(considered);
}

void BeamSearch::advance(const float *values, const int32_t *ids, int64_t k, int64_t ld) {
    choose_candidates(values, ids, k, ld);
    const bool branches = options_.kind != SearchKind::kBeam && length_ == prefix_;
    ++length_;
    next_.clear();
    next_node_.clear();
    for (const Candidate &c : candidates_) {
        const int32_t previous = live_node_[c.parent];
        if (c.token == options_.end_token) {
            finish(previous, c.value, c.log_probability);
        } else if (std::ssize(next_) < options_.width()) {
            nodes_.push_back({previous, c.token, c.value});
            next_.push_back({c.parent, c.token, c.log_probability, branches ? c.index : live_[c.parent].number});
            next_node_.push_back(static_cast<int32_t>(nodes_.size()) - 1);
        }
    }
    // All samples and alternatives have ended, or no continuation is possible: a constraint forbids every token, or the
    // weights are beyond the range of fp32. In that case the live hypotheses remain as they are, unfinished and with
    // probability 0.
    if (next_.empty()) {
        done_ = ended_ = true;
        --length_;
        if (finished_.empty())
            for (Live &live : live_) live.log_probability = -std::numeric_limits<double>::infinity();
        return;
    }
    live_.swap(next_);
    live_node_.swap(next_node_);
    if (length_ >= limit_) {
        done_ = true;
    } else if (options_.kind == SearchKind::kBeam && std::ssize(finished_) >= options_.n_best) {
        const double best_possible = live_[0].log_probability / length_penalty(limit_, options_.alpha);
        done_ = best_possible < finished_.back().score;
    }
}

int64_t BeamSearch::length_of(int32_t node) const {
    int64_t length = 0;
    for (; node >= 0; node = nodes_[node].previous) ++length;
    return length;
}

void BeamSearch::tokens(size_t live, std::vector<int32_t> *ids) const {
    int32_t node = live_node_[live];
    ids->resize(length_of(node));
    for (size_t at = ids->size(); at-- > 0; node = nodes_[node].previous) (*ids)[at] = nodes_[node].token;
}

// end: the log-probability of the end symbol; null: the hypothesis is unfinished.
Hypothesis BeamSearch::make(int32_t node, const float *end) const {
    Hypothesis h;
    const int64_t length = length_of(node);
    h.ids.resize(length);
    h.token_log_probabilities.resize(length + (end != nullptr ? 1 : 0));
    if (end != nullptr) h.token_log_probabilities[length] = *end;
    for (int64_t at = length; at-- > 0; node = nodes_[node].previous) {
        h.ids[at] = nodes_[node].token;
        h.token_log_probabilities[at] = nodes_[node].log_probability;
    }
    h.finished = end != nullptr;
    h.complete = done_;
    return h;
}

Hypothesis BeamSearch::common_prefix() const {
    int32_t common = live_node_[0];
    // A node has a greater index than the nodes before it.
    const auto join = [&](int32_t node) {
        while (node != common) {
            int32_t &later = node > common ? node : common;
            later = nodes_[later].previous;
        }
    };
    for (const int32_t node : live_node_) join(node);
    for (const Finished &f : finished_) join(f.node);
    Hypothesis h = make(common, nullptr);
    for (const float one : h.token_log_probabilities) h.log_probability += one;
    h.score = h.log_probability / length_penalty(std::max<int64_t>(std::ssize(h.ids), 1), options_.alpha);
    return h;
}

std::vector<Hypothesis> BeamSearch::result() const {
    std::vector<Hypothesis> hypotheses;
    hypotheses.reserve(finished_.size() + live_.size());
    for (const Finished &f : finished_) {
        Hypothesis &h = hypotheses.emplace_back(make(f.node, &f.end));
        h.log_probability = f.log_probability;
        h.score = f.score;
    }
    const auto add_live = [&](size_t i) {
        Hypothesis &h = hypotheses.emplace_back(make(live_node_[i], nullptr));
        h.log_probability = live_[i].log_probability;
        h.score = h.log_probability / length_penalty(std::max<int64_t>(length_, 1), options_.alpha);
    };
    if (options_.kind != SearchKind::kBeam && !ended_) {
        for (size_t i = 0; i < live_.size(); ++i) add_live(i);
        std::stable_sort(hypotheses.begin(), hypotheses.end(),
                         [](const Hypothesis &a, const Hypothesis &b) { return a.score > b.score; });
    } else if (hypotheses.empty()) {
        add_live(0);
    }
    return hypotheses;
}

}  // namespace xf
