// Decoding: checks sentences, groups them, and searches. See decoder.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/decoder.h"

#include <algorithm>

#include "core/hash.h"
#include "decode/device_search.h"
#include "decode/host_search.h"

namespace xf {
namespace {

// A group holds decode.batch_sentences sentences of at most this many source tokens, or fewer longer ones. The memory
// of a group is proportional to the number of sentences and the length of the longest one.
constexpr int64_t kTokensPerSentence = 256;

// Hypotheses of all sentences of a group that need the log-probabilities of all tokens; one sentence may have more.
constexpr int64_t kMostStoredRows = 256;

Options with_set(Options options, const Options &more) {
    options.copy_set(more, "decode.");
    options.copy_set(more, "text.");
    return options;
}

std::unique_ptr<Search> make_search(const Model &model, Stream &stream) {
    if (DeviceSearch::is_supported(stream.device())) return std::make_unique<DeviceSearch>(model, stream);
    return std::make_unique<HostSearch>(model, stream);
}

int64_t length_of(const int64_t *offsets, int64_t b) { return offsets[b + 1] - offsets[b]; }

void check_offsets(const char *what, int64_t sentences, const int64_t *offsets) {
    XF_CHECK(offsets[0] == 0, XF_ERROR_INVALID_ARGUMENT, "the first %s offset is %" PRId64 ", expected 0", what,
             offsets[0]);
    for (int64_t b = 0; b < sentences; ++b)
        XF_CHECK(offsets[b + 1] >= offsets[b], XF_ERROR_INVALID_ARGUMENT,
                 "%s offset %" PRId64 " is %" PRId64 ", which is less than the previous one, %" PRId64, what, b + 1,
                 offsets[b + 1], offsets[b]);
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
    c.draft_tokens = options.i64("decode.draft_tokens");
    c.label_smoothing = static_cast<float>(options.f64("train.label_smoothing"));
    c.smooth_uniform = options.choice<bool>("train.label_smoothing_kind", {{"others", false}, {"uniform", true}});
    c.sampling = {options.f64("decode.temperature"), options.i64("decode.top_k"), options.f64("decode.top_p"),
                  options.f64("decode.min_p"), static_cast<uint64_t>(options.i64("decode.seed"))};
    c.repetition_penalty = options.f64("decode.repetition_penalty");
    c.no_repeat_ngram = options.i64("decode.no_repeat_ngram");
    const bool samples = c.sampling.temperature > 0, alternatives = options.boolean("decode.alternatives");
    XF_CHECK(!samples || !alternatives, XF_ERROR_INVALID_ARGUMENT,
             "decode.alternatives is true, expected false if decode.temperature is above 0");
    XF_CHECK(samples || (c.sampling.top_k == 0 && c.sampling.top_p == 1 && c.sampling.min_p == 0),
             XF_ERROR_INVALID_ARGUMENT,
             "decode.top_k, decode.top_p, and decode.min_p require that decode.temperature is above 0");
    if (samples || alternatives) {
        c.beam.kind = samples ? SearchKind::kSamples : SearchKind::kAlternatives;
        XF_CHECK(c.beam.beam == 1, XF_ERROR_INVALID_ARGUMENT, "decode.beam is %" PRId64 ", expected 1 with %s",
                 c.beam.beam, samples ? "decode.temperature above 0" : "decode.alternatives");
    } else {
        XF_CHECK(c.beam.n_best <= c.beam.beam, XF_ERROR_INVALID_ARGUMENT,
                 "decode.n_best is %" PRId64 ", expected at most decode.beam %" PRId64, c.beam.n_best, c.beam.beam);
    }
    // The log-probabilities of all tokens are stored for each row.
    if (c.needs_host()) c.batch_sentences = std::clamp(kMostStoredRows / c.beam.width(), int64_t{1}, c.batch_sentences);
    return c;
}

Constraint DecodeConfig::constrained(const Constraint &constraint) const {
    if (no_repeat_ngram == 0) return constraint;
    return [n = static_cast<size_t>(no_repeat_ngram), constraint](std::span<const Partial> partials) {
        if (constraint) constraint(partials);
        for (const Partial &partial : partials) forbid_repeated_ngrams(partial.ids, n, partial.allowed);
    };
}

Decoder::Decoder(std::shared_ptr<const Model> model, const Options &options)
    : model_(std::move(model)),
      options_(options),
      config_(DecodeConfig::from(options, model_->config())),
      stream_(model_->context().device(), model_->dtype()),
      network_(*model_, stream_),
      search_(make_search(*model_, stream_)) {}

DecodeConfig Decoder::config(const Options *options) const {
    return options != nullptr ? DecodeConfig::from(with_set(options_, *options), model_->config()) : config_;
}

void Decoder::set_draft(std::shared_ptr<const Model> draft, const DraftPolicy *policy) {
    auto *const search = dynamic_cast<HostSearch *>(search_.get());
    XF_CHECK(search != nullptr || draft == nullptr, XF_ERROR_UNSUPPORTED,
             "this device searches without the host, so it does not support drafts");
    auto speculation = draft != nullptr ? std::make_unique<Speculation>(*model_, std::move(draft), policy) : nullptr;
    clear();
    if (search != nullptr) search->set_speculation(speculation.get());
    speculation_ = std::move(speculation);
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

// The maximum length of a hypothesis.
int64_t Decoder::limit(const DecodeTask &task) const {
    return std::min(std::ssize(task.source) + task.config->max_extra_tokens, model_->config().max_length);
}

void Decoder::check(const DecodeTask &task) const {
    const std::span<const int32_t> ids = task.source;
    const ModelConfig &c = model_->config();
    const auto V = static_cast<int32_t>(c.V), source_V = static_cast<int32_t>(c.source_V);
    XF_CHECK(!ids.empty(), XF_ERROR_INVALID_ARGUMENT, "the source has no tokens, expected at least the end symbol");
    XF_CHECK(std::ssize(ids) <= c.max_length, XF_ERROR_OUT_OF_RANGE,
             "the source has %zu tokens; the maximum is %" PRId64 " (model.max_length)", ids.size(), c.max_length);
    for (const int32_t id : ids)
        XF_CHECK(id >= 0 && id < source_V, XF_ERROR_OUT_OF_RANGE, "source id %d, expected 0 to %d", id, source_V - 1);
    XF_CHECK(c.ends(ids.data(), std::ssize(ids)), XF_ERROR_INVALID_ARGUMENT,
             "the source ends with token %d, expected the end symbol %d", ids.back(), c.tokens.end);
    XF_CHECK(!task.config->needs_host() || dynamic_cast<const HostSearch *>(search_.get()) != nullptr,
             XF_ERROR_UNSUPPORTED,
             "decode.temperature, decode.alternatives, and decode.repetition_penalty are not supported on this device");
    const ForcedPrefix prefix{task.config->first_token, task.prefix};
    const int64_t size = prefix.size(), most = limit(task);
    XF_CHECK(size <= most, XF_ERROR_OUT_OF_RANGE,
             "the prefix has %" PRId64 " tokens, expected at most %" PRId64
             " for this source (decode.max_extra_tokens)",
             size, most);
    for (int64_t t = 0; t < size; ++t) {
        const int32_t id = prefix.token(t);
        XF_CHECK(id >= 0 && id < V && id != c.tokens.start && id != c.tokens.end &&
                     !std::binary_search(c.tokens.banned.begin(), c.tokens.banned.end(), id),
                 XF_ERROR_OUT_OF_RANGE, "prefix id %d, expected 0 to %d, except the start, end, and banned tokens", id,
                 V - 1);
    }
}

void Decoder::list_tasks(const xf_batch &batch, const DecodeRequest &request, const DecodeConfig &config,
                         std::vector<SentenceOutcome> *outcomes) {
    const auto part = [](const int32_t *ids, const int64_t *offsets, int64_t b) {
        return std::span(ids + offsets[b], ids + offsets[b + 1]);
    };
    constraint_ = config.constrained(request.constraint);
    const Constraint *const constraint = constraint_ ? &constraint_ : nullptr;
    tasks_.clear();
    for (int64_t b = 0; b < batch.sentences; ++b) {
        SentenceOutcome &outcome = (*outcomes)[b];
        if (outcome.settled()) continue;
        DecodeTask task{b, &config, part(batch.src_ids, batch.src_offsets, b), {}, constraint, &outcome};
        if (request.prefix_ids != nullptr) task.prefix = part(request.prefix_ids, request.prefix_offsets, b);
        try {
            check(task);
            tasks_.push_back(task);
        } catch (const Error &error) {
            outcome.status = error.status();
            outcome.message = error.what();
        }
    }
    std::sort(tasks_.begin(), tasks_.end(), [](const DecodeTask &a, const DecodeTask &b) {
        return a.source.size() != b.source.size() ? a.source.size() > b.source.size() : a.sentence < b.sentence;
    });
}

std::vector<SentenceOutcome> Decoder::decode(const xf_batch &batch, const DecodeRequest &request,
                                             const DecodeConfig &config, const Call &call,
                                             std::vector<SentenceOutcome> outcomes) {
    XF_CHECK(batch.sentences >= 0, XF_ERROR_INVALID_ARGUMENT,
             "the batch has %" PRId64 " sentences, expected at least 0", batch.sentences);
    outcomes.resize(batch.sentences);
    if (batch.sentences == 0) return outcomes;
    XF_CHECK(batch.src_ids != nullptr && batch.src_offsets != nullptr, XF_ERROR_INVALID_ARGUMENT,
             "the batch's source ids or offsets are NULL");
    check_offsets("source", batch.sentences, batch.src_offsets);
    XF_CHECK((request.prefix_ids == nullptr) == (request.prefix_offsets == nullptr), XF_ERROR_INVALID_ARGUMENT,
             "either the ids or the offsets of the prefixes are NULL, expected both or neither");
    if (request.prefix_ids != nullptr) check_offsets("prefix", batch.sentences, request.prefix_offsets);

    list_tasks(batch, request, config, &outcomes);
    clear();
    std::span<const DecodeTask> waiting = tasks_;
    while (!waiting.empty() || active() > 0) {
        call.progress("translate", batch.sentences - std::ssize(waiting) - active(), batch.sentences);
        const auto next = waiting.first(room(waiting));
        waiting = waiting.subspan(next.size());
        try {
            if (!next.empty()) begin(next, call);
        } catch (const Error &error) {
            if (error.status() != XF_ERROR_DEADLINE) throw;
            for (const DecodeTask &task : next) {
                task.outcome->status = XF_ERROR_DEADLINE;
                task.outcome->message = "the deadline of the call passed before the search of this sentence began";
            }
        }
        step(call);
        if (call.expired()) stop(nullptr);
    }
    call.progress("translate", batch.sentences, batch.sentences);
    if (const Context &context = model_->context(); speculation_ != nullptr && context.logs(XF_LOG_DEBUG))
        context.log(XF_LOG_DEBUG, "decode", "the draft proposed %" PRId64 " tokens, of which %" PRId64 " were accepted",
                    speculation_->proposed(), speculation_->accepted());
    return outcomes;
}

// The number of waiting sentences, longest first, that may begin. Sentences begin together when a quarter of the batch
// is free, because the encoder reads its weights once per pass.
int64_t Decoder::room(std::span<const DecodeTask> waiting) const {
    if (waiting.empty()) return 0;
    const int64_t active = this->active(), most = waiting[0].config->batch_sentences;
    if (active > most * 3 / 4) return 0;
    const int64_t tokens = most * kTokensPerSentence - search_->source_tokens();
    const int64_t fitting = tokens / std::ssize(waiting[0].source);
    return std::min(std::ssize(waiting), std::clamp<int64_t>(fitting, active > 0 ? 0 : 1, most - active));
}

void Decoder::begin(std::span<const DecodeTask> tasks, const Call &call) {
    call.check_deadline();
    ids_.clear();
    offsets_.assign(1, 0);
    order_.clear();
    for (const DecodeTask &task : tasks) {
        ids_.insert(ids_.end(), task.source.begin(), task.source.end());
        offsets_.push_back(std::ssize(ids_));
        order_.push_back(std::ssize(order_));
    }
    xf_batch batch XF_BATCH_INIT;
    batch.sentences = std::ssize(tasks);
    batch.src_ids = ids_.data();
    batch.src_offsets = offsets_.data();
    packed_.load(stream_, model_->config(), batch, order_, PackedBatch::Sides::kSource, 0);
    network_.prepare(packed_, PassKind::kInference, false);
    const Num memory = network_.encode(inference(call), packed_);
    const std::span<const int32_t> drafts = begin_drafts(tasks, batch, call);
    const int64_t row = search_->decoder_step().add_sources(packed_.src, memory, call);
    if (const Context &context = model_->context(); context.logs(XF_LOG_DEBUG))
        context.log(XF_LOG_DEBUG, "decode",
                    "%zu sentences with sources of up to %" PRId64 " tokens begin; %" PRId64 " are active",
                    tasks.size(), packed_.src.max_length, active());
    for (size_t i = 0; i < tasks.size(); ++i) {
        const DecodeTask &task = tasks[i];
        search_->add({task.sentence,
                      task.config->beam,
                      task.config->min_tokens,
                      limit(task),
                      {task.config->first_token, task.prefix},
                      task.constraint,
                      DecoderStep::Source::of(packed_.src, static_cast<int64_t>(i), row),
                      task.outcome,
                      task.config->sampling,
                      task.config->repetition_penalty,
                      hash64(task.source.data(), task.source.size_bytes()),
                      task.config->draft_tokens,
                      drafts[i]});
    }
}

std::span<const int32_t> Decoder::begin_drafts(std::span<const DecodeTask> tasks, const xf_batch &batch,
                                               const Call &call) {
    drafts_.assign(tasks.size(), -1);
    if (speculation_ == nullptr) return drafts_;
    order_.clear();
    for (size_t i = 0; i < tasks.size(); ++i) {
        const DecodeTask &task = tasks[i];
        if (task.config->beam.beam == 1 && !task.config->needs_host() && task.config->draft_tokens > 0 &&
            task.constraint == nullptr && std::ssize(task.source) <= speculation_->draft().config().max_length)
            order_.push_back(static_cast<int64_t>(i));
    }
    const int64_t active = this->active() + std::ssize(tasks);
    const std::span<const int32_t> begun = speculation_->begin(batch, order_, active, call);
    for (size_t i = 0; i < begun.size(); ++i) drafts_[order_[i]] = begun[i];
    return drafts_;
}

}  // namespace xf
