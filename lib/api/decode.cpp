// decode.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/decode.h"

#include <cmath>

#include "api/decode_handles.h"
#include "api/model_handle.h"
#include "core/checked.h"
#include "decode/translator.h"
#include "xformer/experimental.h"

using namespace xf;

struct xf_decoder : Handle<0x58460008u> {
    static constexpr const char *kKind = "a decoder";
    std::shared_ptr<Context> context;
    std::shared_ptr<const Tokenizer> tokenizer;
    std::unique_ptr<Decoder> decoder;
    std::unique_ptr<Translator> translator;  // null when the model has no tokenizer
};

DecodeModels xf::models_of(const xf_model &model, const xf_decode_models *more) {
    DecodeModels models{model.model};
    if (more == nullptr) return models;
    const xf_decode_models given = get_struct(more, "more");
    XF_CHECK(given.ensemble != nullptr || given.ensemble_count == 0, XF_ERROR_INVALID_ARGUMENT,
             "more->ensemble is NULL with a count of %zu", given.ensemble_count);
    XF_CHECK(given.ensemble_count < DecodeModels::kMostInEnsemble, XF_ERROR_INVALID_ARGUMENT,
             "more->ensemble_count is %zu, expected at most %zu", given.ensemble_count,
             DecodeModels::kMostInEnsemble - 1);
    if (given.ensemble_count == 0 && given.draft == nullptr) return models;
    const std::string tokenizer = tokenizer_json_of(model);
    const auto add = [&](const xf_model *other, const std::string &name) -> std::shared_ptr<const Model> {
        const auto use = shared(other, name.c_str());
        XF_CHECK(tokenizer_json_of(*use) == tokenizer, XF_ERROR_INVALID_ARGUMENT,
                 "%s has another tokenizer than the first model", name.c_str());
        return use->model;
    };
    for (size_t i = 0; i < given.ensemble_count; ++i)
        models.ensemble.push_back(add(given.ensemble[i], format("more->ensemble[%zu]", i)));
    if (given.draft != nullptr) models.draft = add(given.draft, "more->draft");
    return models;
}

Constraint xf::constraint_of(const xf_constraint *in, const char *name, int32_t V) {
    if (in == nullptr) return nullptr;
    const xf_constraint constraint = get_struct(in, name);
    XF_CHECK(constraint.function != nullptr, XF_ERROR_INVALID_ARGUMENT, "%s->function is NULL", name);
    return [constraint, V, list = std::vector<xf_partial>(),
            pointers = std::vector<const xf_partial *>()](std::span<const Partial> partials) mutable {
        list.clear();
        pointers.clear();
        for (const Partial &p : partials)
            list.push_back({sizeof(xf_partial), static_cast<size_t>(p.sentence), p.ids.data(), p.ids.size(),
                            static_cast<size_t>(p.remaining), p.allowed.data()});
        for (const xf_partial &p : list) pointers.push_back(&p);
        const xf_constraint_step step{sizeof step, pointers.data(), pointers.size(), V, 0};
        const int32_t result = constraint.function(constraint.user, &step);
        XF_CHECK(result == 0, XF_ERROR_CALLBACK, "the constraint callback returned %d, expected 0", result);
    };
}

namespace {

// Holds a decoder exclusively and its models for reading, during one call.
struct DecoderUse {
    DecoderUse(xf_decoder *decoder, const xf_call *params, Call::Deadline deadline = Call::Deadline::kFail)
        : handle(decoder, "decoder", true),
          models(handle->decoder->models()),
          call(begin_call(*handle->context, params, deadline)) {}

    Use<xf_decoder> handle;
    ModelsUse models;
    Call call;
};

xf_decode_params get_params(const xf_decode_params *params) {
    return params != nullptr ? get_struct(params, "params") : xf_decode_params XF_DECODE_PARAMS_INIT;
}

// options: of params.config, when there is one.
DecodeRequest request_of(const xf_decode_params &params, const Options &options, const xf_decoder &decoder) {
    DecodeRequest request;
    if (params.config != nullptr) request.options = &options;
    request.prefix_ids = params.prefix_ids;
    request.prefix_offsets = params.prefix_offsets;
    request.constraint = constraint_of(params.constraint, "params->constraint", decoder.decoder->model().config().V);
    return request;
}

xf_hypotheses *make_hypotheses(std::vector<SentenceOutcome> outcomes, bool has_text) {
    auto handle = std::make_unique<xf_hypotheses>();
    handle->outcomes = std::move(outcomes);
    handle->has_text = has_text;
    return handle.release();
}

template <class T>
const T *data_of(const std::vector<T> &values) {
    return values.empty() ? nullptr : values.data();
}

const SentenceOutcome &outcome_of(const xf_hypotheses &hypotheses, size_t sentence) {
    XF_CHECK(sentence < hypotheses.outcomes.size(), XF_ERROR_OUT_OF_RANGE,
             "the sentence index is %zu, but there are %zu sentences", sentence, hypotheses.outcomes.size());
    return hypotheses.outcomes[sentence];
}

}  // namespace

extern "C" {

xf_status xf_decoder_create(const xf_model *model, const xf_decode_models *more, const xf_config *config,
                            xf_decoder **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        check_pointer(out, "out");
        auto handle = std::make_unique<xf_decoder>();
        handle->context = use->context;
        handle->tokenizer = tokenizer_of(*use);
        handle->decoder = std::make_unique<Decoder>(models_of(*use, more), *OptionsOf(config), handle->tokenizer.get());
        if (handle->tokenizer != nullptr)
            handle->translator = std::make_unique<Translator>(*handle->tokenizer, *handle->decoder);
        *out = handle.release();
    });
}

void xf_decoder_free(xf_decoder *decoder) { free_handle(decoder); }

xf_status xf_decode(xf_decoder *decoder, const xf_batch *batch, const xf_decode_params *params, const xf_call *call,
                    xf_hypotheses **out, xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder, call, Call::Deadline::kPartial);
        const xf_batch own = get_batch(batch);
        const xf_decode_params given = get_params(params);
        XF_CHECK(given.prefixes == nullptr && given.prefix_lengths == nullptr, XF_ERROR_INVALID_ARGUMENT,
                 "params->prefixes is set, which is for xf_translate(); xf_decode() takes prefix_ids");
        check_pointer(out, "out");
        const OptionsOf options(given.config);
        std::vector<SentenceOutcome> found =
            decoder->decoder->decode(own, request_of(given, *options, *decoder), use.call);
        if (decoder->tokenizer != nullptr)
            for (SentenceOutcome &outcome : found) write_texts(*decoder->tokenizer, &outcome);
        *out = make_hypotheses(std::move(found), decoder->tokenizer != nullptr);
    });
}

xf_status xf_translate(xf_decoder *decoder, const char *const *texts, const size_t *lengths, size_t count,
                       const xf_decode_params *params, const xf_call *call, xf_hypotheses **out, xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder, call, Call::Deadline::kPartial);
        XF_CHECK(texts != nullptr || count == 0, XF_ERROR_INVALID_ARGUMENT, "texts is NULL with a count of %zu", count);
        const xf_decode_params given = get_params(params);
        XF_CHECK(given.prefix_ids == nullptr && given.prefix_offsets == nullptr, XF_ERROR_INVALID_ARGUMENT,
                 "params->prefix_ids is set, which is for xf_decode(); xf_translate() takes prefixes");
        XF_CHECK(given.prefixes != nullptr || given.prefix_lengths == nullptr, XF_ERROR_INVALID_ARGUMENT,
                 "params->prefix_lengths is set without prefixes");
        check_pointer(out, "out");
        XF_CHECK(decoder->translator != nullptr, XF_ERROR_STATE, "the model has no tokenizer; use xf_decode()");
        const OptionsOf options(given.config);
        *out = make_hypotheses(
            decoder->translator->translate({texts, lengths, count}, {given.prefixes, given.prefix_lengths, count},
                                           request_of(given, *options, *decoder), use.call),
            true);
    });
}

size_t xf_hypotheses_sentence_count(const xf_hypotheses *hypotheses) {
    return is_handle(hypotheses) ? hypotheses->outcomes.size() : 0;
}

xf_status xf_hypotheses_get_sentence(const xf_hypotheses *hypotheses, size_t sentence, xf_sentence_info *info,
                                     xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(hypotheses, "hypotheses");
        check_struct(info, "info");
        const SentenceOutcome &outcome = outcome_of(*hypotheses, sentence);
        const auto &ends = outcome.source_ends;
        put_struct(info, xf_sentence_info{0, outcome.status, 0, outcome.message.c_str(), outcome.hypotheses.size(),
                                          data_of(ends), ends.size()});
    });
}

xf_status xf_hypotheses_get(const xf_hypotheses *hypotheses, size_t sentence, size_t index, xf_hypothesis *hypothesis,
                            xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(hypotheses, "hypotheses");
        check_struct(hypothesis, "hypothesis");
        const SentenceOutcome &outcome = outcome_of(*hypotheses, sentence);
        if (outcome.status != XF_OK) throw Error(outcome.status, outcome.message);
        XF_CHECK(index < outcome.hypotheses.size(), XF_ERROR_OUT_OF_RANGE,
                 "the hypothesis index is %zu, but sentence %zu has %zu hypotheses", index, sentence,
                 outcome.hypotheses.size());
        const Hypothesis &h = outcome.hypotheses[index];
        put_struct(hypothesis,
                   xf_hypothesis{0, h.ids.data(), h.ids.size(), hypotheses->has_text ? h.text.c_str() : nullptr,
                                 h.text.size(), h.token_log_probabilities.data(), data_of(h.alignment),
                                 data_of(h.text_ends), h.log_probability, h.score, h.finished, h.complete});
    });
}

void xf_hypotheses_free(xf_hypotheses *hypotheses) { free_handle(hypotheses); }

xf_status xf_score(xf_decoder *decoder, const xf_batch *batch, const xf_call *call, double *log_probabilities,
                   xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder, call);
        const xf_batch own = get_batch(batch);
        check_pointer(log_probabilities, "log_probabilities");
        decoder->decoder->score(own, log_probabilities, use.call);
    });
}

xf_status xf_score_texts(xf_decoder *decoder, const char *const *sources, const size_t *source_lengths,
                         const char *const *targets, const size_t *target_lengths, size_t count, const xf_call *call,
                         double *log_probabilities, xf_status *statuses, xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder, call);
        XF_CHECK((sources != nullptr && targets != nullptr && log_probabilities != nullptr) || count == 0,
                 XF_ERROR_INVALID_ARGUMENT, "sources, targets, or log_probabilities is NULL with a count of %zu",
                 count);
        XF_CHECK(decoder->translator != nullptr, XF_ERROR_STATE, "the model has no tokenizer; use xf_score()");
        const ScoredTexts scored =
            decoder->translator->score({sources, source_lengths, count}, {targets, target_lengths, count}, use.call);
        for (size_t i = 0; i < count && statuses == nullptr; ++i)
            if (scored.errors[i].status != XF_OK)
                throw Error(scored.errors[i].status, format("pair %zu: %s", i, scored.errors[i].message.c_str()));
        std::copy(scored.log_probabilities.begin(), scored.log_probabilities.end(), log_probabilities);
        for (size_t i = 0; i < count && statuses != nullptr; ++i) statuses[i] = scored.errors[i].status;
    });
}

xf_status xf_evaluate(xf_decoder *decoder, xf_batcher *batcher, const xf_call *call, xf_eval_stats *stats,
                      xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder, call);
        const auto pairs = exclusive(batcher, "batcher");
        check_struct(stats, "stats");
        const EvalStats sum = decoder->decoder->evaluate(pairs->batcher.get(), use.call);
        put_struct(stats, xf_eval_stats{0, sum.sentences, sum.tgt_tokens, sum.loss(), sum.nll(), std::exp(sum.nll())});
    });
}

xf_status xf_attention_weights(xf_decoder *decoder, const xf_batch *pair, int32_t kind, int32_t layer, float *weights,
                               size_t capacity, size_t *count, xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder, nullptr);
        const xf_batch own = get_batch(pair);
        check_buffer(weights, capacity, "weights");
        check_pointer(count, "count");
        const auto needed = checked_cast<size_t>(decoder->decoder->attention_shape(own, kind, layer).count());
        if (needed > capacity) {
            *count = needed;
            fail(XF_ERROR_BUFFER_TOO_SMALL, "there are %zu weights, the capacity is %zu", needed, capacity);
        }
        decoder->decoder->attention(own, kind, layer, weights, use.call);
        *count = needed;
    });
}

}  // extern "C"
