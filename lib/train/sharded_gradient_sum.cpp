// SPDX-License-Identifier: Apache-2.0
#include "train/sharded_gradient_sum.h"

#include <algorithm>

#include "core/hash.h"

namespace xf {
namespace {

uint64_t hash_order(const Batcher &batcher) {
    uint64_t hash = batcher.fingerprint();
    for (const auto &[key, value] : batcher.order()) hash = hash64(value.data(), value.size(), hash);
    return hash;
}

}  // namespace

ShardedGradientSum::ShardedGradientSum(const TrainPart &part, Optimizer &optimizer, ShardSums &shards,
                                       BlockExchange &exchange, RankGroup &group, RankProtocol *ranks)
    : GradientSum(part, optimizer), shards_(shards), exchange_(exchange), group_(group), ranks_(ranks) {}

void ShardedGradientSum::begin(DeferredError *own) {
    if (ranks_ != nullptr)
        ranks_->begin(Collective::kStep, own);
    else
        own->rethrow();
}

// Adds the own shards of a step with `present` shards. add_shard(shard) adds the batches of one.
template <class AddShard>
void ShardedGradientSum::add_shards(DeferredError *own, int64_t present, const AddShard &add_shard) {
    own->run([&] {
        const Range shards = shards_.own();
        shard_stats_.assign(shards.count(), {});
        shards_.begin(present);
        for (int64_t shard = shards.begin; shard < std::min(shards.end, present); ++shard) {
            clear();
            add_shard(shard);
            shard_stats_[shard - shards.begin] = stats_;
            shards_.add(stream_, grads());
        }
    });
}

// Exchanges the statistics of all shards, or the error of this rank.
void ShardedGradientSum::exchange_reports(const DeferredError &own, StepReport report) {
    if (own.failed() && ranks_ != nullptr) ranks_->fail_step(own);
    own.rethrow();
    report.step = optimizer_.steps_done();
    stats_ = group_.exchange_reports(report, shard_stats_);
    pending_ = 1;
    check_loss(stats_.loss_sum);
}

void ShardedGradientSum::add_step(const xf_batch *batches, size_t count, const Call &call) {
    const Range own_shards = shards_.own();
    const int64_t each = count / own_shards.count();
    StepReport report;
    report.batches_per_shard = each;
    DeferredError own;
    begin(&own);
    add_shards(&own, shards_.count(), [&](int64_t shard) {
        XF_CHECK(count % own_shards.count() == 0, XF_ERROR_INVALID_ARGUMENT,
                 "count is %zu, expected a multiple of this rank's %" PRId64 " shards", count, own_shards.count());
        for (int64_t i = 0; i < each; ++i) {
            pending_ = shard * each + i;
            load(batches[(shard - own_shards.begin) * each + i], call);
            add_loaded(call, true);
        }
    });
    exchange_reports(own, report);
}

void ShardedGradientSum::add_step(Batcher *batcher, const Call &call) {
    const Batcher::Position at = batcher->position();
    const int64_t left = batcher->batches_in_chunk() - at.batch, each = config_.accumulate;
    StepReport report;
    report.batches_per_shard = each;
    DeferredError own;
    own.run([&] { report.data = hash_of_position(*batcher); });
    begin(&own);
    add_shards(&own, std::min(shards_.count(), (left + each - 1) / each), [&](int64_t shard) {
        for (int64_t i = shard * each; i < std::min(left, (shard + 1) * each); ++i) {
            batcher->seek_in_chunk(at.batch + i);
            pending_ = i;
            load_next(batcher, call);
            add_loaded(call, true);
        }
    });
    // Before the reports: after a step that is not finite, all ranks continue with the next batches.
    batcher->seek_in_chunk(at.batch + std::min(left, shards_.count() * each));
    exchange_reports(own, report);
}

ShardStats ShardedGradientSum::accumulate(const xf_batch &, const Call &) {
    fail(XF_ERROR_STATE,
         "train.shards is %" PRId64 ", expected 1 for xf_train_accumulate(); use xf_train_step() or xf_train_next()",
         shards_.count());
}

uint64_t ShardedGradientSum::hash_of_position(const Batcher &batcher) {
    if (hashed_batcher_ != batcher.id()) hash_of_order_ = hash_order(batcher), hashed_batcher_ = batcher.id();
    const Batcher::Position at = batcher.position();
    const int64_t values[] = {at.epoch, at.batch, at.chunk};
    return hash64(values, sizeof values, hash_of_order_);
}

bool ShardedGradientSum::next_chunk(Batcher *batcher, const Call &call) {
    if (ranks_ == nullptr) return GradientSum::next_chunk(batcher, call);
    StepReport report;
    report.step = optimizer_.steps_done();
    DeferredError own;
    own.run([&] {
        report.data = hash_of_position(*batcher);
        batcher->prepare_chunk(call);
    });
    begin(&own);
    group_.exchange_reports(report, {});
    return GradientSum::next_chunk(batcher, {});
}

GradientScale ShardedGradientSum::finish() {
    shards_.reduce(stream_, grads());
    return {clipped_scale(shards_.squares(stream_))};
}

void ShardedGradientSum::publish(const Batcher *) {
    if (ranks_ != nullptr) {
        exchange_.all_gather(stream_, optimizer_.updated_slice(), model_.params(), scratch());
        model_.parameters_written(stream_);
    }
    stream_.sync();
    if (ranks_ == nullptr) set_zero();
}

void ShardedGradientSum::abandon(const std::exception &error) noexcept {
    if (ranks_ == nullptr) return;
    ranks_->abort(error);
    optimizer_.abandon(error.what());
}

}  // namespace xf
