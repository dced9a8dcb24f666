// Batches that are read ahead: a step gets the very batch it would have got, at the same cost in waits, whatever the
// caller did between two steps. On the emulated GPU, where an upload is done when somebody waits for it and memory is
// NaN until then.
//
// SPDX-License-Identifier: Apache-2.0
#include "cuda_host/emulated.hpp"
#include "train/training.hpp"

namespace {

using namespace xf_test;

std::shared_ptr<const xf::EncodedCorpus> corpus() {
    auto made = std::make_shared<xf::EncodedCorpus>();
    const Batch pairs = Task{.sentences = 40, .longest = 12}.batch(0);
    const xf_batch b = pairs.view();
    made->src_ids.assign(b.src_ids, b.src_ids + b.src_offsets[b.sentences]);
    made->tgt_ids.assign(b.tgt_ids, b.tgt_ids + b.tgt_offsets[b.sentences]);
    made->src_offsets.assign(b.src_offsets, b.src_offsets + b.sentences + 1);
    made->tgt_offsets.assign(b.tgt_offsets, b.tgt_offsets + b.sentences + 1);
    for (int64_t i = 0; i < b.sentences; ++i) made->corpus_index.push_back(i);
    return made;
}

// A trainer with a batcher, and one that receives the same batches individually.
struct Pair {
    std::shared_ptr<xf::Context> context;
    std::unique_ptr<xf::Trainer> reads, told;
    std::vector<xf::Batch> kept;

    Pair(const char *precision, int64_t accumulate) {
        Settings settings = kTraining;
        settings["train.accumulate"] = std::to_string(accumulate);
        context = open_device({"cuda", "auto", true, precision}, 1);
        reads = make_trainer(context, settings), told = make_trainer(context, settings);
    }

    // False at the end of an epoch.
    bool step(xf::Batcher *batcher, const xf::Batcher &like, int64_t accumulate) {
        xf::Batcher expected = like;
        expected.seek(batcher->position());
        xf::StepStats stats;
        if (!reads->next(batcher, &stats)) return false;
        kept.assign(static_cast<size_t>(accumulate), {});
        std::vector<xf_batch> views;
        for (xf::Batch &batch : kept)
            if (expected.position().batch < expected.batches_in_epoch() && expected.next(&batch))
                views.push_back(batch.view());
        const xf::StepStats want = told->step(views.data(), views.size());
        CHECK_EQ(stats.loss_sum, want.loss_sum);
        CHECK_EQ(stats.gradient_norm, want.gradient_norm);
        CHECK_EQ(stats.tgt_tokens, want.tgt_tokens);
        CHECK(batcher->position() == expected.position());
        return true;
    }
    void check_equal() const { CHECK(params_of(*reads) == params_of(*told)); }
};

const xf::BatcherOptions kOptions = {.batch_tokens = 60, .max_tokens = 40, .seed = 5};

XF_TEST(prefetching_does_not_change_the_batch_of_a_step) {
    const auto pairs = corpus();
    for (const char *precision : {"fp32", "bf16"})
        for (const int64_t accumulate : {1, 2}) {
            Pair pair(precision, accumulate);
            xf::Batcher batcher(pairs, kOptions), like = batcher;
            const int64_t streams = get("live_streams");
            int ends = 0;
            for (int i = 0; ends < 2; ++i) {
                CHECK(i < 60);
                if (!pair.step(&batcher, like, accumulate)) ++ends;
            }
            CHECK_EQ(get("live_streams"), streams + 1);  // that of the uploads
            pair.check_equal();
        }
    check_nothing_lives("at the end");
}

XF_TEST(calls_between_steps_take_effect) {
    const auto pairs = corpus();
    xf::BatcherOptions other = kOptions;
    other.seed = 6;
    for (const char *precision : {"fp32", "bf16"}) {
        Pair pair(precision, 1);
        const auto batcher = std::make_unique<xf::Batcher>(pairs, kOptions);
        auto second = std::make_unique<xf::Batcher>(pairs, other);
        const xf::Batcher like = *batcher, like_second = *second;
        for (int i = 0; i < 3; ++i) pair.step(batcher.get(), like, 1);
        batcher->seek({0, 1});  // another position
        for (int i = 0; i < 2; ++i) pair.step(batcher.get(), like, 1);
        second->seek(batcher->position());  // another batcher there
        for (int i = 0; i < 2; ++i) pair.step(second.get(), like_second, 1);
        for (int i = 0; i < 2; ++i) pair.step(batcher.get(), like, 1);
        const Batch between = Task().batch(3);  // another step, so that the next one has another number
        const xf_batch view = between.view();
        for (xf::Trainer *trainer : {pair.reads.get(), pair.told.get()}) trainer->step(&view, 1);
        for (int i = 0; i < 2; ++i) pair.step(batcher.get(), like, 1);
        pair.check_equal();
    }
}

XF_TEST(a_step_still_waits_once) {
    const auto pairs = corpus();
    for (const char *precision : {"fp32", "bf16"}) {
        const auto trainer = make_trainer(open_device({"cuda", "auto", true, precision}, 1), kTraining);
        xf::Batcher batcher(pairs, kOptions);
        xf::StepStats stats;
        const auto epoch = [&](bool counts) {
            for (;;) {
                const int64_t before = get("waits");
                if (!trainer->next(&batcher, &stats)) break;
                if (counts) CHECK_EQ(get("waits") - before, 1);
            }
        };
        for (int i = 0; i < 4; ++i) epoch(false);  // memory is had, and calls are recorded
        epoch(true);
    }
}

// A step whose successor can't be read ahead is a good step.
XF_TEST(without_memory_nothing_is_prefetched) {
    const auto pairs = corpus();
    for (const int64_t n : {1, 2, 3}) {
        Pair pair("fp32", 1);
        xf::Batcher batcher(pairs, kOptions), like = batcher;
        const Batch large = Task{.sentences = 12, .longest = 12}.batch(1);
        const xf_batch view = large.view();
        for (xf::Trainer *trainer : {pair.reads.get(), pair.told.get()}) trainer->step(&view, 1);
        const int64_t streams = get("live_streams");
        set("malloc_fail_after", n);
        xf::StepStats stats;
        CHECK(pair.reads->next(&batcher, &stats));
        set("malloc_fail_after", 0);
        CHECK(n > 1 || get("live_streams") <= streams + 1);
        batcher.seek({0, 1});
        xf::Batcher expected = like;
        xf::Batch first;
        CHECK(expected.next(&first));
        const xf_batch first_view = first.view();
        pair.told->step(&first_view, 1);
        for (int i = 0; i < 3; ++i) pair.step(&batcher, like, 1);
        pair.check_equal();
    }
}

}  // namespace
