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
#include "core/file.h"
#include "support/processor_time.hpp"
#include "support/temp_folder.hpp"
#include "text_support.hpp"
#include "xformer/xformer.hpp"

namespace {

using namespace xf_test;

constexpr size_t kAll = 10'000'000, kFew = XF_TEST_SANITIZED ? 100'000 : 1'000'000;

// Two seconds for the full size. One tenth of the size may take three tenths of the time, because short measurements
// are less accurate.
double most_seconds(size_t bytes) {
    return (bytes < kAll ? 6.0 : 2.0) * static_cast<double>(bytes) / kAll * XF_TEST_SLOWNESS;
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
            {"a long piece", repeated("interest", bytes)},
            {"marks", repeated("?!", bytes)},
            {"spaces", repeated(" ", bytes)}};
}

// `lossless`: decoding gives the text.
void check(const char *name, const xf::Tokenizer &tokenizer, size_t size, bool lossless) {
    for (const auto &[what, bytes] : texts(size)) {
        std::vector<int32_t> ids;
        const double before = processor_seconds();
        tokenizer.encode(bytes, &ids);
        const double seconds = processor_seconds() - before;
        std::printf("%s, %s: %.2f s, %zu ids\n", name, what, seconds, ids.size());
        CHECK(lossless ? decode(tokenizer, ids) == bytes : !ids.empty() || bytes[0] == ' ');
        if (seconds > most_seconds(size)) record(__FILE__, __LINE__, xf::format("%s, %s: %.2f s", name, what, seconds));
    }
}

struct World {
    xformer::Config config;
    xformer::Context context;

    static xformer::Config config_of(const char *kind) {
        return xformer::Config()
            .set("context.device", "cpu:ref")
            .set("context.threads", "1")
            .set("tokenizer.kind", kind)
            .set("tokenizer.vocab_size", "2000")
            .set("data.max_bytes", "268435456");
    }
    explicit World(const char *kind) : config(config_of(kind)), context(config) {}
    xformer::Corpus corpus(const std::string &source, const std::string &target = "b") const {
        const std::pair<std::string, std::string> pairs[] = {{source, target}, {"one two", "eins zwei"}};
        return xformer::Corpus::from_pairs(context, pairs, config);
    }
    xformer::Tokenizer train(const xformer::Corpus &from) const {
        return xformer::Tokenizer::train(context, from, config);
    }
};

constexpr const char *kKinds[] = {"bpe", "wordpiece", "unigram"};

// Trains on a line of the given size and on one of ten times the size. The second must take little more than ten times
// as long.
void train_on(size_t bytes) {
    for (const char *kind : kKinds) {
        for (size_t which = 0; which < texts(0).size(); ++which) {
            double seconds[2];
            for (const bool ten : {false, true}) {
                const World world(kind);
                const xformer::Corpus corpus = world.corpus(texts(ten ? 10 * bytes : bytes)[which].bytes);
                const double before = processor_seconds();
                world.train(corpus);
                seconds[ten] = processor_seconds() - before;
            }
            const char *const what = texts(0)[which].what;
            std::printf("%s learns from %s: %.2f s, of ten times as many %.2f s\n", kind, what, seconds[0], seconds[1]);
            CHECK(seconds[1] < 30 * seconds[0] + 0.5);
        }
    }
}

// Cancellation takes effect quickly in every phase of training.
void cancel_on(size_t bytes) {
    const std::string line = of_chance(bytes, 2);
    for (const char *kind : kKinds) {
        for (const int64_t after : {30, 100, 300}) {
            World world(kind);
            const xformer::Corpus corpus = world.corpus(line);
            std::atomic<double> said{0};
            std::atomic<bool> ended{false};
            std::thread host([&] {  // repeats the request, in case the call begins later
                std::this_thread::sleep_for(std::chrono::milliseconds(after));
                for (said = processor_seconds(); !ended; std::this_thread::sleep_for(std::chrono::milliseconds(10)))
                    world.context.cancel();
            });
            xf_status status = XF_OK;
            try {
                world.train(corpus);
            } catch (const xformer::Error &error) {
                status = error.status();
            }
            const double now = processor_seconds();
            ended = true;
            host.join();
            CHECK_EQ(status, XF_ERROR_CANCELLED);
            if (now - said > 0.2 * XF_TEST_SLOWNESS)
                record(__FILE__, __LINE__, xf::format("%s was cancelled %.2f s after the word", kind, now - said));
        }
    }
}

// A tokenizer with the deepest possible merges for these letters.
void encode(size_t bytes) {
    const TempFolder folder;
    for (const char *kind : kKinds) {
        const World world(kind);
        const std::string words = repeated("one two three onetwothree aaaaaaaaaaaaaaaa abababababababab ", 1000);
        const std::string path = folder / kind;
        world.train(world.corpus(words + of_chance(20'000, 26), of_chance(20'000, 2))).save(path);
        check(kind, *xf::Tokenizer::parse(xf::read_all(xf::InputFile(path), 1 << 24)), bytes, true);
    }
}

void encode_as_sentencepiece(size_t bytes) {
    for (const char *name : kModels) check(name, *model(name), bytes, false);
}

XF_TEST(few_encoding) { encode(kFew); }
XF_TEST(few_encoding_as_sentencepiece) { encode_as_sentencepiece(kFew); }
XF_TEST(all_encoding) { encode(kAll); }
XF_TEST(all_encoding_as_sentencepiece) { encode_as_sentencepiece(kAll); }
XF_TEST(few_training) { train_on(XF_TEST_SANITIZED ? 2'000 : 8'000); }
XF_TEST(few_cancelled) { cancel_on(XF_TEST_SANITIZED ? 1'000'000 : 5'000'000); }

}  // namespace
