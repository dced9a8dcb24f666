// The file format of tokenizers: round trips, and rejection of hostile files. kind_of(), which selects the reader of a
// file, finds "kind" at any position in the object and nowhere else.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/json/words.h"

#include "support/test.hpp"
#include "text/json/format.h"
#include "text/words/bpe.h"
#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

const std::string kHead = R"({"format":"xformer-tokenizer","version":1,"kind":"bpe","normalization":"nfkc",)"
                          R"("invalid_utf8":"error","vocab_size":300,"min_pair_count":2,"character_coverage":0.5,)";

std::string with(const std::string &characters, const std::string &merges) {
    return kHead + R"("characters":)" + characters + R"(,"merges":)" + merges + "}";
}

std::string changed(const std::string &from, const std::string &to) {
    return replaced(with("\"\xC3\xA4\"", "[[99,100]]"), from, to);
}

std::string repeated(std::string_view unit, size_t count, std::string_view before = "", std::string_view after = "") {
    std::string text(before);
    while (count-- > 0) text += unit;
    return text.append(after);
}

}  // namespace

void check_written_is_read(TokenizerKind kind) {
    TokenizerOptions options;
    options.kind = kind;
    options.vocab_size = 400;
    options.normalization = Normalization::kNone;
    options.invalid_utf8 = InvalidUtf8::kReplace;
    options.min_pair_count = 3;
    options.character_coverage = 0.1 + 0.2;
    std::mt19937 random(6);
    std::vector<std::string> lines = nasty_texts();
    for (int i = 0; i < 100; ++i) lines.push_back(random_unicode(&random, 40));
    const auto first = train(lines, options);
    const std::string json = first->serialize();
    const auto second = WordTokenizer::parse(json);
    CHECK_EQ(second->serialize(), json);
    CHECK_EQ(train(lines, options)->serialize(), json);
    CHECK_EQ(second->size(), first->size());
    CHECK_EQ(second->options().vocab_size, 400);
    CHECK(second->options().kind == kind);
    CHECK(second->options().normalization == Normalization::kNone);
    CHECK(second->options().invalid_utf8 == InvalidUtf8::kReplace);
    CHECK_EQ(second->options().min_pair_count, 3);
    CHECK_EQ(second->options().character_coverage, 0.1 + 0.2);
    for (int32_t id = 0; id < first->size(); ++id) CHECK_EQ(first->piece(id), second->piece(id));
    for (const std::string &line : lines) CHECK(encode(*first, line) == encode(*second, line));
}

XF_TEST(written_values_are_read_back) {
    for (const TokenizerKind kind : {TokenizerKind::kBpe, TokenizerKind::kWordPiece, TokenizerKind::kUnigram})
        check_written_is_read(kind);
}

XF_TEST(the_kind_determines_the_lists) {
    const auto wordpiece = [](const std::string &lists) {
        std::string text = kHead + R"("characters":"",)" + lists + "}";
        return text.replace(text.find("\"bpe\""), 5, "\"wordpiece\"");
    };
    CHECK_EQ(Tokenizer::parse(wordpiece(R"("pieces":["ab"," the"])"))->size(), 260);
    CHECK_EQ(Tokenizer::parse(wordpiece(R"("pieces":[])"))->size(), 258);
    for (const char *lists : {R"("merges":[])", R"("pieces":[],"merges":[])", R"("pieces":["a"])", R"("pieces":[""])",
                              R"("pieces":["ab","ab"])", R"("pieces":[["ab"]])", R"("pieces":"ab")", R"("pieces":[1])",
                              R"("pieces":["ab",null])", R"("pieces":{"a":1})", R"("pieces":["ab"],"pieces":["cd"])",
                              "\"pieces\":[\"a\xFF\"]", R"("pieces":["\u00e4"])"})
        CHECK_FAILS(Tokenizer::parse(wordpiece(lists)), XF_ERROR_CORRUPT);
    CHECK_FAILS(Tokenizer::parse(kHead + R"("characters":"","pieces":["ab"]})"), XF_ERROR_CORRUPT);
    CHECK_FAILS(Tokenizer::parse(wordpiece("\"pieces\":[\"" + std::string(257, 'a') + "\"]")), XF_ERROR_LIMIT);
    CHECK_FAILS(Tokenizer::parse(wordpiece(repeated("\"ab\",", (size_t{1} << 20) + 1, "\"pieces\":[", "\"ab\"]"))),
                XF_ERROR_LIMIT);
}

XF_TEST(unigram_has_a_score_for_each_piece) {
    std::string ascii;
    for (int i = 0; i < 128; ++i) ascii += "-4.5,";
    const auto unigram = [&](const std::string &pieces, const std::string &scores, const std::string &more = "") {
        std::string text = kHead + R"("characters":"\u00e4","pieces":)" + pieces + R"(,"scores":[)" + ascii + scores +
                           "]" + more + "}";
        return text.replace(text.find("\"bpe\""), 5, "\"unigram\"");
    };
    const std::string good = unigram(R"(["ab"," the"])", "-1,-3e-05,0");
    const auto tokenizer = Tokenizer::parse(good);
    CHECK_EQ(Tokenizer::parse(tokenizer->serialize())->serialize(), tokenizer->serialize());
    CHECK(tokenizer->serialize().ends_with("-4.5,-1,-3e-05,0]}"));
    CHECK(encode(*tokenizer, "the ab") == (std::vector<int32_t>{260, 34, 259}));
    for (const std::string &bad :
         {unigram(R"(["ab"," the"])", "-1,-2"), unigram(R"(["ab"," the"])", "-1,-2,-3,-4"),
          unigram(R"(["ab"," the"])", "-1,-2,1e39"), unigram(R"(["ab"," the"])", "-1,-2,1e7"),
          unigram(R"(["ab"," the"])", "-1,-2,\"3\""), unigram(R"(["ab"," the"])", "-1,-2,[3]"),
          unigram(R"(["ab"," the"])", "-1,-2,null"), unigram(R"(["ab","ab"])", "-1,-2,-3"),
          unigram(R"(["ab","a"])", "-1,-2,-3"), unigram(R"(["ab"," the"])", "-1,-2,-3", ",\"merges\":[]")})
        CHECK_FAILS(Tokenizer::parse(bad), XF_ERROR_CORRUPT);
    CHECK_FAILS(Tokenizer::parse(kHead + R"("characters":"","merges":[],"scores":[]})"), XF_ERROR_CORRUPT);
}

XF_TEST(the_format_is_unchanged) {
    CHECK_EQ(with("\"\xC3\xA4\"", "[[99,100]]"), Tokenizer::parse(with("\"\xC3\xA4\"", "[[99,100]]"))->serialize());
    const auto tokenizer = Tokenizer::parse(with(R"("\u00e4\ud83d\ude00")", " [ [ 99 , 258 ] ] "));
    CHECK_EQ(tokenizer->piece(258), "\xC3\xA4");
    CHECK_EQ(tokenizer->piece(259), "\xF0\x9F\x98\x80");
    CHECK_EQ(tokenizer->piece(260), "a\xC3\xA4");
}

XF_TEST(a_truncated_file_is_rejected) { check_cut_or_longer_is_refused(train(low_corpus())->serialize()); }

XF_TEST(a_flipped_bit_is_an_error_or_gives_a_valid_tokenizer) {
    std::vector<std::string> lines = low_corpus();
    lines.push_back("\xC3\xA4\xC3\xB6 \xE4\xB8\xAD");
    const std::string json = train(lines)->serialize();
    const auto none = [](size_t) { return false; };
    const int refused = flip_each_bit(json, none, [](const Tokenizer &tokenizer) {
        CHECK_EQ(decode(tokenizer, encode(tokenizer, "lower newest \xC3\xA4!")), "lower newest \xC3\xA4!");
    });
    CHECK(refused > static_cast<int>(json.size()) * 4);
}

XF_TEST(wrong_values_are_rejected) {
    for (const char *text : {"", " ", "{}", "[]", "null", "1", "\"x\"", "{\"merges\":1}", "\xEF\xBB\xBF{}", "\xFF"})
        CHECK_FAILS(Tokenizer::parse(text), XF_ERROR_CORRUPT);
    const Changes cases[] = {
        {"xformer-tokenizer", {"other"}},
        {"\"version\":1", {"\"version\":\"1\"", "\"version\":1.0"}},
        {"\"kind\":\"bpe\"", {"\"kind\":\"unigram\""}},
        {"\"nfkc\"", {"\"nfd\""}},
        {"\"error\"", {"null"}},
        {"\"kind\":\"bpe\",", {"", "\"kind\":\"bpe\",\"kind\":\"bpe\",", "\"kind\":\"bpe\",\"extra\":0,"}},
        {"\"vocab_size\":300",
         {"\"vocab_size\":259", "\"vocab_size\":99999999999", "\"vocab_size\":18446744073709551615",
          "\"vocab_size\":3e2"}},
        {"\"min_pair_count\":2", {"\"min_pair_count\":-1"}},
        {"0.5", {"1.5", "1e999", "0,5"}},
        {"\"\xC3\xA4\"",
         {"\"a\"", "\"\\u0000\"", "\"\xC3\xA4\xC3\xA4\"", "\"\xC3\"", "\"\xED\xA0\x80\"", "\"\\ud800\"",
          "[\"\xC3\xA4\"]"}},
        {"[[99,100]]",
         {"[99,100]", "[[99]]", "[[99,100,101]]", "[[99,\"c\"]]", "[[99,100.5]]", "[[99,[100]]]", "[[99,{}]]",
          "[[-1,100]]", "[[0,100]]", "[[99,259]]", "[[99,4294967395]]", "[[99,100],[99,100]]", "{}", "null"}},
    };
    for (const auto &[text, all] : cases)
        for (const char *to : all) {
            const auto &from = text;  // clang 14 cannot capture a structured binding
            CHECK_FAILS(Tokenizer::parse(changed(from, to)), XF_ERROR_CORRUPT);
        }
    CHECK_FAILS(Tokenizer::parse(changed("\"version\":1", "\"version\":2")), XF_ERROR_VERSION);
}

// RapidJSON 1.1 reads out of bounds or overflows when it converts some of these itself (CVE-2024-38517).
XF_TEST(long_numbers_are_safe) {
    for (const size_t zeros : {size_t{40}, size_t{360}, size_t{1000}, size_t{100'000}})
        for (const char *tail : {"1", "123456789012345678", "1e300", "1e-300"})
            CHECK_FAILS(Tokenizer::parse(changed("0.5", repeated("0", zeros, "0.", tail))), XF_ERROR_CORRUPT);
    CHECK_FAILS(Tokenizer::parse(changed("0.5", repeated("0", 1000, "0.5"))), XF_ERROR_CORRUPT);
    for (const char *exponent : {"e-2147483639", "e-2147483648", "e-99999999999999999999", "e2147483647", "e+309"})
        for (const size_t zeros : {size_t{1}, size_t{17}, size_t{400}})
            CHECK_FAILS(Tokenizer::parse(changed("0.5", repeated("0", zeros, "1.", exponent))), XF_ERROR_CORRUPT);
    CHECK_FAILS(Tokenizer::parse(changed("\"vocab_size\":300", repeated("9", 1000, "\"vocab_size\":-"))),
                XF_ERROR_CORRUPT);
    CHECK_FAILS(Tokenizer::parse(changed("\"vocab_size\":300", repeated("0", 33, "\"vocab_size\":300."))),
                XF_ERROR_CORRUPT);
    for (const char *half : {"5e-1", "0.05E+1", "0.50000000000000000000", "50e-2"})
        CHECK_EQ(WordTokenizer::parse(changed("0.5", half))->options().character_coverage, 0.5);
    CHECK_EQ(WordTokenizer::parse(changed("0.5", "1"))->options().character_coverage, 1.0);
}

// harness/fault/stack_test.cpp has deep input.
XF_TEST(large_input_is_safe) {
    CHECK_FAILS(Tokenizer::parse(with("\"\"", repeated("[99,100],", BpeModel::kMaxMerges + 1, "[", "[99,100]]"))),
                XF_ERROR_LIMIT);
    CHECK_FAILS(Tokenizer::parse(with(repeated("\xC3\xA4", Vocabulary::kMaxSize + 1, "\"", "\""), "[]")),
                XF_ERROR_LIMIT);
    CHECK_FAILS(Tokenizer::parse(with("\"\"", repeated("9", 5'000'000, "[[", ",99]]"))), XF_ERROR_CORRUPT);
    CHECK_FAILS(Tokenizer::parse(std::string(kMaxTokenizerJsonBytes + 1, ' ')), XF_ERROR_LIMIT);
}

XF_TEST(the_kind_is_detected) {
    for (const char *json :
         {R"({"kind":"bpe"})", R"( { "format" : "x" , "version" : 1 , "kind" : "bpe" , "pieces" : [] } )",
          R"({"pieces":[["a",-1.5,1],[],["b"]],"scores":[1,2],"flag":true,"none":null,"kind":"bpe"})",
          R"({"kind":"bpe","kind":"pair"})", R"({"other":"kind","kind":"bpe"})", R"({"\u006bind":"bpe"})"})
        CHECK_EQ(tokenizer_json::kind_of(json), std::string("bpe"));
    CHECK_EQ(tokenizer_json::kind_of("{\"kind\":\"" + std::string(64, 'k') + "\"}"), std::string(64, 'k'));
    // Text after the kind is not examined; its reader reports errors.
    CHECK_EQ(tokenizer_json::kind_of(R"({"kind":"bpe",)"), std::string("bpe"));
    CHECK_EQ(tokenizer_json::kind_of("{\"kind\":\"bpe\"\xFF"), std::string("bpe"));
}

XF_TEST(fields_that_no_tokenizer_has_end_the_search) {
    for (const char *json :
         {"{}", "[]", "1", "\"kind\"", "null", R"(["kind","bpe"])", R"({"kind":1})", R"({"kind":null})",
          R"({"kind":["bpe"]})", R"({"kind":[],"kind":"bpe"})", R"({"kind":{"kind":"bpe"}})", R"({"a":{"kind":"bpe"}})",
          R"([{"kind":"bpe"}])", R"({"a":[{"kind":"bpe"}]})", R"({"a":{},"kind":"bpe"})",
          R"({"a":[[[]]],"kind":"bpe"})", R"({"Kind":"bpe"})", R"({"a":["kind","bpe"]})"})
        CHECK_EQ(tokenizer_json::kind_of(json), std::string());
    CHECK_EQ(tokenizer_json::kind_of("{\"kind\":\"" + std::string(65, 'k') + "\"}"), std::string());
    CHECK_EQ(tokenizer_json::kind_of(std::string(5'000'000, '[')), std::string());
    CHECK_EQ(tokenizer_json::kind_of("{\"a\":" + std::string(5'000'000, '[')), std::string());
}

XF_TEST(invalid_json_before_the_kind_is_an_error) {
    for (const char *json : {"", " ", "{", "{\"kind\"", "{\"kind\":", "{\"kind\":\"bp", "{\"a\":x,\"kind\":\"bpe\"}",
                             "{\"a\":\"\xFF\",\"kind\":\"bpe\"}"})
        CHECK_FAILS(tokenizer_json::kind_of(json), XF_ERROR_CORRUPT);
    CHECK_FAILS(tokenizer_json::kind_of(std::string_view("{\"kind\":\"bpe\"}\0", 15)), XF_ERROR_CORRUPT);
    CHECK_FAILS(tokenizer_json::kind_of(std::string(kMaxTokenizerJsonBytes + 1, ' ')), XF_ERROR_LIMIT);
}
