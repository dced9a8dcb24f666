// Packed sentences are independent: losses and gradients of a batch are those of its sentences, attention is causal,
// and the batch on the device equals the input.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/fixture.hpp"

namespace {

using namespace xf_test;

double largest(const std::vector<float> &values, const xf::Parameter &p) {
    double top = 0;
    for (int64_t i = 0; i < p.size(); ++i)
        top = std::max(top, std::fabs(double{values[static_cast<size_t>(p.offset + i)]}));
    return top;
}

XF_TEST(gradients_of_a_batch_are_the_sum_of_its_sentences) {
    const Pairs pairs = random_pairs(11, 7, 30, 19);
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        for (const Variant &variant : kVariants) {
            Net net(context, variant.settings());
            const std::vector<float> together = net.gradient(pairs);
            std::vector<float> sum(together.size());
            for (size_t i = 0; i < pairs.size(); ++i) {
                const std::vector<float> one = net.gradient(pairs.pick({i}));
                for (size_t j = 0; j < sum.size(); ++j) sum[j] += one[j];
            }
            for (const xf::Parameter &p : net.model->table().list) {
                double worst = 0;
                for (int64_t j = p.offset; j < p.offset + p.size(); ++j)
                    worst = std::max(worst,
                                     std::fabs(double{sum[static_cast<size_t>(j)]} - together[static_cast<size_t>(j)]));
                if (!(worst <= (name.bf16() ? 3e-2 : 2e-5) * (largest(together, p) + 0.1)))
                    record(__FILE__, __LINE__,
                           xf::format("%s %s: %s differs by %s", name.text().c_str(), variant.name, p.name.c_str(),
                                      xf::number(worst).c_str()));
            }
        }
    });
}

XF_TEST(the_losses_of_a_sentence_do_not_depend_on_its_batch) {
    const Pairs pairs = random_pairs(12, 9, 40, 19);
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        const double near = name.bf16() ? 5e-2 : 1e-5;
        for (const Variant &variant : kVariants) {
            Net net(context, variant.settings());
            const auto together = net.losses(pairs), invariant = net.losses(pairs, {}, true);
            const std::vector<size_t> order = {4, 8, 0, 3, 7, 1, 6, 2, 5};
            const auto shuffled = net.losses(pairs.pick(order), {}, true);
            for (size_t i = 0; i < pairs.size(); ++i) {
                CHECK(shuffled[i] == invariant[order[i]]);  // bit-identical
                CHECK(net.losses(pairs.pick({i}), {}, true)[0] == invariant[i]);
                const auto alone = net.losses(pairs.pick({i}))[0];
                for (size_t j = 0; j < alone.size(); ++j) {
                    CHECK_NEAR(alone[j], together[i][j], near);
                    CHECK_NEAR(invariant[i][j], together[i][j], near);
                }
            }
        }
    });
}

// In inference, layers share memory.
XF_TEST(inference_computes_the_losses_of_training) {
    const Pairs pairs = random_pairs(13, 5, 20, 19);
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        for (const Variant &variant : kVariants) {
            Net net(context, with(variant.settings(), {{"model.encoder_layers", "5"}, {"model.decoder_layers", "5"}}));
            const auto train = net.losses(pairs), infer = net.losses(pairs, {}, false, xf::PassKind::kInference);
            for (size_t i = 0; i < pairs.size(); ++i)
                for (size_t j = 0; j < train[i].size(); ++j)
                    CHECK_NEAR(train[i][j], infer[i][j], name.bf16() ? 5e-2 : 1e-5);
        }
    });
}

XF_TEST(a_target_token_changes_no_earlier_loss) {
    Draw draw(14);
    Pairs pairs = random_pairs(14, 3, 8, 19);
    pairs.src[1] = sentence(&draw, 12, 12, 19);
    pairs.tgt[1] = sentence(&draw, 20, 20, 19);
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        // bf16 may round a small change away.
        const auto shows = [&](float after, float before) { return name.bf16() || after != before; };
        for (const Variant &variant : kVariants) {
            Net net(context, variant.settings());
            const auto before = net.losses(pairs);
            const size_t step = name.cuda() ? 6 : 1;  // a GPU may be emulated
            for (size_t j = 0; j < pairs.tgt[1].size(); j += step) {
                Pairs changed = pairs;
                changed.tgt[1][j] = pairs.tgt[1][j] == 5 ? 6 : 5;
                const auto after = net.losses(changed);
                CHECK(after[0] == before[0] && after[2] == before[2]);
                for (size_t i = 0; i < j; ++i) CHECK_EQ(after[1][i], before[1][i]);
                CHECK(shows(after[1][j], before[1][j]));
                if (j + 1 < before[1].size()) CHECK(shows(after[1][j + 1], before[1][j + 1]));
            }
            for (size_t j = 0; j + 1 < pairs.src[1].size();
                 j += step) {  // the whole source is visible, but only to its own target
                Pairs changed = pairs;
                changed.src[1][j] = pairs.src[1][j] == 5 ? 6 : 5;
                const auto after = net.losses(changed);
                CHECK(after[0] == before[0] && after[2] == before[2]);
                for (size_t i = 0; i < before[1].size(); ++i) CHECK(shows(after[1][i], before[1][i]));
            }
        }
    });
}

XF_TEST(the_packed_batch_is_the_input_shifted_and_grouped) {
    const auto context = any_device();
    const xf::ModelConfig config = xf::ModelConfig::from(options_of(kVariants[2].settings()));
    xf::Stream stream(context->device());
    xf::PackedBatch packed;
    const Batch batch({{5, 7, 5, 1}, {1}, {7, 1}}, {{9, 1}, {9, 8, 9, 1}, {1}});
    packed.load(stream, config, batch.view(), xf::PackedBatch::Sides::kBoth, true);
    const auto read = [&](const int32_t *from, size_t count) {
        Ids values(count);
        stream.download(values.data(), from, count * sizeof(int32_t));
        return values;
    };
    CHECK_EQ(packed.B, 3);
    CHECK_EQ(packed.src.rows, 7);
    CHECK_EQ(packed.src.max_length, 4);
    CHECK(read(packed.src.ids, 7) == (Ids{5, 7, 5, 1, 1, 7, 1}));
    CHECK(read(packed.src.positions, 7) == (Ids{0, 1, 2, 3, 0, 0, 1}));
    CHECK(read(packed.src.begin, 3) == (Ids{0, 4, 5}));
    CHECK(read(packed.src.length, 3) == (Ids{4, 1, 2}));
    CHECK(read(packed.tgt.ids, 7) == (Ids{0, 9, 0, 9, 8, 9, 0}));
    CHECK(read(packed.targets, 7) == (Ids{9, 1, 9, 8, 9, 1, 1}));
    CHECK_EQ(packed.src.by_id.count, 3);
    CHECK(read(packed.src.by_id.ids, 3) == (Ids{1, 5, 7}));
    CHECK(read(packed.src.by_id.starts, 4) == (Ids{0, 3, 5, 7}));
    CHECK(read(packed.src.by_id.order, 7) == (Ids{3, 4, 6, 0, 2, 1, 5}));
    CHECK_EQ(packed.tgt.by_position.count, 4);
    CHECK(read(packed.tgt.by_position.starts, 5) == (Ids{0, 3, 5, 6, 7}));
    CHECK(read(packed.tgt.by_position.order, 7) == (Ids{0, 2, 6, 1, 3, 4, 5}));
}

// A target that ends with a language token is trained as by a model whose start token is that language.
XF_TEST(a_final_language_token_replaces_the_start_token) {
    const Settings many = with(kTinyModel, {{"model.languages", "a=4,b=5"}, {"model.target_language", "start"}});
    const Settings one = with(kTinyModel, {{"model.start_token", "5"}});
    Pairs pairs = random_pairs(15, 6, 12, 19);
    for (Ids &target : pairs.tgt) target.push_back(5);
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        Net net(context, many), plain(context, one);
        CHECK(net.losses(pairs) == plain.losses(pairs));
        CHECK(net.gradient(pairs) == plain.gradient(pairs));
        Pairs mixed = pairs;
        mixed.tgt[0].back() = 4;  // a different language per sentence
        mixed.tgt[1].pop_back();  // the start token of the model
        const auto told = net.losses(mixed), all = net.losses(pairs);
        CHECK(told[0] != all[0] && told[1] != all[1]);
        CHECK_NEAR(told[2].at(0), all[2].at(0), 1e-2);
        CHECK_NEAR(told[1].at(0), Net(context, kTinyModel).losses(mixed)[1].at(0), 1e-2);
    });
}

XF_TEST(an_empty_text_gets_no_special_tokens) {
    const xf::TokenTemplate frame{3, 1, 4};
    Ids ids = {9};
    CHECK(!frame.append(&ids, [] {}));
    CHECK(ids == Ids{9});
    CHECK(frame.append(&ids, [&] { ids.push_back(7); }));
    CHECK(ids == (Ids{9, 3, 7, 1, 4}));
}

}  // namespace
