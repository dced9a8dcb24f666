// The search on the host: sentences with options of their own, which begin and end at any step, have the results that
// each has alone; and the cache holds the cells of live hypotheses only.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/host_search.h"

#include "decode/decoding.hpp"

namespace {

using namespace xf_test;

XF_TEST(hypotheses_share_cells_until_the_last_one_has_ended) {
    xf::CellPool pool;
    const int32_t root = pool.take(-1), left = pool.take(root), right = pool.take(root), leaf = pool.take(left);
    CHECK_EQ(pool.size(), int64_t{4});
    pool.release(root);  // followed by others: remains
    pool.release(leaf);  // and `left`, which only `leaf` followed
    const int32_t a = pool.take(right), b = pool.take(a);
    CHECK((Ids{std::min(a, b), std::max(a, b)} == Ids{std::min(left, leaf), std::max(left, leaf)}));
    CHECK_EQ(pool.size(), int64_t{4});
    pool.release(b);  // the whole path
    for (int i = 0; i < 4; ++i) pool.take(-1);
    CHECK_EQ(pool.size(), int64_t{4});
    pool.take(-1);
    CHECK_EQ(pool.size(), int64_t{5});
}

// Searches all requests together. `arrive` returns how many begin before the next step.
template <class Arrive>
Answers together(const std::shared_ptr<const xf::Model> &model, const std::vector<Request> &requests,
                 const Arrive &arrive, xf::DecoderStep::Layout *layout = nullptr) {
    const xf::Call call;
    xf::Stream stream(model->context().device(), model->dtype());
    xf::Transformer network(*model, stream);
    xf::HostSearch search(*model, stream);
    xf::DecoderStep &step = search.decoder_step();
    xf::PackedBatch packed;
    std::vector<xf::SentenceOutcome> outcomes(requests.size());
    search.clear();
    for (size_t begun = 0; begun < requests.size() || search.active() > 0;) {
        const size_t end = std::min(requests.size(), begun + arrive());
        if (begun < end) {
            std::vector<Ids> sources;
            for (size_t i = begun; i < end; ++i) sources.push_back(requests[i].source);
            const Batch batch(sources);
            packed.load(stream, model->config(), batch.view(), xf::PackedBatch::Sides::kSource, false);
            network.prepare(packed, xf::PassKind::kInference, false);
            xf::Pass pass{*model, stream, call};
            pass.invariant = true;
            const int64_t row = step.add_sources(packed.src, network.encode(pass, packed), call);
            for (size_t i = begun; i < end; ++i) {
                const Request &r = requests[i];
                search.add({static_cast<int64_t>(i), r.beam, r.min_tokens, std::ssize(r.source) + r.extra,
                            xf::ForcedPrefix{-1, r.prefix}, r.constraint,
                            xf::DecoderStep::Source::of(packed.src, static_cast<int64_t>(i - begun), row),
                            &outcomes[i]});
            }
            begun = end;
        }
        if (search.active() > 0) search.step(call);
    }
    if (layout != nullptr) *layout = step.layout();
    Answers answers;
    for (xf::SentenceOutcome &outcome : outcomes) answers.push_back(std::move(outcome.hypotheses));
    return answers;
}

XF_TEST(sentences_that_begin_at_any_step_have_the_results_they_have_alone) {
    const std::vector<Request> requests = random_requests(77, XF_TEST_SANITIZED ? 16 : 60);
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        const auto model = make_reverser(context);
        Draw arrivals(5);
        const Answers found =
            together(model, requests, [&] { return static_cast<size_t>(arrivals.between(0, 5) / 3 * 3); });
        for (size_t i = 0; i < requests.size(); ++i)
            if (!same(found[i], requests[i].alone(model)))
                CHECK_EQ("sentence " + std::to_string(i) + " on " + name.text(), "its result alone");
    });
}

// 31 short sentences and one of 90 steps.
XF_TEST(memory_follows_the_live_tokens) {
    const auto model = make_reverser(any_device());
    if (!model->context().device().host_memory()) return;
    const xf::Constraint never_end = [](std::span<const xf::Partial> partials) {
        for (const xf::Partial &partial : partials) partial.allowed[0] &= ~(1u << kEndToken);
    };
    std::vector<Request> requests(32, {{4, 7, kEndToken}, {}, {4, 1, 0.6}, 0, 3, &never_end});
    requests[5].source = Ids(20, 7);
    requests[5].source.back() = kEndToken;
    requests[5].extra = 70;
    xf::DecoderStep::Layout layout{};
    const auto all = [&] { return requests.size(); };
    together(model, requests, all, &layout);
    const int64_t short_cells = 31 * 4 * 6, long_cells = 4 * 90;
    CHECK(layout.cells >= 90 && layout.cells <= (short_cells + long_cells) * 3 / 2);
    // One sentence begins at each step. The memory of those that have ended is used for the next ones.
    const auto one = [] { return size_t{1}; };
    together(model, requests, one, &layout);
    CHECK(layout.memory_rows <= (20 + 8 * 3) * 3 / 2);
}

// Each allocation of a call in which the pool of cells and the memory of the sources grow fails in turn.
XF_TEST(a_decoder_remains_usable_after_a_failed_allocation) {
    FailingMemory memory;
    const xf_host host = memory.host();
    const auto context = open_device({"cpu:ref", "auto", true}, 1, &host);
    const auto model = make_reverser(context);
    Draw draw(9);
    std::vector<Ids> sources;
    for (int i = 0; i < 12; ++i) sources.push_back(sentence(&draw, 1, 12, kReverserIds));
    const xf::Options options = options_of({{"decode.batch_sentences", "4"}, {"decode.min_tokens", "40"}});
    const int64_t before = context->heap().current();
    Answers expected;
    int64_t usual = 0, failures = 0;  // usual: the memory of a decoder that never failed
    {
        xf::Decoder decoder(model, options);
        expected = decode(&decoder, sources);
        usual = context->heap().current() - before;
    }
    for (bool failed = true; failed; ++failures) {
        xf::Decoder decoder(model, options);
        memory.count = 0;
        memory.failing = failures;
        try {
            decode(&decoder, sources);
            failed = false;
        } catch (const xf::Error &error) {
            CHECK_EQ(error.status(), XF_ERROR_NO_MEMORY);
        }
        memory.failing = -1;
        CHECK(same(decode(&decoder, sources), expected));
        CHECK(context->heap().current() - before <= usual + usual / 20);
    }
    CHECK(failures > 8);  // the pool grew
}

}  // namespace
