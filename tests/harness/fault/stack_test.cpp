// A host's thread may have little stack: 128 KiB are enough for every call, whatever is in a file.
//
// JSON nested a million deep, where the library reads JSON: the header of a model, its tokenizer, a tokenizer's file.
// Then the life of a model, from training to decoding and saving, on such a thread.
//
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <iterator>

#include "core/sha256.h"
#include "handles.hpp"
#include "support/test.hpp"
#include "xformer/xformer.h"

namespace {

// A sanitizer's frames are several times as large.
constexpr size_t kStack = size_t{128} << 10, kUsed = XF_TEST_SANITIZED ? 8 * kStack : kStack;
constexpr size_t kDeep = 1'000'000;

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

struct World : xf_hostile::Handles {
    explicit World(const char *device = "cpu:ref") {
        configure({{"context.device", device},
                   {"context.threads", "2"},
                   {"model.encoder_layers", "2"},
                   {"model.d_model", "32"},
                   {"model.d_ff", "64"},
                   {"model.decoder_layers", "2"},
                   {"model.heads", "4"},
                   {"model.d_k", "8"},
                   {"model.d_v", "8"},
                   {"decode.beam", "16"}});
        if (xf_context_create(config, nullptr, &context, &error) != XF_OK) context = nullptr;
    }
    void write(const std::string &bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
    xf_status read_model() const {
        OWNED(model) *found = nullptr;
        return load_model(context, path.c_str(), &found, nullptr);
    }
    xf_status read_tokenizer() const {
        OWNED(tokenizer) *found = nullptr;
        return load_tokenizer(context, path.c_str(), &found, nullptr);
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
        World &w = world;
        const char pairs[] = "one two\teins zwei\ntwo one\tzwei eins\n";
        CHECK_EQ(corpus_from_text(w.context, nullptr, pairs, sizeof pairs - 1, &w.corpus, &w.error), XF_OK);
        for (const char *kind : {"bpe", "wordpiece", "unigram"}) {
            OWNED(tokenizer) *tokenizer = nullptr;
            w.set({{"tokenizer.kind", kind}});
            CHECK_EQ(xf_tokenizer_train(w.context, w.corpus, w.config, nullptr, &tokenizer, &w.error), XF_OK);
            CHECK_EQ(save_tokenizer(tokenizer, w.path.c_str(), &w.error), XF_OK);
            CHECK_EQ(w.read_tokenizer(), XF_OK);
            int32_t ids[4];
            size_t count = 0;
            (void)xf_tokenizer_encode(tokenizer, word.data(), word.size(), ids, 4, &count, &w.error);
            CHECK(count > 0);
            if (std::strcmp(kind, "bpe") != 0) continue;
            CHECK_EQ(xf_model_create(w.context, tokenizer, w.config, &w.model, &w.error), XF_OK);
            CHECK_EQ(xf_batcher_create(w.corpus, tokenizer, w.config, nullptr, &w.batcher, &w.error), XF_OK);
        }
        OWNED(trainer) *resumed = nullptr;
        CHECK_EQ(xf_trainer_create(w.model, w.config, &w.trainer, &w.error), XF_OK);
        for (int step = 0; step < 3; ++step)
            CHECK(xf_train_next(w.trainer, w.batcher, nullptr, nullptr, &w.error) >= 0);
        CHECK_EQ(save_trainer(w.trainer, w.batcher, w.path.c_str(), &w.error), XF_OK);
        CHECK_EQ(resume_trainer(w.context, w.path.c_str(), nullptr, &resumed, &w.error), XF_OK);
        CHECK_EQ(w.read_model(), XF_OK);
        CHECK_EQ(xf_decoder_create(xf_trainer_model(resumed), nullptr, w.config, &w.decoder, &w.error), XF_OK);
        const char *texts[] = {"one two", "two"};
        CHECK_EQ(xf_translate(w.decoder, texts, nullptr, 2, nullptr, nullptr, &w.hypotheses, &w.error), XF_OK);
        CHECK_EQ(xf_hypotheses_sentence_count(w.hypotheses), 2u);
    });
}

XF_TEST(a_training_on_the_ref_backend) { live("cpu:ref"); }
XF_TEST(a_training_on_the_openblas_backend) { live("cpu:openblas"); }

}  // namespace
