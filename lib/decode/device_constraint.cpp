// Forced prefixes and constraints of a search on the device: the upload of the tokens that may follow each row. The
// tokens that a prefix allows are known in advance. A constraint runs on the host, which has read the live hypotheses
// after the last step. See device_lane.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "decode/device_lane.h"

namespace xf {

// The bits of rows without a live hypothesis are not used.
void DeviceLane::restrict_rows() {
    rows_.allowed = nullptr;
    const auto restricted = [&](int32_t s) { return sentences_[s].task.restricts(sentences_[s].steps); };
    if (std::none_of(active_.begin(), active_.end(), restricted)) return;
    const int64_t N = beam_;
    bits_.assign(rows_active_ * N * words_, ~0u);
    partials_.clear();
    partial_ids_.resize(std::max<size_t>(partial_ids_.size(), active_.size() * N));
    const Constraint *constraint = nullptr;
    for (size_t row = 0; const int32_t slot : active_) {
        const Sentence &s = sentences_[slot];
        const bool constrained = s.task.uses_constraint(s.steps);
        if (constrained && s.task.constraint != constraint) {
            if (!partials_.empty()) (*constraint)(partials_);
            partials_.clear();
            constraint = s.task.constraint;
        }
        const int64_t live = s.steps == 0 ? 1 : constrained ? state(slot).live : N;
        for (int32_t i = 0; i < live; ++i) {
            const auto bits = std::span(bits_).subspan((row + i) * words_, words_);
            s.task.force_prefix(s.steps, bits);
            if (!constrained) continue;
            std::vector<int32_t> &ids = partial_ids_[row + i];
            ids.resize(s.steps);
            for (Node node{s.steps, i}; node.length > 0; node = parent(s, node))
                ids[node.length - 1] = s.history[(node.length - 1) * N + node.index].token;
            partials_.push_back({s.task.sentence, partial_ids_[row + i], s.task.limit - s.steps, bits});
        }
        row += N;
    }
    if (!partials_.empty()) (*constraint)(partials_);
    allowed_.reserve(shared_.stream.device(), slots_ * N * words_ * sizeof(uint32_t));
    shared_.stream.upload(allowed_.data(), bits_.data(), bits_.size() * sizeof(uint32_t));
    rows_.allowed = allowed_.as<uint32_t>();
}

}  // namespace xf
