// Short training runs that can be compared bit by bit: a task, a temporary folder, and a loss curve in hexadecimal.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "core/atomic_file.h"
#include "nn/fixture.hpp"
#include "support/temp_folder.hpp"
#include "train/trainer.h"

namespace xf_test {

inline std::string bytes_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();  // whole blocks, unlike an iterator
    return bytes.str();
}

// Batches of a training run. Batch i depends only on i, so a resumed run continues with the right batch.
struct Task {
    uint64_t seed = 21;
    size_t sentences = 12;
    int64_t shortest = 1, longest = 8, V = 40;
    Batch batch(int64_t i) const {
        return Batch(reversal_pairs(seed + static_cast<uint64_t>(i) * 1000, sentences, shortest, longest, V));
    }
    std::vector<Batch> batches(int64_t first, int64_t count) const {
        std::vector<Batch> made;
        for (int64_t i = first; i < first + count; ++i) made.push_back(batch(i));
        return made;
    }
};

inline const Settings kTraining =
    "model.encoder_layers=1 model.decoder_layers=1 model.d_model=32 model.d_ff=64 model.heads=2 "
    "model.d_k=16 model.d_v=16 model.vocab_size=40 model.max_length=64 train.dropout=0.1 "
    "train.attention_dropout=0.1 train.warmup_steps=100"_set;

inline std::unique_ptr<xf::Trainer> make_trainer(const std::shared_ptr<xf::Context> &context,
                                                 const Settings &settings) {
    return std::make_unique<xf::Trainer>(make_model(context, settings), options_of(settings));
}

inline std::unique_ptr<xf::Trainer> resume(const std::shared_ptr<xf::Context> &context, const std::string &path) {
    return xf::Trainer::resume(context, xf::ModelFile(path), xf::Options());
}

inline xf::CheckpointTarget target_of(const std::string &path) {
    return {path, path, [path](const xf::CheckpointTarget::Write &write) {
                xf::AtomicFile output(path);
                write(&output);
            }};
}

inline void save(xf::Trainer *trainer, const std::string &path, const xf::DataPosition &position = {}) {
    trainer->save(target_of(path), "", position);
}

inline xf::StepStats step(xf::Trainer *trainer, const std::vector<Batch> &batches, const xf::Call &call = {}) {
    std::vector<xf_batch> views;
    for (const Batch &batch : batches) views.push_back(batch.view());
    return trainer->step(views.data(), views.size(), call);
}

// Trains up to a step. Returns the statistics of each step in hexadecimal.
inline std::string train_to(xf::Trainer *trainer, const Task &task, int64_t last) {
    std::string curve;
    while (trainer->steps_done() < last) {
        const xf::StepStats s = step(trainer, {task.batch(trainer->steps_done())});
        curve += xf::format("%lld %a %a %a\n", static_cast<long long>(s.step), s.loss_sum, s.nll_sum, s.gradient_norm);
    }
    return curve;
}

inline std::vector<float> params_of(const xf::Model &model) {
    std::vector<float> block(static_cast<size_t>(model.table().total));
    xf::Stream stream(model.context().device());
    stream.download(block.data(), model.params(), block.size() * sizeof(float));
    return block;
}

inline std::vector<float> params_of(const xf::Trainer &trainer) { return params_of(*trainer.model()); }

inline std::vector<float> gradient_of(xf::Trainer *trainer) {
    const xf::ParameterTable &table = trainer->model()->table();
    std::vector<float> block(static_cast<size_t>(table.total));
    for (const xf::Parameter &p : table.list) trainer->read_gradient(p, block.data() + p.offset);
    return block;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Writes one number of a norm and returns its old value.
inline float poke(const xf::Trainer &trainer, float value) {
    const xf::Model &model = *trainer.model();
    xf::Stream stream(model.context().device());
    float *const at = model.params() + model.table().decoder.layers[0].ff.norm.weights;
    float before = 0;
    stream.download(&before, at, sizeof before);
    stream.upload(at, &value, sizeof value);
    model.parameters_written(stream);
    stream.sync();
    return before;
}

// The results of a run, which are compared bit by bit.
struct Run {
    std::string curve, file;
    std::vector<float> average = {};  // of train.ema
};

inline void check_same(const Run &a, const Run &b, const std::string &what) {
    if (a.curve != b.curve) record(__FILE__, __LINE__, what + ": the loss curves differ:\n" + a.curve + b.curve);
    if (a.file != b.file || a.file.empty()) record(__FILE__, __LINE__, what + ": the files differ");
    if (a.average != b.average) record(__FILE__, __LINE__, what + ": the averages differ");
}

}  // namespace xf_test
