// Decoding: which sentences are worked on together, and what each of them may be. See decoder.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/decoder.h"

#include <algorithm>

namespace xf {
namespace {

// A group holds decode.batch_sentences of at most so many source tokens each, or fewer that are longer: its memory goes
// with their number and the length of the longest.
constexpr int64_t kTokensOfSentence = 256;

Options with_set(Options options, const Options &more) {
    options.copy_set(more, "decode.");
    return options;
}

// offsets of any origin: 0, and not falling.
void check_offsets(const char *what, int64_t sentences, const int32_t *offsets) {
    XF_CHECK(offsets[0] == 0, XF_ERROR_INVALID_ARGUMENT, "the first %s offset is %d, expected 0", what, offsets[0]);
    for (int64_t b = 0; b < sentences; ++b)
        XF_CHECK(offsets[b + 1] >= offsets[b], XF_ERROR_INVALID_ARGUMENT,
                 "%s offset %lld is %d, expected at least the one before, %d", what, static_cast<long long>(b + 1),
                 offsets[b + 1], offsets[b]);
}

}  // namespace

DecodeConfig DecodeConfig::from(const Options &options, const ModelConfig &model) {
    DecodeConfig c{};
    c.beam.beam = options.i64("decode.beam");
    c.beam.n_best = options.i64("decode.n_best");
    c.beam.alpha = options.f64("decode.alpha");
    c.languages = model.languages.told(options, "decode.");
    const Frame target = Frames(model.tokens, model.languages, c.languages).target;
    c.beam.start_token = target.after >= 0 ? target.after : model.tokens.start;
    c.beam.end_token = target.end;
    c.first_token = target.before;
    c.min_tokens = options.i64("decode.min_tokens");
    c.max_extra_tokens = options.i64("decode.max_extra_tokens");
    c.batch_sentences = options.i64("decode.batch_sentences");
    c.max_source_tokens = std::min(options.i64("decode.max_source_tokens"), model.max_length);
    c.deadline_ms = options.i64("decode.deadline_ms");
    c.label_smoothing = static_cast<float>(options.f64("train.label_smoothing"));
    c.smooth_uniform = options.str("train.label_smoothing_kind") == "uniform";
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

// order_ becomes that of falling lengths, equal ones as they stand.
void Decoder::sort_longest_first(const int32_t *offsets) {
    const auto length = [&](int64_t b) { return offsets[b + 1] - offsets[b]; };
    std::sort(order_.begin(), order_.end(),
              [&](int64_t a, int64_t b) { return length(a) != length(b) ? length(a) > length(b) : a < b; });
}

// A call of decode().
struct Decoder::Work {
    const DecodeRequest &request;
    const DecodeConfig &config;
    const Watch watch;
    int64_t most_tokens;  // of any answer

    int64_t limit(int64_t source) const { return std::min(source + config.max_extra_tokens, most_tokens); }
};

// Why sentence b can't be decoded; empty when it can.
std::string Decoder::refusal(const xf_batch &batch, const Work &work, int64_t b, xf_status *status) const {
    const int32_t *const ids = batch.src_ids + batch.src_offsets[b];
    const int64_t length = batch.src_offsets[b + 1] - batch.src_offsets[b];
    const ModelConfig &c = model_->config();
    const auto V = static_cast<int32_t>(c.V), source_V = static_cast<int32_t>(c.source_V);
    *status = XF_ERROR_INVALID_ARGUMENT;
    if (length == 0) return "the source has no token, expected the end symbol at least";
    *status = XF_ERROR_OUT_OF_RANGE;
    if (length > work.config.max_source_tokens)
        return format(
            "the source has %lld tokens, expected at most %lld by decode.max_source_tokens and "
            "model.max_length",
            static_cast<long long>(length), static_cast<long long>(work.config.max_source_tokens));
    for (int64_t i = 0; i < length; ++i)
        if (ids[i] < 0 || ids[i] >= source_V) return format("source id %d, expected 0 to %d", ids[i], source_V - 1);
    if (!c.ends(ids, length)) {
        *status = XF_ERROR_INVALID_ARGUMENT;
        return format("the source ends with token %d, expected the end symbol %d", ids[length - 1], c.tokens.end);
    }
    if (work.request.prefix_ids == nullptr) return {};
    const int32_t *const offsets = work.request.prefix_offsets;
    if (offsets[b + 1] - offsets[b] > work.limit(length))
        return format("the prefix has %d tokens, an answer to this source at most %lld", offsets[b + 1] - offsets[b],
                      static_cast<long long>(work.limit(length)));
    for (int32_t i = offsets[b]; i < offsets[b + 1]; ++i) {
        const int32_t id = work.request.prefix_ids[i];
        if (id < 0 || id >= V || id == c.tokens.start || id == c.tokens.end ||
            std::binary_search(c.tokens.banned.begin(), c.tokens.banned.end(), id))
            return format("prefix id %d, expected 0 to %d, but no start, end or banned token", id, V - 1);
    }
    return {};
}

// Prefixes that begin with the first token of every answer, where there is one.
DecodeRequest Decoder::with_first_token(const DecodeRequest &request, int32_t first, int64_t sentences) {
    if (first < 0) return request;
    prefix_ids_.clear();
    prefix_offsets_.assign(1, 0);
    for (int64_t b = 0; b < sentences; ++b) {
        prefix_ids_.push_back(first);
        if (request.prefix_ids != nullptr)
            prefix_ids_.insert(prefix_ids_.end(), request.prefix_ids + request.prefix_offsets[b],
                               request.prefix_ids + request.prefix_offsets[b + 1]);
        XF_CHECK(prefix_ids_.size() < (size_t{1} << 31), XF_ERROR_LIMIT, "the prefixes have more than 2^31 tokens");
        prefix_offsets_.push_back(static_cast<int32_t>(prefix_ids_.size()));
    }
    DecodeRequest changed = request;
    changed.prefix_ids = prefix_ids_.data();
    changed.prefix_offsets = prefix_offsets_.data();
    return changed;
}

std::vector<SentenceOutcome> Decoder::decode(const xf_batch &batch, const DecodeRequest &asked, const Call &call,
                                             std::vector<SentenceOutcome> outcomes) {
    XF_CHECK(batch.sentences >= 0, XF_ERROR_INVALID_ARGUMENT, "the batch has %lld sentences",
             static_cast<long long>(batch.sentences));
    const DecodeConfig config = this->config(asked.options);
    outcomes.resize(static_cast<size_t>(batch.sentences));
    if (batch.sentences == 0) return outcomes;
    XF_CHECK(batch.src_ids != nullptr && batch.src_offsets != nullptr, XF_ERROR_INVALID_ARGUMENT,
             "the batch's source ids or offsets are NULL");
    check_offsets("source", batch.sentences, batch.src_offsets);
    XF_CHECK((asked.prefix_ids == nullptr) == (asked.prefix_offsets == nullptr), XF_ERROR_INVALID_ARGUMENT,
             "of the prefixes' ids and offsets one is NULL");
    if (asked.prefix_ids != nullptr) check_offsets("prefix", batch.sentences, asked.prefix_offsets);
    const DecodeRequest request = with_first_token(asked, config.first_token, batch.sentences);

    const Work work{request, config, Watch(call, config.deadline_ms, batch.sentences), model_->config().max_length};
    order_.clear();
    for (int64_t b = 0; b < batch.sentences; ++b) {
        SentenceOutcome &outcome = outcomes[static_cast<size_t>(b)];
        if (outcome.settled()) continue;
        xf_status why{};
        outcome.message = refusal(batch, work, b, &why);
        if (outcome.message.empty())
            order_.push_back(b);
        else
            outcome.status = why;
    }
    sort_longest_first(batch.src_offsets);
    int64_t done = batch.sentences - static_cast<int64_t>(order_.size());
    for (size_t begin = 0; begin < order_.size();) {
        const int64_t longest = batch.src_offsets[order_[begin] + 1] - batch.src_offsets[order_[begin]];
        const int64_t most =
            std::clamp<int64_t>(config.batch_sentences * kTokensOfSentence / longest, 1, config.batch_sentences);
        const size_t count = std::min(order_.size() - begin, static_cast<size_t>(most));
        const std::span<const int64_t> group(order_.data() + begin, count);
        if (work.watch.late()) {
            for (const int64_t b : group) {
                outcomes[static_cast<size_t>(b)].status = XF_ERROR_DEADLINE;
                outcomes[static_cast<size_t>(b)].message = format("decode.deadline_ms of %lld passed before its turn",
                                                                  static_cast<long long>(config.deadline_ms));
            }
        } else {
            decode_group(batch, work, group, done, &outcomes);
        }
        begin += count;
        done += static_cast<int64_t>(count);
    }
    work.watch.look(done);
    return outcomes;
}

void Decoder::decode_group(const xf_batch &batch, const Work &work, std::span<const int64_t> group, int64_t done_before,
                           std::vector<SentenceOutcome> *outcomes) {
    const BeamOptions &beam = work.config.beam;
    packed_.load(stream_, model_->config(), batch, group, PackedBatch::Sides::kSource, beam.start_token);
    network_.prepare(packed_, Transformer::Mode::kInfer, false);
    const Num memory = network_.encode(inference(work.watch.call()), packed_);

    limits_.clear();
    for (const int64_t b : group) limits_.push_back(work.limit(batch.src_offsets[b + 1] - batch.src_offsets[b]));
    const int64_t longest = *std::max_element(limits_.begin(), limits_.end());
    const auto sentences = static_cast<int64_t>(group.size());
    if (const Context &context = model_->context(); context.logs(XF_LOG_DEBUG))
        context.log(XF_LOG_DEBUG, "decode", "%lld sentences of at most %lld tokens, answers of at most %lld",
                    static_cast<long long>(sentences), static_cast<long long>(packed_.src.max_length),
                    static_cast<long long>(longest));
    SearchRequest search;
    search.beam = beam;
    search.min_tokens = work.config.min_tokens;
    search.k = std::min(BeamSearch::continuations(beam), model_->config().V - 1);
    search.sentences = group;
    search.limits = limits_;
    search.prefix_ids = work.request.prefix_ids;
    search.prefix_offsets = work.request.prefix_offsets;
    search.constraint = work.request.constraint ? &work.request.constraint : nullptr;
    search.done_before = done_before;
    if (DeviceSearch::possible(stream_.device())) {
        step_.begin(packed_.src, sentences, memory, device_search_.slots(beam, sentences),
                    device_search_.steps(longest), work.watch.call());
        device_search_.run(search, work.watch, outcomes);
    } else {
        step_.begin(packed_.src, sentences, memory, sentences * beam.beam, longest, work.watch.call());
        host_search_.run(search, work.watch, outcomes);
    }
}

}  // namespace xf
