// Texts for the tests of lib/text, both difficult cases and pseudo-random ones, and corrupted files.
//
// std::mt19937 is fully specified, but the standard distributions are not; therefore they are not used.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>

#include "core/error.h"
#include "core/utf8.h"
#include "support/test.hpp"
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
    static constexpr std::string_view kTexts[] = {""sv,
                                                  " "sv,
                                                  "  "sv,
                                                  "   "sv,
                                                  "a"sv,
                                                  " a"sv,
                                                  "a "sv,
                                                  "  a  b   c  "sv,
                                                  "\t"sv,
                                                  "\n"sv,
                                                  "a\nb"sv,
                                                  "\r\n\r\n"sv,
                                                  " \n a\t\tb \n"sv,
                                                  "\n "sv,
                                                  "\t a"sv,
                                                  "a\0b"sv,
                                                  "\0"sv,
                                                  "\0\0 \0"sv,
                                                  "\xE2\x96\x81"sv,
                                                  " \xE2\x96\x81x \xE2\x96\x81 "sv,
                                                  "<s>"sv,
                                                  "</s> <s>"sv,
                                                  "<0x41>"sv,
                                                  "don't l'homme 'quoted' rock'n'roll'"sv,
                                                  "it\xE2\x80\x99s"sv,
                                                  "1997, 3.14 and 10,000"sv,
                                                  "\xEF\xBC\x91\xEF\xBC\x92 \xEF\xAC\x81n \xC2\xBD"sv,
                                                  "a\xC2\xA0"sv
                                                  "b\xE3\x80\x80"sv
                                                  "c\xE2\x80\xA8"sv
                                                  "d\xC2\x85"sv,
                                                  "na\xC3\xAFve nai\xCC\x88ve"sv,
                                                  "\xCC\x88"sv,
                                                  " \xCC\x88x"sv,
                                                  "x\xCC\x96\xCC\x81\xCC\x96"sv,
                                                  "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB!"sv,
                                                  "\xED\x95\x9C\xEA\xB8\x80 \xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB"sv,
                                                  "\xE4\xB8\xAD\xE6\x96\x87\xE3\x80\x82"sv,
                                                  "\xD8\xA7\xD9\x84\xD8\xB9\xD8\xB1\xD8\xA8\xD9\x8A\xD8\xA9"sv,
                                                  "\xEF\xBB\xBF"sv
                                                  "bom"sv,
                                                  "\xEF\xB7\xBA"sv,
                                                  "\xEF\xBF\xBD\xEF\xBF\xBE\xEF\xBF\xBF"sv,
                                                  "\xF4\x8F\xBF\xBF"sv,
                                                  "...?!---===\x7F\x1B"sv};
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

// Training is the same for reversed lines, and texts and bytes survive encoding.
inline void check_round_trips(std::vector<std::string> lines, const xf::TokenizerOptions &options,
                              const xf::Tokenizer &tokenizer, std::mt19937 *random) {
    for (const std::string &line : lines) CHECK_EQ(decode(tokenizer, encode(tokenizer, line)), line);
    for (int i = 0; i < 300; ++i) {
        const std::string bytes = random_bytes(random, 40);
        CHECK_EQ(decode(tokenizer, encode(tokenizer, bytes)), bytes);
    }
    std::reverse(lines.begin(), lines.end());
    CHECK_EQ(train(lines, options)->serialize(), tokenizer.serialize());
}

// Replacements of a part of a file, each of which makes it corrupt.
struct Changes {
    const char *from;
    std::vector<const char *> to;
};

// Replaces the first occurrence of `from`, which must exist.
inline std::string replaced(std::string text, const std::string &from, const std::string &to) {
    const size_t at = text.find(from);
    CHECK(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

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
