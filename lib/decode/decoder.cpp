// Decoding: checks sentences, groups them, and searches. See decoder.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/decoder.h"

#include <algorithm>

namespace xf {
namespace {

// A group holds decode.batch_sentences sentences of at most this many source tokens, or fewer longer ones. The memory
// of a group is proportional to the number of sentences and the length of the longest one.
constexpr int64_t kTokensPerSentence = 256;

Options with_set(Options options, const Options &more) {
    options.copy_set(more, "decode.");
    options.copy_set(more, "text.");
    return options;
}

int64_t length_of(const int64_t *offsets, int64_t b) { return offsets[b + 1] - offsets[b]; }

void check_offsets(const char *what, int64_t sentences, const int64_t *offsets) {
    XF_CHECK(offsets[0] == 0, XF_ERROR_INVALID_ARGUMENT, "the first %s offset is %lld, expected 0", what,
             static_cast<long long>(offsets[0]));
    for (int64_t b = 0; b < sentences; ++b)
        XF_CHECK(offsets[b + 1] >= offsets[b], XF_ERROR_INVALID_ARGUMENT,
                 "%s offset %lld is %lld, which is less than the previous one, %lld", what,
                 static_cast<long long>(b + 1), static_cast<long long>(offsets[b + 1]),
                 static_cast<long long>(offsets[b]));
}

}  // namespace

DecodeConfig DecodeConfig::from(const Options &options, const ModelConfig &model) {
    DecodeConfig c{};
    c.beam.beam = options.i64("decode.beam");
    c.beam.n_best = options.i64("decode.n_best");
    c.beam.alpha = options.f64("decode.alpha");
    c.languages = model.languages.tokens(options);
    const TokenTemplate target = TokenTemplates(model.tokens, model.languages, c.languages).target;
    c.beam.start_token = target.suffix >= 0 ? target.suffix : model.tokens.start;
    c.beam.end_token = target.end;
    c.first_token = target.prefix;
    c.min_tokens = options.i64("decode.min_tokens");
    c.max_extra_tokens = options.i64("decode.max_extra_tokens");
    c.batch_sentences = options.i64("decode.batch_sentences");
    c.label_smoothing = static_cast<float>(options.f64("train.label_smoothing"));
    c.smooth_uniform = options.choice<bool>("train.label_smoothing_kind", {{"others", false}, {"uniform", true}});
    XF_CHECK(c.beam.n_best <= c.beam.beam, XF_ERROR_INVALID_ARGUMENT,
             "decode.n_best is %lld, expected at most decode.beam %lld", static_cast<long long>(c.beam.n_best),
             static_cast<long long>(c.beam.beam));
    return c;
}

Decoder::Decoder(std::shared_ptr<const Model> model, const Options &options)
    : model_(std::move(model)),
      options_(options),
      config_(DecodeConfig::from(options, model_->config())),
      stream_(model_->context().device(), model_->dtype()),
      network_(*model_, stream_),
      step_(*model_, stream_),
      device_search_(*model_, stream_, step_),
      host_search_(*model_, step_) {}

DecodeConfig Decoder::config(const Options *options) const {
    return options != nullptr ? DecodeConfig::from(with_set(options_, *options), model_->config()) : config_;
}

Pass Decoder::inference(const Call &call) {
    Pass pass{*model_, stream_, call};
    pass.invariant = true;
    return pass;
}

// Sorts order_ by descending length; sentences of equal length remain in the order of the batch.
void Decoder::sort_longest_first(const int64_t *offsets) {
    std::sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) {
        const int64_t length_a = length_of(offsets, a), length_b = length_of(offsets, b);
        return length_a != length_b ? length_a > length_b : a < b;
    });
}

// One call of decode().
struct Decoder::Work {
    const DecodeConfig &config;
    const DecodeRequest &request;
    const Call &call;
    int64_t max_length;

    // The maximum length of a hypothesis for a source of this length.
    int64_t limit(int64_t source_length) const { return std::min(source_length + config.max_extra_tokens, max_length); }
    ForcedPrefix prefix(int64_t b) const {
        ForcedPrefix prefix{config.first_token};
        if (request.prefix_ids != nullptr)
            prefix.ids = {request.prefix_ids + request.prefix_offsets[b],
                          request.prefix_ids + request.prefix_offsets[b + 1]};
        return prefix;
    }
};

// Throws if sentence b cannot be decoded.
void Decoder::check_sentence(const xf_batch &batch, const Work &work, int64_t b) const {
    const int32_t *const ids = batch.src_ids + batch.src_offsets[b];
    const int64_t length = length_of(batch.src_offsets, b);
    const ModelConfig &c = model_->config();
    const auto V = static_cast<int32_t>(c.V), source_V = static_cast<int32_t>(c.source_V);
    XF_CHECK(length > 0, XF_ERROR_INVALID_ARGUMENT, "the source has no tokens, expected at least the end symbol");
    XF_CHECK(length <= c.max_length, XF_ERROR_OUT_OF_RANGE,
             "the source has %lld tokens; the maximum is %lld (model.max_length)", static_cast<long long>(length),
             static_cast<long long>(c.max_length));
    for (int64_t i = 0; i < length; ++i)
        XF_CHECK(ids[i] >= 0 && ids[i] < source_V, XF_ERROR_OUT_OF_RANGE, "source id %d, expected 0 to %d", ids[i],
                 source_V - 1);
    XF_CHECK(c.ends(ids, length), XF_ERROR_INVALID_ARGUMENT,
             "the source ends with token %d, expected the end symbol %d", ids[length - 1], c.tokens.end);
    const ForcedPrefix prefix = work.prefix(b);
    const int64_t prefix_size = prefix.size();
    XF_CHECK(prefix_size <= work.limit(length), XF_ERROR_OUT_OF_RANGE,
             "the prefix has %lld tokens, expected at most %lld for this source (decode.max_extra_tokens)",
             static_cast<long long>(prefix_size), static_cast<long long>(work.limit(length)));
    for (int64_t t = 0; t < prefix_size; ++t) {
        const int32_t id = prefix.token(t);
        XF_CHECK(id >= 0 && id < V && id != c.tokens.start && id != c.tokens.end &&
                     !std::binary_search(c.tokens.banned.begin(), c.tokens.banned.end(), id),
                 XF_ERROR_OUT_OF_RANGE, "prefix id %d, expected 0 to %d, except the start, end, and banned tokens", id,
                 V - 1);
    }
}

std::vector<SentenceOutcome> Decoder::decode(const xf_batch &batch, const DecodeRequest &request,
                                             const DecodeConfig &config, const Call &call,
                                             std::vector<SentenceOutcome> outcomes) {
    XF_CHECK(batch.sentences >= 0, XF_ERROR_INVALID_ARGUMENT, "the batch has %lld sentences, expected at least 0",
             static_cast<long long>(batch.sentences));
    outcomes.resize(batch.sentences);
    if (batch.sentences == 0) return outcomes;
    XF_CHECK(batch.src_ids != nullptr && batch.src_offsets != nullptr, XF_ERROR_INVALID_ARGUMENT,
             "the batch's source ids or offsets are NULL");
    check_offsets("source", batch.sentences, batch.src_offsets);
    XF_CHECK((request.prefix_ids == nullptr) == (request.prefix_offsets == nullptr), XF_ERROR_INVALID_ARGUMENT,
             "either the ids or the offsets of the prefixes are NULL, expected both or neither");
    if (request.prefix_ids != nullptr) check_offsets("prefix", batch.sentences, request.prefix_offsets);

    const Work work{config, request, call, model_->config().max_length};
    order_.clear();
    for (int64_t b = 0; b < batch.sentences; ++b) {
        SentenceOutcome &outcome = outcomes[b];
        if (outcome.settled()) continue;
        try {
            check_sentence(batch, work, b);
            order_.push_back(b);
        } catch (const Error &error) {
            outcome.status = error.status();
            outcome.message = error.what();
        }
    }
    sort_longest_first(batch.src_offsets);
    host_search_.clear();
    std::span<const int64_t> waiting = order_;
    const auto report = [&](int64_t active) {
        call.progress("translate", batch.sentences - std::ssize(waiting) - active, batch.sentences);
    };
    while (!waiting.empty() || host_search_.active() > 0) {
        report(host_search_.active());
        const auto next = waiting.first(room(config, batch, waiting));
        waiting = waiting.subspan(next.size());
        tasks_.clear();
        try {
            if (!next.empty()) encode(batch, work, next);
        } catch (const Error &error) {
            if (error.status() != XF_ERROR_DEADLINE) throw;
            for (const int64_t b : next) {
                outcomes[b].status = XF_ERROR_DEADLINE;
                outcomes[b].message = "the deadline of the call passed before the search of this sentence began";
            }
        }
        if (tasks_.empty() && host_search_.active() == 0) continue;
        if (DeviceSearch::is_supported(stream_.device())) {
            device_search_.run(tasks_, call, report, &outcomes);
            step_.clear();
            continue;
        }
        for (const SearchTask &task : tasks_) host_search_.add(task);
        host_search_.step(call, &outcomes);
        if (call.expired()) host_search_.stop(&outcomes);
    }
    report(0);
    return outcomes;
}

// The number of waiting sentences, longest first, that may begin. Sentences begin together when a quarter of the batch
// is free, because the encoder reads its weights once per pass.
int64_t Decoder::room(const DecodeConfig &config, const xf_batch &batch, std::span<const int64_t> waiting) const {
    const int64_t active = host_search_.active(), most = config.batch_sentences;
    if (waiting.empty() || active > most * 3 / 4) return 0;
    const int64_t tokens = most * kTokensPerSentence - host_search_.source_tokens();
    const int64_t fitting = tokens / length_of(batch.src_offsets, waiting[0]);
    return std::min(std::ssize(waiting), std::clamp<int64_t>(fitting, active > 0 ? 0 : 1, most - active));
}

void Decoder::encode(const xf_batch &batch, const Work &work, std::span<const int64_t> sentences) {
    work.call.check_deadline();
    const BeamOptions &beam = work.config.beam;
    packed_.load(stream_, model_->config(), batch, sentences, PackedBatch::Sides::kSource, beam.start_token);
    network_.prepare(packed_, PassKind::kInference, false);
    const Num memory = network_.encode(inference(work.call), packed_);
    const int64_t row = step_.add_sources(packed_.src, memory, work.call);
    if (const Context &context = model_->context(); context.logs(XF_LOG_DEBUG))
        context.log(XF_LOG_DEBUG, "decode", "%lld sentences with sources of up to %lld tokens begin; %lld are active",
                    static_cast<long long>(std::ssize(sentences)), static_cast<long long>(packed_.src.max_length),
                    static_cast<long long>(host_search_.active()));
    const Constraint *constraint = work.request.constraint ? &work.request.constraint : nullptr;
    for (size_t i = 0; i < sentences.size(); ++i) {
        const int64_t b = sentences[i], length = length_of(batch.src_offsets, b);
        tasks_.push_back({b, beam, work.config.min_tokens, work.limit(length), work.prefix(b), constraint,
                          DecoderStep::Source::of(packed_.src, i, row)});
    }
}

}  // namespace xf
