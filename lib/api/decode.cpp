// decode.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/decode.h"

#include <cmath>

#include "api/guard.h"

using namespace xf;

namespace {

// A decoder for itself, and its model beside others, for the time of a call that can be cancelled.
struct DecoderUse {
    explicit DecoderUse(xf_decoder *decoder)
        : handle(decoder, "decoder", true),
          model(handle->decoder->model(), false),
          call(handle->context->call(&handle->cancel)) {}

    Use<xf_decoder> handle;
    ModelUse model;
    Call call;
};

Constraint constraint_of(const xf_decode_params &params, int32_t V) {
    if (params.constraint == nullptr) return nullptr;
    return [fn = params.constraint, user = params.constraint_user, V](const Prefix &prefix, uint32_t *allowed) {
        const xf_prefix asked{sizeof asked,
                              static_cast<size_t>(prefix.sentence),
                              prefix.ids.data(),
                              static_cast<int64_t>(prefix.ids.size()),
                              prefix.remaining,
                              V,
                              0};
        const int32_t answer = fn(user, &asked, allowed);
        XF_CHECK(answer == 0, XF_ERROR_CALLBACK, "the constraint gave %d for sentence %zu, expected 0", answer,
                 asked.sentence);
    };
}

xf_decode_params get_params(const xf_decode_params *params) {
    return params != nullptr ? get_struct(params, "params") : xf_decode_params XF_DECODE_PARAMS_INIT;
}

// options: of params.config, when there is one.
DecodeRequest request_of(const xf_decode_params &params, const Options &options, const xf_decoder &decoder) {
    DecodeRequest request;
    if (params.config != nullptr) request.options = &options;
    request.prefix_ids = params.prefix_ids;
    request.prefix_offsets = params.prefix_offsets;
    request.constraint = constraint_of(params, static_cast<int32_t>(decoder.decoder->model().config().V));
    return request;
}

std::unique_ptr<xf_hypotheses> make_hypotheses(std::vector<SentenceOutcome> outcomes, bool has_text) {
    auto handle = std::make_unique<xf_hypotheses>();
    handle->outcomes = std::move(outcomes);
    handle->has_text = has_text;
    return handle;
}

// The sentence's outcome; throws what kept it from being answered.
const SentenceOutcome &answered(const xf_hypotheses &hypotheses, size_t sentence) {
    XF_CHECK(sentence < hypotheses.outcomes.size(), XF_ERROR_OUT_OF_RANGE, "sentence %zu, there are %zu", sentence,
             hypotheses.outcomes.size());
    const SentenceOutcome &outcome = hypotheses.outcomes[sentence];
    if (outcome.status != XF_OK) throw Error(outcome.status, outcome.message);
    return outcome;
}

void put_stats(const EvalStats &sum, xf_eval_stats *stats) {
    put_struct(stats, xf_eval_stats{0, sum.sentences, sum.tgt_tokens, sum.loss(), sum.nll(), std::exp(sum.nll())});
}

}  // namespace

extern "C" {

xf_status xf_decoder_create(const xf_model *model, const xf_config *config, xf_decoder **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        check_pointer(out, "out");
        auto handle = std::make_unique<xf_decoder>();
        handle->context = use->context;
        if (use->tokenizer != nullptr) handle->tokenizer = use->tokenizer->tokenizer;
        handle->decoder = std::make_unique<Decoder>(use->model, *OptionsOf(config));
        if (handle->tokenizer != nullptr)
            handle->translator = std::make_unique<Translator>(*handle->tokenizer, *handle->decoder);
        *out = handle.release();
    });
}

void xf_decoder_free(xf_decoder *decoder) { free_handle(decoder); }

void xf_decoder_cancel(xf_decoder *decoder) {
    if (is_handle(decoder)) decoder->cancel.cancel();
}

xf_status xf_decode(xf_decoder *decoder, const xf_batch *batch, const xf_decode_params *params, xf_hypotheses **out,
                    xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder);
        const xf_batch own = get_batch(batch);
        const xf_decode_params given = get_params(params);
        XF_CHECK(given.prefixes == nullptr && given.prefix_lengths == nullptr, XF_ERROR_INVALID_ARGUMENT,
                 "params->prefixes are texts, for xf_translate(): give prefix_ids");
        check_pointer(out, "out");
        const OptionsOf options(given.config);
        std::vector<SentenceOutcome> found =
            decoder->decoder->decode(own, request_of(given, *options, *decoder), use.call);
        if (decoder->tokenizer != nullptr) write_texts(*decoder->tokenizer, &found);
        *out = make_hypotheses(std::move(found), decoder->tokenizer != nullptr).release();
    });
}

xf_status xf_translate(xf_decoder *decoder, const char *const *texts, const size_t *lengths, size_t count,
                       const xf_decode_params *params, xf_hypotheses **out, xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder);
        XF_CHECK(texts != nullptr || count == 0, XF_ERROR_INVALID_ARGUMENT, "texts is NULL with a count of %zu", count);
        const xf_decode_params given = get_params(params);
        XF_CHECK(given.prefix_ids == nullptr && given.prefix_offsets == nullptr, XF_ERROR_INVALID_ARGUMENT,
                 "params->prefix_ids are for xf_decode(): give prefixes");
        XF_CHECK(given.prefixes != nullptr || given.prefix_lengths == nullptr, XF_ERROR_INVALID_ARGUMENT,
                 "params->prefix_lengths come without prefixes");
        check_pointer(out, "out");
        XF_CHECK(decoder->translator != nullptr, XF_ERROR_STATE, "the model has no tokenizer: use xf_decode()");
        const OptionsOf options(given.config);
        *out = make_hypotheses(decoder->translator->translate({texts, lengths, count},
                                                              {given.prefixes, given.prefix_lengths, count},
                                                              request_of(given, *options, *decoder), use.call),
                               true)
                   .release();
    });
}

size_t xf_hypotheses_sentence_count(const xf_hypotheses *hypotheses) {
    return is_handle(hypotheses) ? hypotheses->outcomes.size() : 0;
}

xf_status xf_hypotheses_status(const xf_hypotheses *hypotheses, size_t sentence, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(hypotheses, "hypotheses");
        answered(*hypotheses, sentence);
    });
}

size_t xf_hypotheses_answer_count(const xf_hypotheses *hypotheses, size_t sentence) {
    return sentence < xf_hypotheses_sentence_count(hypotheses) ? hypotheses->outcomes[sentence].answers.size() : 0;
}

xf_status xf_hypotheses_get(const xf_hypotheses *hypotheses, size_t sentence, size_t rank, xf_hypothesis *hypothesis,
                            xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(hypotheses, "hypotheses");
        check_struct(hypothesis, "hypothesis");
        const std::vector<Hypothesis> &answers = answered(*hypotheses, sentence).answers;
        XF_CHECK(rank < answers.size(), XF_ERROR_OUT_OF_RANGE, "answer %zu of sentence %zu, which has %zu", rank,
                 sentence, answers.size());
        const Hypothesis &h = answers[rank];
        xf_hypothesis view XF_HYPOTHESIS_INIT;
        view.ids = h.ids.data();
        view.length = static_cast<int64_t>(h.ids.size());
        view.text = hypotheses->has_text ? h.text.c_str() : nullptr;
        view.text_length = h.text.size();
        view.token_log_probabilities = h.token_log_probabilities.data();
        view.log_probability = h.log_probability;
        view.score = h.score;
        view.finished = h.finished ? 1 : 0;
        view.complete = h.complete ? 1 : 0;
        put_struct(hypothesis, view);
    });
}

void xf_hypotheses_free(xf_hypotheses *hypotheses) { free_handle(hypotheses); }

xf_status xf_score(xf_decoder *decoder, const xf_batch *batch, double *log_probabilities, xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder);
        const xf_batch own = get_batch(batch);
        check_pointer(log_probabilities, "log_probabilities");
        decoder->decoder->score(own, log_probabilities, use.call);
    });
}

xf_status xf_evaluate(xf_decoder *decoder, const xf_batch *batches, size_t count, xf_eval_stats *stats, xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder);
        XF_CHECK(batches != nullptr || count == 0, XF_ERROR_INVALID_ARGUMENT, "batches is NULL with a count of %zu",
                 count);
        check_struct(stats, "stats");
        EvalStats sum;
        for (const xf_batch &batch : get_batches(batches, count)) decoder->decoder->evaluate(batch, &sum, use.call);
        put_stats(sum, stats);
    });
}

xf_status xf_evaluate_batcher(xf_decoder *decoder, xf_batcher *batcher, xf_eval_stats *stats, xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder);
        const auto pairs = exclusive(batcher, "batcher");
        check_struct(stats, "stats");
        put_stats(decoder->decoder->evaluate(pairs->batcher.get(), use.call), stats);
    });
}

xf_status xf_attention_weights(xf_decoder *decoder, const xf_batch *pair, int32_t kind, int32_t layer, float *weights,
                               size_t capacity, size_t *count, xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder);
        const xf_batch own = get_batch(pair);
        XF_CHECK(weights != nullptr || capacity == 0, XF_ERROR_INVALID_ARGUMENT,
                 "weights is NULL with a capacity of %zu", capacity);
        check_pointer(count, "count");
        const auto needed = static_cast<size_t>(decoder->decoder->attention_shape(own, kind, layer).count());
        if (needed > capacity) {
            *count = needed;
            fail(XF_ERROR_BUFFER_TOO_SMALL, "there are %zu weights, the capacity is %zu", needed, capacity);
        }
        decoder->decoder->attention(own, kind, layer, weights, use.call);
        *count = needed;
    });
}

}  // extern "C"
