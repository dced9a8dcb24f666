// Compares random segmentation with its definition: the frequencies of all segmentations of short words, computed by
// hand for BPE-dropout and by enumeration for unigram.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"
#include "text/sampling.h"
#include "text/sentencepiece/tokenizer.h"
#include "text/words/bpe.h"
#include "text/words/unigram.h"
#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

using Ids = std::vector<int32_t>;
using Shares = std::map<std::string, double>;  // by the pieces, joined by bars

constexpr int kDraws = 20000;

Shares count(const std::function<std::string(Sampler *)> &draw, const Sampling &how) {
    Shares counts;
    for (int i = 0; i < kDraws; ++i) {
        Sampler sampler(how, 0, static_cast<uint64_t>(i));
        counts[draw(&sampler)] += 1;
    }
    return counts;
}

// Checks that only possible segmentations occur and that Pearson's chi-square is below its 99.99 % quantile.
void check_shares(const Shares &counts, const Shares &expected) {
    double sum = 0, statistic = 0;
    for (const auto &[way, share] : expected) {
        sum += share;
        const auto found = counts.find(way);
        const double seen = found == counts.end() ? 0 : found->second, mean = share * kDraws;
        CHECK(mean > 5 || seen < 20);
        statistic += (seen - mean) * (seen - mean) / mean;
    }
    CHECK_NEAR(sum, 1, 1e-9);
    for (const auto &[way, seen] : counts) {
        CHECK(expected.count(way) == 1);
        (void)seen;
    }
    const auto freedom = static_cast<double>(expected.size() - 1);
    CHECK(statistic <= freedom + 6 * std::sqrt(2 * freedom) + 6);
}

Shares draw_word(const WordModel &words, const std::string &word, const Sampling &how) {
    EncodeScratch scratch;
    return count(
        [&](Sampler *sampler) {
            Ids ids;
            words.encode(WordSplitter(word), &ids, &scratch, sampler);
            return joined(ids, [&](int32_t id) { return std::string(words.vocabulary().bytes(id)); });
        },
        how);
}

Shares draw_text(const Tokenizer &tokenizer, const std::string &text, const Sampling &how) {
    EncodeScratch scratch;
    return count(
        [&](Sampler *sampler) {
            Ids ids;
            tokenizer.encode(text, &ids, &scratch, sampler);
            return joined(ids, [&](int32_t id) { return tokenizer.piece(id); });
        },
        how);
}

// All segmentations of a word with their probabilities, proportional to exp(alpha * score).
Shares all_ways(const std::string &word, const Scores &pieces, double alpha) {
    Shares ways;
    double sum = 0;
    const std::function<void(size_t, const std::string &, double)> go = [&](size_t at, const std::string &cut,
                                                                            double score) {
        if (at == word.size()) sum += ways[cut] = std::exp(alpha * score);
        for (const auto &[piece, more] : pieces)
            if (at < word.size() && word.compare(at, piece.size(), piece) == 0)
                go(at + piece.size(), cut + (cut.empty() ? "" : "|") + piece, score + static_cast<double>(more));
    };
    go(0, "", 0);
    for (auto &[way, share] : ways) share /= sum;
    return ways;
}

const Scores kPieces = {{"a", -2.5f}, {"b", -3.f},   {"c", -1.f},   {"ab", -3.25f},
                        {"ba", -4.f}, {"abc", -5.f}, {"bb", -3.5f}, {"bca", -2.f}};

int32_t byte(char c) { return Vocabulary::byte_id(static_cast<unsigned char>(c)); }

}  // namespace

// Merges bc, ab, a+bc. "abc": bc stays with q = 1 - p, and then a+bc with q; else ab with q, after which none is left.
XF_TEST(dropout_of_a_word_matches_a_manual_computation) {
    const BpeModel words({{}, {{byte('b'), byte('c')}, {byte('a'), byte('b')}, {byte('a'), 258}}});
    for (const double p : {0.1, 0.3, 0.8}) {
        const double q = 1 - p;
        check_shares(draw_word(words, "abc", {p, 3}),
                     {{"abc", q * q}, {"a|bc", q * p}, {"ab|c", p * q}, {"a|b|c", p * p}});
    }
}

// Two independent merges, ab before cd. Algorithm 1 draws again at every step, so ab has another chance after cd.
XF_TEST(a_skipped_merge_may_be_applied_in_the_next_step) {
    const BpeModel words({{}, {{byte('a'), byte('b')}, {byte('c'), byte('d')}}});
    const double p = 0.4, q = 1 - p;
    check_shares(draw_word(words, "abcd", {p, 1}),
                 {{"ab|cd", q * q + p * q * q}, {"ab|c|d", q * p}, {"a|b|cd", p * q * p}, {"a|b|c|d", p * p}});
}

// As in the package, a skipped merge remains skipped until an adjacent symbol merges. The text has two segments, split
// between b and c.
XF_TEST(sentencepiece_draws_each_merge_once) {
    const SentencePieceTokenizer tokenizer(sentencepiece_table(
        SentencePieceTable::Kind::kBpe, {{"ab", -1}, {"cd", -2}, {"a", -9}, {"b", -9}, {"c", -9}, {"d", -9}}));
    const double p = 0.4, q = 1 - p;
    check_shares(draw_text(tokenizer, "abcd", {p, 1}),
                 {{"ab|cd", q * q}, {"ab|c|d", q * p}, {"a|b|cd", p * q}, {"a|b|c|d", p * p}});
    // One segment. After bc, the heap entry for ab is out of date but has the same rank as the one for abc, which must
    // not be drawn twice.
    const SentencePieceTokenizer equal(sentencepiece_table(
        SentencePieceTable::Kind::kBpe, {{"bc", -1}, {"ab", -2}, {"abc", -2}, {"a", -9}, {"b", -9}, {"c", -9}}));
    check_shares(draw_text(equal, "abc", {p, 1}),
                 {{"abc", q * q + p * q * q}, {"a|bc", q * p}, {"ab|c", p * q * p}, {"a|b|c", p * p}});
}

XF_TEST(unigram_draws_segmentations_by_their_probability) {
    const UnigramModel words(unigram_table(kPieces, -30.f));
    const SentencePieceTokenizer tokenizer(sentencepiece_table(SentencePieceTable::Kind::kUnigram, kPieces));
    for (const char *word : {"a", "abc", "abbcabab"})
        for (const double alpha : {0.1, 0.5, 1.0}) {
            const Shares expected = all_ways(word, kPieces, alpha);
            check_shares(draw_word(words, word, {alpha, 7}), expected);
            check_shares(draw_text(tokenizer, word, {alpha, 8}), expected);
        }
    CHECK(all_ways("abbcabab", kPieces, 1).size() > 8);
}

// "q" is not a piece, but "qu" and "xq" are. As few characters as possible are unknown or encoded as bytes.
XF_TEST(sampling_falls_back_only_if_necessary) {
    const Scores pieces = {{"u", -2}, {"x", -3}, {"qu", -9}, {"xq", -8}};
    const SentencePieceTokenizer tokenizer(sentencepiece_table(SentencePieceTable::Kind::kUnigram, pieces));
    check_shares(draw_text(tokenizer, "xqu", {0.2, 1}), all_ways("xqu", pieces, 0.2));
    check_shares(draw_text(tokenizer, "uq", {0.2, 1}), {{"u|<unk>", 1}});

    WordTable table = unigram_table(kPieces, -30.f);
    table.pieces.push_back("a\xC3\xA4");
    table.scores.push_back(-20);
    const UnigramModel words(table);
    check_shares(draw_word(words, "a\xC3\xA4", {0.1, 1}), {{"a\xC3\xA4", 1}});
    check_shares(draw_word(words, "\xC3\xA4", {0.1, 1}), {{"\xC3|\xA4", 1}});
}

XF_TEST(user_defined_symbols_are_never_segmented) {
    const Scores pieces = {{"<de>", 0}, {"a", -2}, {"<d", -1}, {"a<", -1}, {"d", -2}, {"e", -2}, {">", -2}, {"aa", -3}};
    for (const auto kind : {SentencePieceTable::Kind::kUnigram, SentencePieceTable::Kind::kBpe}) {
        SentencePieceTable table = sentencepiece_table(kind, pieces);
        table.types[static_cast<size_t>(table.pieces.find("<d"))] = PieceType::kNormal;
        const SentencePieceTokenizer tokenizer(table);
        const Shares counts = draw_text(tokenizer, "aa<de>a<de>", {0.5, 1});
        CHECK_EQ(counts.size(), 2u);
        CHECK(counts.at("aa|<de>|a|<de>") > kDraws / 10);
        CHECK(counts.at("a|a|<de>|a|<de>") > kDraws / 10);
    }
}
