// Training: the order forward, loss, backward, update; step, moments and statistics.
//
// Gradients of the SUM of the token losses gather in one block, over one batch or several; the update scales them by
// the number of target tokens, so the result does not depend on how a step was cut except by rounding.
//
// A step whose loss or gradient is not finite changes nothing. What follows is a policy (train.on_nonfinite): an error,
// the next batch, or the last checkpoint, which is why the trainer knows what it saved last. Until a step is good
// again nothing is saved: what diverged must not take the place of what was good.
//
// Where a device can decide by itself whether a step is made (xf_gate), a step waits for it once, at its end. With a
// batcher the next batch is packed and uploaded before that wait (ahead.h).
//
// The steady state allocates nothing: what a step needs stays, and grows with the largest batch.
//
// A step may be cut into shards (train.shards), which may be dealt to ranks: shards.h. What is its own about such a
// step is in sharded.cpp. Ranks make the same calls, and each call ends alike on all of them.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/graph_cache.h"
#include "nn/model_file.h"
#include "nn/transformer.h"
#include "train/ahead.h"
#include "train/position.h"
#include "train/shards.h"
#include "train/train_config.h"
#include "xformer/data.h"

namespace xf {

enum class Outcome { kUpdated = 0, kSkipped = 1, kRolledBack = 2 };

struct StepStats : ShardStats {
    int64_t step = 0;
    double learning_rate = 0, gradient_norm = 0;
    Outcome outcome = Outcome::kUpdated;
};

class Trainer {
public:
    Trainer(std::shared_ptr<Model> model, const Options &options);

    // From a checkpoint, with what `changes` sets; the tokenizer's JSON is left to the caller.
    static std::unique_ptr<Trainer> resume(const std::shared_ptr<Context> &context, const ModelFile &file,
                                           const Options &changes, const Call &call = {});

    // One update; after an error everything is as before.
    StepStats step(const xf_batch *batches, size_t count, const Call &call = {});
    // The same with train.accumulate batches of a batcher, fewer at the end of an epoch. False where an epoch has
    // ended: nothing was done. After an error the batcher stands where it stood.
    bool next(Batcher *batcher, StepStats *stats, const Call &call = {});

    // After an error the caller drops the gradients.
    StepStats accumulate(const xf_batch &batch, const Call &call = {});
    StepStats update();
    void drop_gradients() noexcept;
    void read_gradient(const Parameter &parameter, float *values);

    void save(const std::string &path, const std::string &tokenizer, const DataPosition &position,
              const Call &call = {});
    // A model of its own with the moving average as its parameters. take: gets the model before the parameters are
    // there, and may fail as part of the call.
    std::shared_ptr<Model> average(const std::function<void(const std::shared_ptr<Model> &)> &take = {});

    // The calls that ranks make together. In the handler of what keeps this rank from one: the others hear of it in the
    // exchange with which that call begins, and it fails on all.
    enum class Together { kStep, kSave };  // kSave: also average()
    void tell(Together call) noexcept;

    // Moves a batcher to the position that was saved, or to the same share of the epoch and says so in the log.
    void seek(Batcher *batcher, uint64_t fingerprint, const Metadata &order, const Call &call = Call()) const;

    int64_t steps_done() const { return step_; }  // any thread, at any time
    const std::shared_ptr<Model> &model() const { return model_; }
    const Options &options() const { return options_; }
    const DataPosition &position() const { return position_; }

private:
    // Parameters that lie in one piece and are all decayed, or none of them.
    struct Run {
        int64_t begin, count;
        bool decays;
    };

    template <class Work>
    StepStats attempt(const Work &work, const Batcher *next = nullptr);
    StepStats after_nonfinite(const Error &error, StepStats lost);
    [[noreturn]] void fail_nonfinite(const char *what, const char *how);
    [[noreturn]] void refuse_gradient();
    void check_loss(double loss);
    // leaves: its gradients go to other ranks while they are made.
    StepStats run_batch(const xf_batch *batch, const Call &call, bool wait, bool leaves);
    StepStats add_batch(const xf_batch *batch, const Call &call, bool wait, bool leaves = false);
    void add_next(Batcher *batcher, const Call &call, bool leaves = false);
    void read_losses(StepStats *stats, bool wait);
    void make_step(double scale, double rate, const Batcher *next);
    // The factor of every gradient, from the sum of their squares; notes the norm.
    double checked_scale(double squares, double scale);

    bool is_sharded() const { return shards_ != nullptr; }
    bool has_ranks() const { return is_sharded() && shards_->ranks() > 1; }
    bool compares(Together call) const;
    void join(Telling *own);
    void begin_together(Together call, Telling *own);
    template <class Work>
    void together(const Work &work);
    template <class Work>
    void run_shards(Telling *own, Shards::Report report, const Work &run);
    uint64_t place_of(const Batcher &batcher);
    bool end_of_epoch(Batcher *batcher, const Call &call);
    void conclude(const StepStats &last);
    void conclude_failed(const Telling &own);
    void step_shards(const xf_batch *batches, size_t count, const Call &call);
    void next_shards(Batcher *batcher, const Call &call);
    void make_sharded_step(double scale, double rate);
    void save_of_all(const std::string &path, const std::string &tokenizer, const DataPosition &position,
                     const Call &call);
    // With ranks: the blocks of which each takes its slice.
    struct Whole {
        Buffer m, v, ema;
    };
    Whole room() const;
    void load_slices(const ModelFile &file, const Whole &whole, const Call &call);
    void roll_back_together();

    // The mask belongs to the update that is being made and to the batch within it.
    StepTime time() const { return {static_cast<uint32_t>(step_ + 1), waiting_}; }
    bool gated() const { return stream_.device().ops().gate != nullptr; }
    StepStats finish(const Batcher *next = nullptr);
    void adam(double scale, double rate, const double *gate);
    void find_runs();
    void check_sound() const;
    void check_savable(const std::string &path) const;
    FileContents contents_of(const std::string &tokenizer, const DataPosition &position) const;
    void load(const ModelFile &file, const Whole &whole, const Call &call);
    void check_checkpoint(const ModelFile &file) const;
    void roll_back();
    size_t block_bytes() const { return static_cast<size_t>(model_->table().total) * sizeof(float); }
    // Of the parameters whose moments are here: with ranks a part of them.
    size_t slice_bytes() const {
        return static_cast<size_t>(has_ranks() ? shards_->slice_count() : model_->table().total) * sizeof(float);
    }
    void take_slice(const Buffer &slice, const float *block);
    void begin_average();
    std::vector<ExtraBlock> blocks(float *m, float *v, float *ema) const;

    std::shared_ptr<Model> model_;
    Options options_;
    TrainConfig config_;
    Stream stream_;
    Transformer network_;
    PackedBatch batch_;
    Batch gathered_;  // of next()
    Ahead ahead_;
    struct PassKey {
        PackedBatch::Shape shape;
        const void *workspace;
        auto operator<=>(const PassKey &) const = default;
    };
    GraphCache<PassKey> graphs_;
    Buffer grads_;
    Buffer m_, v_, ema_;              // slice_bytes()
    std::unique_ptr<Shards> shards_;  // null: a step is one piece
    Buffer part_;                     // the slice of the parameters while it is updated, where there are ranks
    bool joined_ = false;             // the ranks were compared
    std::vector<ShardStats> shard_stats_;
    Shards::Report report_;             // of the step that is being made
    bool concluded_ = false;            // the ranks were told, and sum_ is of all of them
    uint64_t ordered_ = 0, order_ = 0;  // a batcher's id, and a hash of its pairs and their order
    // Where the device decides: xf_sum_losses.sums, behind it xf_gate.dst.
    struct Verdict {
        double batch_loss, batch_nll, loss, nll, squares, open, scale;
    };
    Buffer verdict_;
    std::vector<Run> runs_;
    std::vector<float> token_values_;
    std::atomic<int64_t> step_{0};
    uint32_t waiting_ = 0;   // batches whose gradients wait for update(); which batch of its step the next one is
    bool begun_ = false;     // the block holds gradients to which more are added
    bool dirty_ = false;     // the block of gradients is not zero
    bool averages_ = false;  // ema_ holds something: from the first update on
    char lost_[240] = "";    // why parameters and moments are of no step; empty: they are sound
    int bad_steps_ = 0;      // that were not finite, since the last good one
    StepStats sum_;          // of what waits
    DataPosition position_;
    struct {
        std::string path, digest;
    } checkpoint_;  // saved or resumed from last; empty: none
};

// From here on the ranks need each other: what fails on one alone is the end of all, at once.
template <class Work>
void Trainer::together(const Work &work) {
    try {
        work();
    } catch (const Error &error) {
        if (error.status() != XF_ERROR_NONFINITE) shards_->lose(error.what());  // that is one of all
        throw;
    } catch (const std::exception &error) {
        shards_->lose(error.what());
        throw;
    }
}

}  // namespace xf
