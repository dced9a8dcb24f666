// The file format of SentencePiece tokenizers: round trips, and rejection of hostile files.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/json/sentencepiece.h"

#include "support/test.hpp"
#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

std::string good(const std::string &pieces, const std::string &more = "", const std::string &kind = "unigram") {
    return R"({"format":"xformer-tokenizer","version":1,"kind":"sentencepiece-)" + kind +
           R"(","add_dummy_prefix":true,"remove_extra_whitespaces":true,"escape_whitespaces":true,)"
           R"("whitespace_as_suffix":false,"byte_fallback":false,"start":1,"end":2,"unknown_surface":" ? ",)"
           R"("character_map":"","decoded_map":"",)" +
           more + R"("pieces":)" + pieces + "}";
}

const std::string kPieces =
    "[[\"<unk>\",0,2],[\"<s>\",0,3],[\"</s>\",0,3],[\"\xE2\x96\x81\",-1.5,1],[\"a\",-2.25,1],"
    "[\"\xE2\x96\x81"
    "ab\",-3e-05,1],[\"b\",-4,4]]";

std::string changed(const std::string &from, const std::string &to) { return replaced(good(kPieces), from, to); }

}  // namespace

XF_TEST(the_format_is_unchanged) {
    for (const char *kind : {"unigram", "bpe"}) {
        const auto tokenizer = Tokenizer::parse(good(kPieces, "", kind));
        CHECK_EQ(tokenizer->serialize(), good(kPieces, "", kind));
        CHECK_EQ(tokenizer->size(), 7);
    }
    CHECK(encode(*Tokenizer::parse(good(kPieces)), "ab a x") == (std::vector<int32_t>{5, 3, 4, 3, 0}));
    // Keys in another order, white space, and other notations of the same numbers.
    std::string other = " {\"pieces\" : " + kPieces + ",";
    const std::string usual = good("0");
    other += usual.substr(1, usual.find(",\"pieces\"") - 1) + "}\n";
    CHECK_EQ(Tokenizer::parse(other)->serialize(), good(kPieces));
    CHECK_EQ(Tokenizer::parse(changed("-3e-05", "-0.00003"))->serialize(), good(kPieces));
    CHECK_EQ(Tokenizer::parse(changed("-2.25", "-225e-2"))->serialize(), good(kPieces));
}

XF_TEST(wrong_values_are_rejected) {
    const Changes cases[] = {
        {"xformer-tokenizer", {"other"}},
        {"\"version\":1", {"\"version\":1.0"}},
        {"sentencepiece-unigram", {"sentencepiece-word"}},
        {"\"add_dummy_prefix\":true,",
         {"", "\"add_dummy_prefix\":1,", "\"add_dummy_prefix\":true,\"add_dummy_prefix\":true,",
          "\"add_dummy_prefix\":true,\"extra\":0,"}},
        {"\"byte_fallback\":false", {"\"byte_fallback\":true"}},
        {"\"start\":1", {"\"start\":3", "\"start\":7", "\"start\":-2"}},
        {"\"end\":2", {"\"end\":0", "\"end\":4294967298", "\"end\":\"2\""}},
        {"\" ? \"", {"null"}},
        {"\"character_map\":\"\"", {"\"character_map\":\"!\"", "\"character_map\":\"AAAA\""}},
        {"\"decoded_map\":\"\"", {"\"decoded_map\":\"AAAA\""}},
        {"-2.25", {"NaN", "1e39", "-1e999", "\"-2.25\"", "0.000000000000000000000000000000001"}},
        {"[\"a\",-2.25,1]",
         {"[\"a\",-2.25,0]", "[\"a\",-2.25,7]", "[\"a\",-2.25,6]", "[\"a\",-2.25,2]", "[\"a\",-2.25]",
          "[\"a\",-2.25,1,1]", "[-2.25,\"a\",1]", "[\"a\",\"a\",1]", "[[\"a\"],-2.25,1]", "[]", "\"a\"", "{\"a\":1}",
          "[\"b\",-2.25,1]", "[\"\",-2.25,1]", "[\"\xC3\",-2.25,1]"}},
        {"[\"<unk>\",0,2]", {"[\"<unk>\",0,1]"}},
    };
    for (const auto &[text, all] : cases)
        for (const char *to : all) {
            const auto &from = text;  // clang 14 cannot capture a structured binding
            CHECK_FAILS(Tokenizer::parse(changed(from, to)), XF_ERROR_CORRUPT);
        }
    CHECK_FAILS(Tokenizer::parse(changed("\"version\":1", "\"version\":2")), XF_ERROR_VERSION);
    CHECK_FAILS(Tokenizer::parse(good("[]")), XF_ERROR_CORRUPT);
    CHECK_FAILS(Tokenizer::parse(good("{}")), XF_ERROR_CORRUPT);
    CHECK_FAILS(Tokenizer::parse(good("1")), XF_ERROR_CORRUPT);
    std::string unused = good(kPieces, "", "bpe");
    unused.replace(unused.find("-2.25,1"), 7, "-2.25,5");
    CHECK_FAILS(Tokenizer::parse(unused), XF_ERROR_CORRUPT);
    CHECK_EQ(Tokenizer::parse(changed("-2.25,1", "-2.25,5"))->size(), 7);
}

XF_TEST(huge_files_are_rejected) {
    const auto with_piece = [](const std::string &text) { return changed("\"a\"", "\"" + text + "\""); };
    CHECK_EQ(Tokenizer::parse(with_piece(std::string(256, 'x')))->size(), 7);
    CHECK_FAILS(Tokenizer::parse(with_piece(std::string(257, 'x'))), XF_ERROR_LIMIT);
    const auto with_unknown = [](size_t size) { return changed("\" ? \"", "\"" + std::string(size, '?') + "\""); };
    CHECK_EQ(Tokenizer::parse(with_unknown(256))->size(), 7);
    CHECK_FAILS(Tokenizer::parse(with_unknown(257)), XF_ERROR_LIMIT);
    CHECK_FAILS(Tokenizer::parse(changed("\"character_map\":\"", "\"character_map\":\"" + std::string(3 << 20, 'A'))),
                XF_ERROR_LIMIT);
    std::string many = "[[\"<unk>\",0,2]";
    for (int i = 0; i <= 1 << 20; ++i) many += ",[\"" + std::to_string(i) + "\",0,1]";
    CHECK_FAILS(Tokenizer::parse(good(many + "]")), XF_ERROR_LIMIT);
    std::string nested = good("");
    nested.insert(nested.size() - 1, std::string(1'000'000, '['));
    CHECK_FAILS(Tokenizer::parse(nested), XF_ERROR_CORRUPT);
}

XF_TEST(a_truncated_file_is_rejected) { check_cut_or_longer_is_refused(good(kPieces)); }

XF_TEST(a_flipped_bit_is_an_error_or_gives_a_valid_tokenizer) {
    for (const char *kind : {"unigram", "bpe"}) {
        // A map of one rule, "a" to "b": a root with its block at unit 256, its child at unit 512.
        std::string map(4 + 768 * 4, '\0');
        const auto put = [&](size_t at, uint32_t value) {
            for (size_t i = 0; i < 4; ++i) map[at + i] = static_cast<char>(value >> (8 * i) & 0xFF);
        };
        put(0, 768 * 4);
        put(4, 256u << 10);
        put(4 + 4 * (256 ^ 'a'), ((256 ^ 'a') ^ 512) << 10 | 1u << 8 | 'a');
        put(4 + 4 * 512, 1u << 31);
        SentencePieceTable table = read_sentencepiece_json(good(kPieces, "", kind));
        table.character_map = map + std::string("b\0", 2);
        const std::string json = write_sentencepiece_json(table);
        CHECK_EQ(decode(*Tokenizer::parse(json), encode(*Tokenizer::parse(json), "aa")), "bb");
        SentencePieceTable kept = table;  // user-defined symbols are not normalized
        kept.types[static_cast<size_t>(kept.pieces.find("a"))] = PieceType::kUserDefined;
        const auto keeping = Tokenizer::parse(write_sentencepiece_json(kept));
        CHECK_EQ(decode(*keeping, encode(*keeping, "aa")), "aa");
        // All of the text, and of the map what is not zero.
        const auto skip = [&](size_t bit) {
            return json.substr(bit / 8 - std::min<size_t>(bit / 8, 4), 9) == "AAAAAAAAA" && bit % 97 != 0;
        };
        const int refused = flip_each_bit(json, skip, [](const Tokenizer &tokenizer) {
            const std::vector<int32_t> ids = encode(tokenizer, "aab  b\xFF \xC3\xA4!");
            CHECK(!ids.empty());
            decode(tokenizer, ids);
        });
        CHECK(refused > 1500);
    }
}
