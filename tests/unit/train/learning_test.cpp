// A tiny model learns to reverse sequences and decodes held-out ones without errors. This requires loss, gradient,
// update, and search to be consistent.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/decoder.h"
#include "train/training.hpp"

namespace {

using namespace xf_test;

void learn_to_reverse(const std::shared_ptr<xf::Context> &context) {
    const Settings settings =
        with(kTraining,
             "model.vocab_size=12 train.dropout=0 train.attention_dropout=0 train.label_smoothing=0 "
             "train.learning_rate=0.3 train.warmup_steps=100 model.encoder_layers=2 model.decoder_layers=2 "
             "train.adam_beta2=0.99"_set);
    const Task task{.sentences = 64, .shortest = 2, .longest = 6, .V = 12};
    const auto trainer = make_trainer(context, settings);
    double first = 0, loss = 0;
    for (int64_t i = 0; i < 1500; ++i) {
        const xf::StepStats s = step(trainer.get(), {task.batch(i)});
        const double now = s.loss_sum / static_cast<double>(s.tgt_tokens);
        first = i == 0 ? now : first;
        loss = i == 0 ? now : 0.95 * loss + 0.05 * now;
        if (loss < 0.001) break;
    }
    std::printf("loss %.3f, then %.4f after %lld steps\n", first, loss, static_cast<long long>(trainer->steps_done()));
    CHECK(first > 2);
    CHECK(loss < 0.3);

    const Pairs held_out = reversal_pairs(999999, 100, 2, 6, 12);
    for (const char *beam : {"1", "4"}) {
        xf::Decoder decoder(trainer->model(), options_of({{"decode.beam", beam}}));
        const Batch batch(held_out);
        const auto answers = decoder.decode(batch.view());
        int right = 0;
        for (size_t i = 0; i < held_out.size(); ++i) {
            Ids ids = answers[i].hypotheses[0].ids;
            ids.push_back(kEndToken);
            right += ids == held_out.tgt[i] && answers[i].hypotheses[0].finished ? 1 : 0;
        }
        CHECK_EQ(right, 100);
        xf::EvalStats stats;
        decoder.evaluate(batch.view(), &stats);
        CHECK(stats.nll_sum / static_cast<double>(stats.tgt_tokens) < 0.1);
    }
}

XF_TEST(a_tiny_model_learns_to_reverse) {
    // Once in fp32 and in bf16: determinism_test.cpp and golden compare the instruction sets.
    on_each_device(2, [](const auto &context, const DeviceName &name) {
        if (name.bf16() || std::string_view(name.isa) == "base") learn_to_reverse(context);
    });
}

}  // namespace
