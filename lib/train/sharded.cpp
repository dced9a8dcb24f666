// A step of shards, on one rank or on several, and what ranks that hold slices save and load. See trainer.h, shards.h.
//
// What fails on one rank before the gradients are exchanged is told to all of them, so that each stands where it stood.
// What fails later is a rank that is gone, and then there is no next step.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <exception>

#include "core/hash.h"
#include "train/trainer.h"
#include "xformer/version.h"

namespace xf {
namespace {

uint64_t hash_text(const std::string &text, uint64_t seed = 0) { return hash64(text.data(), text.size(), seed); }

uint64_t hash_group(const Options &options, std::string_view prefix) {
    uint64_t hash = 0;
    for (size_t i = 0; i < option_count(); ++i)
        if (std::string_view(option(i).key).starts_with(prefix)) hash = hash_text(options.text(option(i).key), hash);
    return hash;
}

uint64_t hash_order(const Batcher &batcher) {
    uint64_t hash = batcher.fingerprint();
    for (const auto &[key, value] : batcher.order()) hash = hash_text(value, hash);
    return hash;
}

}  // namespace

// At the start, and every so many steps, the ranks prove to be copies of one.
void Trainer::join() {
    if (!has_ranks()) return;
    const int64_t step = step_;
    if (joined_ && (config_.compare_steps == 0 || step % config_.compare_steps != 0)) return;
    joined_ = false;
    Context &context = model_->context();
    const std::string place =
        context.active().name + " " + context.device().isa() + (context.dtype() == XF_BF16 ? " bf16" : " fp32");
    shards_->compare(
        {{"the library has another version", static_cast<uint64_t>(XF_VERSION_NUM)},
         {"the model has other options", hash_group(model_->options(), "model.")},
         {"training has other options", hash_group(options_, "train.")},
         {"it computes by another backend, instruction set or precision", hash_text(place)},
         {"its devices exchange otherwise (context.comm_device)", context.lane() != nullptr ? 1u : 0u},
         {"its gradients go in other parts (context.comm_buckets)", static_cast<uint64_t>(context.comm_buckets())},
         {"it stands at another step", static_cast<uint64_t>(step)},
         {"the parameters are others", shards_->hash_of(stream_, model_->params())}});
    shards_->open_lane(stream_);
    joined_ = true;
}

// run(shard, last): adds the batches of an own shard; the last batch of the last one leaves while it is made.
template <class Work>
void Trainer::run_shards(Shards::Report report, const Work &run) {
    join();
    report.step = step_;
    report_ = report;
    concluded_ = false;
    const Range own = shards_->own();
    const int64_t end = std::min(own.end, report.present);
    std::vector<ShardStats> &stats = shard_stats_;
    stats.assign(static_cast<size_t>(own.count()), {});
    std::exception_ptr failure;
    const auto failed = [&](xf_status status, const char *why) {
        report_.status = status;
        std::snprintf(report_.message, sizeof report_.message, "%s", why);
        failure = std::current_exception();
    };
    try {
        shards_->begin(report.present);
        for (int64_t shard = own.begin; shard < end; ++shard) {
            begun_ = false;
            sum_ = StepStats();
            run(shard, shards_->overlaps() && shard + 1 == end);
            if (concluded_) break;
            stats[static_cast<size_t>(shard - own.begin)] = sum_;
            shards_->add(stream_, grads_.floats());
        }
    } catch (const Error &error) {
        failed(error.status(), error.what());
    } catch (const std::exception &error) {
        failed(XF_ERROR_NO_MEMORY, error.what());
    }
    try {
        if (!concluded_) conclude(StepStats());
    } catch (...) {
        if (failure == nullptr) throw;
    }
    if (failure != nullptr) std::rethrow_exception(failure);
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
    if (report_.status == XF_OK) check_loss(total.loss_sum);
}

// The caller's batches are those of the own shards, one shard's behind the other's.
void Trainer::step_shards(const xf_batch *batches, size_t count, const Call &call) {
    const Range own = shards_->own();
    const auto shards = static_cast<size_t>(own.count());
    Shards::Report report;
    report.present = shards_->count();
    report.per_shard = static_cast<int64_t>(count / shards);
    run_shards(report, [&](int64_t shard, bool last) {
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
    if (ordered_ != batcher->id()) order_ = hash_order(*batcher), ordered_ = batcher->id();
    const uint64_t place[] = {order_, static_cast<uint64_t>(at.epoch), static_cast<uint64_t>(at.batch)};
    report.data = hash64(place, sizeof place);
    report.per_shard = each;
    report.present = std::min(shards_->count(), (left + each - 1) / each);
    run_shards(report, [&](int64_t shard, bool last) {
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
    shards_->reduce(stream_, grads_.floats());
    const double factor = checked_scale(shards_->squares(stream_), scale);
    begin_average();
    if (!has_ranks()) {
        adam(factor, rate, nullptr);
        stream_.sync();
        return;
    }
    take_slice(part_, model_->params());
    adam(factor, rate, nullptr);
    try {
        shards_->all_gather(stream_, part_.floats(), model_->params(), grads_.floats());
        model_->parameters_written(stream_);
        stream_.sync();
    } catch (const Error &error) {  // the moments are of the next step, the parameters of the last
        lost_ = format("step %lld was not finished (%.120s)", static_cast<long long>(step_ + 1), error.what());
        throw;
    }
}

// The ranks' slices come to rank 0, which writes the file that one rank alone would write.
void Trainer::save_of_all(const std::string &path, const FileContents &contents, const Call &call) {
    if (!joined_) join();  // or slices of a rank that stands elsewhere would be a part of the file
    const bool writes = shards_->rank() == 0, has_average = config_.ema > 0 && averages_;
    Buffer m, v, ema;
    std::string place = path, digest;
    // What fails on rank 0 fails on all.
    const auto on_first = [&](const auto &work) {
        try {
            if (writes) work();
        } catch (const Error &error) {
            shards_->hear("", &error);
            throw;
        } catch (const std::exception &error) {
            const Error failure(XF_ERROR_NO_MEMORY, error.what());
            shards_->hear("", &failure);
            throw;
        }
        digest = shards_->hear(digest, nullptr);
    };
    on_first([&] {
        for (Buffer *whole : {&m, &v}) *whole = Buffer(stream_.device(), block_bytes());
        if (has_average) ema = Buffer(stream_.device(), block_bytes());
    });
    dirty_ = true;  // between steps the block of gradients is free
    shards_->gather(stream_, m_.floats(), m.floats(), grads_.floats());
    shards_->gather(stream_, v_.floats(), v.floats(), grads_.floats());
    if (has_average) shards_->gather(stream_, ema_.floats(), ema.floats(), grads_.floats());
    on_first([&] {
        const auto state = blocks(m.floats(), v.floats(), has_average ? ema.floats() : model_->params());
        digest = save_model_file(path, *model_, stream_, contents, state, call);
    });
    checkpoint_ = {std::move(place), std::move(digest)};
}

void Trainer::load_slices(const ModelFile &file, const Call &call) {
    const std::pair<const Buffer *, Buffer> whole[] = {
        {&m_, Buffer(stream_.device(), block_bytes())},
        {&v_, Buffer(stream_.device(), block_bytes())},
        {&ema_, config_.ema > 0 ? Buffer(stream_.device(), block_bytes()) : Buffer()}};
    file.load(*model_, stream_, blocks(whole[0].second.floats(), whole[1].second.floats(), whole[2].second.floats()),
              call);
    for (const auto &[slice_of, block] : whole)
        if (block.data() != nullptr) take_slice(*slice_of, block.floats());
    stream_.sync();
}

}  // namespace xf
