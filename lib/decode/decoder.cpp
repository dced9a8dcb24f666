// Decoding: checks sentences, groups them, and searches. See decoder.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/decoder.h"

#include <algorithm>

#include "core/hash.h"

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

std::vector<std::unique_ptr<InferenceModel>> members_of(const DecodeModels &models) {
    models.check();
    std::vector<std::unique_ptr<InferenceModel>> members;
    members.push_back(std::make_unique<InferenceModel>(models.model));
    for (const auto &other : models.ensemble) members.push_back(std::make_unique<InferenceModel>(other));
    return members;
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

DecodeConfig DecodeConfig::from(const Options &options, const ModelConfig &model, const Tokenizer *tokenizer) {
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
    c.divide_evaluation = options.boolean("decode.divide_evaluation");
    c.smooth_uniform = options.choice<bool>("train.label_smoothing_kind", {{"others", false}, {"uniform", true}});
    c.sampling = {options.f64("decode.temperature"), options.i64("decode.top_k"), options.f64("decode.top_p"),
                  options.f64("decode.min_p"), static_cast<uint64_t>(options.i64("decode.seed"))};
    c.repetition_penalty = options.f64("decode.repetition_penalty");
    c.no_repeat_ngram = options.i64("decode.no_repeat_ngram");
    c.alignment = options.boolean("decode.alignment");
    if (const std::string &phrases = options.str("decode.banned_phrases"); !phrases.empty()) {
        XF_CHECK(tokenizer != nullptr, XF_ERROR_STATE,
                 "decode.banned_phrases is set, but the model has no tokenizer; use a constraint");
        auto banned = std::make_shared<const BannedPhrases>(tokenizer->target(), phrases);
        if (!banned->empty()) c.banned = std::move(banned);
    }
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
    if (no_repeat_ngram == 0 && banned == nullptr) return constraint;
    return [n = static_cast<size_t>(no_repeat_ngram), phrases = banned, constraint](std::span<const Partial> partials) {
        if (constraint) constraint(partials);
        for (const Partial &partial : partials) {
            if (n > 0) forbid_repeated_ngrams(partial.ids, n, partial.allowed);
            if (phrases != nullptr) phrases->forbid(partial.ids, partial.allowed);
        }
    };
}

Decoder::Decoder(const DecodeModels &models, const Options &options, const Tokenizer *tokenizer)
    : models_(models),
      tokenizer_(tokenizer),
      options_(options),
      config_(DecodeConfig::from(options, model().config(), tokenizer)),
      members_(members_of(models)),
      host_(model(), first().stream) {
    if (models.ensemble.empty() && DeviceSearch::is_supported(first().stream.device()))
        device_ = std::make_unique<DeviceSearch>(model(), first().stream);
    for (size_t i = 1; i < members_.size(); ++i) host_.add_model(*members_[i]->model, members_[i]->stream);
    if (models.draft == nullptr) return;
    speculation_ = std::make_unique<Speculation>(model(), models.draft, models.policy);
    host_.set_speculation(speculation_.get());
}

DecodeConfig Decoder::config(const Options *options) const {
    return options != nullptr ? DecodeConfig::from(with_set(options_, *options), model().config(), tokenizer_)
                              : config_;
}

bool Decoder::is_draftable(const DecodeTask &task) const {
    const DecodeConfig &config = *task.config;
    return speculation_ != nullptr && config.beam.beam == 1 && !config.needs_host() && config.draft_tokens > 0 &&
           task.constraint == nullptr && std::ssize(task.source) <= speculation_->draft().config().max_length;
}

bool Decoder::on_device(const DecodeTask &task) const {
    return device_ != nullptr && !task.config->needs_host() && !is_draftable(task);
}

int64_t Decoder::active() const { return host_.active() + (device_ != nullptr ? device_->active() : 0); }

void Decoder::step(const Call &call) {
    if (device_ != nullptr && device_->active() > 0) device_->step(call);
    if (host_.active() > 0) host_.step(call);
}

void Decoder::stop(const SentenceOutcome *outcome) {
    if (device_ != nullptr) device_->stop(outcome);
    host_.stop(outcome);
}

Hypothesis Decoder::common_prefix(const SentenceOutcome *outcome) {
    return host_.contains(outcome) ? host_.common_prefix(outcome) : device_->common_prefix(outcome);
}

void Decoder::clear() {
    if (device_ != nullptr) device_->clear();
    host_.clear();
    unaligned_.clear();
}

void Decoder::align_ended(const Call &call) {
    alignment_tasks_.clear();
    for (const DecodeTask &task : unaligned_)
        for (Hypothesis &h : task.outcome->hypotheses)
            if (!h.ids.empty()) alignment_tasks_.push_back({task.source, task.config->beam.start_token, &h});
    align(&first(), alignment_tasks_, call);
    std::erase_if(unaligned_, [](const DecodeTask &task) {
        if (task.outcome->hypotheses.empty() && task.outcome->status == XF_OK) return false;
        task.outcome->needs_alignment = false;
        return true;
    });
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
    return std::min(std::ssize(task.source) + task.config->max_extra_tokens, model().config().max_length);
}

void Decoder::check(const DecodeTask &task) const {
    const std::span<const int32_t> ids = task.source;
    const ModelConfig &c = model().config();
    const auto V = static_cast<int32_t>(c.V), source_V = static_cast<int32_t>(c.source_V);
    XF_CHECK(!ids.empty(), XF_ERROR_INVALID_ARGUMENT, "the source has no tokens, expected at least the end symbol");
    XF_CHECK(std::ssize(ids) <= c.max_length, XF_ERROR_OUT_OF_RANGE,
             "the source has %zu tokens; the maximum is %" PRId64 " (model.max_length)", ids.size(), c.max_length);
    for (const int32_t id : ids)
        XF_CHECK(id >= 0 && id < source_V, XF_ERROR_OUT_OF_RANGE, "source id %d, expected 0 to %d", id, source_V - 1);
    XF_CHECK(c.ends(ids.data(), std::ssize(ids)), XF_ERROR_INVALID_ARGUMENT,
             "the source ends with token %d, expected the end symbol %d", ids.back(), c.tokens.end);
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
        begin(next, call);
        step(call);
        if (call.expired()) stop(nullptr);
        align_ended(call);
    }
    call.progress("translate", batch.sentences, batch.sentences);
    if (const Context &context = model().context(); speculation_ != nullptr && context.logs(XF_LOG_DEBUG))
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
    const int64_t source_tokens = host_.source_tokens() + (device_ != nullptr ? device_->source_tokens() : 0);
    const int64_t tokens = most * kTokensPerSentence - source_tokens;
    const int64_t fitting = tokens / std::ssize(waiting[0].source);
    return std::min<int64_t>(std::ssize(waiting), std::clamp<int64_t>(fitting, active > 0 ? 0 : 1, most - active));
}

void Decoder::begin(std::span<const DecodeTask> tasks, const Call &call) {
    for (const DecodeTask &task : tasks) {
        if (!task.config->alignment) continue;
        task.outcome->hypotheses.clear();  // a sentence that begins again may have some
        task.outcome->needs_alignment = true;
        unaligned_.push_back(task);
    }
    if (device_ == nullptr) return begin_together(tasks, call);
    device_tasks_.clear();
    host_tasks_.clear();
    for (const DecodeTask &task : tasks) (on_device(task) ? device_tasks_ : host_tasks_).push_back(task);
    begin_together(device_tasks_, call);
    begin_together(host_tasks_, call);
}

// Begins tasks of one search.
void Decoder::begin_together(std::span<const DecodeTask> tasks, const Call &call) {
    if (tasks.empty()) return;
    try {
        call.check_deadline();
        encode_together(tasks, call);
    } catch (const Error &error) {
        if (error.status() != XF_ERROR_DEADLINE) throw;
        for (const DecodeTask &task : tasks) {
            task.outcome->status = XF_ERROR_DEADLINE;
            task.outcome->message = "the deadline of the call passed before the search of this sentence began";
        }
    }
}

void Decoder::encode_together(std::span<const DecodeTask> tasks, const Call &call) {
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
    // All passes of encoders precede the changes of the search, because the deadline may end a pass.
    memories_.clear();
    for (const auto &member : members_) memories_.push_back(member->encode(batch, order_, call));
    const std::span<const int32_t> drafts = begin_drafts(tasks, batch, call);
    Search &search = on_device(tasks[0]) ? static_cast<Search &>(*device_) : host_;
    const PackedSide &source = first().packed.src;
    const int64_t row = search.decoder_step().add_sources(source, memories_[0], call);
    for (size_t i = 1; i < members_.size(); ++i)
        host_.decoder_step(i).add_sources(members_[i]->packed.src, memories_[i], call);
    if (const Context &context = model().context(); context.logs(XF_LOG_DEBUG))
        context.log(XF_LOG_DEBUG, "decode",
                    "%zu sentences with sources of up to %" PRId64 " tokens begin; %" PRId64 " are active",
                    tasks.size(), source.max_length, active());
    for (size_t i = 0; i < tasks.size(); ++i) {
        const DecodeTask &task = tasks[i];
        search.add({task.sentence,
                    task.config->beam,
                    task.config->min_tokens,
                    limit(task),
                    {task.config->first_token, task.prefix},
                    task.constraint,
                    DecoderStep::Source::of(source, static_cast<int64_t>(i), row),
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
    for (size_t i = 0; i < tasks.size(); ++i)
        if (is_draftable(tasks[i])) order_.push_back(static_cast<int64_t>(i));
    const int64_t active = host_.active() + std::ssize(tasks);
    const std::span<const int32_t> begun = speculation_->begin(batch, order_, active, call);
    for (size_t i = 0; i < begun.size(); ++i) drafts_[order_[i]] = begun[i];
    return drafts_;
}

}  // namespace xf
