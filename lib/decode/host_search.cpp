// See host_search.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/host_search.h"

#include <algorithm>

#include "decode/restriction.h"

namespace xf {

void HostSearch::begin(const SearchRequest &request) {
    beam_ = request.beam.beam;
    if (searches_.size() < request.limits.size()) searches_.resize(request.limits.size());
    active_.clear();
    for (size_t s = 0; s < request.limits.size(); ++s) {
        searches_[s].begin(request.beam, request.limits[s]);
        active_.push_back({static_cast<int32_t>(s), static_cast<int32_t>(s)});
    }
    ld_ = step_.capacity();
    lines_.resize(static_cast<size_t>(step_.slots() * ld_));
}

// The cache is full: sentences that have ended leave it, and the others move together.
void HostSearch::make_room(int64_t t) {
    kept_.clear();
    for (const Active &active : active_) kept_.push_back(active.place);
    step_.make_room(kept_, beam_);
    const int64_t ld = step_.capacity();
    moved_lines_.resize(static_cast<size_t>(step_.slots() * ld));
    for (size_t i = 0; i < active_.size(); ++i) {
        const auto place = static_cast<int32_t>(i);
        const int32_t shift = slot(place, 0) - slot(active_[i].place, 0);
        for (int64_t live = 0; live < beam_; ++live) {
            const int32_t *const from = line(active_[i].place, live);
            std::transform(from, from + t, moved_lines_.data() + slot(place, live) * ld,
                           [&](int32_t ancestor) { return ancestor + shift; });
        }
        active_[i].place = place;
    }
    lines_.swap(moved_lines_);
    ld_ = ld;
}

// Lists the rows of the sentences that are still searched.
void HostSearch::collect(int64_t t) {
    rows_.clear();
    for (const Active &active : active_) {
        const auto &live = searches_[static_cast<size_t>(active.sentence)].live();
        rows_.source.push_back(active.sentence);
        rows_.sentence_begin.push_back(static_cast<int32_t>(rows_.tokens.size()));
        rows_.sentence_length.push_back(static_cast<int32_t>(live.size()));
        for (size_t j = 0; j < live.size(); ++j) {
            rows_.tokens.push_back(live[j].token);
            rows_.slot_of_row.push_back(slot(active.place, static_cast<int64_t>(j)));
        }
    }
    rows_.ancestors = lines_.data();
    rows_.ld_ancestors = ld_;
    rows_.t = t;
}

// Sentences whose prefix has ended need no bits: those that are left are asked, not all of the request.
void HostSearch::restrict_rows(const SearchRequest &request, int64_t t) {
    rows_.may_end = t >= request.min_tokens;
    const bool constrained = request.constraint != nullptr;
    const bool forced = std::any_of(active_.begin(), active_.end(), [&](const Active &active) {
        return t < static_cast<int64_t>(request.prefix(static_cast<size_t>(active.sentence)).size());
    });
    if (!constrained && !forced) return;
    const auto words = static_cast<size_t>(allowed_words(model_.config().V));
    rows_.allowed.assign(rows_.tokens.size() * words, ~0u);
    uint32_t *bits = rows_.allowed.data();
    for (const Active &active : active_) {
        const auto s = static_cast<size_t>(active.sentence);
        for (size_t j = 0; j < searches_[s].live().size(); ++j, bits += words) {
            if (asks_constraint(request, s, t)) searches_[s].tokens(j, &prefix_);
            restrict_row(request, s, t, prefix_, {bits, words});
        }
    }
}

// After a sentence's search advanced: each live hypothesis gets its parent's line, and the parent's slot at its end.
void HostSearch::inherit(const Active &active, int64_t t) {
    const auto &live = searches_[static_cast<size_t>(active.sentence)].live();
    bool moves = false;
    for (size_t j = 0; j < live.size(); ++j) moves |= live[j].parent != static_cast<int32_t>(j);
    if (moves && t > 0) {
        staged_.resize(static_cast<size_t>(beam_ * t));
        for (int64_t j = 0; j < beam_; ++j) std::copy_n(line(active.place, j), t, staged_.data() + j * t);
        for (size_t j = 0; j < live.size(); ++j)
            if (live[j].parent != static_cast<int32_t>(j))
                std::copy_n(staged_.data() + live[j].parent * t, t, line(active.place, static_cast<int64_t>(j)));
    }
    for (size_t j = 0; j < live.size(); ++j)
        line(active.place, static_cast<int64_t>(j))[t] = slot(active.place, live[j].parent);
}

void HostSearch::run(const SearchRequest &request, const Watch &watch, std::vector<SentenceOutcome> *outcomes) {
    begin(request);
    const size_t count = request.limits.size();
    const auto k = static_cast<size_t>(request.k);
    for (int64_t t = 0; !active_.empty(); ++t) {
        watch.look(request.done_before + static_cast<int64_t>(count - active_.size()));
        if (t > 0 && watch.late()) break;
        if (t >= step_.capacity()) make_room(t);
        collect(t);
        restrict_rows(request, t);
        values_.resize(rows_.tokens.size() * k);
        ids_.resize(values_.size());
        step_.run(rows_, request.k, values_.data(), ids_.data());
        for (size_t i = 0; i < active_.size(); ++i) {
            BeamSearch &search = searches_[static_cast<size_t>(active_[i].sentence)];
            const size_t at = static_cast<size_t>(rows_.sentence_begin[i]) * k;
            search.advance(values_.data() + at, ids_.data() + at, request.k);
            if (!search.done()) inherit(active_[i], t);
        }
        std::erase_if(active_, [&](const Active &a) { return searches_[static_cast<size_t>(a.sentence)].done(); });
    }
    for (size_t s = 0; s < count; ++s)
        (*outcomes)[static_cast<size_t>(request.sentences[s])].answers = searches_[s].result();
}

}  // namespace xf
