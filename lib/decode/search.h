// What a group of sentences is searched with, on the host (host_search.h) or on the device (device_search.h), and what
// comes of each sentence.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/call.h"
#include "decode/beam.h"
#include "xformer/status.h"

namespace xf {

// Says which tokens may follow a hypothesis: clears the bits of others in allowed, a bit for each id, all set before.
struct Prefix {
    int64_t sentence;  // of the batch
    const std::vector<int32_t> &ids;
    int64_t remaining;  // tokens that may follow, the end symbol counted
};
using Constraint = std::function<void(const Prefix &prefix, uint32_t *allowed)>;

// What became of a sentence: its answers, best first, or why it has none.
struct SentenceOutcome {
    xf_status status = XF_OK;
    std::string message{};
    std::vector<Hypothesis> answers{};

    bool settled() const { return status != XF_OK || !answers.empty(); }
};

// Who may end a search early, and who hears how far it is.
class Watch {
public:
    // deadline_ms from the beginning of the call; 0: none. total: sentences. call must outlive the watch.
    Watch(const Call &call, int64_t deadline_ms, int64_t total)
        : call_(call), deadline_(deadline_ms), limited_(deadline_ms > 0), total_(total) {}

    const Call &call() const { return call_; }
    // Throws when the call is cancelled. done: sentences of it that need no more work.
    void look(int64_t done) const { call_.progress("translate", done, total_); }
    bool late() const { return limited_ && std::chrono::steady_clock::now() - call_.began() >= deadline_; }

private:
    const Call &call_;
    std::chrono::milliseconds deadline_;
    bool limited_;
    int64_t total_;
};

// Its arrays are of equal length, a place for each sentence of the group.
struct SearchRequest {
    BeamOptions beam;
    int64_t min_tokens = 0;                   // fewest of an answer, the end symbol not counted
    int64_t k = 0;                            // continuations looked at of each hypothesis
    std::span<const int64_t> sentences;       // which they are of the batch
    std::span<const int64_t> limits;          // most tokens, the end symbol counted
    const int32_t *prefix_ids = nullptr;      // null: none
    const int32_t *prefix_offsets = nullptr;  // by sentence of the batch
    const Constraint *constraint = nullptr;   // null: none
    int64_t done_before = 0;                  // sentences of the call that need no more work

    std::span<const int32_t> prefix(size_t place) const {
        if (prefix_ids == nullptr) return {};
        const int64_t s = sentences[place];
        return {prefix_ids + prefix_offsets[s], prefix_ids + prefix_offsets[s + 1]};
    }
};

}  // namespace xf
