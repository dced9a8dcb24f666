// What stands behind the opaque handles. Each begins with a magic word, so that a wrong or freed handle is an error and
// not a crash (as far as freed memory can tell), and holds its parents by count, so that handles may be freed in any
// order.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/context.h"
#include "core/options.h"
#include "data/batcher.h"
#include "data/corpus.h"
#include "decode/decoder.h"
#include "nn/model.h"
#include "text/tokenizer.h"
#include "train/trainer.h"
#include "xformer/xformer.h"

namespace xf {
constexpr uint32_t kFreedMagic = 0xDEADF4EEu;
}

struct xf_config {
    static constexpr uint32_t kMagic = 0x58460001u;
    static constexpr const char *kKind = "a config";
    uint32_t magic = kMagic;
    xf::Options options;
};

struct xf_context {
    static constexpr uint32_t kMagic = 0x58460002u;
    static constexpr const char *kKind = "a context";
    uint32_t magic = kMagic;
    std::shared_ptr<xf::Context> context;
};

struct xf_tokenizer {
    static constexpr uint32_t kMagic = 0x58460003u;
    static constexpr const char *kKind = "a tokenizer";
    uint32_t magic = kMagic;
    std::shared_ptr<const xf::Tokenizer> tokenizer;
};

struct xf_corpus {
    static constexpr uint32_t kMagic = 0x58460004u;
    static constexpr const char *kKind = "a corpus";
    uint32_t magic = kMagic;
    std::shared_ptr<xf::Context> context;
    std::shared_ptr<const xf::Corpus> corpus;
};

struct xf_batcher {
    static constexpr uint32_t kMagic = 0x58460005u;
    static constexpr const char *kKind = "a batcher";
    uint32_t magic = kMagic;
    std::shared_ptr<xf::Context> context;
    std::shared_ptr<const xf::EncodedCorpus> corpus;
    uint64_t fingerprint = 0;
    xf::Metadata order;  // options that fix which batches come when; see train/trainer.h
    std::unique_ptr<xf::Batcher> batcher;
    xf::Batch batch;
};

struct xf_model {
    static constexpr uint32_t kMagic = 0x58460006u;
    static constexpr const char *kKind = "a model";
    uint32_t magic = kMagic;
    bool borrowed = false;  // the one that xf_trainer_model gives: freeing it does nothing
    std::shared_ptr<xf::Context> context;
    std::shared_ptr<xf::Model> model;
    xf_tokenizer tokenizer;  // its pointer is null when the model has none
    xf_config config;        // a copy for the caller to look at
};

struct xf_trainer {
    static constexpr uint32_t kMagic = 0x58460007u;
    static constexpr const char *kKind = "a trainer";
    uint32_t magic = kMagic;
    std::shared_ptr<xf::Context> context;
    std::unique_ptr<xf::Trainer> trainer;
    xf_model model;
    xf_config config;
};

struct xf_decoder {
    static constexpr uint32_t kMagic = 0x58460008u;
    static constexpr const char *kKind = "a decoder";
    uint32_t magic = kMagic;
    std::shared_ptr<xf::Context> context;
    std::shared_ptr<const xf::Tokenizer> tokenizer;
    std::unique_ptr<xf::Decoder> decoder;
    xf_constraint_fn constraint = nullptr;
    void *constraint_user = nullptr;
};

struct xf_hypotheses {
    static constexpr uint32_t kMagic = 0x58460009u;
    static constexpr const char *kKind = "a set of hypotheses";
    struct Answer {
        xf::Hypothesis hypothesis;
        std::string text;
    };
    uint32_t magic = kMagic;
    bool has_text = false;
    std::vector<std::vector<Answer>> answers;
};
