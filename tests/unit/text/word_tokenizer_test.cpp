// The public behavior of word tokenizers: round trips, names, errors, and limits; and the rules of the word splitter,
// which loses no text.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/tokenizer.h"

#include "support/test.hpp"
#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

std::vector<std::string> mixed_corpus() {
    std::vector<std::string> lines = nasty_texts();
    for (const std::string &line : low_corpus()) lines.push_back(line);
    std::mt19937 random(3);
    for (int i = 0; i < 200; ++i) lines.push_back(random_unicode(&random, 40));
    return lines;
}

std::string normalized(std::string_view text, const TokenizerOptions &options) {
    std::string out;
    std::vector<int32_t> codes;
    normalize(text, options.normalization, options.invalid_utf8, &out, &codes);
    return out;
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> words;
    WordSplitter splitter(text);
    std::string_view word;
    while (splitter.next(&word)) words.emplace_back(word);
    return words;
}

std::string joined(std::string_view text) {
    std::string out;
    for (const std::string &word : split(text)) {
        if (!out.empty()) out += '|';
        out += word;
    }
    return out;
}

}  // namespace

XF_TEST(decoding_returns_the_normalized_text) {
    std::mt19937 random(4);
    std::vector<std::string> texts = nasty_texts();
    for (int i = 0; i < 1500; ++i) texts.push_back(random_unicode(&random, 1 + i % 50));
    for (const Normalization form : {Normalization::kNone, Normalization::kNfc, Normalization::kNfkc}) {
        TokenizerOptions options;
        options.vocab_size = 700;
        options.normalization = form;
        const auto tokenizer = train(mixed_corpus(), options);
        CHECK_EQ(tokenizer->size(), 700);
        for (const std::string &text : texts)
            CHECK_EQ(decode(*tokenizer, encode(*tokenizer, text)), normalized(text, options));
    }
}

// Of every kind; training does not depend on the order of the lines.
XF_TEST(without_normalization_any_bytes_round_trip) {
    std::mt19937 random(9);
    std::vector<std::string> lines = mixed_corpus();
    for (int i = 0; i < 100; ++i) lines.push_back(random_bytes(&random, 100));
    lines.push_back(std::string(5000, 'x'));
    const std::vector<std::string> backwards(lines.rbegin(), lines.rend());
    for (const auto &[kind, vocab_size] :
         {std::pair{TokenizerKind::kBpe, 700}, {TokenizerKind::kWordPiece, 900}, {TokenizerKind::kUnigram, 1500}}) {
        TokenizerOptions options;
        options.kind = kind;
        options.vocab_size = vocab_size;
        options.min_pair_count = 1;
        options.character_coverage = 0.5;
        options.normalization = Normalization::kNone;
        const auto tokenizer = train(lines, options);
        CHECK(tokenizer->size() > 258 && tokenizer->size() <= vocab_size);
        CHECK_EQ(train(backwards, options)->serialize(), tokenizer->serialize());
        for (const std::string &line : lines) CHECK_EQ(decode(*tokenizer, encode(*tokenizer, line)), line);
        for (int i = 0; i < 1500; ++i) {
            const std::string bytes = random_bytes(&random, static_cast<size_t>(i % 80));
            CHECK(decode(*tokenizer, encode(*tokenizer, bytes)) == bytes);
        }
    }
}

XF_TEST(a_word_has_the_same_ids_everywhere) {
    const auto tokenizer = train(low_corpus());
    const std::vector<int32_t> low = encode(*tokenizer, "low");
    CHECK_EQ(low.size(), 1u);
    CHECK(encode(*tokenizer, "low low") == (std::vector<int32_t>{low[0], low[0]}));
    CHECK_EQ(decode(*tokenizer, {low[0], low[0]}), "low low");
    CHECK(encode(*tokenizer, "").empty());
    std::vector<int32_t> ids = {7};
    tokenizer->encode("low", &ids);
    CHECK(ids == (std::vector<int32_t>{7, low[0]}));
}

XF_TEST(specials_are_never_made_from_text_and_are_skipped) {
    const auto tokenizer = train({"<s> </s> <s> </s> <s>"});
    for (const int32_t id : encode(*tokenizer, "<s> </s>")) CHECK(id >= Vocabulary::kFirstByteId);
    std::vector<int32_t> ids = encode(*tokenizer, "<s> x");
    ids.insert(ids.begin(), tokenizer->start_id());
    ids.push_back(tokenizer->end_id());
    CHECK_EQ(decode(*tokenizer, ids), "<s> x");
}

XF_TEST(pieces_have_names) {
    const auto tokenizer = train({"low low low\n\nlow\n\nlow"});
    CHECK_EQ(tokenizer->piece(0), "<s>");
    CHECK_EQ(tokenizer->piece(1), "</s>");
    CHECK_EQ(tokenizer->piece(Vocabulary::byte_id('A')), "A");
    CHECK_EQ(tokenizer->piece(Vocabulary::byte_id(',')), ",");
    CHECK_EQ(tokenizer->piece(Vocabulary::byte_id(' ')), "\xE2\x96\x81");
    CHECK_EQ(tokenizer->piece(Vocabulary::byte_id(0)), "<0x00>");
    CHECK_EQ(tokenizer->piece(Vocabulary::byte_id(0x7F)), "<0x7F>");
    CHECK_EQ(tokenizer->piece(Vocabulary::byte_id(0x80)), "<0x80>");
    CHECK_EQ(tokenizer->piece(Vocabulary::byte_id(0xFF)), "<0xFF>");
    CHECK_EQ(tokenizer->piece(encode(*tokenizer, "low")[0]), "\xE2\x96\x81low");
    CHECK_EQ(tokenizer->piece(encode(*tokenizer, "low\n\nlow")[1]), "<0x0A><0x0A>");
    CHECK_EQ(std::string(tokenizer->piece_bytes(0)), "");
}

XF_TEST(invalid_characters_from_a_model_are_replaced) {
    const std::vector<int32_t> ids = {Vocabulary::byte_id(0xC3), Vocabulary::byte_id('x')};
    CHECK_EQ(decode(*train(low_corpus()), ids), "\xEF\xBF\xBDx");
    TokenizerOptions options;
    options.normalization = Normalization::kNone;
    CHECK_EQ(decode(*train(low_corpus(), options), ids), "\xC3x");
}

XF_TEST(invalid_text_reports_its_position_and_keeps_the_ids) {
    const auto tokenizer = train(low_corpus());
    std::vector<int32_t> ids = {1, 2, 3};
    CHECK_FAILS(tokenizer->encode("low \xFF", &ids), XF_ERROR_DATA);
    CHECK_EQ(ids.size(), 3u);
    CHECK_REFUSED(train({"fine", "", "ab\xC3"}), XF_ERROR_DATA,
                  "line 3: invalid UTF-8 at byte 2 (0xC3), expected valid text");
    TokenizerOptions options;
    options.invalid_utf8 = InvalidUtf8::kReplace;
    const auto lenient = train({"fine \xFF"}, options);
    CHECK_EQ(decode(*lenient, encode(*lenient, "a\xE2\x82 b")), "a\xEF\xBF\xBD b");
}

XF_TEST(options_have_bounds) {
    const auto with = [](const auto &change) {
        TokenizerOptions options;
        change(&options);
        return train({"text"}, options);
    };
    CHECK_EQ(with([](auto *o) { o->vocab_size = 258; })->size(), 258);
    CHECK_FAILS(with([](auto *o) { o->vocab_size = 257; }), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(with([](auto *o) { o->vocab_size = Vocabulary::kMaxSize + 1; }), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(with([](auto *o) { o->vocab_size = INT64_MIN; }), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(with([](auto *o) { o->min_pair_count = 0; }), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(with([](auto *o) { o->character_coverage = 1.5; }), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(with([](auto *o) { o->character_coverage = std::nan(""); }), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(train({}), XF_ERROR_DATA);
    CHECK_FAILS(train({"", ""}), XF_ERROR_DATA);
}

// Receives the progress of a call and cancels the call at the nth report.
struct Listener {
    xf::CancelSource source;
    int64_t last = -1, total = -1;
    static int32_t receive(void *user, const xf_progress *progress) {
        auto *self = static_cast<Listener *>(user);
        CHECK(std::string(progress->task) == "tokenizer" && progress->done >= self->last &&
              progress->done <= progress->total);
        self->last = progress->done;
        self->total = progress->total;
        return 0;
    }
};

XF_TEST(training_can_be_cancelled) {
    for (const bool reading : {true, false}) {  // while reading lines, while learning
        xf::CancelSource source;
        const xf::Call call(source, XF_CALL_INIT);
        int64_t lines = 0;
        const LineSource many = [&](std::string_view *line) {
            *line = "low low";
            if (++lines == 3000 && reading) source.cancel();
            if (lines == 5000 && !reading) source.cancel();
            return lines < 5000;
        };
        CHECK_FAILS(WordTokenizer::train({}, many, call), XF_ERROR_CANCELLED);
        CHECK(reading ? lines < 4500 : lines == 5000);
    }
}

XF_TEST(training_reports_progress) {
    Listener listener;
    const xf_call params{sizeof params, nullptr, 0, Listener::receive, &listener};
    const xf::Call call(listener.source, params);
    uint32_t seed = 1;
    std::string line;
    int64_t lines = 0;
    const LineSource random = [&](std::string_view *next) {
        line.clear();
        for (int i = 0; i < 60; ++i)
            line += static_cast<char>((seed = seed * 1664525u + 1013904223u) >> 24 < 40 ? ' ' : 'a' + (seed >> 28));
        *next = line;
        return ++lines < 20000;
    };
    TokenizerOptions options;
    options.vocab_size = 3000;
    const auto tokenizer = WordTokenizer::train(options, random, call);
    CHECK_EQ(listener.total, 3000);
    CHECK_EQ(listener.last, listener.total);  // it took more than a tenth of a second
}

XF_TEST(options_are_read_where_they_are_used) {
    xf::Options options;
    options.set("tokenizer.kind", "wordpiece");
    options.set_i64("tokenizer.vocab_size", 500);
    options.set("tokenizer.normalization", "nfc");
    options.set("tokenizer.invalid_utf8", "replace");
    options.set_f64("tokenizer.character_coverage", 0.5);
    const TokenizerOptions read = TokenizerOptions::from(options);
    CHECK(read.kind == TokenizerKind::kWordPiece);
    CHECK_EQ(read.vocab_size, 500);
    CHECK(read.normalization == Normalization::kNfc);
    CHECK(read.invalid_utf8 == InvalidUtf8::kReplace);
    CHECK_EQ(read.min_pair_count, 2);
    CHECK_EQ(read.character_coverage, 0.5);
    CHECK(TokenizerOptions::from(xf::Options()).kind == TokenizerKind::kBpe);
}

XF_TEST(many_threads_share_one_tokenizer) {
    const auto tokenizer = train(mixed_corpus());
    const std::vector<std::string> texts = mixed_corpus();
    std::vector<std::vector<int32_t>> alone;
    for (const std::string &text : texts) alone.push_back(encode(*tokenizer, text));
    std::vector<int> wrong(4, 0);
    std::vector<std::thread> threads;
    for (int &mine : wrong) {
        threads.emplace_back([&] {
            for (size_t i = 0; i < texts.size(); ++i) mine += encode(*tokenizer, texts[i]) != alone[i];
        });
    }
    for (std::thread &thread : threads) thread.join();
    for (const int mine : wrong) CHECK_EQ(mine, 0);
}

XF_TEST(splits_by_its_rules) {
    CHECK_EQ(joined(" the cat"), " the| cat");
    CHECK_EQ(joined("a  b   c"), "a| | b|  | c");
    CHECK_EQ(joined("a  \n b\t c \n"), "a|  \n| b|\t| c| \n");
    CHECK_EQ(joined("  "), "  ");
    CHECK_EQ(joined(" (don't!)"), " (|don't|!)");
    CHECK_EQ(joined("'a' l'homme rock'n'roll' it\xE2\x80\x99s"), "'|a|'| l'homme| rock'n'roll|'| it\xE2\x80\x99s");
    CHECK_EQ(joined(" 1997 x2y"), " 1|9|9|7| x|2|y");
    CHECK_EQ(joined("\xCC\x88x nai\xCC\x88ve"), "\xCC\x88x| nai\xCC\x88ve");
    CHECK_EQ(joined("a\u00a0b"), "a|\u00a0|b");
    CHECK_EQ(joined("!\xFF\xC3?"), "!\xFF\xC3?");
    CHECK(split("").empty());
}

XF_TEST(splitting_is_lossless_and_bounds_words) {
    std::mt19937 random(2);
    std::vector<std::string> texts = nasty_texts();
    for (int i = 0; i < 500; ++i) texts.push_back(random_unicode(&random, 1 + i % 60));
    for (int i = 0; i < 500; ++i) texts.push_back(random_bytes(&random, 1 + i % 60));
    for (const char *unit :
         {"a", " ", "\xC3\xA4", "!", "\n", " a'", "\xF0\x9F\x98\x80", "7\xCC\x88", "\xCC\x88", "\xFF"}) {
        std::string text;
        while (text.size() < 5000) text += unit;
        texts.push_back(text + " end");
    }
    for (const std::string &text : texts) {
        std::string all;
        for (const std::string &word : split(text)) {
            CHECK(!word.empty() && word.size() <= WordSplitter::kMaxWordBytes + 8);
            all += word;
        }
        CHECK(all == text);
    }
}
