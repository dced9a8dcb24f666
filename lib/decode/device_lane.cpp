// SPDX-License-Identifier: Apache-2.0
#include "decode/device_lane.h"

#include <algorithm>
#include <numeric>

namespace xf {
namespace {

// Steps between two reads of the state. A read waits for microseconds; without it, up to this many steps run in vain.
constexpr int64_t kStepsBetweenReads = 4;

template <class T>
T *take(Arena *arena, int64_t count) {
    static_assert(sizeof(T) % sizeof(int32_t) == 0);
    return reinterpret_cast<T *>(arena->ints(count * static_cast<int64_t>(sizeof(T) / sizeof(int32_t))));
}

}  // namespace

DeviceLane::DeviceLane(Shared *shared, int64_t beam)
    : shared_(*shared),
      beam_(beam),
      k_(std::min(BeamSearch::continuations(BeamOptions{.beam = beam}), shared->model.config().V - 1)),
      words_(allowed_words(shared->model.config().V)) {}

void DeviceLane::plan(Arena *arena) {
    const int64_t rows = slots_ * beam_;
    xf_beam_step &args = beam_step_;
    args.beam = beam_;
    args.end_token = shared_.model.config().tokens.end;
    args.ld_cells = ld_;
    // The part that read() downloads comes first.
    args.sentences = take<xf_beam_sentence>(arena, slots_);
    args.live = take<xf_beam_live>(arena, rows);
    args.finished = take<xf_beam_finished>(arena, rows);
    state_bytes_ = arena->bytes();
    args.penalty = take<double>(arena, slots_ * (ld_ + 1));
    args.history = take<xf_beam_token>(arena, rows * ld_);
    args.cells = take<int32_t>(arena, (rows + padding() * beam_) * ld_);
    args.values = take<float>(arena, rows * (k_ + 1));
    args.ids = take<int32_t>(arena, rows * (k_ + 1));
}

// Provides memory for sentences of ld steps in this number of slots. Recordings of smaller memory are not used again.
void DeviceLane::grow(int64_t slots, int64_t ld) {
    const int64_t old_slots = slots_, old_ld = ld_;
    const xf_beam_step old = beam_step_;
    slots_ = slots;
    ld_ = ld;
    try {
        Stream &stream = shared_.stream;
        shared_.step.reserve(slots * beam_);
        Arena dry(XF_FP32);
        plan(&dry);
        Buffer larger;
        if (active_.empty())
            buffer_.reserve(stream.device(), dry.bytes());
        else
            larger = Buffer(stream.device(), dry.bytes());
        Arena arena(XF_FP32, active_.empty() ? buffer_.data() : larger.data());
        plan(&arena);
        if (!active_.empty()) {
            copy_state(old, old_slots);
            stream.sync();
            buffer_ = std::move(larger);
        }
        if (padding() > 0) {
            if (planned_ && old_slots / 3 > 0) shared_.cells.release(idle_cells_, old_slots / 3 * beam_);
            idle_cells_ = shared_.cells.take(padding() * beam_);
            std::vector<int32_t> cells(padding() * beam_ * ld_);
            for (int64_t i = 0; i < padding() * beam_; ++i) cells[i * ld_] = static_cast<int32_t>(idle_cells_ + i);
            stream.upload(beam_step_.cells + slots_ * beam_ * ld_, cells.data(), cells.size() * sizeof(int32_t));
        }
        sentences_.resize(slots);
    } catch (...) {
        slots_ = old_slots;
        ld_ = old_ld;
        throw;
    }
    planned_ = true;
    known_ = active_.empty();
}

void DeviceLane::release_cells() {
    if (planned_ && padding() > 0) shared_.cells.release(idle_cells_, padding() * beam_);
    planned_ = false;
}

// Copies the state of the active sentences from smaller memory with this number of slots.
void DeviceLane::copy_state(const xf_beam_step &from, int64_t slots) {
    const auto copy = [&](auto *to, const auto *begin, int64_t count) {
        shared_.stream.copy(to, begin, static_cast<size_t>(count) * sizeof *begin);
    };
    const xf_beam_step &to = beam_step_;
    copy(to.sentences, from.sentences, slots);
    copy(to.live, from.live, slots * beam_);
    copy(to.finished, from.finished, slots * beam_);
    for (const int32_t s : active_) {
        const int64_t steps = sentences_[s].steps;
        copy(const_cast<double *>(to.penalty) + s * (to.ld_cells + 1), from.penalty + s * (from.ld_cells + 1),
             from.ld_cells + 1);
        copy(to.history + s * to.ld_cells * beam_, from.history + s * from.ld_cells * beam_, steps * beam_);
        for (int64_t slot = s * beam_; slot < (s + 1) * beam_; ++slot)
            copy(to.cells + slot * to.ld_cells, from.cells + slot * from.ld_cells, steps + 1);
    }
}

void DeviceLane::add(const SearchTask &task) {
    added_.push_back(task);
    source_tokens_ += task.source.length;
}

void DeviceLane::clear() {
    for (Sentence &sentence : sentences_) sentence.task.outcome = nullptr;
    active_.clear();
    added_.clear();
    source_tokens_ = 0;
    planned_ = changed_ = known_ = false;
    unread_ = 0;
}

// Gives a slot and cells to each sentence that was added.
void DeviceLane::begin_added() {
    int64_t ld = ld_;
    for (const SearchTask &task : added_) ld = std::max(ld, padded(task.limit));
    const int64_t slots = std::max(slots_, padded(active()));
    if (!planned_ || slots > slots_ || ld > ld_) grow(slots, ld);
    const bool keep = shared_.sentences > 0;  // the contents of cells
    std::vector<int32_t> begun;
    int32_t slot = 0;
    for (const SearchTask &task : added_) {
        while (sentences_[slot].used()) ++slot;
        Sentence &s = sentences_[slot];
        s.first_cell = static_cast<int32_t>(shared_.cells.take(task.limit * beam_));
        ++shared_.sentences;
        s.steps = 0;
        s.followed = task.constraint != nullptr;
        s.history.clear();
        s.task = task;
        active_.push_back(slot);
        begun.push_back(slot);
    }
    added_.clear();
    if (const int64_t cells = shared_.cells.size(); cells > shared_.step.cells())
        shared_.step.reserve_cells(std::max(padded(cells), keep ? shared_.step.cells() * 3 / 2 : 0), keep);
    for (size_t i = 0, next = 0; i < begun.size(); i = next) {
        while (next < begun.size() && begun[next] - begun[i] == static_cast<int32_t>(next - i)) ++next;
        upload_begun(begun[i], static_cast<int64_t>(next - i));
    }
}

// Uploads the state of sentences in adjacent slots that begin.
void DeviceLane::upload_begun(int64_t first, int64_t count) {
    std::vector<xf_beam_sentence> states(count);
    std::vector<double> penalty(count * (ld_ + 1));
    std::vector<int32_t> cells(count * beam_ * ld_);
    for (int64_t j = 0; j < count; ++j) {
        const Sentence &s = sentences_[first + j];
        states[j] = {static_cast<int32_t>(s.task.limit),
                     static_cast<int32_t>(std::min(s.task.min_tokens, s.task.limit)),
                     static_cast<int32_t>(s.task.beam.n_best),
                     s.first_cell,
                     0,
                     1,
                     0,
                     0};
        for (int64_t length = 1; length <= s.task.limit; ++length)
            penalty[j * (ld_ + 1) + length] = length_penalty(length, s.task.beam.alpha);
        for (int64_t i = 0; i < beam_; ++i) cells[(j * beam_ + i) * ld_] = static_cast<int32_t>(s.first_cell + i);
    }
    const auto upload = [&](const auto *to, const auto &values) {
        shared_.stream.upload(const_cast<void *>(static_cast<const void *>(to)), values.data(),
                              values.size() * sizeof values[0]);
    };
    upload(beam_step_.sentences + first, states);
    upload(beam_step_.penalty + first * (ld_ + 1), penalty);
    upload(beam_step_.cells + first * beam_ * ld_, cells);
}

// Assigns rows to the active sentences.
void DeviceLane::upload_rows() {
    const int64_t A = std::ssize(active_), N = beam_;
    rows_active_ = padded(A);
    Staging &staging = rows_staging_;
    staging.clear();
    const auto by_sentence = [&](int32_t padding, const auto &value) {
        return staging.add(rows_active_, [&](int64_t a) { return a < A ? value(active_[a]) : padding; });
    };
    const auto by_row = [&](const auto &value) {
        return staging.add(rows_active_ * N,
                           [&](int64_t row) { return row < A * N ? value(active_[row / N], row % N) : 0; });
    };
    const size_t active = by_sentence(-1, [](int32_t s) { return s; });
    const size_t q_begin = staging.add(rows_active_, [&](int64_t a) { return a * N; });
    const size_t q_length = staging.add(rows_active_, [&](int64_t) { return N; });
    const size_t k_begin = by_sentence(0, [&](int32_t s) { return sentences_[s].task.source.begin; });
    const size_t k_length = by_sentence(0, [&](int32_t s) { return sentences_[s].task.source.length; });
    const size_t slots = staging.add(rows_active_ * N, [&](int64_t row) {
        const int64_t a = row / N;
        return (a < A ? active_[a] : slots_ + a - A) * N + row % N;
    });
    const size_t tokens = by_row([&](int32_t s, int64_t i) -> int32_t {
        if (sentences_[s].steps == 0) return sentences_[s].task.beam.start_token;
        return i < state(s).live ? host(beam_step_.live)[s * N + i].last.token : 0;
    });
    const size_t steps = by_row([&](int32_t s, int64_t) { return sentences_[s].steps; });
    // Recordings refer to this memory, so it has room for all slots.
    staging.upload(shared_.stream, 5 * (slots_ + 16) + 3 * (slots_ * N + 16));
    beam_step_.active_count = rows_.sentences = rows_active_;
    beam_step_.active = staging.at(active);
    rows_.tokens = beam_step_.tokens = staging.at(tokens);
    rows_.steps = beam_step_.steps = staging.at(steps);
    rows_.rows = rows_active_ * N;
    rows_.max_rows = N;
    rows_.slot_of_row = staging.at(slots);
    rows_.cells = beam_step_.cells;
    rows_.q_begin = staging.at(q_begin);
    rows_.q_length = staging.at(q_length);
    rows_.k_begin = staging.at(k_begin);
    rows_.k_length = staging.at(k_length);
    rows_.ld_cells = ld_;
    rows_.max_step = ld_ - 1;
    rows_.max_source_length = 0;
    for (const int32_t s : active_)
        rows_.max_source_length = std::max(rows_.max_source_length, padded(sentences_[s].task.source.length));
    changed_ = false;
}

void DeviceLane::issue_operations(const Call &call) {
    shared_.step.run(rows_, beam_step_.k, beam_step_.values, beam_step_.ids, true, call);
    shared_.stream.run(beam_step_);
}

void DeviceLane::run_step(const Call &call) {
    // Where a hypothesis may not end yet, the end symbol may be one of the best continuations.
    const bool some_may_not_end = std::any_of(
        active_.begin(), active_.end(), [&](int32_t s) { return sentences_[s].steps < sentences_[s].task.min_tokens; });
    beam_step_.k = k_ + (some_may_not_end ? 1 : 0);
    rows_.may_end = true;
    if (!shared_.model.context().graphs()) return issue_operations(call);
    const Key key{shared_.step.layout(),
                  buffer_.data(),
                  rows_staging_.device_memory(),
                  rows_.allowed,
                  rows_active_,
                  slots_,
                  beam_,
                  beam_step_.k,
                  ld_,
                  rows_.max_source_length};
    shared_.graphs.run(shared_.stream, key, [&] { issue_operations(call); });
}

bool DeviceLane::must_read() const {
    if (unread_ >= kStepsBetweenReads) return true;
    const auto is = [&](const auto &property) { return [&](int32_t s) { return property(sentences_[s]); }; };
    return std::any_of(active_.begin(), active_.end(), is([](const Sentence &s) { return s.followed; })) ||
           std::all_of(active_.begin(), active_.end(), is([](const Sentence &s) { return s.steps >= s.task.limit; }));
}

void DeviceLane::step(const Call &call) {
    if (!added_.empty()) {
        read();
        end_done();
        begin_added();
        read();  // again if the memory has moved
        changed_ = true;
    }
    if (active_.empty()) return;
    if (changed_) upload_rows();
    restrict_rows();
    run_step(call);
    for (const int32_t s : active_) ++sentences_[s].steps;
    ++unread_;
    known_ = false;
    if (!must_read()) return;
    read();
    end_done();
}

}  // namespace xf
