// Ensembles: the log-probability of a token is the mean of those of all models.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "decode/decoding.hpp"
#include "decode/engine.h"

namespace {

using namespace xf_test;
using Models = std::vector<std::shared_ptr<const xf::Model>>;

xf::DecodeModels together(const Models &models) { return {models[0], Models(models.begin() + 1, models.end())}; }

// Models of different sizes, initializations, and weight types.
Models different_models(const std::shared_ptr<xf::Context> &context, const DeviceName &name) {
    const auto other = [&](const Settings &more) { return make_model(context, with(kReverser, more)); };
    Models models = {make_reverser(context), other("model.seed=7 model.d_model=16 model.decoder_layers=1"_set),
                     other("model.seed=8 model.max_length=200"_set)};
    if (!name.cuda() && !name.bf16()) models[2] = models[2]->copy_to(context, "int8", {});
    return models;
}

const std::vector<Settings> kSearches = {"decode.beam=1"_set,
                                         "decode.beam=4 decode.n_best=3"_set,
                                         "decode.beam=3 decode.no_repeat_ngram=2 decode.min_tokens=4"_set,
                                         "decode.beam=2 decode.repetition_penalty=1.5"_set,
                                         "decode.beam=1 decode.alternatives=true decode.n_best=4"_set,
                                         "decode.beam=1 decode.temperature=1 decode.n_best=2"_set};

// The sum of equal fp32 values in double precision, divided by their number, is the value.
XF_TEST(equal_models_have_the_bits_of_one) {
    const std::vector<Ids> sources = reversal_pairs(71, 12, 1, 10, kReverserIds).src;
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        if (name.cuda() && name.bf16()) return;  // slow if emulated
        const auto model = make_reverser(context);
        for (const Settings &search : kSearches) {
            const xf::Options options = options_of(search);
            xf::Decoder one(model, options);
            for (const size_t count : name.cuda() ? std::vector<size_t>{3} : std::vector<size_t>{2, 3, 8}) {
                xf::Decoder several(together(Models(count, model)), options);
                CHECK(same(decode(&one, sources), decode(&several, sources)));
            }
        }
    });
}

XF_TEST(hypotheses_have_the_mean_log_probability) {
    const std::vector<Ids> sources = reversal_pairs(72, 10, 1, 8, kReverserIds).src;
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        const Models models = different_models(context, name);
        const xf::Options options = options_of("decode.beam=8 decode.alpha=0"_set);
        xf::Decoder ensemble(together(models), options);
        const Answers found = decode(&ensemble, sources);
        // The score of target `pairs.tgt[b]` by each model, and the best hypotheses of each as rivals.
        const auto means = [&](const Pairs &pairs) {
            std::vector<double> sums(pairs.size());
            for (const auto &model : models) {
                xf::Decoder alone(model, options);
                const std::vector<double> scores = score(&alone, pairs);
                for (size_t b = 0; b < sums.size(); ++b) sums[b] += scores[b];
            }
            for (double &sum : sums) sum /= static_cast<double>(models.size());
            return sums;
        };
        const auto targets_of = [&](const Answers &answers) {
            Pairs pairs{sources, {}};
            for (const auto &hypotheses : answers) {
                pairs.tgt.push_back(hypotheses[0].ids);
                pairs.tgt.back().push_back(kEndToken);
            }
            return pairs;
        };
        const Pairs own = targets_of(found);
        const std::vector<double> expected = means(own);
        CHECK(score(&ensemble, own) == expected);
        const double tolerance = context->dtype() == XF_BF16 ? 0.1 : 1e-4;
        for (size_t b = 0; b < sources.size(); ++b)
            if (found[b][0].finished) CHECK_NEAR(found[b][0].log_probability, expected[b], tolerance);
        // With a wide beam, no single model finds a hypothesis that is better by the mean.
        for (const auto &model : models) {
            xf::Decoder alone(model, options);
            const std::vector<double> rivals = means(targets_of(decode(&alone, sources)));
            for (size_t b = 0; b < sources.size(); ++b) CHECK(rivals[b] <= expected[b] + tolerance);
        }
    });
}

XF_TEST(the_result_does_not_depend_on_the_batch) {
    const std::vector<Ids> sources = reversal_pairs(73, 14, 1, 12, kReverserIds).src;
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        if (name.cuda() && name.bf16()) return;
        const Models models = different_models(context, name);
        for (const Settings &search : kSearches) {
            xf::Decoder decoder(together(models), options_of(with(search, {{"decode.batch_sentences", "5"}})));
            const Answers all = decode(&decoder, sources);
            for (size_t b = 0; b < sources.size(); b += name.cuda() ? 5 : 1)
                CHECK(same(all[b], decode(&decoder, {sources[b]})[0]));
        }
    });
}

XF_TEST(an_engine_decodes_with_an_ensemble_or_a_draft) {
    const std::vector<Ids> sources = reversal_pairs(74, 12, 1, 12, kReverserIds).src;
    on_each_device(1, [&](const auto &context, const DeviceName &name) {
        const Models models = different_models(context, name);
        const xf::Options options = options_of("decode.beam=1 decode.batch_sentences=4 engine.thread=false"_set);
        const xf::DecodeModels drafted{models[0], {}, models[1]};
        CHECK(together(models).hash() != models[0]->hash());
        CHECK_EQ(drafted.hash(), models[0]->hash());
        for (const xf::DecodeModels &each : {together(models), drafted}) {
            xf::Decoder decoder(each, options);
            xf::Engine engine(each, nullptr, options);
            CHECK_EQ(engine.stats().model_hash, each.hash());
            for (const Ids &source : sources) {
                xf::EngineRequest request;
                request.ids = source;
                engine.submit(std::move(request));
            }
            while (engine.step()) {
            }
            Answers answers(sources.size());
            for (xf::EngineEvent event; engine.next(0, {}, &event);)
                if (event.last) answers[event.id - 1] = std::move(event.outcome.hypotheses);
            CHECK(same(answers, decode(&decoder, sources)));
        }
    });
}

XF_TEST(models_that_differ_are_refused) {
    on_each_device(1, [&](const auto &context, const DeviceName &) {
        const auto model = make_model(context, kReverser);
        const auto create = [&](const xf::DecodeModels &models) { xf::Decoder(models, options_of({})); };
        const auto other = [&](const Settings &more) {
            return xf::DecodeModels{model, {make_model(context, with(kReverser, more))}};
        };
        create(other("model.d_ff=7 model.max_length=97"_set));
        for (const Settings &more : {"model.vocab_size=14"_set, "model.source_vocab_size=14 model.tie=decoder"_set,
                                     "model.end_token=2"_set, "model.banned_tokens=5"_set, "model.max_length=95"_set})
            CHECK_FAILS(create(other(more)), XF_ERROR_INVALID_ARGUMENT);
        CHECK_FAILS(create({model, {make_model(any_device(), kReverser)}}), XF_ERROR_INVALID_ARGUMENT);
        CHECK_FAILS(create({model, {model}, model}), XF_ERROR_INVALID_ARGUMENT);
        create({model, Models(7, model)});
        CHECK_FAILS(create({model, Models(8, model)}), XF_ERROR_INVALID_ARGUMENT);
    });
}

// A decoder and an engine lock all their models.
XF_TEST(all_models_are_locked) {
    const auto context = any_device();
    for (const size_t busy : {0, 1, 2}) {
        const Models models = {make_model(context, kReverser), make_model(context, kReverser),
                               make_model(context, kReverser)};
        const xf::DecodeModels ensemble = together(models), drafted{models[0], {}, models[busy]};
        for (const xf::DecodeModels &each : {ensemble, drafted}) {
            CHECK(models[busy]->usage().begin(true));
            CHECK_FAILS(xf::ModelsUse(each), XF_ERROR_BUSY);
            models[busy]->usage().end(true);
            {
                const xf::ModelsUse use(each);
                CHECK(!models[busy]->usage().begin(true));
            }
            CHECK(models[busy]->usage().begin(true));
            models[busy]->usage().end(true);
        }
    }
}

}  // namespace
