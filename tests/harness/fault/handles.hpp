// Shared by the tests of this folder in C++: one handle of each kind and a file, gone at the end, a small model, and
// the checks of each call.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <initializer_list>

#include "../../support/world.h"
#include "core/error.h"
#include "support/test.hpp"
#include "xformer/xformer.h"

namespace xf_hostile {

struct Handles : world {
    xf_error error{};
    std::string path = xf::format("fault_%d.file", static_cast<int>(getpid()));

    Handles() : world{} {}
    Handles(const Handles &) = delete;
    Handles &operator=(const Handles &) = delete;
    ~Handles() {
        free_objects(this);
        unlink(path.c_str());
    }

    void need(xf_status status) const {
        if (status != XF_OK) throw xf::Error(status, error.message);
    }
    using Values = std::initializer_list<std::pair<const char *, const char *>>;
    void set(const Values &values) const {
        for (const auto &[key, value] : values) need(xf_config_set(config, key, value, nullptr));
    }
    // A configuration of small models, with these changes.
    void configure(const Values &changes) {
        need(xf_config_create(&config, &error));
        set({{"context.device", "cpu:ref"},
             {"context.threads", "1"},
             {"model.encoder_layers", "1"},
             {"model.decoder_layers", "1"},
             {"model.d_model", "8"},
             {"model.d_ff", "8"},
             {"model.heads", "2"},
             {"model.d_k", "4"},
             {"model.d_v", "4"},
             {"tokenizer.vocab_size", "280"}});
        set(changes);
    }
    // A model of that configuration, trained for a step, in a checkpoint at `path`.
    void save_checkpoint(const xf_host *host, const std::string &text) {
        need(xf_context_create(config, host, &context, &error));
        need(corpus_from_text(context, nullptr, text.data(), text.size(), &corpus, &error));
        need(xf_tokenizer_train(context, corpus, config, nullptr, &tokenizer, &error));
        need(xf_model_create(context, tokenizer, config, &model, &error));
        need(xf_trainer_create(model, config, &trainer, &error));
        need(step(trainer));
        need(save_trainer(trainer, nullptr, path.c_str(), &error));
    }
    // An error that the last call gave is one of the caller's, in a sentence of one line.
    bool sentence(xf_status status) const {
        return error.status == status && std::strlen(error.message) > 10 && status != XF_ERROR_INTERNAL &&
               !std::strpbrk(error.message, "\n\r\x1b");
    }
    // On one pair of three tokens.
    xf_status step(xf_trainer *which) {
        const int32_t ids[] = {5, 6, 1};
        const int64_t offsets[] = {0, 3};
        const xf_batch batch = {sizeof batch, 1, ids, offsets, ids, offsets, nullptr, nullptr, 0};
        return xf_train_step(which, &batch, 1, nullptr, nullptr, &error);
    }
};

}  // namespace xf_hostile
