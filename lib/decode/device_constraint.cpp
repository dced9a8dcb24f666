// Forced prefixes and constraints of a search on the device: the upload of allowed tokens before a step, and the
// download of the live hypotheses after it. See device_search.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/device_search.h"

namespace xf {

// Uploads the tokens that may follow each row at step t. The bits of rows without a live hypothesis are not used.
void DeviceSearch::restrict_rows(int64_t t) {
    may_end_ = t >= tasks_[0].min_tokens;
    restricted_ = restricts(t);
    if (!restricted_) return;
    const int64_t N = options_.beam;
    bits_.assign(active_.size() * N * words_, ~0u);
    partials_.clear();
    const Constraint *constraint = nullptr;
    for (size_t a = 0; a < active_.size(); ++a) {
        const int32_t s = active_[a];
        if (s < 0) continue;
        const SearchTask &task = tasks_[s];
        const bool constrained = task.uses_constraint(t);
        if (constrained && done_[s] != 0) continue;
        if (constrained && task.constraint != constraint) {
            if (!partials_.empty()) (*constraint)(partials_);
            partials_.clear();
            constraint = task.constraint;
        }
        const int64_t rows = constrained ? live_[s] : N;
        for (int64_t i = 0; i < rows; ++i) {
            const auto bits = std::span(bits_).subspan((a * N + i) * words_, words_);
            if (constrained)
                partials_.push_back({task.sentence, paths_[s * N + i], task.limit - t, bits});
            else
                task.force_prefix(t, bits);
        }
    }
    if (!partials_.empty()) (*constraint)(partials_);
    stream_.upload(allowed_, bits_.data(), bits_.size() * sizeof(uint32_t));
}

// Reads the choices of step t and returns the number of active sentences. One download, since each one waits.
int32_t DeviceSearch::read_step(int64_t t) {
    const int64_t B = sentences_, N = options_.beam, slots = B * N;
    int32_t *to = readback_;
    const auto append = [&](const int32_t *from, int64_t count) {
        stream_.copy(to, from, count * sizeof(int32_t));
        to += count;
    };
    append(beam_step_.live, B);
    append(beam_step_.done, B);
    append(beam_step_.history_token + t * slots, slots);
    append(beam_step_.history_parent + t * slots, slots);
    host_readback_ = fetch(stream_, readback_, 2 * (B + slots));
    const int32_t *const live = host_readback_.data(), *const done = live + B;
    const int32_t *const token = done + B, *const parent = token + slots;
    live_.assign(live, live + B);
    done_.assign(done, done + B);
    int32_t remaining = 0;
    for (int64_t s = 0; s < B; ++s) {
        if (done_[s] != 0) continue;
        ++remaining;
        for (int64_t slot = s * N; slot < s * N + live_[s]; ++slot) {
            next_paths_[slot] = paths_[s * N + parent[slot]];
            next_paths_[slot].push_back(token[slot]);
        }
    }
    paths_.swap(next_paths_);
    return remaining;
}

}  // namespace xf
