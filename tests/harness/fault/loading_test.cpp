// The peak memory of loading: at most twice the size of the file plus 1 MiB.
//
// Models of each precision and of several sizes, checkpoints, tokenizers of each kind, and those of SentencePiece. If a
// context requests wider matrices than the file has, the limit is twice the size of the resulting model. A tokenizer
// has lookup tables: the limit is 160 bytes per piece, including the file, if that is larger.
//
// SPDX-License-Identifier: Apache-2.0

#include "handles.hpp"
#include "support/counted_memory.hpp"
#include "support/test.hpp"
#include "xformer/xformer.h"

namespace {

using xf_test::PeakOfMemory;

constexpr int64_t kSpare = 1 << 20;

struct World : xf_hostile::Handles {
    xf_host host = xf_test::counting_host();

    explicit World(int64_t width = 8) {
        configure({{"model.encoder_layers", "2"},
                   {"model.decoder_layers", "2"},
                   {"model.heads", "4"},
                   {"model.max_length", "64"}});
        number("model.d_model", width);
        number("model.d_ff", 4 * width);
        number("model.d_k", width / 4);
        number("model.d_v", width / 4);
        number("model.vocab_size", 20 * width);
        need(xf_context_create(config, &host, &context, &error));
    }
    void number(const char *key, int64_t value) const { need(xf_config_set_number(config, key, value, nullptr)); }
    int64_t file_bytes() const { return static_cast<int64_t>(std::filesystem::file_size(path)); }

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
        World world(width);
        world.need(xf_model_create(world.context, nullptr, world.config, &world.model, &world.error));
        for (const char *precision : {"fp32", "fp16", "bf16", "int8"}) {
            world.set({{"model.weights", precision}});
            world.need(save_model(world.model, world.config, world.path.c_str(), &world.error));
            for (const char *weights : {"same", "fp32", "fp16", "bf16", "int8"}) {
                const std::string what = xf::format("a model %lld wide of %s, kept as %s",
                                                    static_cast<long long>(width), precision, weights);
                OWNED(context) *context = nullptr;
                world.set({{"model.weights", weights}});
                world.need(xf_context_create(world.config, &world.host, &context, &world.error));
                xf_model *loaded = nullptr;
                const PeakOfMemory memory;
                const xf_source source = source_path(world.path.c_str());
                world.need(xf_model_load(context, &source, world.config, nullptr, &loaded, &world.error));
                world.judge(what, memory, 2 * std::max(memory.left(), world.file_bytes()) + kSpare);
                xf_model_free(loaded);
                CHECK_EQ(memory.left(), 0);
            }
        }
        unlink((world.path + ".prev").c_str());
    }
}

XF_TEST(checkpoints) {
    for (const int64_t width : {16, 64, 96}) {
        for (const char *ema : {"0", "0.5"}) {
            World world(width);
            world.set({{"train.ema", ema}});
            world.need(xf_model_create(world.context, nullptr, world.config, &world.model, &world.error));
            world.need(xf_trainer_create(world.model, world.config, &world.trainer, &world.error));
            world.need(save_trainer(world.trainer, nullptr, world.path.c_str(), &world.error));
            // Called once before, because the first call without a configuration creates the defaults, which remain.
            xf_trainer *trainer = nullptr;
            world.need(resume_trainer(world.context, world.path.c_str(), nullptr, &trainer, &world.error));
            xf_trainer_free(trainer);
            trainer = nullptr;
            const PeakOfMemory memory;
            world.need(resume_trainer(world.context, world.path.c_str(), nullptr, &trainer, &world.error));
            world.judge(xf::format("a checkpoint %lld wide, ema %s", static_cast<long long>(width), ema), memory,
                        2 * world.file_bytes() + kSpare);
            xf_trainer_free(trainer);
            CHECK_EQ(memory.left(), 0);
            const PeakOfMemory of_model;
            OWNED(model) *model = nullptr;
            world.need(load_model(world.context, world.path.c_str(), &model, &world.error));
            CHECK(of_model.bytes() <= 2 * world.file_bytes() + kSpare);
        }
    }
}

void load_tokenizer(World &world, const std::string &what) {
    xf_tokenizer *tokenizer = nullptr;
    const PeakOfMemory memory;
    world.need(load_tokenizer(world.context, world.path.c_str(), &tokenizer, &world.error));
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
    world.need(corpus_from_text(world.context, nullptr, text.data(), text.size(), &world.corpus, &world.error));
    for (const char *kind : {"bpe", "wordpiece", "unigram"}) {
        for (const int64_t size : {1000, XF_TEST_SANITIZED ? 2000 : 8000}) {
            OWNED(tokenizer) *tokenizer = nullptr;
            world.set({{"tokenizer.kind", kind}});
            world.number("tokenizer.vocab_size", size);
            world.need(
                xf_tokenizer_train(world.context, world.corpus, world.config, nullptr, &tokenizer, &world.error));
            world.need(save_tokenizer(tokenizer, world.path.c_str(), &world.error));
            load_tokenizer(world, xf::format("a tokenizer of %s, %lld", kind, static_cast<long long>(size)));
        }
    }
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
