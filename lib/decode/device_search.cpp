// SPDX-License-Identifier: Apache-2.0
#include "decode/device_search.h"

#include <algorithm>

namespace xf {

// Steps between two reads of the number of active sentences. A read waits for microseconds; without it, up to this many
// steps run in vain.
constexpr int64_t kStepsBetweenReads = 4;

void DeviceSearch::plan(Arena *arena) {
    const int64_t slots = sentences_ * options_.beam, B = sentences_;
    xf_beam_step &args = beam_step_;
    args.sentences = B;
    args.beam = options_.beam;
    args.n_best = options_.n_best;
    args.k = k_;
    args.end_token = options_.end_token;
    args.ld_cells = ld_;
    args.live_logp = arena->doubles(slots);
    args.penalty = penalty_ = arena->doubles(ld_ + 1);
    constexpr int64_t kFinishedDoubles = sizeof(xf_beam_finished) / sizeof(double);
    args.finished = reinterpret_cast<xf_beam_finished *>(arena->doubles(kFinishedDoubles * B * options_.n_best));
    args.length = arena->ints(B);
    args.finished_count = arena->ints(B);
    args.remaining = arena->ints(1);
    args.values = values_ = arena->floats(slots, k_);
    args.ids = ids_ = arena->ints(slots * k_);
    args.cells = cells_ = arena->ints(slots * ld_);
    args.history_token = arena->ints(slots * ld_);
    args.history_parent = arena->ints(slots * ld_);
    args.history_logp = arena->floats(slots, ld_);
    // Last, so that the addresses above do not depend on restrictions.
    readback_ = words_ > 0 ? arena->ints(2 * (B + slots)) : nullptr;
    allowed_ = words_ > 0 ? reinterpret_cast<uint32_t *>(arena->ints(slots * words_)) : nullptr;
}

// Returns whether any sentence does not allow all tokens at step t.
bool DeviceSearch::restricts(int64_t t) const {
    return std::any_of(tasks_.begin(), tasks_.end(), [&](const SearchTask &task) { return task.restricts(t); });
}

void DeviceSearch::begin() {
    words_ = restricts(0) ? allowed_words(model_.config().V) : 0;
    Arena dry(XF_FP32);
    plan(&dry);
    buffer_.reserve(stream_.device(), dry.bytes());
    Arena arena(XF_FP32, buffer_.data());
    plan(&arena);
    stream_.zero(buffer_.data(), dry.bytes());

    std::vector<double> penalty(ld_ + 1);
    for (int64_t length = 1; length <= ld_; ++length) penalty[length] = length_penalty(length, options_.alpha);
    stream_.upload(penalty_, penalty.data(), penalty.size() * sizeof(double));
    const size_t count = sentences_;
    live_.assign(count, 1);
    done_.assign(count, 1);  // padding is done from the beginning
    std::fill_n(done_.begin(), tasks_.size(), 0);
    std::vector<int32_t> limit(count, 1);
    for (size_t s = 0; s < tasks_.size(); ++s) limit[s] = static_cast<int32_t>(tasks_[s].limit);
    // The cells of a sentence, padding included: its beam for each step up to its limit.
    const int64_t N = options_.beam;
    std::vector<int32_t> first_cell(count), cells(count * N * ld_);
    int64_t total = 0;
    for (size_t s = 0; s < count; ++s) {
        first_cell[s] = static_cast<int32_t>(total);
        for (int64_t i = 0; i < N; ++i) cells[(s * N + i) * ld_] = static_cast<int32_t>(total + i);
        total += limit[s] * N;
    }
    step_.reserve_cells(padded(total), false);
    stream_.upload(cells_, cells.data(), cells.size() * sizeof(int32_t));
    sentences_staging_.clear();
    const size_t live = sentences_staging_.add(live_), done = sentences_staging_.add(done_);
    const size_t limits = sentences_staging_.add(limit), first = sentences_staging_.add(first_cell);
    sentences_staging_.upload(stream_);
    beam_step_.live = sentences_staging_.at(live);
    beam_step_.done = sentences_staging_.at(done);
    beam_step_.limit = sentences_staging_.at(limits);
    beam_step_.first_cell = sentences_staging_.at(first);
    paths_.assign(count * options_.beam, {});
    next_paths_ = paths_;
}

// Assigns rows to the active sentences; -1 is padding. rows: `beam` rows of each sentence.
void DeviceSearch::upload_rows(const std::vector<int32_t> &active, const std::vector<Row> &rows) {
    active_ = active;
    const int64_t A = std::ssize(active), N = options_.beam;
    // Padding uses the slots of sentences that have ended, so that no two rows write to the same slot.
    std::vector<bool> is_active(sentences_);
    for (const int32_t s : active)
        if (s >= 0) is_active[s] = true;
    std::vector<int32_t> sentence_of_slots = active;
    int32_t vacant = 0;
    for (int32_t &s : sentence_of_slots) {
        if (s >= 0) continue;
        while (is_active[vacant]) ++vacant;
        s = vacant++;
    }
    Staging &staging = rows_staging_;
    staging.clear();
    const auto by_sentence = [&](const auto &value) {
        return staging.add(A, [&](int64_t a) { return active[a] >= 0 ? value(a) : 0; });
    };
    const auto by_row = [&](const auto &value) {
        return staging.add(A * N, [&](int64_t row) { return active[row / N] >= 0 ? value(row) : 0; });
    };
    const size_t active_at = staging.add(active);
    const size_t q_begin = staging.add(A, [&](int64_t a) { return a * N; });
    const size_t q_length = staging.add(A, [&](int64_t) { return N; });
    const size_t k_begin = by_sentence([&](int64_t a) { return tasks_[active[a]].source.begin; });
    const size_t k_length = by_sentence([&](int64_t a) { return tasks_[active[a]].source.length; });
    const size_t slots = staging.add(A * N, [&](int64_t row) { return sentence_of_slots[row / N] * N + row % N; });
    const size_t tokens = by_row([&](int64_t row) { return rows[row].token; });
    const size_t steps = by_row([&](int64_t row) { return rows[row].step; });
    // Recordings refer to this memory, so it has room for all sentences.
    staging.upload(stream_, 5 * (sentences_ + 16) + 3 * (sentences_ * N + 16));
    beam_step_.active_count = rows_.sentences = A;
    beam_step_.active = staging.at(active_at);
    rows_.tokens = beam_step_.tokens = staging.at(tokens);
    rows_.steps = beam_step_.steps = staging.at(steps);
    rows_.rows = A * N;
    rows_.max_rows = N;
    rows_.slot_of_row = staging.at(slots);
    rows_.cells = beam_step_.cells;
    rows_.q_begin = staging.at(q_begin);
    rows_.q_length = staging.at(q_length);
    rows_.k_begin = staging.at(k_begin);
    rows_.k_length = staging.at(k_length);
    rows_.ld_cells = ld_;
    rows_.max_step = ld_ - 1;
}

void DeviceSearch::issue_operations() {
    rows_.allowed = restricted_ ? allowed_ : nullptr;
    rows_.may_end = may_end_;
    step_.run(rows_, k_, values_, ids_, true, *call_);
    stream_.run(beam_step_);
}

void DeviceSearch::run_step() {
    if (!model_.context().graphs()) return issue_operations();
    const Key key{step_.layout(),
                  buffer_.data(),
                  sentences_staging_.device_memory(),
                  rows_staging_.device_memory(),
                  std::ssize(active_),
                  sentences_,
                  options_.beam,
                  options_.n_best,
                  k_,
                  ld_,
                  rows_.max_source_length,
                  restricted_,
                  may_end_};
    graphs_.run(stream_, key, [&] { issue_operations(); });
}

// Removes the rows of sentences that have ended.
void DeviceSearch::drop_finished() {
    const std::vector<int32_t> done = fetch(stream_, beam_step_.done, sentences_);
    const int64_t A = std::ssize(active_), N = options_.beam;
    const std::vector<int32_t> tokens = fetch(stream_, beam_step_.tokens, A * N),
                               steps = fetch(stream_, beam_step_.steps, A * N);
    std::vector<int32_t> left;
    std::vector<Row> rows;
    for (int64_t a = 0; a < A; ++a) {
        if (active_[a] < 0 || done[active_[a]] != 0) continue;
        left.push_back(active_[a]);
        for (int64_t row = a * N; row < (a + 1) * N; ++row) rows.push_back({tokens[row], steps[row]});
    }
    left.resize(padded(std::ssize(left)), -1);
    rows.resize(left.size() * N, {options_.start_token, 0});
    upload_rows(left, rows);
}

// Reads the hypotheses of all sentences.
void DeviceSearch::collect_results(int64_t steps) {
    const int64_t slots = sentences_ * options_.beam;
    const auto length = fetch(stream_, beam_step_.length, sentences_),
               done = fetch(stream_, beam_step_.done, sentences_),
               count = fetch(stream_, beam_step_.finished_count, sentences_);
    const auto token = fetch(stream_, beam_step_.history_token, steps * slots);
    const auto parent = fetch(stream_, beam_step_.history_parent, steps * slots);
    const auto token_logp = fetch(stream_, beam_step_.history_logp, steps * slots);
    const auto logp = fetch(stream_, beam_step_.live_logp, slots);
    const auto finished = fetch(stream_, beam_step_.finished, sentences_ * options_.n_best);
    // Hypothesis i of sentence s before the step with this index.
    const auto path = [&](int64_t s, int64_t step, int64_t i) {
        Hypothesis h;
        h.ids.resize(step);
        h.token_log_probabilities.resize(step);
        h.complete = done[s] != 0;
        while (step > 0) {
            const int64_t at = --step * slots + s * options_.beam + i;
            h.ids[step] = token[at];
            h.token_log_probabilities[step] = token_logp[at];
            i = parent[at];
        }
        return h;
    };
    for (int64_t s = 0; s < std::ssize(tasks_); ++s) {
        std::vector<Hypothesis> &hypotheses = tasks_[s].outcome->hypotheses;
        for (int64_t i = 0; i < count[s]; ++i) {
            const xf_beam_finished &f = finished[s * options_.n_best + i];
            Hypothesis &h = hypotheses.emplace_back(path(s, f.step, f.parent));
            h.token_log_probabilities.push_back(f.end_logp);
            h.log_probability = f.logp;
            h.score = f.score;
            h.finished = true;
        }
        if (!hypotheses.empty()) continue;
        Hypothesis &h = hypotheses.emplace_back(path(s, length[s], 0));
        h.log_probability = logp[s * options_.beam];
        h.score = h.log_probability / length_penalty(std::max(length[s], 1), options_.alpha);
    }
}

void DeviceSearch::run(std::span<const SearchTask> tasks, const Call &call, const Report &report) {
    tasks_ = tasks;
    call_ = &call;
    options_ = tasks[0].beam;
    const int64_t count = std::ssize(tasks);
    sentences_ = padded(count);
    int64_t longest = 0, longest_source = 0;
    for (const SearchTask &task : tasks) {
        longest = std::max(longest, task.limit);
        longest_source = std::max<int64_t>(longest_source, task.source.length);
    }
    ld_ = padded(longest);
    rows_.max_source_length = padded(longest_source);
    k_ = std::min(BeamSearch::continuations(options_), model_.config().V - 1);
    begin();
    std::vector<int32_t> all(sentences_, -1);
    for (int32_t s = 0; s < count; ++s) all[s] = s;
    upload_rows(all, std::vector<Row>(all.size() * options_.beam, {options_.start_token, 0}));
    const bool constrained =
        std::any_of(tasks.begin(), tasks.end(), [](const SearchTask &task) { return task.constraint != nullptr; });
    int64_t t = 0;
    for (int64_t remaining = count;;) {
        report(remaining);
        for (const int64_t stop = std::min(longest, t + (constrained ? 1 : kStepsBetweenReads)); t < stop; ++t) {
            step_.reserve(std::ssize(active_) * options_.beam);
            restrict_rows(t);
            run_step();
        }
        remaining = constrained ? read_step(t - 1) : fetch(stream_, beam_step_.remaining, 1)[0];
        if (remaining == 0 || t >= longest || call.expired()) break;
        if (padded(remaining) < std::ssize(active_)) drop_finished();
    }
    collect_results(t);
}

}  // namespace xf
