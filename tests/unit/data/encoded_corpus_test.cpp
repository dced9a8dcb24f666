// encode_corpus(): end tokens, limits, skipped pairs, and the fingerprint.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include "data/encoded_corpus.h"
#include "data/text_corpus.hpp"

namespace {

using xf_test::corpus_of;

// One id per letter, and the end token. Other characters give no token.
void letters(const xf::TextKey &, std::string_view text, std::vector<int32_t> *ids) {
    for (char c : text)
        if (c >= 'a' && c <= 'z') ids->push_back(c - 'a' + 10);
    ids->push_back(1);
}

// On the calling thread.
xf::EncodedCorpus encode_alone(const xf::Corpus &corpus, const xf::Encode &encode, int64_t limit,
                               const xf::Call &call = xf::Call(), const std::shared_ptr<xf::Heap> &heap = nullptr) {
    xf::ThreadPool pool(1);
    return xf::encode_corpus(corpus, {&pool, {encode}}, limit, call, heap);
}

xf::EncodedCorpus encode(const char *tsv, int64_t limit) { return encode_alone(*corpus_of(tsv), letters, limit); }

std::shared_ptr<const xf::Corpus> two_pairs_of_ids() {
    const int32_t ids[] = {5, 6, 1, 7, 1};
    const int64_t offsets[] = {0, 3, 5};
    return xf::Corpus::from_ids({sizeof(xf_batch), 2, ids, offsets, ids, offsets, nullptr, nullptr, 0}, nullptr);
}

}  // namespace

XF_TEST(each_side_ends_with_the_end_symbol) {
    const xf::EncodedCorpus e = encode("ab\tc\nd\tef\n", 100);
    CHECK_EQ(e.size(), 2);
    CHECK((e.src_ids == xf::HeapVector<int32_t>{10, 11, 1, 13, 1}));
    CHECK((e.tgt_ids == xf::HeapVector<int32_t>{12, 1, 14, 15, 1}));
    CHECK((e.src_offsets == xf::HeapVector<int64_t>{0, 3, 5}));
    CHECK((e.tgt_offsets == xf::HeapVector<int64_t>{0, 2, 5}));
    CHECK_EQ(e.src_length(0), 3);
    CHECK_EQ(e.tgt_length(1), 3);
}

XF_TEST(the_encoder_receives_the_side_of_each_text) {
    const auto sides = [](const xf::TextKey &place, std::string_view, std::vector<int32_t> *ids) {
        *ids = {place.side == xf::Side::kSource ? 5 : 6, 1};
    };
    const xf::EncodedCorpus e = encode_alone(*corpus_of("a\tb\nc\td\n"), sides, 9);
    CHECK((e.src_ids == xf::HeapVector<int32_t>{5, 1, 5, 1}));
    CHECK((e.tgt_ids == xf::HeapVector<int32_t>{6, 1, 6, 1}));
}

XF_TEST(pairs_that_do_not_fit_are_skipped_and_counted) {
    const xf::EncodedCorpus e = encode("abc\tx\n12\tx\nabcd\tx\nx\tabcd\nx\t.\nlas\tt\n", 4);
    CHECK_EQ(e.size(), 2);
    CHECK_EQ(e.skipped_empty, 2);
    CHECK_EQ(e.skipped_too_long, 2);
    CHECK((e.corpus_index == xf::HeapVector<int64_t>{0, 5}));
}

XF_TEST(all_pairs_may_be_empty) { CHECK_EQ(encode("1\t2\n", 10).size(), 0); }

XF_TEST(an_error_of_the_tokenizer_passes_through) {
    const auto corpus = corpus_of("a\tb\n");
    const auto broken = [](const xf::TextKey &, std::string_view, std::vector<int32_t> *) {
        xf::fail(XF_ERROR_STATE, "no vocabulary");
    };
    CHECK_FAILS(encode_alone(*corpus, broken, 10), XF_ERROR_STATE);
}

XF_TEST(fingerprints_distinguish_corpora) {
    std::vector<uint64_t> prints;
    for (const char *tsv :
         {"1\t2\n", "a\tb\n", "a\tc\n", "b\ta\n", "ab\tc\n", "a\tbc\n", "a\tb\na\tb\n", "a\tb\nb\tb\n", "b\tb\na\tb\n"})
        prints.push_back(encode(tsv, 10).fingerprint());
    CHECK_EQ(encode("ab\tc\n", 10).fingerprint(), prints[4]);
    std::sort(prints.begin(), prints.end());
    CHECK(std::adjacent_find(prints.begin(), prints.end()) == prints.end());
}

XF_TEST(a_corpus_of_ids_needs_no_tokenizer) {
    const auto corpus = two_pairs_of_ids();
    const xf::EncodedCorpus e = xf::encode_corpus(*corpus, {}, 100);
    CHECK((e.src_ids == xf::HeapVector<int32_t>{5, 6, 1, 7, 1}));
    CHECK((e.tgt_offsets == xf::HeapVector<int64_t>{0, 3, 5}));
    CHECK_EQ(xf::encode_corpus(*corpus, {}, 2).skipped_too_long, 1);
    CHECK_FAILS(encode_alone(*corpus, letters, 100), XF_ERROR_INVALID_ARGUMENT);
    const auto text = corpus_of("a\tb\n");
    CHECK_FAILS(xf::encode_corpus(*text, {}, 100), XF_ERROR_INVALID_ARGUMENT);
}

namespace {

xf::Encoders on(xf::ThreadPool *pool, const xf::Encode &encode) {
    return {pool, std::vector<xf::Encode>(static_cast<size_t>(pool->workers()), encode)};
}

// Pairs of all lengths, including some that are too long or empty, for several waves of several tasks.
std::string many_pairs(int64_t count) {
    std::string tsv;
    uint32_t state = 1;
    for (int64_t i = 0; i < count; ++i)
        for (const char end : {'\t', '\n'}) {
            state = state * 1664525u + 1013904223u;
            const size_t length = 1 + state % 150;
            tsv += std::string(length, static_cast<char>('a' + i % 26)) + (state >> 20 & 15 ? "" : "!") + end;
            if (state >> 24 == 7) tsv.replace(tsv.size() - length - 1, length, length, '-');
        }
    return tsv;
}

}  // namespace

XF_TEST(a_pool_encodes_to_the_same_bytes) {
    const auto corpus = corpus_of(many_pairs(20000));
    const xf::EncodedCorpus alone = encode_alone(*corpus, letters, 140);
    CHECK(alone.skipped_empty > 0);
    CHECK(alone.skipped_too_long > 0);
    CHECK(alone.size() > 10000);
    for (const int threads : {2, 5}) {
        xf::ThreadPool pool(threads);
        const xf::EncodedCorpus e = xf::encode_corpus(*corpus, on(&pool, letters), 140);
        CHECK(e.src_ids == alone.src_ids && e.src_offsets == alone.src_offsets);
        CHECK(e.tgt_ids == alone.tgt_ids && e.tgt_offsets == alone.tgt_offsets);
        CHECK(e.corpus_index == alone.corpus_index);
        CHECK_EQ(e.skipped_empty, alone.skipped_empty);
        CHECK_EQ(e.skipped_too_long, alone.skipped_too_long);
    }
}

XF_TEST(a_pool_reports_the_error_of_the_first_pair) {
    std::string tsv = many_pairs(3000);
    const auto corpus = corpus_of("x\t#0\n" + tsv + "#1\tx\n" + tsv + "x\t#2\n#3\tx\n");
    const auto encode = [](const xf::TextKey &place, std::string_view text, std::vector<int32_t> *ids) {
        if (text[0] == '#' && text[1] != '0') xf::fail(XF_ERROR_DATA, "bad text %c", text[1]);
        letters(place, text, ids);
    };
    for (int round = 0; round < 20; ++round) {
        xf::ThreadPool pool(4);
        CHECK_EQ(xf_test::outcome_of([&] { xf::encode_corpus(*corpus, on(&pool, encode), 200); }).message,
                 "bad text 1");
    }
}

XF_TEST(encoding_can_be_cancelled) {
    const auto corpus = corpus_of(many_pairs(20000));
    for (const int threads : {1, 3}) {
        xf::CancelSource source;
        std::atomic<int> encoded{0};
        const auto encode = [&](const xf::TextKey &place, std::string_view text, std::vector<int32_t> *ids) {
            letters(place, text, ids);
            if (++encoded == 100) source.cancel();
        };
        xf::ThreadPool pool(threads);
        CHECK_FAILS(xf::encode_corpus(*corpus, on(&pool, encode), 100, xf::Call(source, XF_CALL_INIT)),
                    XF_ERROR_CANCELLED);
        CHECK(encoded < 100 + 2 * threads + 1);  // each worker finishes its pair
    }
}

XF_TEST(a_pool_reports_progress_and_counts_memory) {
    const auto corpus = corpus_of(many_pairs(20000));
    const auto small = std::make_shared<xf::Heap>(xf::Allocator{}, 1 << 20);
    xf::ThreadPool pool(3);
    CHECK_FAILS(xf::encode_corpus(*corpus, on(&pool, letters), 200, xf::Call(), small), XF_ERROR_NO_MEMORY);
    CHECK_EQ(small->current(), 0);
    const auto of_ids = two_pairs_of_ids();
    CHECK_EQ(xf::encode_corpus(*of_ids, {&pool, {}}, 100).size(), 2);
    CHECK_FAILS(xf::encode_corpus(*of_ids, on(&pool, letters), 100), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(xf::encode_corpus(*corpus, {&pool, {}}, 100), XF_ERROR_INVALID_ARGUMENT);
}
