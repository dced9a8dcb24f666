// The classes allocate nothing that the C API does not, where xformer.hpp says so.
//
// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "check.hpp"
#include "world.hpp"

extern std::atomic<long> allocations;  // count_new.cpp

namespace {

// How often a body allocates, when it has run before.
template <class Body>
long counted(const Body &body) {
    body();
    const long before = allocations;
    body();
    return allocations - before;
}

TEST(no_allocation_besides_those_of_the_c_api) {
    World w;
    w.train(2);
    xformer::BatchBuffer buffer;
    buffer.add(w.tokenizer.encode("one two"), w.tokenizer.encode("eins zwei"));
    const xformer::Batch batch = buffer.batch();
    xf_step_stats step = XF_STEP_STATS_INIT;
    xf_eval_stats eval = XF_EVAL_STATS_INIT;
    xformer::Batcher evaluated(w.corpus, w.tokenizer, w.config);
    double score = 0;
    const auto in_c = [&](auto... calls) { return counted([&] { (calls(), ...); }); };
    CHECK(counted([&] { w.trainer.step(batch); }) ==
          in_c([&] { xf_train_step(w.trainer.get(), &batch, 1, nullptr, &step, nullptr); }));
    CHECK(counted([&] { w.trainer.accumulate(batch), w.trainer.update(); }) ==
          in_c([&] { xf_train_accumulate(w.trainer.get(), &batch, nullptr, &step, nullptr); },
               [&] { xf_train_update(w.trainer.get(), &step, nullptr); }));
    CHECK(counted([&] { w.decoder.score(batch, xformer::span<double>(&score, 1)); }) ==
          in_c([&] { xf_score(w.decoder.get(), &batch, nullptr, &score, nullptr); }));
    CHECK(counted([&] { w.decoder.evaluate(evaluated); }) ==
          in_c([&] { xf_evaluate(w.decoder.get(), evaluated.get(), nullptr, &eval, nullptr); }));
    CHECK(counted([&] { w.decoder.decode(batch); }) == in_c([&] {
              xf_hypotheses *found = nullptr;
              xf_decode(w.decoder.get(), &batch, nullptr, nullptr, &found, nullptr);
              xf_hypotheses_free(found);
          }));
    const std::vector<std::string> texts = sources();
    const char *pointers[] = {texts[0].c_str(), texts[1].c_str()};
    const std::vector<std::string_view> two{texts[0], texts[1]};
    const long translations = in_c([&] {
        xf_hypotheses *found = nullptr;
        xf_translate(w.decoder.get(), pointers, nullptr, 2, nullptr, nullptr, &found, nullptr);
        xf_hypotheses_free(found);
    });
    CHECK(translations > 0 && counted([&] { w.decoder.translate(two); }) == translations);
    const auto answers = w.decoder.translate(two);
    CHECK(counted([&] {
              for (const xformer::Sentence &each : answers)
                  for (const xformer::Hypothesis &h : each) score += h.score;
          }) == 0);
    xformer::Batch next;
    w.batcher.seek(0);
    const long given = counted([&] { w.batcher.seek(0), (void)w.batcher.next(next); });
    CHECK(given == in_c([&] {
              xf_batch plain = XF_BATCH_INIT;
              xf_batcher_seek(w.batcher.get(), 0, 0, nullptr, nullptr);
              xf_batcher_next(w.batcher.get(), nullptr, &plain, nullptr);
          }));
}

}  // namespace
