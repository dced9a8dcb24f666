// See device_search.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/device_search.h"

#include <algorithm>

#include "decode/restriction.h"
#include "nn/packed_batch.h"

namespace xf {
namespace {

constexpr int64_t kStepsBetweenLooks = 4;  // at most so many steps too many, and a wait of microseconds once in so many

}  // namespace

void DeviceSearch::plan(Arena *arena) {
    const int64_t slots = sentences_ * options_.beam, B = sentences_;
    state_.live_logp = arena->doubles(slots);
    state_.penalty = arena->doubles(ld_ + 1);
    const auto finished_doubles = static_cast<int64_t>(sizeof(xf_beam_finished) / sizeof(double)) * B * options_.n_best;
    state_.finished = reinterpret_cast<xf_beam_finished *>(arena->doubles(finished_doubles));
    for (int32_t **at : {&state_.length, &state_.live, &state_.done, &state_.limit, &state_.finished_count})
        *at = arena->ints(B);
    state_.remaining = arena->ints(1);
    for (int32_t **at : {&state_.active, &state_.q_begin, &state_.q_length, &state_.k_begin, &state_.k_length})
        *at = arena->ints(B);
    for (int32_t **at : {&state_.slot_of_row, &state_.tokens, &state_.steps}) *at = arena->ints(slots);
    state_.values = arena->floats(slots, k_);
    state_.ids = arena->ints(slots * k_);
    state_.ancestors = arena->ints(slots * ld_);
    state_.history_token = arena->ints(slots * ld_);
    state_.history_parent = arena->ints(slots * ld_);
    state_.history_logp = arena->floats(slots, ld_);
    // Behind all else, so that what came before stays where it was.
    state_.told = words_ > 0 ? arena->ints(2 * (B + slots)) : nullptr;
    state_.allowed = words_ > 0 ? reinterpret_cast<uint32_t *>(arena->ints(slots * words_)) : nullptr;
}

void DeviceSearch::begin(const SearchRequest &request) {
    words_ = restricted(request, 0) ? allowed_words(model_.config().V) : 0;
    Arena dry(XF_FP32);
    plan(&dry);
    buffer_.reserve(stream_.device(), dry.bytes());
    Arena arena(XF_FP32, buffer_.data());
    plan(&arena);
    stream_.zero(buffer_.data(), dry.bytes());

    std::vector<double> penalty(static_cast<size_t>(ld_ + 1));
    for (int64_t length = 1; length <= ld_; ++length)
        penalty[static_cast<size_t>(length)] = length_penalty(length, options_.alpha);
    stream_.upload(state_.penalty, penalty.data(), penalty.size() * sizeof(double));
    const auto count = static_cast<size_t>(sentences_);
    std::vector<int32_t> live(count, 1), limit(count, 1), done(count, 1);  // what pads the group is done
    for (size_t s = 0; s < request.limits.size(); ++s) {
        limit[s] = static_cast<int32_t>(request.limits[s]);
        done[s] = 0;
    }
    stream_.upload(state_.live, live.data(), count * sizeof(int32_t));
    stream_.upload(state_.limit, limit.data(), count * sizeof(int32_t));
    stream_.upload(state_.done, done.data(), count * sizeof(int32_t));
    live_ = live, done_ = done;
    paths_.assign(count * static_cast<size_t>(options_.beam), {});
    next_paths_ = paths_;
}

// Gives these sentences rows; -1 pads. rows: beam of each sentence.
void DeviceSearch::place(const std::vector<int32_t> &active, const std::vector<Row> &rows) {
    active_ = active;
    const size_t A = active.size(), N = static_cast<size_t>(options_.beam);
    // What pads takes the slots of sentences that have left, so that no two rows write to one.
    std::vector<bool> taken(static_cast<size_t>(sentences_));
    for (const int32_t s : active)
        if (s >= 0) taken[static_cast<size_t>(s)] = true;
    size_t vacant = 0;
    std::vector<int32_t> q_begin(A), q_length(A), k_begin(A), k_length(A), slots(A * N), tokens(A * N), steps(A * N);
    for (size_t a = 0; a < A; ++a) {
        size_t s = static_cast<size_t>(active[a]);
        if (active[a] < 0) {
            while (taken[vacant]) ++vacant;
            s = vacant++;
        } else {
            k_begin[a] = step_.source_begin()[s];
            k_length[a] = step_.source_length()[s];
        }
        q_begin[a] = static_cast<int32_t>(a * N);
        q_length[a] = static_cast<int32_t>(N);
        for (size_t i = 0; i < N; ++i) {
            slots[a * N + i] = static_cast<int32_t>(s * N + i);
            if (active[a] < 0) continue;
            tokens[a * N + i] = rows[a * N + i].token;
            steps[a * N + i] = rows[a * N + i].step;
        }
    }
    const auto upload = [&](int32_t *to, const std::vector<int32_t> &from) {
        stream_.upload(to, from.data(), from.size() * sizeof(int32_t));
    };
    upload(state_.active, active);
    upload(state_.q_begin, q_begin);
    upload(state_.q_length, q_length);
    upload(state_.k_begin, k_begin);
    upload(state_.k_length, k_length);
    upload(state_.slot_of_row, slots);
    upload(state_.tokens, tokens);
    upload(state_.steps, steps);
}

void DeviceSearch::calls() {
    const auto A = static_cast<int64_t>(active_.size());
    DecoderStep::DeviceRows rows{};
    rows.rows = A * options_.beam;
    rows.sentences = A;
    rows.most_rows = options_.beam;
    rows.tokens = state_.tokens;
    rows.steps = state_.steps;
    rows.slot_of_row = state_.slot_of_row;
    rows.ancestors = state_.ancestors;
    rows.q_begin = state_.q_begin;
    rows.q_length = state_.q_length;
    rows.k_begin = state_.k_begin;
    rows.k_length = state_.k_length;
    rows.ld_ancestors = rows.max_step = ld_;
    rows.allowed = restricted_ ? state_.allowed : nullptr;
    rows.may_end = may_end_;
    step_.run(rows, k_, state_.values, state_.ids, true);

    xf_beam_step args{};
    args.active_count = A;
    args.sentences = sentences_;
    args.beam = options_.beam;
    args.n_best = options_.n_best;
    args.k = k_;
    args.end_token = options_.end_token;
    args.ld_ancestors = ld_;
    args.active = state_.active;
    args.values = state_.values;
    args.ids = state_.ids;
    args.penalty = state_.penalty;
    args.limit = state_.limit;
    args.length = state_.length;
    args.live = state_.live;
    args.done = state_.done;
    args.live_logp = state_.live_logp;
    args.ancestors = state_.ancestors;
    args.history_token = state_.history_token;
    args.history_logp = state_.history_logp;
    args.history_parent = state_.history_parent;
    args.finished = state_.finished;
    args.finished_count = state_.finished_count;
    args.tokens = state_.tokens;
    args.steps = state_.steps;
    args.remaining = state_.remaining;
    stream_.run(args);
}

void DeviceSearch::one_step() {
    if (!model_.context().graphs()) return calls();
    const Key key{step_.layout(),
                  buffer_.data(),
                  static_cast<int64_t>(active_.size()),
                  sentences_,
                  options_.beam,
                  options_.n_best,
                  k_,
                  ld_,
                  restricted_,
                  may_end_};
    graphs_.run(stream_, key, [&] { calls(); });
}

// Sentences that are done give their rows back, once that makes the step a smaller one.
void DeviceSearch::drop_finished() {
    const std::vector<int32_t> done = fetch(stream_, state_.done, sentences_);
    const auto N = static_cast<size_t>(options_.beam);
    const auto rows = static_cast<int64_t>(active_.size() * N);
    const std::vector<int32_t> tokens = fetch(stream_, state_.tokens, rows), steps = fetch(stream_, state_.steps, rows);
    std::vector<int32_t> left;
    std::vector<Row> kept;
    for (size_t a = 0; a < active_.size(); ++a) {
        if (active_[a] < 0 || done[static_cast<size_t>(active_[a])] != 0) continue;
        left.push_back(active_[a]);
        for (size_t i = 0; i < N; ++i) kept.push_back({tokens[a * N + i], steps[a * N + i]});
    }
    left.resize(static_cast<size_t>(padded(static_cast<int64_t>(left.size()))), -1);
    kept.resize(left.size() * N, {options_.start_token, 0});
    place(left, kept);
}

void DeviceSearch::run(const SearchRequest &request, const Watch &watch, std::vector<SentenceOutcome> *outcomes) {
    options_ = request.beam;
    const auto count = static_cast<int64_t>(request.limits.size());
    sentences_ = padded(count);
    const int64_t longest = *std::max_element(request.limits.begin(), request.limits.end());
    ld_ = steps(longest);
    k_ = request.k;
    begin(request);
    std::vector<int32_t> all(static_cast<size_t>(sentences_), -1);
    for (size_t s = 0; s < request.limits.size(); ++s) all[s] = static_cast<int32_t>(s);
    place(all, std::vector<Row>(all.size() * static_cast<size_t>(options_.beam), {options_.start_token, 0}));
    const bool asks = request.constraint != nullptr;
    int64_t t = 0;
    for (int32_t remaining = static_cast<int32_t>(count);;) {
        watch.look(request.done_before + count - remaining);
        for (const int64_t stop = std::min(longest, t + (asks ? 1 : kStepsBetweenLooks)); t < stop; ++t) {
            step_.reserve(static_cast<int64_t>(active_.size()) * options_.beam, t + 1);
            restrict_rows(request, t);
            one_step();
        }
        remaining = asks ? follow(t - 1) : fetch(stream_, state_.remaining, 1)[0];
        if (remaining == 0 || t >= longest || watch.late()) break;
        if (padded(remaining) < static_cast<int64_t>(active_.size())) drop_finished();
    }
    results(request, t, outcomes);
}

}  // namespace xf
