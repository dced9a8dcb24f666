// Decides how many tokens a draft proposes (speculation.h). The decision depends on counts and not on time, so a
// repeated run makes the same decisions.
//
// The unit of cost is a step of the main model with one row. A step with n rows costs M(n) = 1 + (n - 1) m, because it
// reads the same weights but computes n products with them; m is 1/8 or 1/4 (speculation.cpp). With n sentences, k
// proposals each, and a probability a that a proposal is accepted, a step yields E(k) = 1 + a + ... + a^k tokens per
// sentence (eq. 1 of Leviathan et al. 2023) and costs
//
//     M(n + n k) + k c M(n),    c = the cost of a step of the draft.
//
// tokens() returns the k that maximizes the tokens per cost. The estimate of `a` is an exponential average over all
// sentences. A balance limits the loss if the estimate is wrong or the text changes. It contains the estimated cost
// that proposals saved, minus the cost of the draft, plus 1/16 of the cost of all steps. Nothing is proposed while it
// is negative.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace xf {

class DraftPolicy {
public:
    // draft_step, draft_encoder: the costs of a decoder step and of an encoder pass of the draft with one row. row: the
    // additional cost of each further row.
    DraftPolicy(double draft_step, double draft_encoder, double row = 0.125)
        : draft_step_(draft_step), draft_encoder_(draft_encoder), row_(row) {}

    // Returns whether the draft should encode sentences that begin when n sentences are active.
    bool begins(int64_t n) const { return balance_ >= 0 && best(n, 1, 1) > 0; }
    // Returns the number of tokens to propose for each of n active sentences, at most `most`.
    int64_t tokens(int64_t n, int64_t most) const;

    // Records the work of the draft: an encoder pass or a step with this number of rows.
    void add_encoder(int64_t rows) { balance_ -= draft_encoder_ * cost(rows); }
    void add_draft_step(int64_t rows) { balance_ -= draft_step_ * cost(rows); }
    // Records a step of the model: the number of sentences, of all proposals, and of those that were accepted.
    void add_step(int64_t n, int64_t proposed, int64_t accepted);
    // Records whether a token of the draft was accepted.
    void add_trial(bool accepted) { acceptance_ += ((accepted ? 1 : 0) - acceptance_) / 16; }

    double acceptance() const { return acceptance_; }
    // The cost of a step with this number of rows.
    double cost(int64_t rows) const { return 1 + static_cast<double>(rows - 1) * row_; }

private:
    int64_t best(int64_t n, double acceptance, int64_t most) const;

    double draft_step_, draft_encoder_, row_;
    double acceptance_ = 0.75, balance_ = 2;
};

}  // namespace xf
