// The gradient of a step that is split into shards (ranks/shard_sums.h), on one rank or on several.
//
// An error of one rank before the gradients are exchanged is reported to all ranks, and all of them return to the state
// before the step. The exchange itself allocates nothing; an error there aborts the communicator permanently.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ranks/shard_sums.h"
#include "train/gradient_sum.h"
#include "train/rank_protocol.h"

namespace xf {

class ShardedGradientSum : public GradientSum {
public:
    // ranks: null for one rank.
    ShardedGradientSum(const TrainPart &part, Optimizer &optimizer, ShardSums &shards, BlockExchange &exchange,
                       RankGroup &group, RankProtocol *ranks);

    // The batches of this rank's shards: those of one shard after those of the previous one.
    void add_step(const xf_batch *batches, size_t count, const Call &call) override;
    // Every rank has the same batcher, which is advanced by the batches of all shards. Each rank reads only its own.
    void add_step(Batcher *batcher, const Call &call) override;
    // Throws XF_ERROR_STATE: a step with shards is one call.
    ShardStats accumulate(const xf_batch &batch, const Call &call) override;
    // Either all ranks begin the next chunk, or none does.
    bool next_chunk(Batcher *batcher, const Call &call) override;
    GradientScale finish() override;
    void publish(const Batcher *next) override;
    void abandon(const std::exception &error) noexcept override;

private:
    void begin(DeferredError *own);
    template <class AddShard>
    void add_shards(DeferredError *own, int64_t present, const AddShard &add_shard);
    void exchange_reports(const DeferredError &own, StepReport report);
    uint64_t hash_of_position(const Batcher &batcher);

    ShardSums &shards_;
    BlockExchange &exchange_;
    RankGroup &group_;
    RankProtocol *ranks_;
    std::vector<ShardStats> shard_stats_;              // of the own shards
    uint64_t hashed_batcher_ = 0, hash_of_order_ = 0;  // the id of a batcher, and a hash of its pairs and their order
};

}  // namespace xf
