// Control messages between the ranks of a training job: the comparison of replicas, the report of a step, and the
// status of a call.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace xf {

// Counts and losses of a batch, a shard, or a step.
struct ShardStats {
    int64_t sentences = 0, src_tokens = 0, tgt_tokens = 0;
    double loss_sum = 0, nll_sum = 0;

    void add(const ShardStats &other) {
        sentences += other.sentences;
        src_tokens += other.src_tokens;
        tgt_tokens += other.tgt_tokens;
        loss_sum += other.loss_sum;
        nll_sum += other.nll_sum;
    }
};

// The report of a rank that has computed its shards. The numbers must be the same on all ranks.
struct StepReport {
    RankStatus status;
    int64_t step = 0;
    int64_t batches_per_shard = 0;
    uint64_t data = 0;  // a hash of the corpus, its order, and the position in it
};

class RankGroup {
public:
    // most_shards: the largest number of shards of a rank.
    RankGroup(Communicator &communicator, int64_t most_shards);

    int rank() const { return communicator_.rank(); }
    int size() const { return communicator_.size(); }
    uint64_t ranks_per_machine() const { return communicator_.ranks_per_machine(); }

    // A property that must be the same on all ranks. difference: names it in "rank 1 has <difference> than rank 0".
    struct Trait {
        const char *difference;
        uint64_t hash = 0;
    };
    using Traits = std::array<Trait, 8>;
    // Throws XF_ERROR_DESYNC if a trait differs between ranks. An error of this rank is thrown as it is, one of another
    // rank as XF_ERROR_PEER.
    void compare(const DeferredError &own, const Traits &traits);

    // Returns the sum over all shards, in their order. own_stats: of the own shards, at most most_shards. Throws
    // XF_ERROR_PEER if another rank reports an error, XF_ERROR_DESYNC if the ranks are not at the same step and data.
    // If the own report has an error, the caller throws it.
    ShardStats exchange_reports(const StepReport &report, const std::vector<ShardStats> &own_stats);

    // Throws like compare() if a rank has failed. text: receives the text of rank 0, at most kMaxText bytes; the caller
    // reserves its memory. May be null.
    static constexpr size_t kMaxText = 71;
    void exchange_status(const DeferredError &own, std::string *text);

    // Aborts the communicator permanently: all ranks fail with XF_ERROR_PEER.
    void abort(const char *reason) noexcept;

private:
    size_t report_bytes() const { return sizeof(StepReport) + most_shards_ * sizeof(ShardStats); }
    char *clear_messages(size_t bytes);

    Communicator &communicator_;
    int64_t most_shards_;
    std::vector<char> messages_;  // one per rank; has memory for the largest kind
};

}  // namespace xf
