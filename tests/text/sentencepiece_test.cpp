// Tokenizers of SentencePiece: the ids and texts that the sentencepiece package gave (tests/convert/make_models.py made
// the files), the definitions of both ways to cut a text, and bounds on time and memory.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentencepiece.h"

#include <atomic>
#include <cmath>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/failing_new.hpp"
#include "support/test.hpp"
#include "text/sentencepiece_json.h"
#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

const char *const kModels[] = {"unigram", "unigram-symbols", "unigram-suffix", "bpe", "bpe-symbols"};

std::string read(const std::string &name) {
    std::ifstream file(std::string(XF_MODELS_FOLDER) + "/" + name, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    CHECK(!text.str().empty());
    return text.str();
}

std::string from_hex(const std::string &digits) {
    std::string bytes;
    for (size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    return bytes;
}

struct Expected {
    std::string text, decoded;
    std::vector<int32_t> ids;
};

std::vector<Expected> expected_of(const std::string &name) {
    std::vector<Expected> all;
    std::istringstream file(read(name + ".tsv"));
    for (std::string line; std::getline(file, line);) {
        std::istringstream columns(line);
        std::string text, ids, decoded;
        std::getline(columns, text, '\t');
        std::getline(columns, ids, '\t');
        std::getline(columns, decoded, '\t');
        Expected one{from_hex(text), from_hex(decoded), {}};
        std::istringstream numbers(ids);
        for (int32_t id = 0; numbers >> id;) one.ids.push_back(id);
        all.push_back(one);
    }
    return all;
}

// A table of pieces that are normal, after "<unk>".
SentencePieceTable table_of(SentencePieceTable::Kind kind, const std::vector<std::pair<std::string, float>> &pieces) {
    SentencePieceTable table;
    table.kind = kind;
    table.add_dummy_prefix = false;
    const auto add = [&](const std::string &text, float score, PieceType type) {
        table.pieces.add(text);
        table.scores.push_back(score);
        table.types.push_back(type);
    };
    add("<unk>", 0, PieceType::kUnknown);
    for (const auto &[text, score] : pieces) add(text, score, PieceType::kNormal);
    return table;
}

}  // namespace

XF_TEST(ids_and_texts_are_those_of_the_package) {
    for (const std::string name : kModels) {
        const auto tokenizer = Tokenizer::parse(read(name + ".json"));
        CHECK_EQ(tokenizer->serialize(), read(name + ".json"));
        EncodeScratch scratch;
        const std::vector<Expected> all = expected_of(name);
        CHECK(all.size() > 100);
        for (const Expected &one : all) {
            std::vector<int32_t> ids;
            tokenizer->encode(one.text, &ids, &scratch);
            CHECK(ids == one.ids);
            CHECK_EQ(tokenizer->decode(ids.data(), ids.size()), one.decoded);
        }
    }
}

// As make_models.py makes it.
XF_TEST(a_long_text_is_rounded_as_in_the_package) {
    for (const std::string name : kModels) {
        const auto tokenizer = Tokenizer::parse(read(name + ".json"));
        const std::vector<Expected> all = expected_of(name);
        std::string text;
        for (size_t i = 0; i < 12000; ++i) text += all[(7919 * i + i * i) % all.size()].text + std::string(i % 2, ' ');
        uint64_t digest = 0xCBF29CE484222325u;
        const std::vector<int32_t> ids = encode(*tokenizer, text);
        for (const int32_t id : ids) digest = (digest ^ static_cast<uint64_t>(id)) * 0x100000001B3u;
        CHECK_EQ(std::to_string(ids.size()) + " " + std::to_string(digest) + "\n", read(name + ".long"));
    }
}

XF_TEST(start_end_and_names) {
    const auto usual = Tokenizer::parse(read("unigram.json")), other = Tokenizer::parse(read("bpe-symbols.json"));
    CHECK_EQ(usual->start_id(), 1);
    CHECK_EQ(usual->end_id(), 2);
    CHECK_EQ(other->start_id(), -1);
    CHECK_EQ(other->end_id(), 0);
    CHECK_EQ(usual->piece(0), "<unk>");
    CHECK_EQ(usual->piece(2), "</s>");
    CHECK_EQ(decode(*usual, {1, 2}), "");
    CHECK_EQ(decode(*usual, {0}), " \xE2\x81\x87 ");
    CHECK_EQ(decode(*other, {1}), "?");
    CHECK_FAILS(usual->piece(usual->size()), XF_ERROR_OUT_OF_RANGE);
    CHECK_FAILS(usual->piece(-1), XF_ERROR_OUT_OF_RANGE);
    CHECK_FAILS(decode(*usual, {3, usual->size()}), XF_ERROR_OUT_OF_RANGE);
    std::vector<int32_t> ids = {7};
    usual->encode("", &ids);
    CHECK(ids == std::vector<int32_t>{7});
}

// Every way to cut a short text, by its sum of scores; scores whose sums floats hold.
XF_TEST(unigram_is_the_best_of_all_ways) {
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::pair<std::string, float>> pieces;
        for (const char *piece : {"a", "b", "ab", "ba", "aab", "abb", "bbb", "abab", "c"})
            if (random() % 3 != 0) pieces.emplace_back(piece, -0.125f * static_cast<float>(1 + random() % 64));
        pieces.emplace_back("d", -10.f);
        const SentencePieceTable table = table_of(SentencePieceTable::Kind::kUnigram, pieces);
        float least = 0;
        for (const auto &[piece, score] : pieces) least = std::min(least, score);
        std::string text;
        for (size_t i = 0; i < 1 + random() % 12; ++i) text += "abc"[random() % 3];
        std::vector<float> best(text.size() + 1, -1e9f);
        best[0] = 0;
        for (size_t i = 0; i < text.size(); ++i)
            for (size_t size = 1; i + size <= text.size(); ++size) {
                const int32_t id = table.pieces.find(text.substr(i, size));
                if (id < 0 && size > 1) continue;
                best[i + size] = std::max(best[i + size], best[i] + (id < 0 ? least - 10 : table.score(id)));
            }
        const SentencePieceTokenizer tokenizer(table);
        // Two unknowns in a row are one id: score what the encoder cut instead.
        struct Scored {
            std::vector<int32_t> ids;
        } scored;
        std::array<int32_t, 256> bytes;
        bytes.fill(-7);
        PieceSink sink(0, &bytes, &scored.ids);
        EncodeScratch scratch;
        make_unigram_encoder(table, 0)->encode(text, &sink, &scratch, nullptr);
        float sum = 0;
        for (const int32_t id : scored.ids) sum += id == -7 ? least - 10 : table.score(id);
        CHECK_EQ(sum, best[text.size()]);
    }
}

// What the package does, found by models made for it: 0.1 for each byte but the first, whatever the file says.
XF_TEST(a_user_defined_symbol_has_a_score_of_its_own) {
    for (const std::string symbol : {"ab", "abc",
                                     "\xC3\xBC"
                                     "b",
                                     "abcdefghijk"}) {
        const auto bonus = static_cast<float>(0.1 * static_cast<double>(symbol.size()) - 0.1);
        const size_t first = symbol[0] == 'a' ? 1 : 2;
        for (const float stated : {-50.f, 0.f, 50.f}) {
            for (const float rest : {bonus, std::nextafter(bonus, 100.f)}) {
                SentencePieceTable table =
                    table_of(SentencePieceTable::Kind::kUnigram,
                             {{symbol, stated}, {symbol.substr(0, first), 0.f}, {symbol.substr(first), rest}});
                table.types[1] = PieceType::kUserDefined;
                const std::vector<int32_t> ids = encode(SentencePieceTokenizer(table), symbol);
                CHECK(ids == (rest > bonus ? std::vector<int32_t>{2, 3} : std::vector<int32_t>{1}));
            }
        }
    }
}

// The definition, one merge after another over the whole text.
XF_TEST(bpe_joins_the_best_pair_first) {
    std::mt19937 random(4);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::pair<std::string, float>> pieces = {{"a", 0.f}, {"b", 0.f}};
        for (const char *piece : {"ab", "ba", "aa", "bb", "aab", "abb", "bab", "abab", "aaaa", "bc"})
            if (random() % 3 != 0) pieces.emplace_back(piece, -static_cast<float>(random() % 5));
        const SentencePieceTable table = table_of(SentencePieceTable::Kind::kBpe, pieces);
        std::string text;
        for (size_t i = 0; i < 1 + random() % 30; ++i) text += "aabbc"[random() % 5];
        std::vector<std::string> parts;
        for (const char c : text) parts.emplace_back(1, c);
        for (;;) {
            int32_t best = -1;
            size_t where = 0;
            for (size_t i = 0; i + 1 < parts.size(); ++i) {
                const int32_t id = table.pieces.find(parts[i] + parts[i + 1]);
                if (id < 0 || (best >= 0 && table.score(id) <= table.score(best))) continue;
                best = id;
                where = i;
            }
            if (best < 0) break;
            parts[where] += parts[where + 1];
            parts.erase(parts.begin() + static_cast<ptrdiff_t>(where) + 1);
        }
        std::vector<int32_t> expected;
        for (const std::string &part : parts) {
            const int32_t id = std::max(0, table.pieces.find(part));
            if (id > 0 || expected.empty() || expected.back() != 0) expected.push_back(id);
        }
        CHECK(encode(SentencePieceTokenizer(table), text) == expected);
    }
}

XF_TEST(a_kept_scratch_means_no_allocation) {
    for (const std::string name : kModels) {
        const auto tokenizer = Tokenizer::parse(read(name + ".json"));
        const std::vector<Expected> all = expected_of(name);
        EncodeScratch scratch;
        std::vector<int32_t> ids;
        ids.reserve(100'000);
        for (const Expected &one : all) tokenizer->encode(one.text, &ids, &scratch);
        ids.clear();
        new_plan.fail_at = 0;
        for (const Expected &one : all) tokenizer->encode(one.text, &ids, &scratch);
        CHECK(!new_plan.failed);
        new_plan = {};
    }
}

XF_TEST(memory_that_fails_leaves_the_ids_as_they_were) {
    for (const char *name : {"unigram.json", "bpe.json"}) {
        const std::string json = read(name);
        std::shared_ptr<const Tokenizer> tokenizer;
        const auto attempt = [](auto body) {
            try {
                body();
            } catch (const std::bad_alloc &) {
                return true;
            }
            return false;
        };
        fail_each_new([&] {
            const bool failed = attempt([&] { tokenizer = Tokenizer::parse(json); });
            CHECK_EQ(failed, new_plan.failed);
        });
        fail_each_new([&] {
            std::vector<int32_t> ids;
            const bool failed = attempt([&] { tokenizer->encode("the quick \xE2\x98\x83 brown fox", &ids); });
            CHECK(failed == ids.empty());
        });
    }
}

// Megabytes without a space: no stretch ends before the text does.
XF_TEST(time_is_bounded) {
    for (const char *name : {"unigram.json", "unigram-symbols.json", "bpe.json", "bpe-symbols.json"}) {
        const auto tokenizer = Tokenizer::parse(read(name));
        for (const char *unit : {"a", "derd", "interest", "\xC3\xBC"}) {
            const std::string_view part(unit);
            std::string text;
            while (text.size() < (XF_TEST_SANITIZED ? 20'000 : 200'000)) text += part;
            const auto seconds = [&](const std::string &long_text) {
                const std::clock_t begin = std::clock();  // of the processor: others may be busy
                std::vector<int32_t> ids;
                tokenizer->encode(long_text, &ids);
                CHECK(!ids.empty());
                return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
            };
            const double one = seconds(text);
            std::string ten;
            for (int i = 0; i < 10; ++i) ten += text;
            // Ten times the text takes ten times as long, and a little for the heap; a quadratic one a hundred times.
            CHECK(seconds(ten) < 40 * one + 0.5);
        }
    }
}

XF_TEST(many_threads_share_one) {
    for (const std::string name : kModels) {
        const auto tokenizer = Tokenizer::parse(read(name + ".json"));
        const std::vector<Expected> all = expected_of(name);
        std::vector<std::thread> threads;
        std::atomic<int> wrong{0};
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] {
                EncodeScratch scratch;
                for (const Expected &one : all) {
                    std::vector<int32_t> ids;
                    tokenizer->encode(one.text, &ids, &scratch);
                    wrong += ids != one.ids || tokenizer->decode(ids.data(), ids.size()) != one.decoded;
                }
            });
        for (std::thread &thread : threads) thread.join();
        CHECK_EQ(wrong.load(), 0);
    }
}
