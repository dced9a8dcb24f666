// Short training runs that can be compared bit by bit: a task, a temporary folder, and a loss curve in hexadecimal.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <iterator>

#include "core/atomic_file.h"
#include "nn/fixture.hpp"
#include "support/temp_folder.hpp"
#include "train/trainer.h"

namespace xf_test {

inline std::string bytes_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Batches of a training run. Batch i depends only on i, so a resumed run continues with the right batch.
struct Task {
    uint64_t seed = 21;
    size_t sentences = 12;
    int64_t shortest = 1, longest = 8, V = 40;
    Batch batch(int64_t i) const {
        return Batch(reversal_pairs(seed + static_cast<uint64_t>(i) * 1000, sentences, shortest, longest, V));
    }
};

inline const Settings kTraining = {
    {"model.encoder_layers", "1"},
    {"model.decoder_layers", "1"},
    {"model.d_model", "32"},
    {"model.d_ff", "64"},
    {"model.heads", "2"},
    {"model.d_k", "16"},
    {"model.d_v", "16"},
    {"model.vocab_size", "40"},
    {"model.max_length", "64"},
    {"train.dropout", "0.1"},
    {"train.attention_dropout", "0.1"},
    {"train.warmup_steps", "100"},
};

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

// Trains up to a step. Returns the statistics of each step in hexadecimal.
inline std::string train_to(xf::Trainer *trainer, const Task &task, int64_t last) {
    std::string curve;
    while (trainer->steps_done() < last) {
        const Batch batch = task.batch(trainer->steps_done());
        const xf_batch view = batch.view();
        const xf::StepStats s = trainer->step(&view, 1);
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

}  // namespace xf_test
