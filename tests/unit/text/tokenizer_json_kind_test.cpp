// kind_of(), which selects the reader of a tokenizer file, finds "kind" at any position in the object and nowhere else.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/json/format.h"

#include "core/error.h"
#include "support/test.hpp"
#include "text/json/words.h"

using namespace xf;
using tokenizer_json::kind_of;

namespace {

XF_TEST(the_kind_is_detected) {
    for (const char *json :
         {R"({"kind":"bpe"})", R"( { "format" : "x" , "version" : 1 , "kind" : "bpe" , "pieces" : [] } )",
          R"({"pieces":[["a",-1.5,1],[],["b"]],"scores":[1,2],"flag":true,"none":null,"kind":"bpe"})",
          R"({"kind":"bpe","kind":"pair"})", R"({"other":"kind","kind":"bpe"})", R"({"\u006bind":"bpe"})"})
        CHECK_EQ(kind_of(json), std::string("bpe"));
    CHECK_EQ(kind_of("{\"kind\":\"" + std::string(64, 'k') + "\"}"), std::string(64, 'k'));
    // Text after the kind is not examined; its reader reports errors.
    CHECK_EQ(kind_of(R"({"kind":"bpe",)"), std::string("bpe"));
    CHECK_EQ(kind_of("{\"kind\":\"bpe\"\xFF"), std::string("bpe"));
}

XF_TEST(fields_that_no_tokenizer_has_end_the_search) {
    for (const char *json :
         {"{}", "[]", "1", "\"kind\"", "null", R"(["kind","bpe"])", R"({"kind":1})", R"({"kind":null})",
          R"({"kind":["bpe"]})", R"({"kind":[],"kind":"bpe"})", R"({"kind":{"kind":"bpe"}})", R"({"a":{"kind":"bpe"}})",
          R"([{"kind":"bpe"}])", R"({"a":[{"kind":"bpe"}]})", R"({"a":{},"kind":"bpe"})",
          R"({"a":[[[]]],"kind":"bpe"})", R"({"Kind":"bpe"})", R"({"a":["kind","bpe"]})"})
        CHECK_EQ(kind_of(json), std::string());
    CHECK_EQ(kind_of("{\"kind\":\"" + std::string(65, 'k') + "\"}"), std::string());
    CHECK_EQ(kind_of(std::string(5'000'000, '[')), std::string());
    CHECK_EQ(kind_of("{\"a\":" + std::string(5'000'000, '[')), std::string());
}

XF_TEST(invalid_json_before_the_kind_is_an_error) {
    for (const char *json : {"", " ", "{", "{\"kind\"", "{\"kind\":", "{\"kind\":\"bp", "{\"a\":x,\"kind\":\"bpe\"}",
                             "{\"a\":\"\xFF\",\"kind\":\"bpe\"}"})
        CHECK_FAILS(kind_of(json), XF_ERROR_CORRUPT);
    CHECK_FAILS(kind_of(std::string_view("{\"kind\":\"bpe\"}\0", 15)), XF_ERROR_CORRUPT);
    CHECK_FAILS(kind_of(std::string(kMaxTokenizerJsonBytes + 1, ' ')), XF_ERROR_LIMIT);
}

}  // namespace
