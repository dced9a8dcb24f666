// Training: the order forward, loss, backward, update; step, moments and statistics.
//
// Gradients of the SUM of the token losses gather in one block, over one batch or several; the update scales them by
// the number of target tokens, so the result does not depend on how a step was cut except by rounding.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backend/graph_cache.h"
#include "nn/model_file.h"
#include "nn/transformer.h"
#include "train/schedule.h"
#include "xformer/data.h"

namespace xf {

struct TrainConfig {
    float dropout, attention_dropout, label_smoothing;
    bool smooth_uniform;
    Schedule schedule;
    double beta1, beta2, epsilon;
    uint64_t seed;

    static TrainConfig from(const Options &options, int64_t d_model);
};

struct StepStats {
    int64_t step = 0, sentences = 0, src_tokens = 0, tgt_tokens = 0;
    double loss_sum = 0, nll_sum = 0;
    double learning_rate = 0, gradient_norm = 0;
};

// Where the data stood when a checkpoint was saved.
struct DataPosition {
    int64_t epoch = 0, batch = 0;
    uint64_t fingerprint = 0;  // of the encoded corpus; 0: none was saved
    Metadata order;            // the options that fix which batches come when, by key: "data.seed" and its like
};

class Trainer {
public:
    Trainer(std::shared_ptr<Model> model, const Options &options);

    // From a checkpoint; the tokenizer's JSON is left to the caller.
    static std::unique_ptr<Trainer> resume(const std::shared_ptr<Context> &context, const ModelFile &file);

    // One update; after an error everything is as before.
    StepStats step(const xf_batch *batches, size_t count);
    StepStats accumulate(const xf_batch &batch);  // after an error the caller drops the gradients
    StepStats update();
    void drop_gradients() noexcept;
    void read_gradient(const Parameter &parameter, float *values);

    void save(const std::string &path, const std::string &tokenizer, const DataPosition &position);

    int64_t steps_done() const { return step_; }
    const std::shared_ptr<Model> &model() const { return model_; }
    const Options &options() const { return options_; }
    const DataPosition &position() const { return position_; }

private:
    StepStats run_batch(const xf_batch &batch);
    size_t block_bytes() const { return static_cast<size_t>(model_->table().total) * sizeof(float); }

    std::shared_ptr<Model> model_;
    Options options_;
    TrainConfig config_;
    Stream stream_;
    Transformer network_;
    PackedBatch batch_;
    struct PassKey {
        PackedBatch::Shape shape;
        const void *workspace;
        auto operator<=>(const PassKey &) const = default;
    };
    GraphCache<PassKey> graphs_;
    Buffer grads_, m_, v_;
    std::vector<float> token_values_;
    int64_t step_ = 0;
    uint32_t waiting_ = 0;  // batches whose gradients wait for update()
    bool dirty_ = false;    // the block of gradients is not zero
    StepStats sum_;
    DataPosition position_;
};

}  // namespace xf
