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

std::unique_ptr<xf_hypotheses> make_answers(std::vector<std::vector<Hypothesis>> found, const Tokenizer *tokenizer) {
    auto handle = std::make_unique<xf_hypotheses>();
    handle->has_text = tokenizer != nullptr;
    handle->answers.resize(found.size());
    for (size_t i = 0; i < found.size(); ++i) {
        for (Hypothesis &h : found[i]) {
            std::string text = tokenizer != nullptr ? tokenizer->decode(h.ids.data(), h.ids.size()) : std::string();
            handle->answers[i].push_back({std::move(h), std::move(text)});
        }
    }
    return handle;
}

// The decoder's constraint for sentences that are `origin` to the caller; NULL: they are numbered as they stand.
Constraint constraint_of(const xf_decoder &decoder, const std::vector<size_t> *origin) {
    if (decoder.constraint == nullptr) return nullptr;
    const int32_t V = static_cast<int32_t>(decoder.decoder->model().config().V);
    return
        [fn = decoder.constraint, user = decoder.constraint_user, origin, V](const Prefix &prefix, uint32_t *allowed) {
            const auto sentence = static_cast<size_t>(prefix.sentence);
            const xf_prefix asked{sizeof asked,
                                  origin != nullptr ? (*origin)[sentence] : sentence,
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

// The texts that have tokens, as one batch, and where they came from.
struct EncodedTexts {
    std::vector<int32_t> ids, offsets{0};
    std::vector<size_t> origin;
};

EncodedTexts encode_texts(const xf_decoder &decoder, const char *const *texts, const size_t *lengths, size_t count) {
    EncodedTexts encoded;
    const auto most = static_cast<size_t>(decoder.decoder->config().max_source_tokens);
    for (size_t i = 0; i < count; ++i) {
        XF_CHECK(texts[i] != nullptr, XF_ERROR_INVALID_ARGUMENT, "text %zu is NULL", i);
        const std::string_view text = lengths != nullptr ? std::string_view(texts[i], lengths[i]) : texts[i];
        const size_t before = encoded.ids.size();
        try {
            decoder.tokenizer->encode(text, &encoded.ids);
        } catch (const Error &error) {
            throw Error(error.status(), format("text %zu: %s", i, error.what()), error.native_code());
        }
        if (encoded.ids.size() == before) continue;
        encoded.ids.push_back(kEndToken);
        XF_CHECK(encoded.ids.size() - before <= most, XF_ERROR_OUT_OF_RANGE,
                 "text %zu has %zu tokens, expected at most %zu by decode.max_source_tokens and model.max_length", i,
                 encoded.ids.size() - before, most);
        XF_CHECK(encoded.ids.size() < (size_t{1} << 31), XF_ERROR_LIMIT, "the texts have more than 2^31 tokens");
        encoded.offsets.push_back(static_cast<int32_t>(encoded.ids.size()));
        encoded.origin.push_back(i);
    }
    return encoded;
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
        *out = handle.release();
    });
}

void xf_decoder_free(xf_decoder *decoder) { free_handle(decoder); }

void xf_decoder_cancel(xf_decoder *decoder) {
    if (is_handle(decoder)) decoder->cancel.cancel();
}

xf_status xf_decode(xf_decoder *decoder, const xf_batch *batch, xf_hypotheses **out, xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder);
        const xf_batch own = get_batch(batch);
        check_pointer(out, "out");
        *out = make_answers(decoder->decoder->decode(own, constraint_of(*decoder, nullptr), use.call),
                            decoder->tokenizer.get())
                   .release();
    });
}

xf_status xf_translate(xf_decoder *decoder, const char *const *texts, const size_t *lengths, size_t count,
                       xf_hypotheses **out, xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder);
        XF_CHECK(texts != nullptr || count == 0, XF_ERROR_INVALID_ARGUMENT, "texts is NULL with a count of %zu", count);
        check_pointer(out, "out");
        XF_CHECK(decoder->tokenizer != nullptr, XF_ERROR_STATE, "the model has no tokenizer: use xf_decode()");
        const EncodedTexts encoded = encode_texts(*decoder, texts, lengths, count);
        xf_batch batch{};
        batch.sentences = static_cast<int64_t>(encoded.origin.size());
        batch.src_ids = encoded.ids.data();
        batch.src_offsets = encoded.offsets.data();
        auto found = decoder->decoder->decode(batch, constraint_of(*decoder, &encoded.origin), use.call);
        std::vector<std::vector<Hypothesis>> answers(count, {Hypothesis{{}, 0, 0, true}});
        for (size_t i = 0; i < found.size(); ++i) answers[encoded.origin[i]] = std::move(found[i]);
        *out = make_answers(std::move(answers), decoder->tokenizer.get()).release();
    });
}

xf_status xf_decoder_set_constraint(xf_decoder *decoder, xf_constraint_fn fn, void *user, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(decoder, "decoder");
        use->constraint = fn;
        use->constraint_user = user;
    });
}

size_t xf_hypotheses_sentence_count(const xf_hypotheses *hypotheses) {
    return is_handle(hypotheses) ? hypotheses->answers.size() : 0;
}

size_t xf_hypotheses_answer_count(const xf_hypotheses *hypotheses, size_t sentence) {
    return sentence < xf_hypotheses_sentence_count(hypotheses) ? hypotheses->answers[sentence].size() : 0;
}

xf_status xf_hypotheses_get(const xf_hypotheses *hypotheses, size_t sentence, size_t rank, xf_hypothesis *hypothesis,
                            xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(hypotheses, "hypotheses");
        check_struct(hypothesis, "hypothesis");
        XF_CHECK(sentence < hypotheses->answers.size() && rank < hypotheses->answers[sentence].size(),
                 XF_ERROR_OUT_OF_RANGE,
                 "answer %zu of sentence %zu, there are %zu sentences with %zu answers to this one", rank, sentence,
                 hypotheses->answers.size(), xf_hypotheses_answer_count(hypotheses, sentence));
        const auto &answer = hypotheses->answers[sentence][rank];
        const Hypothesis &h = answer.hypothesis;
        put_struct(hypothesis, xf_hypothesis{0, h.ids.data(), static_cast<int64_t>(h.ids.size()),
                                             hypotheses->has_text ? answer.text.c_str() : nullptr, answer.text.size(),
                                             h.log_probability, h.score, h.finished ? 1 : 0, 0});
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
        const double tokens = static_cast<double>(std::max<int64_t>(sum.tgt_tokens, 1));
        put_struct(stats, xf_eval_stats{0, sum.sentences, sum.tgt_tokens, sum.loss_sum / tokens, sum.nll_sum / tokens,
                                        std::exp(sum.nll_sum / tokens)});
    });
}

xf_status xf_attention_weights(xf_decoder *decoder, const xf_batch *pair, int32_t kind, int32_t layer, float *weights,
                               size_t capacity, size_t *count, xf_error *err) {
    return guard(err, [&] {
        const DecoderUse use(decoder);
        const xf_batch own = get_batch(pair);
        XF_CHECK(own.sentences == 1, XF_ERROR_INVALID_ARGUMENT, "the batch has %lld sentences, expected 1",
                 static_cast<long long>(own.sentences));
        XF_CHECK(kind >= XF_ATTENTION_ENCODER && kind <= XF_ATTENTION_CROSS, XF_ERROR_OUT_OF_RANGE,
                 "kind is %d, expected 0 to 2", kind);
        const ModelConfig &c = decoder->decoder->model().config();
        const int64_t layers = kind == XF_ATTENTION_ENCODER ? c.encoder_layers : c.decoder_layers;
        XF_CHECK(layer >= 0 && layer < layers, XF_ERROR_OUT_OF_RANGE, "layer is %d, expected 0 to %lld", layer,
                 static_cast<long long>(layers - 1));
        XF_CHECK(weights != nullptr || capacity == 0, XF_ERROR_INVALID_ARGUMENT,
                 "weights is NULL with a capacity of %zu", capacity);
        check_pointer(count, "count");
        const auto which = static_cast<AttentionKind>(kind);
        const auto needed = static_cast<size_t>(decoder->decoder->attention_shape(own, which).count());
        if (needed > capacity) {
            *count = needed;
            fail(XF_ERROR_BUFFER_TOO_SMALL, "there are %zu weights, the capacity is %zu", needed, capacity);
        }
        decoder->decoder->attention(own, which, layer, weights, use.call);
        *count = needed;
    });
}

}  // extern "C"
