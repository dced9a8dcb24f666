// Alignments: each equals the largest attention weight that xf_attention_weights() reports for the same pair, for all
// searches, in any batch, and in the engine; and token offsets in texts.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "decode/decoding.hpp"
#include "decode/engine.h"
#include "decode/translator.h"

namespace {

using namespace xf_test;

// The alignment by the attention weights of a decoder of the same model.
Ids expected_alignment(xf::Decoder *decoder, const Ids &source, const Ids &hypothesis) {
    const xf::ModelConfig &c = decoder->model().config();
    Ids target = hypothesis;
    target.push_back(kEndToken);
    const auto S = static_cast<int64_t>(source.size()), T = static_cast<int64_t>(target.size());
    const Batch pair(Pairs{{source}, {target}});
    std::vector<std::vector<float>> layers;
    for (int64_t layer = std::max<int64_t>(c.decoder_layers - 2, 0); layer < c.decoder_layers; ++layer)
        layers.push_back(attention_of(decoder, pair, xf::AttentionKind::kCross, layer));
    Ids alignment;
    for (int64_t t = 0; t + 1 < T; ++t) {
        std::vector<double> sums(source.size());
        for (const std::vector<float> &weights : layers)
            for (int64_t h = 0; h < c.H; ++h)
                for (int64_t s = 0; s < S; ++s) sums[s] += double{weights[(h * T + t) * S + s]};
        int32_t best = -1;
        for (int32_t s = 0; s < S; ++s)
            if (source[s] != kEndToken && (best < 0 || sums[s] > sums[best])) best = s;
        alignment.push_back(best);
    }
    return alignment;
}

// Returns the number of alignments that are not to the first token.
int64_t check(xf::Decoder *decoder, xf::Decoder *weights, const std::vector<Ids> &sources,
              const xf::DecodeRequest &request = {}) {
    const Answers found = decode(decoder, sources, request);
    int64_t others = 0;
    for (size_t b = 0; b < sources.size(); ++b)
        for (const xf::Hypothesis &h : found[b]) {
            CHECK(h.alignment == expected_alignment(weights, sources[b], h.ids));
            others += std::count_if(h.alignment.begin(), h.alignment.end(), [](int32_t s) { return s > 0; });
        }
    return others;
}

const std::vector<Settings> kSearches = {"decode.beam=1"_set, "decode.beam=4 decode.n_best=3"_set,
                                         "decode.beam=3 decode.no_repeat_ngram=2 decode.min_tokens=4"_set,
                                         "decode.beam=1 decode.alternatives=true decode.n_best=4"_set,
                                         "decode.beam=1 decode.temperature=1 decode.n_best=2"_set};

XF_TEST(an_alignment_is_the_largest_attention_weight) {
    std::vector<Ids> sources = reversal_pairs(91, 10, 1, 9, kReverserIds).src;
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        const auto model = make_reverser(context);
        xf::Decoder weights(model, options_of({}));
        const auto other = make_model(context, with(kReverser, "model.seed=7 model.decoder_layers=1"_set));
        for (const Settings &search : kSearches) {
            const xf::Options options = options_of(with(search, "decode.alignment=true"_set));
            xf::Decoder alone(model, options), ensemble({model, {other}}, options),
                drafted({model, {}, other}, options);
            CHECK(check(&alone, &weights, sources) > 10);
            CHECK(same(decode(&alone, sources), decode_alone(&alone, sources)));
            check(&ensemble, &weights, sources);
            CHECK(same(decode(&alone, sources), decode(&drafted, sources)));
            if (name.cuda() && name.bf16()) break;  // slow if emulated
        }
    });
}

XF_TEST(models_of_any_depth_align) {
    const std::vector<Ids> sources = random_pairs(92, 6, 9, 19).src;
    for (const Variant &variant : kVariants) {
        const auto model = make_model(any_device(), variant.settings());
        xf::Decoder decoder(model, options_of("decode.alignment=true decode.max_extra_tokens=4"_set));
        check(&decoder, &decoder, sources);
    }
}

XF_TEST(special_tokens_have_no_alignment) {
    const auto model =
        make_model(any_device(), with(kReverser, "model.languages=English=3,German=4 model.target_language=start"_set));
    xf::Decoder decoder(model, options_of("decode.alignment=true decode.min_tokens=3"_set));
    const auto by_call = [&](const char *language, const Ids &source) {
        const xf::Options options = options_of({{"text.target_language", language}});
        xf::DecodeRequest request;
        request.options = &options;
        return decode(&decoder, {source}, request)[0].at(0);
    };
    for (const int32_t s : by_call("German", {3, kEndToken}).alignment) CHECK_EQ(s, -1);
    for (const int32_t s : by_call("German", {3, 5, 4, kEndToken}).alignment) CHECK_EQ(s, 1);
    // The language is the first input of the decoder, also if a hypothesis ends with a language token.
    const Ids source = {5, 6, 7, 8, 9, kEndToken};
    for (const char *language : {"English", "German"}) {
        const Settings settings = with(kReverser, {{"model.start_token", language[0] == 'E' ? "3" : "4"}});
        const auto plain = make_model(any_device(), settings);
        xf::Decoder weights(plain, options_of({}));
        const xf::Options options = options_of({{"text.target_language", language}});
        const int32_t prefix[] = {6, 4};
        const int64_t offsets[] = {0, 2};
        xf::DecodeRequest request;
        request.options = &options;
        request.prefix_ids = prefix;
        request.prefix_offsets = offsets;
        const xf::Options shortest = options_of(
            {{"text.target_language", language}, {"decode.max_extra_tokens", "0"}, {"decode.min_tokens", "0"}});
        check(&decoder, &weights, {source}, request);
        request.options = &shortest;
        check(&decoder, &weights, {source}, request);
    }
}

XF_TEST(a_search_without_the_option_does_not_align) {
    xf::Decoder decoder(make_reverser(any_device()), options_of({}));
    CHECK(decode(&decoder, {{4, 5, kEndToken}})[0].at(0).alignment.empty());
}

XF_TEST(hypotheses_of_a_deadline_are_aligned) {
    const auto model = make_reverser(any_device());
    xf::Decoder decoder(model, options_of("decode.alignment=true decode.min_tokens=30"_set)),
        weights(model, options_of({}));
    xf_call call XF_CALL_INIT;
    call.deadline_ms = 20;
    const xf::CancelSource source;
    const xf::Call timed(source, call, xf::Call::Deadline::kPartial);
    int steps = 0;
    xf::DecodeRequest request;
    request.constraint = [&](auto) {
        if (++steps == 5) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    };
    const Ids ids = {4, 5, 6, kEndToken};
    const Batch batch(std::vector<Ids>{ids});
    const xf::SentenceOutcome outcome = decoder.decode(batch.view(), request, timed).at(0);
    if (outcome.status == XF_ERROR_DEADLINE) return;  // the machine was busy
    const xf::Hypothesis &h = outcome.hypotheses.at(0);
    CHECK(!h.complete && !h.ids.empty());
    CHECK(h.alignment == expected_alignment(&weights, ids, h.ids));
}

std::vector<xf::SentenceOutcome> translate(const std::shared_ptr<const xf::Tokenizer> &tokenizer,
                                           const std::shared_ptr<const xf::Model> &model,
                                           const std::vector<const char *> &texts, const Settings &more = {}) {
    xf::Decoder decoder(model, options_of(with("decode.alignment=true decode.max_extra_tokens=5"_set, more)));
    xf::Translator translator(*tokenizer, decoder);
    return translator.translate({texts.data(), nullptr, texts.size()}, {}, {});
}

XF_TEST(source_ends_are_offsets_in_the_text_of_the_caller) {
    const auto tokenizer = byte_tokenizer();
    const auto model = make_model(any_device(), with(kTinyModel, {{"model.vocab_size", "258"}}));
    // The first token is a space that the tokenizer adds. The first byte of a letter does not end a character. The
    // tokenizer composes two characters of three bytes to one of two.
    const auto found = translate(tokenizer, model, {"ab", " \n\u00e4b ", "e\u0301x", "", "\xFF"});
    using Ends = std::vector<size_t>;
    CHECK((found[0].source_ends == Ends{0, 1, 2, 2}));
    CHECK((found[1].source_ends == Ends{0, 0, 4, 5, 5}));
    CHECK((found[2].source_ends == Ends{0, 0, 3, 4, 4}));
    CHECK(found[3].source_ends.empty() && found[3].hypotheses.at(0).alignment.empty());
    CHECK(found[4].source_ends.empty());
    for (const xf::SentenceOutcome &outcome : found)
        for (const xf::Hypothesis &h : outcome.hypotheses) {
            CHECK_EQ(h.text_ends.size(), h.ids.size());
            CHECK(std::is_sorted(h.text_ends.begin(), h.text_ends.end()));
            if (!h.text_ends.empty()) CHECK_EQ(h.text_ends.back(), h.text.size());
            for (const int32_t s : h.alignment)
                CHECK(s >= 0 && static_cast<size_t>(s) + 1 < outcome.source_ends.size());
        }
    CHECK(translate(tokenizer, model, {"ab"}, "decode.alignment=false"_set)[0].source_ends.empty());
}

XF_TEST(language_tokens_of_a_source_cover_no_text) {
    const auto tokenizer = byte_tokenizer();
    using Ends = std::vector<size_t>;
    for (const char *position : {"before", "after"}) {
        const auto model = make_model(any_device(), with(kTinyModel, {{"model.vocab_size", "258"},
                                                                      {"model.languages", "English=100,German=101"},
                                                                      {"model.source_language", position}}));
        const Ends ends = translate(tokenizer, model, {" ab"}, {{"text.source_language", "English"}})[0].source_ends;
        const Ends expected = position[0] == 'b' ? Ends{0, 0, 2, 3, 3} : Ends{0, 2, 3, 3, 3};
        CHECK(ends == expected);
    }
}

XF_TEST(the_engine_has_the_offsets_of_the_translator) {
    const auto tokenizer = byte_tokenizer();
    const auto model = make_model(any_device(), with(kTinyModel, {{"model.vocab_size", "258"}}));
    const std::vector<const char *> texts = {" \u00e4b ", "a b c", "  "};
    const auto expected = translate(tokenizer, model, texts);
    xf::Engine engine({model}, tokenizer,
                      options_of("engine.thread=false decode.alignment=true decode.max_extra_tokens=5"_set));
    for (const char *text : texts) {
        xf::EngineRequest request;
        request.is_text = true;
        request.text = text;
        request.stream = true;
        engine.submit(std::move(request));
    }
    int ended = 0;
    for (bool more = true; more;) {
        more = engine.step();
        xf::EngineEvent event;
        while (engine.next(0, xf::Call(), &event)) {
            const xf::SentenceOutcome &wanted = expected[event.id - 1];
            ended += event.last;
            CHECK(event.outcome.source_ends == (event.last ? wanted.source_ends : std::vector<size_t>()));
            if (!event.last) CHECK(event.outcome.hypotheses.at(0).text_ends.empty());
            if (event.last) CHECK(same(event.outcome.hypotheses, wanted.hypotheses));
            if (event.last) CHECK(event.outcome.hypotheses.at(0).text_ends == wanted.hypotheses.at(0).text_ends);
        }
    }
    CHECK_EQ(ended, 3);
    const xf::EngineStats stats = engine.stats();
    CHECK(stats.rows > stats.steps && stats.rows <= stats.steps * 8 && stats.rows % 4 == 0);  // two of beam 4
}

}  // namespace
