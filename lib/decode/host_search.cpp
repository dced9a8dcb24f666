// SPDX-License-Identifier: Apache-2.0
#include "decode/host_search.h"

#include <algorithm>
#include <cmath>

namespace xf {

// The first cells suffice for this number of steps without any common prefix, and usually for more.
constexpr int64_t kFirstSteps = 8;

int64_t HostSearch::Sentence::continuations(int64_t V) const {
    const int64_t count = search.continuations();
    return task.beam.kind == SearchKind::kSamples ? count : std::min(count, V - 1);
}

void HostSearch::clear() {
    active_.clear();
    vacant_.clear();
    // In the order of the first call, so that equal calls reuse the same memory.
    for (size_t i = sentences_.size(); i-- > 0;) vacant_.push_back(static_cast<int32_t>(i));
    source_tokens_ = 0;
    pool_.clear();
    step_.clear();
    for (const auto &step : others_) step->clear();
    if (speculation_ != nullptr) speculation_->clear();
}

void HostSearch::add(const SearchTask &task) {
    if (vacant_.empty()) {
        vacant_.reserve(sentences_.size() + 1);  // so that clear() cannot fail
        sentences_.emplace_back();
        vacant_.push_back(static_cast<int32_t>(sentences_.size()) - 1);
    }
    Sentence &sentence = sentences_[vacant_.back()];
    sentence.task = task;
    sentence.search.begin(task.beam, task.limit, task.prefix.size());
    sentence.cells.resize(task.beam.width());
    sentence.parents.resize(task.beam.width());
    for (auto *lists : {&sentence.cells, &sentence.parents})
        for (std::vector<int32_t> &list : *lists) {
            list.clear();
            list.reserve(task.limit);
        }
    sentence.cells[0].push_back(pool_.take(-1));
    active_.push_back(vacant_.back());
    vacant_.pop_back();
    source_tokens_ += task.source.length;
    if (task.draft >= 0) speculation_->start(task.draft, task);
}

std::vector<int32_t>::const_iterator HostSearch::find(const SentenceOutcome *outcome) const {
    return std::find_if(active_.begin(), active_.end(),
                        [&](int32_t i) { return sentences_[i].task.outcome == outcome; });
}

Hypothesis HostSearch::common_prefix(const SentenceOutcome *outcome) {
    return sentences_[*find(outcome)].search.common_prefix();
}

// Lists the live hypotheses of all active sentences, and the proposals for them.
void HostSearch::collect_rows() {
    rows_.clear();
    int64_t longest = 0;
    for (const int32_t i : active_) {
        Sentence &sentence = sentences_[i];
        sentence.proposals = {};
        if (sentence.task.draft >= 0) sentence.proposals = speculation_->proposals(sentence.task.draft);
        const int64_t last = sentence.step_of(sentence.rows() - 1);
        if (sentence.task.beam.width() == 1)
            for (std::vector<int32_t> &cells = sentence.cells[0]; std::ssize(cells) <= last;)
                cells.push_back(pool_.take(cells.back()));
        longest = std::max(longest, last);
        rows_.multi_step |= !sentence.proposals.empty();
    }
    rows_.ld_cells = longest + 1;
    for (const int32_t i : active_) {
        const Sentence &sentence = sentences_[i];
        const auto &live = sentence.search.live();
        rows_.sources.push_back(sentence.task.source);
        rows_.sentence_begin.push_back(static_cast<int32_t>(rows_.tokens.size()));
        rows_.sentence_length.push_back(static_cast<int32_t>(sentence.rows()));
        for (size_t j = 0; j < live.size(); ++j) rows_.add(live[j].token, sentence.steps(), sentence.cells[j]);
        for (size_t j = 0; j < sentence.proposals.size(); ++j)
            rows_.add(sentence.proposals[j], sentence.step_of(j + 1), sentence.cells[0]);
    }
}

// Selects the tokens that may follow each row.
void HostSearch::restrict_rows() {
    const auto count = [&](const auto &is) {
        int64_t rows = 0;
        for (const int32_t i : active_)
            for (size_t j = 0; j < sentences_[i].rows(); ++j) rows += is(sentences_[i], j) ? 1 : 0;
        return rows;
    };
    const int64_t short_rows = count([](const Sentence &s, size_t j) { return s.too_short(j); });
    rows_.may_end = short_rows < std::ssize(rows_.tokens);
    // The bits of a row exclude the end symbol only if other rows may end.
    const bool mixed = rows_.may_end && short_rows > 0;
    if (!mixed && count([](const Sentence &s, size_t j) { return s.task.restricts(s.step_of(j)); }) == 0) return;
    const size_t words = allowed_words(model_.config().V);
    rows_.allowed.assign(rows_.tokens.size() * words, ~0u);
    if (partial_ids_.size() < rows_.tokens.size()) partial_ids_.resize(rows_.tokens.size());
    partials_.clear();
    const Constraint *constraint = nullptr;
    size_t row = 0;
    for (const int32_t i : active_) {
        const Sentence &s = sentences_[i];
        if (s.task.uses_constraint(s.steps()) && s.task.constraint != constraint) {
            if (!partials_.empty()) (*constraint)(partials_);
            partials_.clear();
            constraint = s.task.constraint;
        }
        for (size_t j = 0; j < s.rows(); ++j, ++row) {
            const auto bits = std::span(rows_.allowed).subspan(row * words, words);
            s.task.force_prefix(s.step_of(j), bits);
            if (!s.task.uses_constraint(s.steps())) continue;
            s.search.tokens(j, &partial_ids_[row]);
            partials_.push_back({s.task.sentence, partial_ids_[row], s.search.remaining(), bits});
        }
    }
    if (!partials_.empty()) (*constraint)(partials_);
    if (!mixed) return;
    // After the constraints, which must not depend on the other sentences of the batch.
    for (row = 0; const int32_t i : active_)
        for (size_t j = 0; j < sentences_[i].rows(); ++j, ++row)
            if (const int32_t end = sentences_[i].task.beam.end_token; sentences_[i].too_short(j))
                rows_.allowed[row * words + end / 32] &= ~(1u << end % 32);
}

// Gives each live hypothesis the cells of its parent and a new one, and frees the cells of hypotheses that have ended.
void HostSearch::inherit_cells(Sentence *sentence) {
    const auto &live = sentence->search.live();
    sentence->cells.swap(sentence->parents);
    const auto &parents = sentence->parents;
    for (size_t j = 0; j < live.size(); ++j) {
        const std::vector<int32_t> &parent = parents[live[j].parent];
        std::vector<int32_t> &cells = sentence->cells[j];
        cells = parent;
        cells.push_back(pool_.take(parent.back()));
    }
    for (size_t j = live.size(); j < sentence->cells.size(); ++j) sentence->cells[j].clear();
    for (const std::vector<int32_t> &parent : parents)
        if (!parent.empty()) pool_.release(parent.back());
}

void HostSearch::end(int32_t index) {
    Sentence &sentence = sentences_[index];
    sentence.task.outcome->hypotheses = sentence.search.result();
    for (const std::vector<int32_t> &cells : sentence.cells)
        if (!cells.empty()) pool_.release(cells.back());
    step_.remove(sentence.task.source);
    for (const auto &step : others_) step->remove(sentence.task.source);
    if (sentence.task.draft >= 0) speculation_->end(sentence.task.draft);
    source_tokens_ -= sentence.task.source.length;
    vacant_.push_back(index);
}

void HostSearch::reserve_cells() {
    int64_t first = 0, most = 0;
    for (const int32_t i : active_) {
        const SearchTask &task = sentences_[i].task;
        first += task.beam.width() * std::min(task.limit, kFirstSteps);
        most += task.beam.width() * task.limit;
    }
    const int64_t wanted = std::max({pool_.size(), step_.cells() * 3 / 2, first});
    const int64_t cells = std::max(pool_.size(), std::min(wanted, most));
    step_.reserve_cells(cells, true);
    for (const auto &step : others_) step->reserve_cells(cells, true);
}

// values and ids: the best continuations of the rows of the sentence, k for each row.
void HostSearch::advance(Sentence *sentence, const float *values, const int32_t *ids, int64_t k) {
    const int64_t continuations = sentence->continuations(model_.config().V);
    BeamSearch &search = sentence->search;
    search.advance(values, ids, continuations, k);
    int64_t accepted = 0;
    for (const int32_t proposal : sentence->proposals) {
        if (search.done() || search.live()[0].token != proposal) break;
        ++accepted;
        search.advance(values + accepted * k, ids + accepted * k, continuations, k);
    }
    if (sentence->task.draft >= 0) speculation_->settle(sentence->task.draft, search, accepted);
}

// values: [live hypotheses, V], changed by the repetition penalty.
void HostSearch::advance_with_all_values(Sentence *sentence, float *values) {
    const int64_t V = model_.config().V, count = sentence->continuations(V);
    const SearchTask &task = sentence->task;
    BeamSearch &search = sentence->search;
    const auto &live = search.live();
    const bool sampling = task.beam.kind == SearchKind::kSamples;
    const bool penalizes = task.repetition_penalty != 1 && sentence->steps() >= task.prefix.size();
    chosen_values_.assign(live.size() * count, -INFINITY);
    chosen_ids_.assign(chosen_values_.size(), -1);
    for (size_t j = 0; j < live.size(); ++j) {
        const std::span<float> row(values + j * V, V);
        if (penalizes) {
            search.tokens(j, &hypothesis_);
            penalize(row, &hypothesis_, task.repetition_penalty);
        }
        const auto ids = std::span(chosen_ids_).subspan(j * count, count);
        const auto chosen = std::span(chosen_values_).subspan(j * count, count);
        if (!sampling) best_ids(row, ids);
        for (int64_t c = 0; c < count; ++c) {
            const SamplePosition position{task.source_hash, static_cast<uint32_t>(count > 1 ? c : live[j].number),
                                          static_cast<uint32_t>(sentence->steps())};
            if (sampling) ids[c] = sampler_.choose(row, task.sampling, uniform_number(task.sampling.seed, position));
            if (ids[c] >= 0) chosen[c] = row[ids[c]];
        }
    }
    search.advance(chosen_values_.data(), chosen_ids_.data(), count, count);
}

// Computes values_ and ids_, [rows, k], and if they are used, the values of all tokens.
void HostSearch::run_steps(int64_t k, bool uses_all_values, const Call &call) {
    const size_t rows = rows_.tokens.size();
    values_.resize(rows * k);
    ids_.resize(values_.size());
    if (uses_all_values) all_values_.resize(rows * model_.config().V);
    step_.run(rows_, k, values_.data(), ids_.data(), uses_all_values ? all_values_.data() : nullptr, call);
    if (others_.empty()) return;
    // In double precision, so that an ensemble of equal models has the bits of one of them.
    sums_.assign(all_values_.begin(), all_values_.end());
    for (const auto &step : others_) {
        step->run(rows_, k, values_.data(), ids_.data(), all_values_.data(), call);
        for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += all_values_[i];
    }
    const auto count = static_cast<double>(others_.size() + 1);
    for (size_t i = 0; i < sums_.size(); ++i) all_values_[i] = static_cast<float>(sums_[i] / count);
}

void HostSearch::step(const Call &call) {
    const int64_t V = model_.config().V;
    if (speculation_ != nullptr) speculation_->propose(active(), call);
    collect_rows();
    restrict_rows();
    int64_t k = 1;
    bool any_uses_all_values = false;
    for (const int32_t i : active_) {
        if (uses_all_values(sentences_[i].task))
            any_uses_all_values = true;
        else
            k = std::max(k, sentences_[i].continuations(V));
    }
    if (pool_.size() > step_.cells()) reserve_cells();
    run_steps(k, any_uses_all_values, call);
    for (size_t a = 0; a < active_.size(); ++a) {
        Sentence &sentence = sentences_[active_[a]];
        const int64_t row = rows_.sentence_begin[a], at = row * k;
        if (uses_all_values(sentence.task))
            advance_with_all_values(&sentence, all_values_.data() + row * V);
        else
            advance(&sentence, values_.data() + at, ids_.data() + at, k);
        if (sentence.search.done())
            end(active_[a]);
        else if (sentence.task.beam.width() > 1)
            inherit_cells(&sentence);
    }
    if (speculation_ != nullptr) speculation_->end_step(std::ssize(active_));
    std::erase_if(active_, [&](int32_t i) { return sentences_[i].search.done(); });
}

void HostSearch::stop(const SentenceOutcome *outcome) {
    std::erase_if(active_, [&](int32_t i) {
        if (outcome != nullptr && sentences_[i].task.outcome != outcome) return false;
        end(i);
        return true;
    });
}

}  // namespace xf
