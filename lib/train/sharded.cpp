// A step of shards, on one rank or on several, and what ranks that hold slices save and load. See trainer.h, shards.h.
//
// What fails on one rank before the gradients are exchanged is told to all of them, so that each stands where it stood:
// together.cpp. Behind that nothing needs memory; what fails all the same is the end of the ranks.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <exception>

#include "train/trainer.h"

namespace xf {

// run(shard, last): adds the batches of an own shard; the last batch of the last one leaves while it is made.
template <class Work>
void Trainer::run_shards(Telling *own, Shards::Report report, const Work &run) {
    concluded_ = false;
    report.step = step_;
    report_ = report;
    begin_together(Together::kStep, own);
    own->run([&] {
        const Range mine = shards_->own();
        const int64_t end = std::min(mine.end, report.present);
        shard_stats_.assign(static_cast<size_t>(mine.count()), {});
        shards_->begin(report.present);
        for (int64_t shard = mine.begin; shard < end; ++shard) {
            begun_ = false;
            sum_ = StepStats();
            run(shard, shards_->overlaps() && shard + 1 == end);
            if (concluded_) break;
            shard_stats_[static_cast<size_t>(shard - mine.begin)] = sum_;
            shards_->add(stream_, grads_.floats());
        }
    });
    if (own->failed() && !concluded_)
        conclude_failed(*own);
    else if (!concluded_)
        conclude(StepStats());
    own->rethrow();
    waiting_ = 1;
}

// Tells the ranks how this one's shards went, and takes the statistics of all. last: of a batch that leaves, which was
// not added yet.
void Trainer::conclude(const StepStats &last) {
    concluded_ = true;
    if (last.sentences > 0) {
        sum_.add(last);
        const Range own = shards_->own();
        shard_stats_[static_cast<size_t>(std::min(own.end, report_.present) - 1 - own.begin)] = sum_;
    }
    const ShardStats total = shards_->agree(report_, shard_stats_);
    sum_ = StepStats();
    sum_.add(total);
    check_loss(total.loss_sum);
}

// The caller's batches are those of the own shards, one shard's behind the other's.
void Trainer::step_shards(const xf_batch *batches, size_t count, const Call &call) {
    const Range own = shards_->own();
    const auto shards = static_cast<size_t>(own.count());
    Shards::Report report;
    report.present = shards_->count();
    report.per_shard = static_cast<int64_t>(count / shards);
    Telling own_part;
    run_shards(&own_part, report, [&](int64_t shard, bool last) {
        XF_CHECK(count % shards == 0, XF_ERROR_INVALID_ARGUMENT,
                 "count is %zu, expected a multiple of this rank's %zu shards", count, shards);
        for (int64_t i = 0; i < report.per_shard; ++i) {
            waiting_ = static_cast<uint32_t>(shard * report.per_shard + i);
            add_batch(&batches[(shard - own.begin) * report.per_shard + i], call, true,
                      last && i + 1 == report.per_shard);
        }
    });
}

// Every rank's batcher is the same, and goes on by all shards' batches; each is asked for those of its own.
void Trainer::next_shards(Batcher *batcher, const Call &call) {
    const Batcher::Position at = batcher->position();
    const int64_t left = batcher->batches_in_epoch() - at.batch, each = config_.accumulate;
    Shards::Report report;
    Telling own;
    own.run([&] { report.data = place_of(*batcher); });
    report.per_shard = each;
    report.present = std::min(shards_->count(), (left + each - 1) / each);
    run_shards(&own, report, [&](int64_t shard, bool last) {
        const int64_t end = std::min(left, (shard + 1) * each);
        for (int64_t i = shard * each; i < end; ++i) {
            batcher->seek({at.epoch, at.batch + i});
            waiting_ = static_cast<uint32_t>(i);
            add_next(batcher, call, last && i + 1 == end);
        }
    });
    batcher->seek({at.epoch, at.batch + std::min(left, shards_->count() * each)});
}

void Trainer::make_sharded_step(double scale, double rate) {
    if (!has_ranks()) {
        shards_->reduce(stream_, grads_.floats());
        const double factor = checked_scale(shards_->squares(stream_), scale);
        begin_average();
        adam(factor, rate, nullptr);
        stream_.sync();
        return;
    }
    bool updates = false;
    try {
        together([&] {
            shards_->reduce(stream_, grads_.floats());
            const double factor = checked_scale(shards_->squares(stream_), scale);
            begin_average();
            take_slice(part_, model_->params());
            updates = true;
            adam(factor, rate, nullptr);
            shards_->all_gather(stream_, part_.floats(), model_->params(), grads_.floats());
            model_->parameters_written(stream_);
            stream_.sync();
        });
    } catch (const std::exception &error) {  // the moments are of the next step, the parameters of the last
        if (updates)
            std::snprintf(lost_, sizeof lost_, "step %lld was not finished (%.120s)", static_cast<long long>(step_ + 1),
                          error.what());
        throw;
    }
}

// The ranks' slices come to rank 0, which writes the file that one rank alone would write.
void Trainer::save_of_all(const std::string &path, const std::string &tokenizer, const DataPosition &position,
                          const Call &call) {
    const bool writes = shards_->rank() == 0, has_average = config_.ema > 0 && averages_;
    FileContents contents;
    Buffer m, v, ema;
    std::string place, digest;
    Telling own;
    own.run([&] {
        check_savable(path);
        contents = contents_of(tokenizer, position);
        place = path;  // once the file is there nothing may fail
        digest.reserve(Shards::kMostText);
        shards_->make_room();
        if (!writes) return;
        for (Buffer *whole : {&m, &v}) *whole = Buffer(stream_.device(), block_bytes());
        if (has_average) ema = Buffer(stream_.device(), block_bytes());
    });
    begin_together(Together::kSave, &own);  // compares, or slices of a rank that stands elsewhere would be in the file
    dirty_ = true;                          // between steps the block of gradients is free
    together([&] {
        shards_->gather(stream_, m_.floats(), m.floats(), grads_.floats());
        shards_->gather(stream_, v_.floats(), v.floats(), grads_.floats());
        if (has_average) shards_->gather(stream_, ema_.floats(), ema.floats(), grads_.floats());
    });
    Telling writing;
    writing.run([&] {
        if (!writes) return;
        const auto state = blocks(m.floats(), v.floats(), has_average ? ema.floats() : model_->params());
        digest = save_model_file(path, *model_, stream_, contents, state, call);
    });
    shards_->hear(writing, &digest);
    checkpoint_.path.swap(place), checkpoint_.digest.swap(digest);
}

Trainer::Whole Trainer::room() const {
    if (!has_ranks()) return {};
    const auto block = [&] { return Buffer(stream_.device(), block_bytes()); };
    return {block(), block(), config_.ema > 0 ? block() : Buffer()};
}

void Trainer::load_slices(const ModelFile &file, const Whole &whole, const Call &call) {
    file.load(*model_, stream_, blocks(whole.m.floats(), whole.v.floats(), whole.ema.floats()), call);
    take_slice(m_, whole.m.floats());
    take_slice(v_, whole.v.floats());
    if (config_.ema > 0) take_slice(ema_, whole.ema.floats());
    stream_.sync();
}

}  // namespace xf
