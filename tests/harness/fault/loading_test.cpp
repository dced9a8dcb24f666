// The peak memory of loading: at most twice the size of the file plus 1 MiB.
//
// Models of each precision and of several sizes, checkpoints, tokenizers of each kind, and those of SentencePiece. If a
// context requests wider matrices than the file has, the limit is twice the size of the resulting model. A tokenizer
// has lookup tables: the limit is 160 bytes per piece, including the file, if that is larger.
//
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "../../support/api.h"
#include "support/counted_memory.hpp"
#include "support/test.hpp"
#include "xformer/xformer.h"

namespace {

using xf_test::PeakOfMemory;

constexpr int64_t kSpare = 1 << 20;

xf_error error;
void need(xf_status status) {
    if (status != XF_OK) throw xf::Error(status, error.message);
}

struct World {
    xf_host host = xf_test::counting_host();
    xf_config *config = nullptr;
    xf_context *context = nullptr;
    std::string path = "loading_" + std::to_string(getpid()) + ".file";

    World() {
        need(xf_config_create(&config, &error));
        set("context.device", "cpu:ref");
        set("context.threads", "1");
        need(xf_context_create(config, &host, &context, &error));
    }
    ~World() {
        xf_context_free(context);
        xf_config_free(config);
        unlink(path.c_str());
    }
    void set(const char *key, const char *value) const { need(xf_config_set(config, key, value, &error)); }
    void set(const char *key, int64_t value) const { need(xf_config_set_number(config, key, value, &error)); }
    int64_t file_bytes() const { return static_cast<int64_t>(std::filesystem::file_size(path)); }

    void sizes(int64_t width, int64_t words) const {
        set("model.encoder_layers", 2);
        set("model.decoder_layers", 2);
        set("model.d_model", width);
        set("model.d_ff", 4 * width);
        set("model.heads", 4);
        set("model.d_k", width / 4);
        set("model.d_v", width / 4);
        set("model.max_length", 64);
        set("model.vocab_size", words);
    }
    void judge(const std::string &what, const PeakOfMemory &memory, int64_t most) const {
        std::printf("%s: %lld of %lld bytes\n", what.c_str(), static_cast<long long>(memory.bytes()),
                    static_cast<long long>(most));
        if (memory.bytes() > most)
            xf_test::record(__FILE__, __LINE__,
                            xf::format("%s takes %lld bytes, expected at most %lld", what.c_str(),
                                       static_cast<long long>(memory.bytes()), static_cast<long long>(most)));
        if (memory.bytes() < file_bytes() / 4) xf_test::record(__FILE__, __LINE__, what + " was not counted");
    }
};

XF_TEST(models) {
    for (const int64_t width : {16, 64, 96}) {
        World world;
        world.sizes(width, 20 * width);
        xf_model *model = nullptr;
        need(xf_model_create(world.context, nullptr, world.config, &model, &error));
        for (const char *precision : {"fp32", "fp16", "bf16", "int8"}) {
            world.set("model.weights", precision);
            need(save_model(model, world.config, world.path.c_str(), &error));
            for (const char *weights : {"same", "fp32", "fp16", "bf16", "int8"}) {
                const std::string what = xf::format("a model %lld wide of %s, kept as %s",
                                                    static_cast<long long>(width), precision, weights);
                xf_context *context = nullptr;
                world.set("model.weights", weights);
                need(xf_context_create(world.config, &world.host, &context, &error));
                xf_model *loaded = nullptr;
                const PeakOfMemory memory;
                const xf_source source = source_path(world.path.c_str());
                need(xf_model_load(context, &source, world.config, nullptr, &loaded, &error));
                world.judge(what, memory, 2 * std::max(memory.left(), world.file_bytes()) + kSpare);
                xf_model_free(loaded);
                CHECK_EQ(memory.left(), 0);
                xf_context_free(context);
            }
        }
        xf_model_free(model);
        unlink((world.path + ".prev").c_str());
    }
}

XF_TEST(checkpoints) {
    for (const int64_t width : {16, 64, 96}) {
        for (const char *ema : {"0", "0.5"}) {
            World world;
            world.sizes(width, 20 * width);
            world.set("train.ema", ema);
            xf_model *model = nullptr;
            xf_trainer *trainer = nullptr;
            need(xf_model_create(world.context, nullptr, world.config, &model, &error));
            need(xf_trainer_create(model, world.config, &trainer, &error));
            need(save_trainer(trainer, nullptr, world.path.c_str(), &error));
            xf_trainer_free(trainer);
            xf_model_free(model);
            trainer = nullptr;
            // Called once before, because the first call without a configuration creates the defaults, which remain.
            need(resume_trainer(world.context, world.path.c_str(), nullptr, &trainer, &error));
            xf_trainer_free(trainer);
            trainer = nullptr;
            const PeakOfMemory memory;
            need(resume_trainer(world.context, world.path.c_str(), nullptr, &trainer, &error));
            world.judge(xf::format("a checkpoint %lld wide, ema %s", static_cast<long long>(width), ema), memory,
                        2 * world.file_bytes() + kSpare);
            xf_trainer_free(trainer);
            CHECK_EQ(memory.left(), 0);
            const PeakOfMemory of_model;
            model = nullptr;
            need(load_model(world.context, world.path.c_str(), &model, &error));
            CHECK(of_model.bytes() <= 2 * world.file_bytes() + kSpare);
            xf_model_free(model);
        }
    }
}

void load_tokenizer(const World &world, const std::string &what) {
    xf_tokenizer *tokenizer = nullptr;
    const PeakOfMemory memory;
    need(load_tokenizer(world.context, world.path.c_str(), &tokenizer, &error));
    const int64_t pieces = vocab_size_of(tokenizer);
    world.judge(what, memory, std::max(2 * world.file_bytes() + kSpare, 160 * pieces));
    xf_tokenizer_free(tokenizer);
    CHECK_EQ(memory.left(), 0);
}

// Of words of chance.
XF_TEST(tokenizers) {
    World world;
    std::string text;
    uint64_t state = 1;
    for (int line = 0; line < (XF_TEST_SANITIZED ? 1000 : 3000); ++line) {
        for (int word = 0; word < 8; ++word) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            for (uint64_t letters = state >> 33; letters > 0; letters /= 13)
                text += static_cast<char>('a' + letters % 13);
            text += word % 4 == 3 ? (word == 3 ? '\t' : '\n') : ' ';
        }
    }
    xf_corpus *corpus = nullptr;
    need(corpus_from_text(world.context, nullptr, text.data(), text.size(), &corpus, &error));
    for (const char *kind : {"bpe", "wordpiece", "unigram"}) {
        for (const int64_t size : {1000, XF_TEST_SANITIZED ? 2000 : 8000}) {
            xf_tokenizer *tokenizer = nullptr;
            world.set("tokenizer.kind", kind);
            world.set("tokenizer.vocab_size", size);
            need(xf_tokenizer_train(world.context, corpus, world.config, nullptr, &tokenizer, &error));
            need(save_tokenizer(tokenizer, world.path.c_str(), &error));
            xf_tokenizer_free(tokenizer);
            load_tokenizer(world, xf::format("a tokenizer of %s, %lld", kind, static_cast<long long>(size)));
        }
    }
    xf_corpus_free(corpus);
}

// Those that other libraries have learnt, as bindings/python/xformer/convert writes them.
XF_TEST(sentencepiece_tokenizers) {
    for (const char *name : {"bpe", "bpe-symbols", "unigram", "unigram-suffix", "unigram-symbols"}) {
        World world;
        std::filesystem::copy_file(std::string(XF_MODELS_FOLDER "/") + name + ".json", world.path,
                                   std::filesystem::copy_options::overwrite_existing);
        load_tokenizer(world, xf::format("SentencePiece's %s", name));
    }
}

}  // namespace
