// Shared by the tests of hostile numbers and files: one handle of each kind, freed at the end, and the checks of each
// call.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <initializer_list>
#include <utility>

#include "core/error.h"
#include "support/test.hpp"
#include "xformer/xformer.h"

namespace xf_hostile {

struct Handles {
    xf_config *config = nullptr;
    xf_context *context = nullptr;
    xf_corpus *corpus = nullptr;
    xf_tokenizer *tokenizer = nullptr;
    xf_batcher *batcher = nullptr;
    xf_model *model = nullptr;
    xf_trainer *trainer = nullptr;
    xf_decoder *decoder = nullptr;
    xf_hypotheses *answers = nullptr;
    xf_error error{};

    Handles() = default;
    Handles(const Handles &) = delete;
    Handles &operator=(const Handles &) = delete;
    ~Handles() {
        xf_hypotheses_free(answers);
        xf_decoder_free(decoder);
        xf_trainer_free(trainer);
        xf_model_free(model);
        xf_batcher_free(batcher);
        xf_tokenizer_free(tokenizer);
        xf_corpus_free(corpus);
        xf_context_free(context);
        xf_config_free(config);
    }

    void need(xf_status status) const {
        if (status != XF_OK) throw xf::Error(status, error.message);
    }
    void configure(std::initializer_list<std::pair<const char *, const char *>> values) {
        need(xf_config_create(&config, &error));
        need(xf_config_set(config, "context.device", "cpu:ref", &error));
        need(xf_config_set(config, "context.threads", "1", &error));
        for (const auto &[key, value] : values) need(xf_config_set(config, key, value, &error));
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
