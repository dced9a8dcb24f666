// Any ten megabytes without a space are encoded in less than two seconds of CPU time, and a tokenizer can be trained on
// a corpus with such a line.
//
// The texts for every kind of tokenizer: one repeated character, known words, the sequence with the most merges, random
// characters, and characters that do not occur in the training text and are encoded as bytes.
//
//     unit_text_long_words few_*    one tenth of the size
//     unit_text_long_words          also the full size
//
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "../../support/api.h"
#include "support/processor_time.hpp"
#include "support/test.hpp"
#include "text/tokenizer.h"
#include "xformer/xformer.h"

namespace {

constexpr size_t kAll = 10'000'000, kFew = XF_TEST_SANITIZED ? 100'000 : 1'000'000;

// Two seconds for the full size. One tenth of the size may take three tenths of the time, because short measurements
// are less accurate.
double most_seconds(size_t bytes) {
    return (bytes < kAll ? 6.0 : 2.0) * static_cast<double>(bytes) / kAll * (XF_TEST_SANITIZED ? 20 : 1);
}

std::string of_chance(size_t bytes, uint32_t letters) {
    std::string text;
    for (uint64_t state = 1; text.size() < bytes;) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        text += static_cast<char>('a' + (state >> 33) % letters);
    }
    return text;
}

std::string repeated(std::string_view unit, size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += unit;
    return text;
}

struct Text {
    const char *what;
    std::string bytes;
};

std::vector<Text> texts(size_t bytes) {
    return {{"a", repeated("a", bytes)},
            {"two letters", repeated("ab", bytes)},
            {"known words", repeated("onetwothree", bytes)},
            {"letters of chance", of_chance(bytes, 26)},
            {"two letters of chance", of_chance(bytes, 2)},
            {"characters in bytes", repeated("\xE4\xB8\xAD\xE6\x96\x87", bytes)},
            {"marks", repeated("?!", bytes)}};
}

void check(const char *name, const xf::Tokenizer &tokenizer, size_t size) {
    for (const auto &[what, bytes] : texts(size)) {
        std::vector<int32_t> ids;
        const double before = xf_test::processor_seconds();
        tokenizer.encode(bytes, &ids);
        const double seconds = xf_test::processor_seconds() - before;
        std::printf("%s, %s: %.2f s, %zu ids\n", name, what, seconds, ids.size());
        CHECK(!ids.empty());
        if (seconds > most_seconds(size))
            xf_test::record(__FILE__, __LINE__, xf::format("%s, %s: %.2f s", name, what, seconds));
    }
}

struct World {
    xf_config *config = nullptr;
    xf_context *context = nullptr;
    xf_error error{};

    void need(xf_status status) const {
        if (status != XF_OK) throw xf::Error(status, error.message);
    }
    void set(const char *key, const char *value) { need(xf_config_set(config, key, value, &error)); }
    World() {
        need(xf_config_create(&config, &error));
        set("context.device", "cpu:ref");
        set("context.threads", "1");
        set("tokenizer.vocab_size", "2000");
        set("data.max_bytes", "268435456");
        need(xf_context_create(config, nullptr, &context, &error));
    }
    ~World() {
        xf_context_free(context);
        xf_config_free(config);
    }
    xf_tokenizer *train(const std::string &text) {
        xf_corpus *corpus = nullptr;
        xf_tokenizer *tokenizer = nullptr;
        need(corpus_from_text(context, config, text.data(), text.size(), &corpus, &error));
        CHECK_EQ(xf_corpus_pair_count(corpus), 2);
        const xf_status status = xf_tokenizer_train(context, corpus, config, nullptr, &tokenizer, &error);
        xf_corpus_free(corpus);
        need(status);
        return tokenizer;
    }
};

// Trains on a line of the given size and on one of ten times the size. The second must take little more than ten times
// as long.
void train_on(size_t bytes) {
    for (const char *kind : {"bpe", "wordpiece", "unigram"}) {
        for (size_t which = 0; which < texts(0).size(); ++which) {
            double seconds[2];
            for (const bool ten : {false, true}) {
                World world;
                world.set("tokenizer.kind", kind);
                const std::string line = texts(ten ? 10 * bytes : bytes)[which].bytes + "\tb\none two\teins zwei\n";
                const double before = xf_test::processor_seconds();
                xf_tokenizer_free(world.train(line));
                seconds[ten] = xf_test::processor_seconds() - before;
            }
            const char *const what = texts(0)[which].what;
            std::printf("%s learns from %s: %.2f s, of ten times as many %.2f s\n", kind, what, seconds[0], seconds[1]);
            CHECK(seconds[1] < 30 * seconds[0] + 0.5);
        }
    }
}

// Cancellation takes effect quickly in every phase of training.
void cancel_on(size_t bytes) {
    const std::string line = of_chance(bytes, 2) + "\tb\none two\teins zwei\n";
    for (const char *kind : {"bpe", "wordpiece", "unigram"}) {
        for (const int64_t after : {30, 100, 300}) {
            World world;
            world.set("tokenizer.kind", kind);
            xf_corpus *corpus = nullptr;
            world.need(corpus_from_text(world.context, world.config, line.data(), line.size(), &corpus, &world.error));
            std::atomic<double> said{0};
            std::atomic<bool> ended{false};
            std::thread host([&] {  // repeats the request, in case the call begins later
                std::this_thread::sleep_for(std::chrono::milliseconds(after));
                for (said = xf_test::processor_seconds(); !ended;
                     std::this_thread::sleep_for(std::chrono::milliseconds(10)))
                    xf_context_cancel(world.context);
            });
            xf_tokenizer *tokenizer = nullptr;
            const xf_status status =
                xf_tokenizer_train(world.context, corpus, world.config, nullptr, &tokenizer, &world.error);
            const double now = xf_test::processor_seconds();
            ended = true;
            host.join();
            CHECK_EQ(status, XF_ERROR_CANCELLED);
            if (now - said > 0.2 * (XF_TEST_SANITIZED ? 20 : 1))
                xf_test::record(__FILE__, __LINE__,
                                xf::format("%s was cancelled %.2f s after the word", kind, now - said));
            xf_tokenizer_free(tokenizer);
            xf_corpus_free(corpus);
        }
    }
}

// A tokenizer with the deepest possible merges for these letters.
void encode(size_t bytes) {
    for (const char *kind : {"bpe", "wordpiece", "unigram"}) {
        World world;
        world.set("tokenizer.kind", kind);
        xf_tokenizer *tokenizer =
            world.train(repeated("one two three onetwothree aaaaaaaaaaaaaaaa abababababababab ", 1000) +
                        of_chance(20'000, 26) + "\t" + of_chance(20'000, 2) + "\nb\tb\n");
        const char *path = "long_words.json";
        world.need(save_tokenizer(tokenizer, path, &world.error));
        xf_tokenizer_free(tokenizer);
        std::ifstream file(path, std::ios::binary);
        check(kind, *xf::Tokenizer::parse(std::string(std::istreambuf_iterator<char>(file), {})), bytes);
        (void)std::remove(path);
    }
}

void encode_as_sentencepiece(size_t bytes) {
    for (const char *name : {"bpe", "bpe-symbols", "unigram", "unigram-suffix", "unigram-symbols"}) {
        std::ifstream file(std::string(XF_MODELS_FOLDER "/") + name + ".json", std::ios::binary);
        check(name, *xf::Tokenizer::parse(std::string(std::istreambuf_iterator<char>(file), {})), bytes);
    }
}

XF_TEST(few_encoding) { encode(kFew); }
XF_TEST(few_encoding_as_sentencepiece) { encode_as_sentencepiece(kFew); }
XF_TEST(all_encoding) { encode(kAll); }
XF_TEST(all_encoding_as_sentencepiece) { encode_as_sentencepiece(kAll); }
XF_TEST(few_training) { train_on(XF_TEST_SANITIZED ? 2'000 : 8'000); }
XF_TEST(few_cancelled) { cancel_on(XF_TEST_SANITIZED ? 1'000'000 : 5'000'000); }

}  // namespace
