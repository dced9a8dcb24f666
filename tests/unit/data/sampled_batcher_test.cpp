// Batchers with random segmentation in each epoch: the ids are a function of (corpus, options, epoch, pair, side) and
// do not depend on threads, on how the position was reached, or on earlier failures.
//
// The encoder replaces a tokenizer: it encodes letters and joins some of them at random.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include "core/failing_new.hpp"
#include "core/heap.h"
#include "core/philox.h"
#include "data/batcher.h"
#include "data/text_corpus.hpp"

namespace {

using namespace xf;

std::string many_pairs(int64_t count) {
    std::string tsv;
    uint32_t state = 1;
    for (int64_t i = 0; i < count; ++i)
        for (const char end : {'\t', '\n'}) {
            state = state * 1664525u + 1013904223u;
            tsv.append(4 + state / 150000000u, static_cast<char>('a' + i % 26));
            tsv += end;
        }
    return tsv;
}

// Encodes one letter or two letters as an id, depending on the key.
void joined_letters(const TextKey &place, std::string_view text, std::vector<int32_t> *ids) {
    for (size_t i = 0; i < text.size(); ++i) {
        const bool join = place.epoch != TextKey::kUnsampled && i + 1 < text.size() &&
                          (philox(static_cast<uint64_t>(place.epoch), static_cast<uint32_t>(place.number()),
                                  static_cast<uint32_t>(i), 0, 0)
                               .word[0] &
                           1) != 0;
        ids->push_back(text[i] + (join ? 100 : 0));
        if (join) ++i;
    }
    ids->push_back(1);
}

struct World {
    std::shared_ptr<const Corpus> corpus = xf_test::corpus_of(many_pairs(600));
    std::shared_ptr<Heap> heap = std::make_shared<Heap>(Allocator{}, 0);
    BatcherOptions options;

    World() {
        options.batch_tokens = 300;
        options.sampling = 0.5;
    }
    std::unique_ptr<Batcher> batcher(ThreadPool *pool, const Encode &encode = joined_letters) const {
        const Encoders encoders{pool, std::vector<Encode>(static_cast<size_t>(pool->workers()), encode)};
        return Batcher::create(corpus, encoders, options, heap, {}, Call());
    }
};

using Ids = std::map<int64_t, std::pair<std::vector<int32_t>, std::vector<int32_t>>>;  // by pair

struct Epoch {
    std::vector<int32_t> stream;  // the contents of all batches, in order
    Ids ids;
    bool operator==(const Epoch &) const = default;
};

Epoch rest_of_epoch(Batcher *batcher) {
    Epoch epoch;
    for (Batch batch; batcher->next(&batch);) {
        for (const auto *ids : {&batch.src_ids, &batch.tgt_ids})
            epoch.stream.insert(epoch.stream.end(), ids->begin(), ids->end());
        for (const auto *offsets : {&batch.src_offsets, &batch.tgt_offsets})
            epoch.stream.insert(epoch.stream.end(), offsets->begin(), offsets->end());
        for (size_t b = 0; b < batch.pair_index.size(); ++b) {
            auto &[src, tgt] = epoch.ids[batch.pair_index[b]];
            src.assign(batch.src_ids.begin() + batch.src_offsets[b], batch.src_ids.begin() + batch.src_offsets[b + 1]);
            tgt.assign(batch.tgt_ids.begin() + batch.tgt_offsets[b], batch.tgt_ids.begin() + batch.tgt_offsets[b + 1]);
        }
    }
    return epoch;
}

std::vector<Epoch> epochs_of(Batcher *batcher, int count) {
    std::vector<Epoch> epochs;
    for (int i = 0; i < count; ++i) epochs.push_back(rest_of_epoch(batcher));
    return epochs;
}

void check_position(const Batcher &batcher, int64_t epoch, int64_t batch) {
    CHECK_EQ(batcher.position().epoch, epoch);
    CHECK_EQ(batcher.position().batch, batch);
}

}  // namespace

XF_TEST(any_number_of_threads_gives_the_same_bytes) {
    const World world;
    ThreadPool one(1), four(4);
    const auto a = world.batcher(&one), b = world.batcher(&four);
    CHECK(epochs_of(a.get(), 3) == epochs_of(b.get(), 3));
}

XF_TEST(each_epoch_has_a_new_segmentation) {
    World world;
    ThreadPool pool(2);
    for (const bool shuffle : {true, false}) {
        world.options.shuffle = shuffle;
        const auto batcher = world.batcher(&pool);
        const std::vector<Epoch> epochs = epochs_of(batcher.get(), 2);
        CHECK_EQ(epochs[0].ids.size(), 600u);
        CHECK_EQ(epochs[1].ids.size(), 600u);
        int same = 0;
        for (const auto &[pair, ids] : epochs[0].ids) {
            same += ids == epochs[1].ids.at(pair);
            std::vector<int32_t> expected;
            joined_letters({Side::kSource, pair, 0}, world.corpus->source(pair), &expected);
            CHECK(ids.first == expected);
            expected.clear();
            joined_letters({Side::kTarget, pair, 0}, world.corpus->target(pair), &expected);
            CHECK(ids.second == expected);
        }
        CHECK(same < 60);
        batcher->seek({0, 0});
        CHECK(rest_of_epoch(batcher.get()) == epochs[0]);
    }
}

XF_TEST(seeking_gives_what_reading_gives) {
    const World world;
    ThreadPool pool(2);
    const auto read = world.batcher(&pool), sought = world.batcher(&pool);
    epochs_of(read.get(), 2);
    Batch batch, other;
    for (int i = 0; i < 5; ++i) CHECK(read->next(&batch));
    check_position(*read, 2, 5);
    sought->seek({2, 5});
    CHECK_EQ(sought->batches_in_epoch(), read->batches_in_epoch());
    CHECK(sought->peek(&other));
    CHECK(rest_of_epoch(read.get()) == rest_of_epoch(sought.get()));
    CHECK(rest_of_epoch(read.get()) == rest_of_epoch(sought.get()));
    CHECK_EQ(read->fingerprint(), sought->fingerprint());
}

XF_TEST(a_batcher_that_does_not_sample_encodes_once) {
    World world;
    world.options.sampling = 0;
    ThreadPool pool(1);
    int encoded = 0;
    const auto batcher = world.batcher(&pool, [&](const TextKey &place, std::string_view text, auto *ids) {
        CHECK_EQ(place.epoch, TextKey::kUnsampled);
        ++encoded;
        joined_letters(place, text, ids);
    });
    const std::vector<Epoch> epochs = epochs_of(batcher.get(), 3);
    CHECK_EQ(encoded, 1200);
    CHECK(epochs[0].ids == epochs[2].ids);
    CHECK(batcher->unsampled(Call()) == nullptr);
}

XF_TEST(unsampled_has_the_same_pairs_as_they_are_translated) {
    World world;
    ThreadPool pool(2);
    const auto batcher = world.batcher(&pool);
    batcher->seek({3, 4});
    const auto unsampled = batcher->unsampled(Call());
    check_position(*unsampled, 3, 0);
    check_position(*batcher, 3, 4);
    world.options.sampling = 0;
    const auto plain = world.batcher(&pool);
    plain->seek({3, 0});
    CHECK(rest_of_epoch(unsampled.get()) == rest_of_epoch(plain.get()));
}

XF_TEST(a_failed_start_of_an_epoch_can_be_repeated) {
    const World world;
    ThreadPool pool(2);
    std::atomic<int> encoded{0};
    std::atomic<bool> broken{false};
    CancelSource source;
    const auto encode = [&](const TextKey &place, std::string_view text, std::vector<int32_t> *ids) {
        if (++encoded == 1300) source.cancel();
        if (broken) fail(XF_ERROR_STATE, "broken");
        joined_letters(place, text, ids);
    };
    const auto batcher = world.batcher(&pool, encode), whole = world.batcher(&pool);
    const std::vector<Epoch> expected = epochs_of(whole.get(), 2);
    Batch batch;
    const int64_t count = batcher->batches_in_epoch();
    for (int64_t i = 0; i < count; ++i) CHECK(batcher->next(&batch));

    const Call call(source, XF_CALL_INIT);
    CHECK_FAILS(batcher->next(&batch, call), XF_ERROR_CANCELLED);
    CHECK(encoded < 1400);
    check_position(*batcher, 0, count);
    broken = true;
    CHECK_FAILS(batcher->next(&batch), XF_ERROR_STATE);
    CHECK_FAILS(batcher->seek({7, 0}), XF_ERROR_STATE);
    check_position(*batcher, 0, count);
    CHECK_EQ(batcher->corpus().size(), 600);
    batcher->seek({0, 0});  // the current epoch is not encoded again
    CHECK(batcher->next(&batch));
    batcher->seek({0, count});
    broken = false;
    CHECK(!batcher->next(&batch));
    CHECK(rest_of_epoch(batcher.get()) == expected[1]);
}

XF_TEST(memory_may_run_out_at_the_start_of_an_epoch) {
    World world;
    ThreadPool pool(1);
    const auto whole = world.batcher(&pool), batcher = world.batcher(&pool);
    const std::vector<Epoch> expected = epochs_of(whole.get(), 2);
    const int64_t count = batcher->batches_in_epoch();
    batcher->seek({0, count});
    Batch batch;
    const int failures = xf_test::fail_each_new([&] {
        const bool failed = xf_test::out_of_memory([&] { batcher->next(&batch); });
        CHECK_EQ(failed, xf_test::new_plan.failed);
        check_position(*batcher, failed ? 0 : 1, failed ? count : 0);
    });
    CHECK(failures > 5);
    CHECK(rest_of_epoch(batcher.get()) == expected[1]);

    // The ids are allocated from the context's heap. The budget fits one epoch but not two.
    world.heap = std::make_shared<Heap>(Allocator{}, 0);
    world.batcher(&pool);
    world.heap = std::make_shared<Heap>(Allocator{}, world.heap->peak());
    const auto poor = world.batcher(&pool);
    poor->seek({0, poor->batches_in_epoch()});
    CHECK_FAILS(poor->next(&batch), XF_ERROR_NO_MEMORY);
    check_position(*poor, 0, poor->batches_in_epoch());
    poor->seek({0, 0});
    for (int64_t i = 0; i < poor->batches_in_epoch(); ++i) CHECK(poor->next(&batch));
}

XF_TEST(a_pair_can_be_too_long_in_one_epoch_only) {
    World world;
    world.options.max_tokens = 22;
    ThreadPool pool(2);
    const auto batcher = world.batcher(&pool);
    int64_t most = 0, least = 600;
    for (int i = 0; i < 3; ++i) {
        const EncodedCorpus &corpus = batcher->corpus();
        CHECK_EQ(corpus.size() + corpus.skipped_too_long, 600);
        CHECK(corpus.skipped_too_long > 0);
        most = std::max(most, corpus.size());
        least = std::min(least, corpus.size());
        const auto size = static_cast<size_t>(corpus.size());
        CHECK_EQ(rest_of_epoch(batcher.get()).ids.size(), size);
    }
    CHECK(most > least);
}

XF_TEST(an_epoch_without_a_pair_is_an_error) {
    const World world;
    ThreadPool pool(1);
    const auto batcher = world.batcher(&pool, [](const TextKey &place, std::string_view text, auto *ids) {
        joined_letters(place, place.epoch == 1 ? "" : text, ids);
    });
    CHECK_FAILS(batcher->seek({1, 0}), XF_ERROR_DATA);
    check_position(*batcher, 0, 0);
    batcher->seek({2, 0});
}

XF_TEST(memory_is_that_of_one_epoch_except_between_epochs) {
    const World world;
    ThreadPool pool(2);
    const int64_t before = world.heap->current();
    const auto batcher = world.batcher(&pool);
    const int64_t held = world.heap->current() - before;
    CHECK(held > 600 * 8 * 3);
    for (int i = 0; i < 4; ++i) {
        rest_of_epoch(batcher.get());
        CHECK(world.heap->current() - before < held * 3 / 2);
    }
    CHECK(batcher->unsampled(Call()) != nullptr);
    CHECK(world.heap->current() - before < held * 3 / 2);
}

XF_TEST(a_checkpoint_distinguishes_options) {
    World world;
    ThreadPool pool(1);
    world.options.sampling = 0.1;
    const auto batcher = world.batcher(&pool);
    CHECK_EQ(batcher->order().at("data.sampling"), "0.1");
    world.options = {};
    const auto plain = world.batcher(&pool);
    CHECK_EQ(plain->order().at("data.sampling"), "0");
    CHECK(plain->fingerprint() != batcher->fingerprint());

    Options options;
    CHECK(!BatcherOptions::from(options).sample());
    options.set_f64("data.sampling", 0.2);
    CHECK(BatcherOptions::from(options).sample());
    CHECK_EQ(BatcherOptions::from(options).sampling, 0.2);
    for (const double wrong : {-0.1, 101.0})
        CHECK_FAILS(options.set_f64("data.sampling", wrong), XF_ERROR_OUT_OF_RANGE);
}
