// Prefixes and constraints in a search on the device: what the host tells it before a step, and is told after one. See
// device_search.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/device_search.h"
#include "decode/restriction.h"

namespace xf {

// Which tokens may follow each row at step t. The bits of idle rows are never looked at.
void DeviceSearch::restrict_rows(const SearchRequest &request, int64_t t) {
    may_end_ = t >= request.min_tokens;
    restricted_ = restricted(request, t);
    if (!restricted_) return;
    const auto N = static_cast<size_t>(options_.beam), words = static_cast<size_t>(words_);
    bits_.assign(active_.size() * N * words, ~0u);
    for (size_t a = 0; a < active_.size(); ++a) {
        if (active_[a] < 0) continue;
        const auto s = static_cast<size_t>(active_[a]);
        const bool asks = asks_constraint(request, s, t);
        if (asks && done_[s] != 0) continue;
        const size_t rows = asks ? static_cast<size_t>(live_[s]) : N;
        for (size_t i = 0; i < rows; ++i)
            restrict_row(request, s, t, paths_[s * N + i], std::span(bits_).subspan((a * N + i) * words, words));
    }
    stream_.upload(state_.allowed, bits_.data(), bits_.size() * sizeof(uint32_t));
}

// Learns what step t chose, and gives how many sentences go on: in one download, since each is a wait.
int32_t DeviceSearch::follow(int64_t t) {
    const int64_t B = sentences_, slots = B * options_.beam;
    int32_t *to = state_.told;
    const auto tell = [&](const int32_t *from, int64_t count) {
        stream_.copy(to, from, static_cast<size_t>(count) * sizeof(int32_t));
        to += count;
    };
    tell(state_.live, B);
    tell(state_.done, B);
    tell(state_.history_token + t * slots, slots);
    tell(state_.history_parent + t * slots, slots);
    told_ = fetch(stream_, state_.told, 2 * (B + slots));
    const auto count = static_cast<size_t>(B), N = static_cast<size_t>(options_.beam);
    const int32_t *const token = told_.data() + 2 * count, *const parent = token + slots;
    live_.assign(told_.begin(), told_.begin() + B);
    done_.assign(told_.begin() + B, told_.begin() + 2 * B);
    int32_t left = 0;
    for (size_t s = 0; s < count; ++s) {
        if (done_[s] != 0) continue;
        ++left;
        for (size_t i = 0; i < static_cast<size_t>(live_[s]); ++i) {
            next_paths_[s * N + i] = paths_[s * N + static_cast<size_t>(parent[s * N + i])];
            next_paths_[s * N + i].push_back(token[s * N + i]);
        }
    }
    paths_.swap(next_paths_);
    return left;
}

}  // namespace xf
