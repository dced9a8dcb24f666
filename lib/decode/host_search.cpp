// See host_search.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/host_search.h"

#include <algorithm>

#include "decode/allowed_tokens.h"

namespace xf {

void HostSearch::begin(const SearchRequest &request) {
    beam_ = request.beam.beam;
    if (std::ssize(searches_) < request.size()) searches_.resize(request.size());
    active_.clear();
    for (int32_t s = 0; s < request.size(); ++s) {
        searches_[s].begin(request.beam, request.limits[s]);
        active_.push_back({s, s});
    }
    ld_ = step_.capacity();
    ancestors_.resize(step_.slots() * ld_);
}

// The cache is full. Removes the slots of sentences that have ended.
void HostSearch::make_room(int64_t t) {
    kept_.clear();
    for (const Active &active : active_) kept_.push_back(active.block);
    step_.make_room(kept_, beam_);
    const int64_t ld = step_.capacity();
    moved_ancestors_.resize(step_.slots() * ld);
    int32_t block = 0;
    for (Active &active : active_) {
        const int32_t shift = slot(block, 0) - slot(active.block, 0);
        for (int64_t live = 0; live < beam_; ++live) {
            const int32_t *const from = ancestors(active.block, live);
            std::transform(from, from + t, moved_ancestors_.data() + slot(block, live) * ld,
                           [&](int32_t ancestor) { return ancestor + shift; });
        }
        active.block = block++;
    }
    ancestors_.swap(moved_ancestors_);
    ld_ = ld;
}

// Lists the live hypotheses of all active sentences.
void HostSearch::collect_rows(int64_t t) {
    rows_.clear();
    for (const Active &active : active_) {
        const auto &live = searches_[active.sentence].live();
        rows_.source.push_back(active.sentence);
        rows_.sentence_begin.push_back(static_cast<int32_t>(rows_.tokens.size()));
        rows_.sentence_length.push_back(static_cast<int32_t>(live.size()));
        for (size_t j = 0; j < live.size(); ++j) {
            rows_.tokens.push_back(live[j].token);
            rows_.slot_of_row.push_back(slot(active.block, j));
        }
    }
    rows_.ancestors = ancestors_.data();
    rows_.ld_ancestors = ld_;
    rows_.t = t;
}

// Unlike restricts_tokens(), ignores the prefixes of sentences that have ended.
void HostSearch::restrict_rows(const SearchRequest &request, int64_t t) {
    rows_.may_end = t >= request.min_tokens;
    const bool restricted = request.constraint != nullptr ||
                            std::any_of(active_.begin(), active_.end(),
                                        [&](const Active &active) { return t < request.prefix_size(active.sentence); });
    if (!restricted) return;
    const size_t words = allowed_words(model_.config().V);
    rows_.allowed.assign(rows_.tokens.size() * words, ~0u);
    uint32_t *bits = rows_.allowed.data();
    partials_.clear();
    if (partial_ids_.size() < rows_.tokens.size()) partial_ids_.resize(rows_.tokens.size());
    for (const Active &active : active_) {
        const BeamSearch &search = searches_[active.sentence];
        for (size_t j = 0; j < search.live().size(); ++j, bits += words) {
            force_prefix(request, active.sentence, t, {bits, words});
            if (!uses_constraint(request, active.sentence, t)) continue;
            std::vector<int32_t> &ids = partial_ids_[partials_.size()];
            search.tokens(j, &ids);
            partials_.push_back(
                {request.sentences[active.sentence], ids, request.limits[active.sentence] - t, {bits, words}});
        }
    }
    if (!partials_.empty()) (*request.constraint)(partials_);
}

// Gives each live hypothesis the ancestors of its parent, followed by the slot of its parent.
void HostSearch::update_ancestors(const Active &active, int64_t t) {
    const auto &live = searches_[active.sentence].live();
    bool reordered = false;
    for (size_t j = 0; j < live.size(); ++j) reordered |= live[j].parent != int64_t(j);
    if (reordered && t > 0) {
        parent_ancestors_.resize(beam_ * t);
        for (int64_t j = 0; j < beam_; ++j)
            std::copy_n(ancestors(active.block, j), t, parent_ancestors_.data() + j * t);
        for (size_t j = 0; j < live.size(); ++j)
            std::copy_n(parent_ancestors_.data() + live[j].parent * t, t, ancestors(active.block, j));
    }
    for (size_t j = 0; j < live.size(); ++j) ancestors(active.block, j)[t] = slot(active.block, live[j].parent);
}

void HostSearch::run(const SearchRequest &request, const SearchControl &control,
                     std::vector<SentenceOutcome> *outcomes) {
    begin(request);
    for (int64_t t = 0; !active_.empty(); ++t) {
        control.report(request.done_before + request.size() - std::ssize(active_));
        if (t > 0 && control.past_deadline()) break;
        if (t >= step_.capacity()) make_room(t);
        collect_rows(t);
        restrict_rows(request, t);
        values_.resize(rows_.tokens.size() * request.k);
        ids_.resize(values_.size());
        step_.run(rows_, request.k, values_.data(), ids_.data());
        for (size_t i = 0; i < active_.size(); ++i) {
            BeamSearch &search = searches_[active_[i].sentence];
            const int64_t at = rows_.sentence_begin[i] * request.k;
            search.advance(values_.data() + at, ids_.data() + at, request.k);
            if (!search.done()) update_ancestors(active_[i], t);
        }
        std::erase_if(active_, [&](const Active &active) { return searches_[active.sentence].done(); });
    }
    for (int64_t s = 0; s < request.size(); ++s) (*outcomes)[request.sentences[s]].hypotheses = searches_[s].result();
}

}  // namespace xf
