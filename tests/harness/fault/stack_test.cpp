// A host's thread may have little stack: 128 KiB are enough for every call, whatever is in a file.
//
// JSON nested a million deep, where the library reads JSON: the header of a model, its tokenizer, a tokenizer's file.
// Then the life of a model, from training to decoding and saving, on such a thread.
//
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "../../support/api.h"
#include "core/sha256.h"
#include "support/test.hpp"
#include "xformer/xformer.h"

namespace {

// A sanitizer's frames are several times as large.
constexpr size_t kStack = size_t{128} << 10, kUsed = XF_TEST_SANITIZED ? 8 * kStack : kStack;
constexpr size_t kDeep = 1'000'000;

xf_error error;

// Runs body on a thread with kUsed bytes of stack and a guard page after it, which ends the process.
void on_small_stack(std::function<void()> body) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, kUsed), 0);
    CHECK_EQ(pthread_create(
                 &thread, &attributes,
                 [](void *arg) -> void * {
                     (*static_cast<std::function<void()> *>(arg))();
                     return nullptr;
                 },
                 &body),
             0);
    pthread_attr_destroy(&attributes);
    pthread_join(thread, nullptr);
}

struct World {
    xf_config *config = nullptr;
    xf_context *context = nullptr;
    std::string path = "stack_" + std::to_string(getpid()) + ".file";

    explicit World(const char *device = "cpu:ref") {
        CHECK_EQ(xf_config_create(&config, &error), XF_OK);
        const char *const values[][2] = {{"context.device", device},
                                         {"context.threads", "2"},
                                         {"model.encoder_layers", "2"},
                                         {"model.d_model", "32"},
                                         {"model.d_ff", "64"},
                                         {"model.decoder_layers", "2"},
                                         {"model.heads", "4"},
                                         {"model.d_k", "8"},
                                         {"model.d_v", "8"},
                                         {"tokenizer.vocab_size", "280"},
                                         {"decode.beam", "16"}};
        for (const auto &[key, value] : values) CHECK_EQ(xf_config_set(config, key, value, &error), XF_OK);
        if (xf_context_create(config, nullptr, &context, &error) != XF_OK) context = nullptr;
    }
    ~World() {
        xf_context_free(context);
        xf_config_free(config);
        unlink(path.c_str());
    }
    void write(const std::string &bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
    xf_status read_model() const {
        xf_model *model = nullptr;
        const xf_status status = load_model(context, path.c_str(), &model, &error);
        xf_model_free(model);
        return status;
    }
    xf_status read_tokenizer() const {
        xf_tokenizer *tokenizer = nullptr;
        const xf_status status = load_tokenizer(context, path.c_str(), &tokenizer, &error);
        xf_tokenizer_free(tokenizer);
        return status;
    }
};

std::string repeated(const std::string &unit) {
    std::string text;
    text.reserve(unit.size() * kDeep);
    for (size_t i = 0; i < kDeep; ++i) text += unit;
    return text;
}

XF_TEST(deeply_nested_json) {
    World world;
    CHECK(world.context != nullptr);
    // Inside each valid context of a reader: the top level, a list, an object.
    for (const std::string &unit :
         {std::string("["), std::string("{\"a\":"), std::string("[[],"), std::string("[{\"a\":")}) {
        const std::string deep = repeated(unit);
        for (const std::string before :
             {"", "{\"format\":\"xformer-tokenizer\",\"version\":1,\"kind\":\"bpe\",\"merges\":[[",
              "{\"format\":\"xformer-tokenizer\",\"version\":1,\"kind\":\"wordpiece\",\"pieces\":",
              "{\"format\":\"xformer-tokenizer\",\"version\":1,\"kind\":\"sentencepiece-bpe\",\"normalization\":"}) {
            world.write(before + deep);
            on_small_stack([&] { CHECK_EQ(world.read_tokenizer(), XF_ERROR_CORRUPT); });
        }
        for (const std::string before : {"", "{\"__metadata__\":", "{\"__metadata__\":{\"format\":", "{\"a\":",
                                         "{\"a\":{\"dtype\":", "{\"a\":{\"dtype\":\"F32\",\"shape\":"}) {
            const std::string json = before + deep;
            const uint64_t length = json.size();
            world.write(std::string(reinterpret_cast<const char *>(&length), sizeof length) + json);
            on_small_stack([&] { CHECK_EQ(world.read_model(), XF_ERROR_CORRUPT); });
        }
    }
}

void live(const char *device) {
    World world(device);
    if (world.context == nullptr) return;
    const std::string word(100'000, 'o');
    on_small_stack([&] {
        xf_corpus *corpus = nullptr;
        xf_batcher *batcher = nullptr;
        xf_trainer *trainer = nullptr;
        xf_decoder *decoder = nullptr;
        xf_hypotheses *found = nullptr;
        xf_model *model = nullptr;
        const char pairs[] = "one two\teins zwei\ntwo one\tzwei eins\n";
        CHECK_EQ(corpus_from_text(world.context, nullptr, pairs, sizeof pairs - 1, &corpus, &error), XF_OK);
        for (const char *kind : {"bpe", "wordpiece", "unigram"}) {
            xf_tokenizer *tokenizer = nullptr;
            CHECK_EQ(xf_config_set(world.config, "tokenizer.kind", kind, &error), XF_OK);
            CHECK_EQ(xf_tokenizer_train(world.context, corpus, world.config, nullptr, &tokenizer, &error), XF_OK);
            CHECK_EQ(save_tokenizer(tokenizer, world.path.c_str(), &error), XF_OK);
            CHECK_EQ(world.read_tokenizer(), XF_OK);
            int32_t ids[4];
            size_t count = 0;
            (void)xf_tokenizer_encode(tokenizer, word.data(), word.size(), ids, 4, &count, &error);
            CHECK(count > 0);
            if (std::strcmp(kind, "bpe") == 0) {
                CHECK_EQ(xf_model_create(world.context, tokenizer, world.config, &model, &error), XF_OK);
                CHECK_EQ(xf_batcher_create(corpus, tokenizer, world.config, nullptr, &batcher, &error), XF_OK);
            }
            xf_tokenizer_free(tokenizer);
        }
        CHECK_EQ(xf_trainer_create(model, world.config, &trainer, &error), XF_OK);
        for (int step = 0; step < 3; ++step) CHECK(xf_train_next(trainer, batcher, nullptr, nullptr, &error) >= 0);
        CHECK_EQ(save_trainer(trainer, batcher, world.path.c_str(), &error), XF_OK);
        xf_trainer_free(trainer);
        trainer = nullptr;
        CHECK_EQ(resume_trainer(world.context, world.path.c_str(), nullptr, &trainer, &error), XF_OK);
        CHECK_EQ(world.read_model(), XF_OK);
        CHECK_EQ(xf_decoder_create(xf_trainer_model(trainer), world.config, &decoder, &error), XF_OK);
        const char *texts[] = {"one two", "two"};
        CHECK_EQ(xf_translate(decoder, texts, nullptr, 2, nullptr, nullptr, &found, &error), XF_OK);
        CHECK_EQ(xf_hypotheses_sentence_count(found), 2u);
        xf_hypotheses_free(found);
        xf_decoder_free(decoder);
        xf_trainer_free(trainer);
        xf_model_free(model);
        xf_batcher_free(batcher);
        xf_corpus_free(corpus);
    });
}

XF_TEST(a_training_on_the_ref_backend) { live("cpu:ref"); }
XF_TEST(a_training_on_the_openblas_backend) { live("cpu:openblas"); }

}  // namespace
