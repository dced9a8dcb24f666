// How all ranks of a training job begin a call together, and how one of them fails.
//
// The first exchange of a call carries what a rank could not do for itself, so an error on one rank is an error on all.
// Before the first step, and every 100 steps, this exchange also compares the ranks: versions, options,
// backends, and parameters must be the same.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "ranks/rank_group.h"
#include "train/optimizer.h"

namespace xf {

// The kinds of calls that ranks make together. kSave: also the moving average.
enum class Collective { kStep, kSave };

class RankProtocol : private TrainPart {
public:
    // train_options: of the trainer, which may change them until the first call.
    RankProtocol(const TrainPart &part, const Options &train_options, Optimizer &optimizer, RankGroup &group,
                 BlockExchange &exchange);

    RankGroup &group() { return group_; }
    BlockExchange &exchange() { return exchange_; }

    // Begins a call. own: the error of this rank so far, which is thrown whatever the others report. A step without a
    // comparison reports its status later, with its StepReport.
    void begin(Collective call, DeferredError *own);
    // Called in a handler of an error that prevents this rank from a call: the call fails on all ranks.
    void report_failure(Collective call) noexcept;
    // Reports an error instead of a StepReport and throws it.
    void fail_step(const DeferredError &own);

    // Requires a comparison in the next call, because parameters were loaded.
    void require_comparison() { compared_ = false; }

    // Runs a part of a call in which the ranks depend on each other: an error aborts the communicator, except
    // XF_ERROR_NONFINITE, which all ranks have.
    template <class Work>
    void run_exchange(const Work &work) {
        try {
            work();
        } catch (const std::exception &error) {
            abort(error);
            throw;
        }
    }
    void abort(const std::exception &error) noexcept;

private:
    bool must_compare(Collective call) const;
    void compare(DeferredError *own);

    const Options &train_options_;
    Optimizer &optimizer_;
    RankGroup &group_;
    BlockExchange &exchange_;
    bool compared_ = false;
};

}  // namespace xf
