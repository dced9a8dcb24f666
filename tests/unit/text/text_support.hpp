// Texts for the tests of lib/text, both difficult cases and pseudo-random ones, and corrupted files.
//
// std::mt19937 is fully specified, but the standard distributions are not; therefore they are not used.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>
#include <random>

#include "core/error.h"
#include "core/utf8.h"
#include "support/test.hpp"
#include "text/sentencepiece/tokenizer.h"
#include "text/words/tokenizer.h"
#include "text/words/train.h"
#include "text/words/unigram.h"

namespace xf_test {

using namespace std::string_view_literals;

using Pieces = std::vector<std::string>;

inline xf::WordCounts count_words(const std::vector<std::string> &lines) {
    xf::WordCounts words;
    std::string_view word;
    for (const std::string &line : lines)
        for (xf::WordSplitter splitter(line); splitter.next(&word);) words.add(word);
    return words;
}

inline std::vector<std::string> nasty_texts() {
    // clang-format off
    static constexpr std::string_view kTexts[] = {
        // White space, controls, and NUL
        "", " ", "  ", "   ", "a", " a", "a ", "  a  b   c  ", "\t", "\n", "a\nb", "\r\n\r\n", " \n a\t\tb \n", "\n ",
        "\t a", "a\0b"sv, "\0"sv, "\0\0 \0"sv, "a\u00a0b\u3000c\u2028d\u0085", "...?!---===\x7F\x1B",
        // Spellings of special tokens and of the space symbol
        "\u2581", " \u2581x \u2581 ", "<s>", "</s> <s>", "<0x41>",
        // Apostrophes and digits
        "don't l'homme 'quoted' rock'n'roll'", "it\u2019s", "1997, 3.14 and 10,000", "\uff11\uff12 \ufb01n \u00bd",
        // Marks, other scripts, and the edges of Unicode
        "na\u00efve nai\u0308ve", "\u0308", " \u0308x", "x\u0316\u0301\u0316", "\U0001f469\u200d\U0001f4bb!",
        "\ud55c\uae00 \u1112\u1161\u11ab", "\u4e2d\u6587\u3002", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629",
        "\ufeffbom", "\ufdfa", "\ufffd\ufffe\uffff", "\U0010ffff"};
    // clang-format on
    return {std::begin(kTexts), std::end(kTexts)};
}

// Scalar values of all kinds: ASCII, white space, marks, compatibility forms, and others.
inline std::string random_unicode(std::mt19937 *random, size_t length) {
    static constexpr struct {
        uint32_t first, count;
    } kRanges[] = {{' ', 1},        {0, 0x80},       {'a', 6},        {0x80, 0x280}, {0x300, 0x70},
                   {0x2000, 0x200}, {0x1100, 0x100}, {0xF900, 0x600}, {0, 0x3000},   {0, 0x110000}};
    std::string text;
    for (size_t i = 0; i < length; ++i) {
        const auto below = [&](uint32_t n) { return static_cast<uint32_t>((*random)() % n); };
        const auto &[first, count] = kRanges[below(10)];
        uint32_t c = first + (count > 1 ? below(count) : 0);
        if (c >= 0xD800 && c <= 0xDFFF) c -= 0x800;
        xf::append_utf8(c, &text);
    }
    return text;
}

inline std::string random_bytes(std::mt19937 *random, size_t length) {
    std::string bytes(length, '\0');
    for (char &c : bytes) c = static_cast<char>(static_cast<unsigned char>((*random)() & 0xFF));
    return bytes;
}

inline std::shared_ptr<const xf::WordTokenizer> train(const std::vector<std::string> &lines,
                                                      const xf::TokenizerOptions &options = {}) {
    size_t next = 0;
    const xf::LineSource source = [&](std::string_view *line) {
        if (next == lines.size()) return false;
        *line = lines[next++];
        return true;
    };
    return xf::WordTokenizer::train(options, source, {});
}

// The example of Sennrich et al. 2016, figure 1. bpe_test.cpp computes its merges by hand.
inline std::vector<std::string> low_corpus() {
    return {"low low low low low", "lower lower", "newest newest newest newest newest newest", "widest widest widest"};
}

inline std::vector<int32_t> encode(const xf::Tokenizer &tokenizer, std::string_view text) {
    std::vector<int32_t> ids;
    tokenizer.encode(text, &ids);
    return ids;
}

inline std::string decode(const xf::Tokenizer &tokenizer, const std::vector<int32_t> &ids) {
    return tokenizer.decode(ids.data(), ids.size());
}

// The names of the ids, joined by bars.
template <class Name>
std::string joined(const std::vector<int32_t> &ids, Name name) {
    std::string text;
    for (const int32_t id : ids) text += (text.empty() ? "" : "|") + name(id);
    return text;
}

using Scores = std::vector<std::pair<std::string, float>>;

// A table of these pieces; other single bytes have the score `rest`.
inline xf::WordTable unigram_table(const Scores &pieces, float rest) {
    xf::WordTable table;
    table.scores.assign(xf::UnigramModel::kAscii, rest);
    for (const auto &[piece, score] : pieces) {
        if (piece.size() == 1) {
            table.scores[static_cast<size_t>(piece[0])] = score;
            continue;
        }
        table.pieces.push_back(piece);
        table.scores.push_back(score);
    }
    return table;
}

// A SentencePiece table of "<unk>", and these pieces; those in angle brackets are user-defined symbols.
inline xf::SentencePieceTable sentencepiece_table(xf::SentencePieceTable::Kind kind, const Scores &pieces) {
    xf::SentencePieceTable table;
    table.kind = kind;
    table.add_dummy_prefix = false;
    const auto add = [&](const std::string &text, float score, xf::PieceType type) {
        table.pieces.add(text);
        table.scores.push_back(score);
        table.types.push_back(type);
    };
    add("<unk>", 0, xf::PieceType::kUnknown);
    for (const auto &[text, score] : pieces)
        add(text, score, text[0] == '<' ? xf::PieceType::kUserDefined : xf::PieceType::kNormal);
    return table;
}

#ifdef XF_MODELS_FOLDER
inline constexpr const char *kModels[] = {"unigram", "unigram-symbols", "unigram-suffix", "bpe", "bpe-symbols"};

// A file of tests/surfaces/convert/models.
inline std::string model_file(const std::string &name) {
    std::ifstream file(std::string(XF_MODELS_FOLDER "/") + name, std::ios::binary);
    CHECK(file.good());
    return {std::istreambuf_iterator<char>(file), {}};
}

inline std::shared_ptr<const xf::Tokenizer> model(const std::string &name) {
    return xf::Tokenizer::parse(model_file(name + ".json"));
}
#endif

// Checks that a file that is truncated anywhere, or extended, is rejected.
inline void check_cut_or_longer_is_refused(const std::string &json) {
    for (size_t size = 0; size < json.size(); ++size)
        CHECK_FAILS(xf::Tokenizer::parse(std::string_view(json).substr(0, size)), XF_ERROR_CORRUPT);
    for (const char *tail : {"x", "{}", ",", "]"}) CHECK_FAILS(xf::Tokenizer::parse(json + tail), XF_ERROR_CORRUPT);
    CHECK_FAILS(xf::Tokenizer::parse(json + '\0'), XF_ERROR_CORRUPT);
}

// Checks that a file with one changed bit is either rejected or gives a tokenizer that can be written and that
// use(tokenizer) accepts. Skips the bits for which skip() returns true; returns the number of rejected files.
template <class Skip, class Use>
int flip_each_bit(const std::string &json, Skip skip, Use use) {
    int refused = 0;
    for (size_t bit = 0; bit < json.size() * 8; ++bit) {
        if (skip(bit)) continue;
        std::string damaged = json;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
        const xf_status status =
            outcome_of([&] {
                const auto tokenizer = xf::Tokenizer::parse(damaged);
                CHECK_EQ(xf::Tokenizer::parse(tokenizer->serialize())->serialize(), tokenizer->serialize());
                use(*tokenizer);
            }).status;
        CHECK(status == XF_OK || status == XF_ERROR_CORRUPT || status == XF_ERROR_LIMIT || status == XF_ERROR_VERSION);
        refused += status != XF_OK;
    }
    return refused;
}

}  // namespace xf_test
