// Memory of decoding: a long sentence among short ones needs as much as alone, and the steady state allocates nothing,
// measured by counting calls of malloc().
//
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "decoding.hpp"

#if XF_TEST_SANITIZED
#define XF_TEST_COUNTS_MALLOC 0  // the sanitizer replaces malloc()
#else
#define XF_TEST_COUNTS_MALLOC 1
#endif

namespace {
std::atomic<int64_t> mallocs{0};
}

#if XF_TEST_COUNTS_MALLOC
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *malloc(size_t size) {
    ++mallocs;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    ++mallocs;
    return __libc_calloc(count, size);
}
void *realloc(void *block, size_t size) {
    ++mallocs;
    return __libc_realloc(block, size);
}
void *memalign(size_t alignment, size_t size) {
    ++mallocs;
    return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return *block == nullptr ? ENOMEM : 0;
}
}
#endif

namespace {

using namespace xf_test;

// A model whose hypotheses reach their limits.
std::shared_ptr<const xf::Model> make_endless(const std::shared_ptr<xf::Context> &context) {
    const auto model = make_model(context, with(kTinyModel, {{"model.max_length", "1024"}}));
    forbid_end(model);
    return model;
}

// Returns the peak memory of a decoder for these sentences.
int64_t peak_of(const std::vector<Ids> &sources, const Settings &search, Answers *answers) {
    const auto context = any_device(1);
    const auto model = make_endless(context);
    const int64_t before = context->heap().current();
    xf::Decoder decoder(model, options_of(search));
    *answers = decode(&decoder, sources);
    return context->heap().peak() - before;
}

XF_TEST(a_long_sentence_does_not_enlarge_the_memory_of_short_ones) {
    if (has_run_on_cpu()) return;
    const Ids brief = {5, 6, kEndToken};
    Ids endless(700, 7);
    endless.back() = kEndToken;
    std::vector<Ids> few(31, brief), all = few;
    for (size_t s = 0; s < few.size(); ++s) few[s][0] = all[s][0] = static_cast<int32_t>(2 + s % 10);
    all.insert(all.begin() + 11, endless);
    const Settings search = {{"decode.max_extra_tokens", "50"}};
    Answers shorts, one, together;
    const int64_t apart = peak_of(few, search, &shorts) + peak_of({endless}, search, &one);
    const int64_t joined = peak_of(all, search, &together);
    CHECK(joined <= apart + apart / 4);
    for (size_t s = 0; s < all.size(); ++s) CHECK(same(together[s], s == 11 ? one[0] : shorts[s < 11 ? s : s - 1]));
}

// Sentences end at different steps, and the cells of those that have ended are used for the others.
XF_TEST(sentences_that_end_at_different_steps_do_not_change_results) {
    on_each_device(2, [](const auto &context, const DeviceName &name) {
        if (name.cuda()) return;  // slow if emulated, and the device search does not reuse cells
        const auto model = make_endless(context);
        std::vector<Ids> sources;
        Draw draw(12);
        for (int64_t length : {1, 3, 9, 17, 30, 31, 40, 64, 70, 128, 150, 33, 2, 90})
            sources.push_back(sentence(&draw, length, length, 19));
        const xf::Options options = options_of({{"decode.max_extra_tokens", "5"}, {"decode.beam", "3"}});
        xf::Decoder decoder(model, options), lone(model, options);
        const Answers together = decode(&decoder, sources);
        CHECK(same(together, decode(&decoder, sources)));
        CHECK(same(together, decode_alone(&lone, sources)));
    });
}

// Groups of long sentences are smaller, so many long sentences need no more memory than a few.
XF_TEST(many_long_sentences_need_a_bounded_cache) {
    if (has_run_on_cpu()) return;
    Ids endless(600, 7);
    endless.back() = kEndToken;
    Answers few, many;
    const Settings search = {{"decode.max_extra_tokens", "0"}, {"decode.batch_sentences", "8"}, {"decode.beam", "2"}};
    const int64_t of_few = peak_of(std::vector<Ids>(3, endless), search, &few);
    const int64_t of_many = peak_of(std::vector<Ids>(8, endless), search, &many);
    CHECK(of_many <= of_few + of_few / 10);
    for (const auto &answers : many) CHECK(same(answers, few[0]));
}

#if XF_TEST_COUNTS_MALLOC
XF_TEST(a_call_allocates_only_its_results) {
    on_each_device(2, [](const auto &context, const DeviceName &name) {
        if (name.cuda()) return;  // drivers may allocate
        const auto model = make_endless(context);
        const std::vector<Ids> sources = random_pairs(3, 9, 40, 19).src;
        for (const char *beam : {"1", "4"}) {
            xf::Decoder decoder(model, options_of({{"decode.beam", beam}, {"decode.max_extra_tokens", "80"}}));
            const Batch batch(sources);
            for (int i = 0; i < 3; ++i) decoder.decode(batch.view());  // until all buffers have their final size
            const int64_t before = mallocs.load(), tensors = context->heap().allocations();
            const std::vector<xf::SentenceOutcome> outcomes = decoder.decode(batch.view());
            const int64_t taken = mallocs.load() - before;
            // The list, and for each sentence its hypotheses, and the ids and log-probabilities of the only one.
            CHECK_EQ(taken, static_cast<int64_t>(1 + 3 * sources.size()));
            CHECK_EQ(context->heap().allocations(), tensors);
            CHECK(outcomes[0].hypotheses[0].ids.size() > 80);  // steps
        }
    });
}
#endif

}  // namespace
