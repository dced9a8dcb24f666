// The input and the result of a search over a group of sentences, on the host (host_search.h) or on the device
// (device_search.h).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/call.h"
#include "decode/beam.h"
#include "xformer/status.h"

namespace xf {

// A hypothesis for which a constraint selects the next tokens.
struct Partial {
    int64_t sentence;  // in the batch
    std::span<const int32_t> ids;
    int64_t remaining;            // the number of tokens that may follow, including the end symbol
    std::span<uint32_t> allowed;  // one bit for each id; all bits are set
};
// Clears the bits of the tokens that must not follow. Called once per step with all live hypotheses.
using Constraint = std::function<void(std::span<const Partial> partials)>;

// The forced beginnings of the hypotheses of a call.
struct ForcedPrefixes {
    int32_t first = -1;                // the first token of every hypothesis; -1: any
    const int32_t *ids = nullptr;      // the tokens after it; null: none
    const int64_t *offsets = nullptr;  // [sentences + 1] into ids

    bool empty() const { return first < 0 && ids == nullptr; }
    int64_t size(int64_t sentence) const {
        return (first >= 0 ? 1 : 0) + (ids != nullptr ? offsets[sentence + 1] - offsets[sentence] : 0);
    }
    // Token t of a sentence; t < size(sentence).
    int32_t token(int64_t sentence, int64_t t) const {
        if (first < 0) return ids[offsets[sentence] + t];
        return t == 0 ? first : ids[offsets[sentence] + t - 1];
    }
};

// The result for one sentence: its hypotheses, best first, or the error.
struct SentenceOutcome {
    xf_status status = XF_OK;
    std::string message{};
    std::vector<Hypothesis> hypotheses{};

    bool settled() const { return status != XF_OK || !hypotheses.empty(); }
};

// Progress, cancellation, and the deadline of one call.
class SearchControl {
public:
    // total: the number of sentences. call must outlive the object.
    SearchControl(const Call &call, int64_t total) : call_(call), total_(total) {}

    const Call &call() const { return call_; }
    // Reports the number of completed sentences. Throws if the call is cancelled.
    void report(int64_t done) const { call_.progress("translate", done, total_); }
    bool past_deadline() const { return call_.expired(); }

private:
    const Call &call_;
    int64_t total_;
};

// A group of sentences. Indices of sentences refer to the group unless stated.
struct SearchRequest {
    BeamOptions beam;
    int64_t min_tokens = 0;                  // the minimum length of a hypothesis, without the end symbol
    int64_t k = 0;                           // continuations per hypothesis
    std::span<const int64_t> sentences;      // the index of each sentence in the batch
    std::span<const int64_t> limits;         // the maximum length of its hypotheses, with the end symbol
    ForcedPrefixes prefixes;                 // by sentence of the batch
    const Constraint *constraint = nullptr;  // null: none
    int64_t done_before = 0;                 // sentences of the call that were completed before this group

    int64_t size() const { return std::ssize(sentences); }
    int64_t prefix_size(int64_t sentence) const { return prefixes.size(sentences[sentence]); }
};

}  // namespace xf
