// Compares unigram with its definition: the best of all segmentations of a word, and expected counts by enumeration.
// Also checks that training reduces the number of bits for a text below that of the most frequent seeds.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/unigram.h"

#include "support/test.hpp"
#include "text/words/train.h"
#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

TokenizerOptions unigram(int64_t vocab_size) {
    TokenizerOptions options;
    options.kind = TokenizerKind::kUnigram;
    options.vocab_size = vocab_size;
    options.character_coverage = 1;
    return options;
}

WordTable table_of(const Scores &pieces) { return unigram_table(pieces, -9.f); }

// Words made of a few stems and endings.
Pieces stems_and_endings(uint32_t seed, size_t count) {
    std::mt19937 random(seed);
    Pieces lines;
    const char *const stems[] = {"walk", "jump", "tast", "lov", "hop", "view", "print", "fast"};
    const char *const endings[] = {"ing", "ed", "er", "es", ""};
    for (size_t i = 0; i < count; ++i) {
        if (i % 12 == 0) lines.emplace_back();
        if (!lines.back().empty()) lines.back() += ' ';
        lines.back() += stems[random() % 8];
        lines.back() += endings[random() % 5];
    }
    return lines;
}

double bits_of(const WordTokenizer &tokenizer, const Pieces &lines) {
    std::map<int32_t, double> counts;
    double total = 0, bits = 0;
    for (const std::string &line : lines)
        for (const int32_t id : encode(tokenizer, line)) counts[id] += 1, total += 1;
    for (const auto &[id, count] : counts) bits -= count * std::log2(count / total);
    return bits;
}

}  // namespace

XF_TEST(a_word_has_the_best_of_all_segmentations) {
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round) {
        Scores pieces;
        for (const char *piece : {"a", "b", "c", "ab", "ba", "aab", "abb", "bbb", "abab", "cc"})
            if (random() % 3 != 0) pieces.emplace_back(piece, -0.125f * static_cast<float>(1 + random() % 64));
        const UnigramModel model(table_of(pieces));
        std::string word;
        for (size_t n = 1 + random() % 14; word.size() < n;) word += "abc"[random() % 3];
        const auto score = [&](std::string_view piece) {
            const int32_t id = model.vocabulary().find(piece);
            if (id < 0) return -1e9f;
            return model.table().scores[static_cast<size_t>(id < 130 ? id - 2 : id - 130)];
        };
        std::vector<float> best(word.size() + 1, -1e9f);
        best[0] = 0;
        for (size_t i = 0; i < word.size(); ++i)
            for (size_t size = 1; i + size <= word.size(); ++size)
                best[i + size] = std::max(best[i + size], best[i] + score(word.substr(i, size)));
        std::vector<int32_t> ids;
        EncodeScratch scratch;
        model.encode(WordSplitter(word), &ids, &scratch, nullptr);
        float sum = 0;
        std::string joined;
        for (const int32_t id : ids) {
            sum += score(model.vocabulary().bytes(id));
            joined += model.vocabulary().bytes(id);
        }
        CHECK_EQ(joined, word);
        CHECK_EQ(sum, best[word.size()]);
    }
}

XF_TEST(text_without_a_piece_is_encoded_as_bytes) {
    WordTable table = table_of({{"a", -1.f}});
    table.characters = {0xE4};
    table.scores.insert(table.scores.begin() + UnigramModel::kAscii, -2.f);
    const UnigramModel model(table);
    std::vector<int32_t> ids;
    EncodeScratch scratch;
    model.encode(WordSplitter("a\xC3\xA4\xC3\xB6\xFF"), &ids, &scratch, nullptr);
    CHECK(ids == (std::vector<int32_t>{Vocabulary::byte_id('a'), 258, Vocabulary::byte_id(0xC3),
                                       Vocabulary::byte_id(0xB6), Vocabulary::byte_id(0xFF)}));
    CHECK_FAILS(UnigramModel(WordTable{}), XF_ERROR_CORRUPT);
    CHECK_FAILS(UnigramModel(table_of({{"ab", std::nanf("")}})), XF_ERROR_CORRUPT);
    CHECK_FAILS(UnigramModel(table_of({{"ab", -2e6f}})), XF_ERROR_CORRUPT);
    CHECK_FAILS(UnigramModel(table_of({{"\xC3\xA4", 0.f}})), XF_ERROR_CORRUPT);
}

// Each string of 2 to 16 characters inside a word, counted by hand.
XF_TEST(seeds_are_the_frequent_strings) {
    std::mt19937 random(12);
    Pieces words;
    for (int i = 0; i < 60; ++i) {
        std::string word;
        for (size_t n = 1 + random() % 20; word.size() < n;)
            word += random() % 9 == 0 ? "\xC3\xA4" : random() % 2 ? "a" : "b";
        words.push_back(word);
    }
    std::map<std::string, int64_t> counts;
    for (const std::string &word : words) {
        std::vector<size_t> starts;
        for (size_t i = 0; i < word.size(); i += decode_utf8(word, i).size) starts.push_back(i);
        starts.push_back(word.size());
        for (size_t i = 0; i + 1 < starts.size(); ++i)
            for (size_t j = i + 2; j < starts.size() && j <= i + 16; ++j)
                if (starts.back() <= 32) ++counts[word.substr(starts[i], starts[j] - starts[i])];
    }
    WordCounts counted;
    for (const std::string &word : words)
        if (word.size() <= 32) counted.add(word);
    const UnigramText text(counted, Call());
    const auto seeds = find_seeds(text, {0xE4}, 3, 100000, Call());
    for (const UnigramSeed &seed : seeds) {
        CHECK_EQ(counts[std::string(seed.text)], seed.count);
        CHECK_EQ(std::count_if(seed.text.begin(), seed.text.end(), [](char c) { return (c & 0xC0) != 0x80; }),
                 std::ptrdiff_t{seed.characters});
    }
    CHECK_EQ(seeds.size(), static_cast<size_t>(std::count_if(counts.begin(), counts.end(),
                                                             [](const auto &c) { return c.second >= 3; })));
    for (const UnigramSeed &seed : find_seeds(text, {}, 3, 100000, Call()))
        CHECK(seed.text.find('\xC3') == std::string_view::npos);
    CHECK_EQ(find_seeds(text, {0xE4}, 3, 5, Call()).size(), size_t{5});
}

XF_TEST(stems_are_detected) {
    const Pieces lines = stems_and_endings(1, 4000);
    const auto tokenizer = train(lines, unigram(258 + 12));
    CHECK_EQ(tokenizer->size(), 270);
    Pieces names;
    for (int32_t id = 258; id < 270; ++id) names.push_back(tokenizer->piece(id));
    for (const char *stem : {"walk", "jump", "tast", "lov", "hop", "view", "print", "fast"})
        CHECK(std::count(names.begin(), names.end(), "\xE2\x96\x81" + std::string(stem)) == 1);
    // In the order of their probabilities, which the scores are.
    const WordTable table = train_unigram(count_words(lines), {300, 2, 1.0});
    double sum = 0;
    for (const float score : table.scores) sum += std::exp(static_cast<double>(score));
    CHECK_NEAR(sum, 1, 1e-5);
    CHECK(std::is_sorted(table.scores.begin() + UnigramModel::kAscii, table.scores.end(), std::greater<>()));
}

// The equations are symmetric in direction, so mirrored words give mirrored pieces with the same probabilities.
XF_TEST(mirrored_words_give_mirrored_pieces) {
    const auto mirrored = [](const std::string &text) { return std::string(text.rbegin(), text.rend()); };
    std::mt19937 random(21);
    WordCounts words, others;
    for (int i = 0; i < 500; ++i) {
        std::string word;
        for (size_t n = 2 + random() % 8; word.size() < n;) word += "aabc"[random() % 4];
        words.add(word);
        others.add(mirrored(word));
    }
    // Large enough for all pieces; otherwise ties would be resolved by bytes.
    const BpeTrainOptions options{20000, 2, 1.0};
    const WordTable table = train_unigram(words, options), other = train_unigram(others, options);
    CHECK(table.pieces.size() > 200 && table.pieces.size() == other.pieces.size());
    for (size_t i = 0; i < UnigramModel::kAscii; ++i) CHECK_NEAR(table.scores[i], other.scores[i], 1e-3);
    std::map<std::string_view, float> scores;
    for (size_t i = 0; i < other.pieces.size(); ++i) scores[other.pieces[i]] = other.scores[UnigramModel::kAscii + i];
    for (size_t i = 0; i < table.pieces.size(); ++i) {
        const auto found = scores.find(mirrored(std::string(table.pieces[i])));
        CHECK(found != scores.end());
        if (found != scores.end()) CHECK_NEAR(table.scores[UnigramModel::kAscii + i], found->second, 1e-3);
    }
}

// A character that is too rare to be a piece splits its word; the other parts count as usual.
XF_TEST(words_with_rare_characters_count) {
    Pieces lines;
    for (int i = 0; i < 64; ++i)
        lines.push_back(std::string("walk\xE4\xB8") + static_cast<char>(0x80 + i) + "ing walk\xE4\xB9" +
                        static_cast<char>(0x80 + i) + "ing");
    TokenizerOptions options = unigram(258 + 2);
    options.character_coverage = 0;
    const auto tokenizer = train(lines, options);
    CHECK_EQ(tokenizer->size(), 260);
    CHECK_EQ(tokenizer->piece(258), std::string("ing"));
    CHECK_EQ(tokenizer->piece(259), std::string("\xE2\x96\x81walk"));
}

XF_TEST(a_text_needs_fewer_bits_than_with_wordpiece) {
    const Pieces lines = stems_and_endings(2, 4000);
    for (const int64_t size : {264, 270, 280}) {
        TokenizerOptions other = unigram(size);
        other.kind = TokenizerKind::kWordPiece;
        CHECK(bits_of(*train(lines, unigram(size)), lines) <= bits_of(*train(lines, other), lines) * 1.001);
    }
}

XF_TEST(sizes_at_the_edge) {
    CHECK_EQ(train({"a"}, unigram(258))->size(), 258);
    CHECK_EQ(train({"a"}, unigram(1 << 20))->size(), 258);
    TokenizerOptions bytes = unigram(300);
    bytes.normalization = Normalization::kNone;
    CHECK_EQ(train({"\xFF"}, bytes)->size(), 258);
    CHECK_EQ(train(stems_and_endings(3, 400), unigram(259))->size(), 259);
}
