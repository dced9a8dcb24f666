// Compares BPE with merges computed by hand and with a slow trainer and a slow encoder that follow the definition.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/bpe.h"

#include "support/test.hpp"
#include "text/words/train.h"
#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

bool merge_pair(Pieces *pieces, const std::string &left, const std::string &right) {
    bool found = false;
    for (size_t i = 0; i + 1 < pieces->size(); ++i) {
        if ((*pieces)[i] != left || (*pieces)[i + 1] != right) continue;
        (*pieces)[i] += right;
        pieces->erase(pieces->begin() + static_cast<ptrdiff_t>(i) + 1);
        found = true;
    }
    return found;
}

Pieces characters_of(std::string_view word) {
    Pieces pieces;
    for (size_t i = 0; i < word.size(); i += pieces.back().size())
        pieces.emplace_back(word.substr(i, decode_utf8(word, i).size));
    return pieces;
}

// Recounts all pairs for each merge.
std::vector<std::pair<std::string, std::string>> slow_train(const Pieces &lines, size_t max_new, int64_t min_count) {
    std::map<std::string, int64_t> counts;
    std::string_view word;
    for (const std::string &line : lines)
        for (WordSplitter splitter(line); splitter.next(&word);) ++counts[std::string(word)];
    std::vector<std::pair<Pieces, int64_t>> words;
    for (const auto &[text, count] : counts) words.emplace_back(characters_of(text), count);
    std::vector<std::pair<std::string, std::string>> merges;
    std::map<std::string, bool> made;
    while (made.size() < max_new) {
        std::map<std::pair<std::string, std::string>, int64_t> pairs;  // sorted in the order that resolves ties
        for (const auto &[pieces, count] : words)
            for (size_t i = 0; i + 1 < pieces.size(); ++i) pairs[{pieces[i], pieces[i + 1]}] += count;
        const auto best = std::max_element(pairs.begin(), pairs.end(),
                                           [](const auto &a, const auto &b) { return a.second < b.second; });
        if (best == pairs.end() || best->second < min_count) break;
        for (auto &[pieces, count] : words) merge_pair(&pieces, best->first.first, best->first.second);
        made[best->first.first + best->first.second] = true;
        if (std::find(merges.begin(), merges.end(), best->first) == merges.end()) merges.push_back(best->first);
    }
    return merges;
}

// Applies the merge of lowest rank, leftmost first, until none is possible.
Pieces slow_encode(std::string_view word, const std::vector<std::pair<std::string, std::string>> &merges) {
    Pieces pieces = characters_of(word);
    for (bool found = true; found;) {
        found = false;
        for (const auto &[left, right] : merges) {
            for (size_t i = 0; i + 1 < pieces.size() && !found; ++i) {
                if (pieces[i] != left || pieces[i + 1] != right) continue;
                pieces[i] += right;
                pieces.erase(pieces.begin() + static_cast<ptrdiff_t>(i) + 1);
                found = true;
            }
            if (found) break;
        }
    }
    return pieces;
}

// Random words over the alphabet, with an occasional U+00E4. Long words of few letters produce pieces that result from
// two different merges, and pairs of equal pieces that are recorded out of order.
Pieces lines_of(uint32_t seed, int count, std::string_view alphabet = "aabcd", uint32_t longest = 7) {
    std::mt19937 random(seed);
    Pieces lines;
    for (int i = 0; i < count; ++i) {
        std::string line;
        for (int j = 0; j < 12; ++j) {
            line += ' ';
            for (uint32_t n = 1 + random() % longest; n > 0; --n) {
                if (random() % 9 == 0)
                    line += "\xC3\xA4";
                else
                    line += alphabet[random() % alphabet.size()];
            }
        }
        lines.push_back(line);
    }
    return lines;
}

}  // namespace

XF_TEST(learns_the_merges_of_a_manual_computation) {
    // " low" 5, " lower" 2, " newest" 6, " widest" 3. Initially "es" and "st" occur 9 times, "we" 8, " l" "lo" "ow" 7.
    const Pieces expected = {"es",    "est",                       // 9, e before s
                             " l",    " lo",   " low",             // 7, the space before l and o
                             " n",    " ne",   " new", " newest",  // 6; "we" has only 2 left
                             " w",    " wi",   " wid", " widest",  // 3
                             " lowe", " lower"};                   // 2
    const auto tokenizer = train(low_corpus());
    CHECK_EQ(tokenizer->size(), Vocabulary::kFirstPieceId + static_cast<int32_t>(expected.size()));
    for (size_t i = 0; i < expected.size() && static_cast<int32_t>(i) + 258 < tokenizer->size(); ++i)
        CHECK_EQ(std::string(tokenizer->piece_bytes(Vocabulary::kFirstPieceId + static_cast<int32_t>(i))), expected[i]);
    CHECK(encode(*tokenizer, "lowest newer") ==
          (std::vector<int32_t>{262, 259, 265, Vocabulary::byte_id('e'), Vocabulary::byte_id('r')}));
}

XF_TEST(agrees_with_a_slow_trainer_and_encoder) {
    for (uint32_t seed = 1; seed <= 16; ++seed) {
        const std::string_view alphabet = seed % 2 ? "aabcd" : "ab";
        const uint32_t longest = seed % 2 ? 7 : 60;
        const Pieces lines = lines_of(seed, seed % 2 ? 30 : 8, alphabet, longest);
        const int64_t min_count = seed % 3 + 1;
        const auto expected = slow_train(lines, 150, min_count);
        const int64_t size = Vocabulary::kFirstPieceId + 1 + 150;  // one character above U+007F
        const BpeModel model(train_bpe(count_words(lines), {size, min_count, 1.0}, {}));
        CHECK_EQ(model.table().merges.size(), expected.size());
        for (size_t i = 0; i < std::min(expected.size(), model.table().merges.size()); ++i) {
            CHECK_EQ(std::string(model.vocabulary().bytes(model.table().merges[i].left)), expected[i].first);
            CHECK_EQ(std::string(model.vocabulary().bytes(model.table().merges[i].right)), expected[i].second);
        }
        for (const std::string &line : lines_of(seed + 100, 10, alphabet, longest)) {
            std::vector<int32_t> ids;
            EncodeScratch scratch;
            model.encode(WordSplitter(line), &ids, &scratch, nullptr);
            Pieces slow, fast;
            std::string_view word;
            for (WordSplitter splitter(line); splitter.next(&word);)
                for (const std::string &piece : slow_encode(word, expected)) slow.push_back(piece);
            for (const int32_t id : ids) fast.emplace_back(model.vocabulary().bytes(id));
            CHECK(slow == fast);
        }
    }
}

XF_TEST(repeated_letters_merge_from_the_left) {
    // "aaaaaaa" 3 times: "aa" counts 18, then "aa"+"aa" (6), then "aaaa"+"aa" and "aa"+"a" (3 each), by bytes "aa"+"a".
    const BpeModel model(train_bpe(count_words({"aaaaaaa", "aaaaaaa", "aaaaaaa"}), {300, 1, 1.0}, {}));
    Pieces pieces;
    for (int32_t id = Vocabulary::kFirstPieceId; id < model.vocabulary().size(); ++id)
        pieces.emplace_back(model.vocabulary().bytes(id));
    CHECK(pieces == (Pieces{"aa", "aaaa", "aaa", "aaaaaaa"}));
}

XF_TEST(coverage_selects_the_frequent_characters) {
    // 6 of U+00E4, 3 of U+00F6, 1 of U+00FC: 90 % of the ten needs two characters, slightly more needs three.
    const Pieces lines = {"\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xBC"};
    const auto kept = [&](double coverage) {
        return train_bpe(count_words(lines), {1000, 100, coverage}, {}).characters;
    };
    CHECK(kept(0).empty());
    CHECK(kept(0.9) == (std::vector<uint32_t>{0xE4, 0xF6}));
    CHECK(kept(0.91) == (std::vector<uint32_t>{0xE4, 0xF6, 0xFC}));
    CHECK(train_bpe(count_words(lines), {259, 1, 1.0}, {}).characters == (std::vector<uint32_t>{0xE4}));
    CHECK(train_bpe(count_words(lines), {258, 1, 1.0}, {}).merges.empty());
}

XF_TEST(an_inconsistent_table_is_rejected) {
    const int32_t a = Vocabulary::byte_id('a');
    CHECK_FAILS(BpeModel({{0x41}, {}}), XF_ERROR_CORRUPT);        // ASCII is a byte
    CHECK_FAILS(BpeModel({{0xD800}, {}}), XF_ERROR_CORRUPT);      // not a character
    CHECK_FAILS(BpeModel({{0x110000}, {}}), XF_ERROR_CORRUPT);    // not a character
    CHECK_FAILS(BpeModel({{0xE4, 0xE4}, {}}), XF_ERROR_CORRUPT);  // twice
    CHECK_FAILS(BpeModel({{}, {{0, a}}}), XF_ERROR_CORRUPT);      // "<s>" is not text
    CHECK_FAILS(BpeModel({{}, {{a, -1}}}), XF_ERROR_CORRUPT);
    CHECK_FAILS(BpeModel({{}, {{a, 258}}}), XF_ERROR_CORRUPT);                        // not defined yet
    CHECK_FAILS(BpeModel({{}, {{a, Vocabulary::byte_id(0xC3)}}}), XF_ERROR_CORRUPT);  // half a character
    CHECK_FAILS(BpeModel({{}, {{a, a}, {a, a}}}), XF_ERROR_CORRUPT);
    WordTable doubling;  // pieces that double in size with each merge
    doubling.merges.push_back({a, a});
    for (int32_t id = 258; id < 270; ++id) doubling.merges.push_back({id, id});
    CHECK_FAILS(BpeModel(doubling), XF_ERROR_LIMIT);
    WordTable many;
    many.merges.assign(BpeModel::kMaxMerges + 1, {a, a});
    CHECK_FAILS(BpeModel(many), XF_ERROR_LIMIT);
}

XF_TEST(two_merges_may_make_one_piece) {
    const int32_t a = Vocabulary::byte_id('a'), b = Vocabulary::byte_id('b'), c = Vocabulary::byte_id('c');
    const BpeModel model({{}, {{a, b}, {258, c}, {b, c}, {a, 260}}});  // ab, abc, bc, abc again
    CHECK_EQ(model.vocabulary().size(), 261);
    CHECK_EQ(std::string(model.vocabulary().bytes(259)), "abc");
}

XF_TEST(a_piece_that_its_merges_cannot_reach_is_not_used) {
    // "bc" ranks before "ab", so "abc" becomes "a" "bc" although "abc" = "ab"+"c" is a piece.
    const int32_t a = Vocabulary::byte_id('a'), b = Vocabulary::byte_id('b'), c = Vocabulary::byte_id('c');
    const BpeModel model({{}, {{b, c}, {a, b}, {259, c}}});
    std::vector<int32_t> ids;
    EncodeScratch scratch;
    model.encode(WordSplitter("abc"), &ids, &scratch, nullptr);
    CHECK(ids == (std::vector<int32_t>{a, 258}));
}

// Words that would all have the same hash without a seed: 16 bytes each, where the second half cancels the first.
XF_TEST(colliding_words_are_counted_in_linear_time) {
    constexpr int kWords = 20000;
    const auto seconds = [](bool collide) {
        std::vector<std::string> list;
        for (uint64_t i = 0; i < kWords; ++i) {
            uint64_t halves[2] = {i, 0};
            halves[1] = mix_hash(mix_hash(17) ^ i) ^ (collide ? 0 : mix_hash(i));
            list.emplace_back(reinterpret_cast<const char *>(halves), sizeof halves);
        }
        if (collide) CHECK_EQ(hash_bytes(list[0]), hash_bytes(list[kWords - 1]));
        const auto began = std::chrono::steady_clock::now();
        WordCounts words;
        for (const std::string &word : list) words.add(word);
        CHECK_EQ(words.words().size(), size_t{kWords});
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    double honest = seconds(false), hostile = seconds(true);
    for (int i = 0; i < 2; ++i) {  // the minimum of several runs, because other processes disturb the measurement
        honest = std::min(honest, seconds(false));
        hostile = std::min(hostile, seconds(true));
    }
    if (hostile > 20 * honest) fail(XF_ERROR_INTERNAL, "%.4f s, and %.4f s of others", hostile, honest);
}
