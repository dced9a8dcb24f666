// Compiled as C++20 beside files that are C++17: std::span to and from, ranges; and the classes are the same ones.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>
#include <span>

#include "check.hpp"
#include "world.hpp"

static_assert(__cplusplus >= 202002L);

namespace {

static_assert(std::ranges::contiguous_range<xformer::span<const std::int32_t>>);
static_assert(std::is_convertible_v<xformer::span<const float>, std::span<const float>>);
static_assert(std::is_convertible_v<std::span<float>, xformer::span<const float>>);
static_assert(std::is_convertible_v<std::span<float> &, xformer::span<float>>);
static_assert(!std::is_convertible_v<std::span<const float> &, xformer::span<float>>);
static_assert(std::ranges::input_range<const xformer::Corpus> && std::ranges::input_range<xformer::Batcher>);
static_assert(std::ranges::input_range<const xformer::Hypotheses> && std::ranges::input_range<xformer::Sentence>);

TEST(standard_spans_and_ranges) {
    World w;
    w.train(40);
    std::vector<float> values(w.model.read(0).size());
    const std::span<float> room(values);
    w.model.read(0, room);
    CHECK(std::ranges::equal(values, w.model.read(0)));
    const auto hypotheses = w.decoder.translate({"one two"});
    const std::span<const std::int32_t> ids = hypotheses[0].front().ids;
    CHECK(w.tokenizer.decode(ids) == hypotheses[0].front().text);
    const auto long_ones =
        std::ranges::count_if(w.corpus, [](const xformer::Pair &pair) { return pair.source.size() > 9; });
    CHECK(long_ones > 0 && long_ones < static_cast<std::ptrdiff_t>(w.corpus.size()));
    std::size_t sentences = 0;
    w.batcher.seek(0);
    std::ranges::for_each(w.batcher, [&](const xformer::Batch &batch) { sentences += batch.size(); });
    CHECK(sentences == w.corpus.size());
    const xformer::Batch batches[] = {{}, {}};
    CHECK(xformer::span<const xformer::Batch>(std::span(batches)).size() == 2);
}

// Two words in braces are two texts, though std::string_view has a constructor from a begin and an end.
TEST(two_words_in_braces) {
    World w;
    CHECK(w.decoder.translate({"one", "two"}).size() == 2);
}

}  // namespace
