// Compares WordPiece with its definition: the longest match by trying every length, and the gain of a merge by
// recounting the text. Also checks that training reduces the number of bits for a text.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/wordpiece.h"

#include "support/test.hpp"
#include "text/words/train.h"
#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

// Segments a word by trying every length, longest first.
std::vector<int32_t> slow_encode(const Vocabulary &vocabulary, std::string_view word) {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < word.size();) {
        size_t size = word.size() - i;
        while (size > 0 && (vocabulary.find(word.substr(i, size)) < 0 ||
                            Vocabulary::is_fallback(vocabulary.find(word.substr(i, size)))))
            --size;
        if (size == 0) {
            ids.push_back(Vocabulary::byte_id(static_cast<unsigned char>(word[i])));
            size = 1;
        } else {
            ids.push_back(vocabulary.find(word.substr(i, size)));
        }
        i += size;
    }
    return ids;
}

// Of a text whose pieces are drawn by their counts.
double log_likelihood(const std::map<std::string, double> &counts) {
    double sum = 0, likelihood = 0;
    for (const auto &[piece, count] : counts) sum += count;
    for (const auto &[piece, count] : counts)
        if (count > 0) likelihood += count * std::log(count / sum);
    return likelihood;
}

// The first piece by the definition: merges each adjacent pair everywhere and compares the likelihoods.
std::string best_first_piece(const Pieces &words) {
    std::map<std::string, double> counts;
    std::map<std::pair<std::string, std::string>, double> pairs;
    for (const std::string &word : words)
        for (size_t i = 0; i < word.size(); ++i) {
            counts[word.substr(i, 1)] += 1;
            if (i + 1 < word.size()) pairs[{word.substr(i, 1), word.substr(i + 1, 1)}] += 1;
        }
    double best = -HUGE_VAL;
    std::string piece;
    for (const auto &[pair, count] : pairs) {
        std::map<std::string, double> merged = counts;
        merged[pair.first] -= count;
        merged[pair.second] -= count;
        merged[pair.first + pair.second] += count;
        const double gain = log_likelihood(merged) - log_likelihood(counts);
        if (gain > best + 1e-9) best = gain, piece = pair.first + pair.second;
    }
    return piece;
}

TokenizerOptions wordpiece(int64_t vocab_size) {
    TokenizerOptions options;
    options.kind = TokenizerKind::kWordPiece;
    options.vocab_size = vocab_size;
    options.min_pair_count = 1;
    options.character_coverage = 1;
    return options;
}

Pieces random_words(uint32_t seed, size_t count) {
    std::mt19937 random(seed);
    Pieces words;
    for (size_t i = 0; i < count; ++i) {
        std::string word;
        // No letter occurs twice in a row, so every occurrence of a pair can be merged.
        for (size_t n = 2 + random() % 6; word.size() < n;)
            if (const char c = static_cast<char>('a' + random() % 7 * (random() % 3) / 2);
                word.empty() || word.back() != c)
                word += c;
        words.push_back(word);
    }
    return words;
}

}  // namespace

XF_TEST(the_first_piece_raises_the_likelihood_most) {
    for (uint32_t seed = 1; seed <= 30; ++seed) {
        const Pieces words = random_words(seed, 20 + seed * 7);
        const WordTable table = train_wordpiece(count_words(words), {259, 1, 1.0}, {});
        CHECK_EQ(table.pieces.size(), size_t{1});
        CHECK_EQ(table.pieces[0], best_first_piece(words));
    }
}

// "q" is always followed by "u". "ea" is more frequent, but "e" and "a" occur everywhere.
XF_TEST(likelihood_is_not_frequency) {
    Pieces words;
    for (int i = 0; i < 40; ++i) words.insert(words.end(), {"ea", "ae", "eb", "be", "ab", "ba", "ea"});
    for (int i = 0; i < 60; ++i) words.push_back("qu");
    const WordTable table = train_wordpiece(count_words(words), {259, 1, 1.0}, {});
    CHECK_EQ(table.pieces[0], "qu");
    CHECK_EQ(train_bpe(count_words(words), {259, 1, 1.0}, {}).merges.at(0).left, Vocabulary::byte_id('e'));
}

XF_TEST(words_are_segmented_by_the_longest_piece) {
    const WordPieceModel model({{0xE4}, {}, {" un", "aff", "able", "affa", "ab", "\xC3\xA4h", "fa", " u"}});
    const auto encode_word = [&](std::string_view word) {
        std::vector<int32_t> ids;
        EncodeScratch scratch;
        model.encode(WordSplitter(word), &ids, &scratch, nullptr);
        Pieces pieces;
        for (const int32_t id : ids) pieces.emplace_back(model.vocabulary().bytes(id));
        return pieces;
    };
    CHECK((encode_word(" unaffable") == Pieces{" un", "affa", "b", "l", "e"}));  // greedy: not "aff", "able"
    CHECK((encode_word(" u") == Pieces{" u"}));
    CHECK((encode_word("affable") == Pieces{"affa", "b", "l", "e"}));
    CHECK((encode_word("\xC3\xA4hn\xC3\xA4\xC3\xB6") == Pieces{"\xC3\xA4h", "n", "\xC3\xA4", "\xC3", "\xB6"}));
    std::mt19937 random(4);
    for (int i = 0; i < 2000; ++i) {
        std::string word(random() % 2, ' ');
        for (size_t n = 2 + random() % 12; word.size() < n;) word += "unafblef"[random() % 8];
        std::vector<int32_t> ids;
        EncodeScratch scratch;
        model.encode(WordSplitter(word), &ids, &scratch, nullptr);
        CHECK(ids == slow_encode(model.vocabulary(), word));
    }
}

// More pieces give fewer tokens and never increase the number of bits for the text.
XF_TEST(more_pieces_make_a_text_shorter) {
    Pieces lines;
    for (const std::string &word : random_words(77, 3000)) {
        if (lines.empty() || lines.back().size() > 60) lines.emplace_back();
        if (!lines.back().empty()) lines.back() += ' ';
        lines.back() += word;
    }
    size_t before = SIZE_MAX;
    for (const int64_t size : {258, 270, 300, 400, 700}) {
        const auto tokenizer = train(lines, wordpiece(size));
        size_t tokens = 0;
        for (const std::string &line : lines) tokens += encode(*tokenizer, line).size();
        CHECK(tokens < before);
        before = tokens;
    }
}

// The cost of a hostile vocabulary and of an endless word is proportional to their sizes.
XF_TEST(long_pieces_take_bounded_time) {
    WordTable table;
    for (size_t size = 2; size <= 256; ++size) table.pieces.push_back(std::string(size, 'a'));
    const WordPieceModel model(table);
    std::vector<int32_t> ids;
    EncodeScratch scratch;
    model.encode(WordSplitter(std::string(1 << 20, 'a')), &ids, &scratch, nullptr);
    CHECK_EQ(ids.size(), size_t{1 << 20} / 256);
    CHECK_FAILS(WordPieceModel({{0x41}, {}}), XF_ERROR_CORRUPT);
    CHECK_FAILS(WordPieceModel({{0xD800}, {}}), XF_ERROR_CORRUPT);
    CHECK_FAILS(WordPieceModel({{}, {}, {"x"}}), XF_ERROR_CORRUPT);
}
