// Tokenizer pairs: the choice of the side, the file format, and invalid files.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.h"

#include "core/error.h"
#include "support/test.hpp"
#include "text/words/tokenizer.h"

namespace {

std::shared_ptr<const xf::Tokenizer> learnt(const char *line) {
    xf::TokenizerOptions options;
    options.vocab_size = 300;
    int given = 0;
    return xf::WordTokenizer::train(options, [&](std::string_view *text) {
        *text = line;
        return ++given < 20;
    });
}

const std::shared_ptr<const xf::Tokenizer> kSource = learnt("one two three");
const std::shared_ptr<const xf::Tokenizer> kTarget = learnt("einundzwanzig zweiundzwanzig, dreiundzwanzig");

std::vector<int32_t> ids_of(const xf::Tokenizer &tokenizer, const char *text) {
    std::vector<int32_t> ids;
    tokenizer.encode(text, &ids);
    return ids;
}

void check_sides(const xf::Tokenizer &pair) {
    CHECK(kSource->size() != kTarget->size());
    CHECK_EQ(pair.size(), kTarget->size());
    CHECK_EQ(pair.source().size(), kSource->size());
    const char *const text = "two zweiundzwanzig";
    const auto source = ids_of(*kSource, text), target = ids_of(*kTarget, text);
    CHECK(source != target);
    CHECK(ids_of(pair, text) == source);
    CHECK(ids_of(pair.source(), text) == source);
    CHECK(ids_of(pair.target(), text) == target);
    CHECK_EQ(pair.decode(target.data(), target.size()), std::string(text));
    CHECK_EQ(pair.piece(target[0]), kTarget->piece(target[0]));
    CHECK_EQ(pair.start_id(), 0);
    CHECK_EQ(pair.end_id(), 1);
}

XF_TEST(each_side_has_its_own_tokenizer) {
    const xf::TokenizerPair pair(kSource, kTarget);
    check_sides(pair);
    const std::string json = pair.serialize();
    const auto read = xf::Tokenizer::parse(json);
    check_sides(*read);
    CHECK_EQ(read->serialize(), json);
    // A single tokenizer is used for both sides.
    CHECK(&kSource->source() == kSource.get() && &kSource->target() == kSource.get());
}

XF_TEST(malformed_pairs_are_rejected) {
    const std::string json = xf::TokenizerPair(kSource, kTarget).serialize();
    const auto status = [](const std::string &text) {
        return xf_test::outcome_of([&] { xf::Tokenizer::parse(text); }).status;
    };
    CHECK_EQ(status(json), XF_OK);
    for (size_t length = 0; length < json.size(); length += length < 200 ? 1 : 37)
        CHECK(status(json.substr(0, length)) == XF_ERROR_CORRUPT);
    for (const char *text : {"\"pair\"", "1", "[]", "{}", "null", "{\"format\":{}}", "{\"kind\":\"pair\"}"})
        CHECK(status(text) != XF_OK);
    const xf_test::Changes cases[] = {
        {R"("target")", {R"("other")"}},
        {R"("source")", {R"("target")"}},
        {R"("source":")",
         {R"("source":[],"x":")", R"("source":true,"x":")", R"("source":{},"x":")", R"("source":1,"x":")"}},
        {R"("source":"{)", {R"("source":")"}},
        {R"("format":"xformer-tokenizer")", {R"("format":"other")"}},
        {R"("version":1,)", {R"("version":1.0,)", R"("version":"1",)", ""}},
        {R"("kind":"pair")", {R"("kind":"trio")", R"("kind":"pair","kind":"bpe")"}},
    };
    for (const auto &[from, all] : cases)
        for (const char *to : all) CHECK_EQ(status(xf_test::replaced(json, from, to)), XF_ERROR_CORRUPT);
    CHECK_EQ(status(xf_test::replaced(json, R"("version":1)", R"("version":7)")), XF_ERROR_VERSION);
    CHECK_EQ(status(xf_test::replaced(json, R"(\"version\":1)", R"(\"version\":7)")), XF_ERROR_VERSION);
    // The keys in another order are the same pair.
    const std::string head = "\"format\":\"xformer-tokenizer\",\"version\":1,\"kind\":\"pair\"";
    std::string other = json;
    other.erase(1, head.size() + 1);
    other.insert(other.size() - 1, "," + head);
    CHECK_EQ(xf::Tokenizer::parse(other)->serialize(), json);
    // A pair within a pair.
    const std::string twice = xf::TokenizerPair(xf::Tokenizer::parse(json), kTarget).serialize();
    CHECK_FAILS(xf::Tokenizer::parse(twice), XF_ERROR_CORRUPT);
}

}  // namespace
