// See decoder.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/decoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/half.h"

namespace xf {
namespace {

// The network only reads a model here; it takes a non-const one because training writes through the same class.
Model &readable(const std::shared_ptr<const Model> &model) { return const_cast<Model &>(*model); }

// Numbers of the stream's type, as fp32.
std::vector<float> read_numbers(Stream &stream, uint32_t dtype, Num from, int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    if (dtype == XF_FP32) {
        stream.download(values.data(), from, values.size() * sizeof(float));
        return values;
    }
    std::vector<uint16_t> narrow(values.size());
    stream.download(narrow.data(), from, narrow.size() * sizeof(uint16_t));
    std::transform(narrow.begin(), narrow.end(), values.begin(), from_bf16);
    return values;
}

// Sentences of a caller's batch by index, copied to a batch of their own.
struct Picked {
    std::vector<int32_t> src_ids, src_offsets{0}, tgt_ids, tgt_offsets{0};
    xf_batch view{};

    Picked(const xf_batch &batch, const std::vector<int64_t> &which, bool targets) {
        for (const int64_t b : which) {
            src_ids.insert(src_ids.end(), batch.src_ids + batch.src_offsets[b],
                           batch.src_ids + batch.src_offsets[b + 1]);
            src_offsets.push_back(static_cast<int32_t>(src_ids.size()));
            if (!targets) continue;
            tgt_ids.insert(tgt_ids.end(), batch.tgt_ids + batch.tgt_offsets[b],
                           batch.tgt_ids + batch.tgt_offsets[b + 1]);
            tgt_offsets.push_back(static_cast<int32_t>(tgt_ids.size()));
        }
        view.struct_size = sizeof view;
        view.sentences = static_cast<int64_t>(which.size());
        view.src_ids = src_ids.data();
        view.src_offsets = src_offsets.data();
        view.tgt_ids = targets ? tgt_ids.data() : nullptr;
        view.tgt_offsets = targets ? tgt_offsets.data() : nullptr;
    }
};

std::vector<int64_t> longest_first(const xf_batch &batch) {
    std::vector<int64_t> order(static_cast<size_t>(batch.sentences));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return batch.src_offsets[a + 1] - batch.src_offsets[a] > batch.src_offsets[b + 1] - batch.src_offsets[b];
    });
    return order;
}

// The rows of one decoding step, and which slot each live hypothesis of each sentence owns.
class RowBook {
public:
    RowBook(int64_t sentences, int64_t beam) : beam_(beam), ancestors_(static_cast<size_t>(sentences)) {}

    // Lists the rows of the sentences that are still searched.
    void collect(const std::vector<BeamSearch> &searches, const std::vector<int32_t> &active, int64_t t,
                 DecoderStep::Rows *rows) const {
        *rows = DecoderStep::Rows();
        for (const int32_t s : active) {
            const auto &live = searches[static_cast<size_t>(s)].live();
            rows->source.push_back(s);
            rows->sentence_begin.push_back(static_cast<int32_t>(rows->tokens.size()));
            rows->sentence_length.push_back(static_cast<int32_t>(live.size()));
            for (size_t j = 0; j < live.size(); ++j) {
                rows->tokens.push_back(live[j].token);
                rows->slot_of_row.push_back(slot(s, static_cast<int64_t>(j)));
                if (t > 0) {
                    const std::vector<int32_t> &path = ancestors_[static_cast<size_t>(s)][j];
                    rows->ancestors.insert(rows->ancestors.end(), path.begin(), path.end());
                }
            }
        }
    }

    // After a sentence's search advanced: each live hypothesis inherits its parent's ancestors and the parent itself.
    void inherit(int32_t s, const BeamSearch &search) {
        auto &mine = ancestors_[static_cast<size_t>(s)];
        std::vector<std::vector<int32_t>> next;
        for (const BeamSearch::Live &live : search.live()) {
            const auto parent = static_cast<size_t>(live.parent);
            next.push_back(parent < mine.size() ? mine[parent] : std::vector<int32_t>());
            next.back().push_back(slot(s, live.parent));
        }
        mine = std::move(next);
    }

private:
    int32_t slot(int32_t sentence, int64_t beam) const { return static_cast<int32_t>(sentence * beam_ + beam); }
    int64_t beam_;
    std::vector<std::vector<std::vector<int32_t>>> ancestors_;  // [sentence][live][step]
};

}  // namespace

DecodeConfig DecodeConfig::from(const Options &options, const ModelConfig &model) {
    DecodeConfig c{};
    c.beam.beam = options.i64("decode.beam");
    c.beam.n_best = options.i64("decode.n_best");
    c.beam.alpha = options.f64("decode.alpha");
    c.max_extra_tokens = options.i64("decode.max_extra_tokens");
    c.batch_sentences = options.i64("decode.batch_sentences");
    c.max_source_tokens = std::min(options.i64("decode.max_source_tokens"), model.max_length);
    c.label_smoothing = static_cast<float>(options.f64("train.label_smoothing"));
    c.smooth_uniform = options.str("train.label_smoothing_kind") == "uniform";
    XF_CHECK(c.beam.n_best <= c.beam.beam, XF_ERROR_INVALID_ARGUMENT,
             "decode.n_best is %lld, expected at most decode.beam %lld", static_cast<long long>(c.beam.n_best),
             static_cast<long long>(c.beam.beam));
    return c;
}

Decoder::Decoder(std::shared_ptr<const Model> model, const Options &options)
    : model_(std::move(model)),
      config_(DecodeConfig::from(options, model_->config())),
      stream_(model_->context().device(), model_->dtype()),
      network_(readable(model_), stream_),
      step_(readable(model_), stream_),
      search_(readable(model_), stream_, step_) {}

void Decoder::check_sources(const xf_batch &batch) const {
    XF_CHECK(batch.sentences >= 0, XF_ERROR_INVALID_ARGUMENT, "the batch has %lld sentences",
             static_cast<long long>(batch.sentences));
    check_side("source", batch.sentences, batch.src_ids, batch.src_offsets, model_->config());
    for (int64_t b = 0; b < batch.sentences; ++b) {
        const int64_t length = batch.src_offsets[b + 1] - batch.src_offsets[b];
        XF_CHECK(length <= config_.max_source_tokens, XF_ERROR_OUT_OF_RANGE,
                 "source sentence %lld has %lld tokens, expected at most decode.max_source_tokens %lld",
                 static_cast<long long>(b), static_cast<long long>(length),
                 static_cast<long long>(config_.max_source_tokens));
    }
}

std::vector<std::vector<Hypothesis>> Decoder::decode(const xf_batch &batch, const Constraint &constraint,
                                                     const Call &call) {
    std::vector<std::vector<Hypothesis>> answers(static_cast<size_t>(std::max<int64_t>(batch.sentences, 0)));
    if (batch.sentences == 0) return answers;
    check_sources(batch);
    const std::vector<int64_t> order = longest_first(batch);
    for (size_t begin = 0; begin < order.size(); begin += static_cast<size_t>(config_.batch_sentences)) {
        const size_t end = std::min(order.size(), begin + static_cast<size_t>(config_.batch_sentences));
        decode_group(batch,
                     std::vector<int64_t>(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                          order.begin() + static_cast<std::ptrdiff_t>(end)),
                     constraint, call, &answers);
        call.progress("translate", static_cast<int64_t>(end), batch.sentences);
    }
    return answers;
}

// The bits of every live hypothesis of the sentences that are still searched, in the order of RowBook::collect().
void Decoder::constrain(const Constraint &constraint, const std::vector<int64_t> &group,
                        const std::vector<BeamSearch> &searches, const std::vector<int32_t> &active,
                        std::vector<uint32_t> *allowed) const {
    const auto words = static_cast<size_t>((model_->config().V + 31) / 32);
    allowed->clear();
    for (const int32_t s : active) {
        const BeamSearch &search = searches[static_cast<size_t>(s)];
        for (size_t j = 0; j < search.live().size(); ++j) {
            allowed->resize(allowed->size() + words, ~0u);
            const std::vector<int32_t> ids = search.tokens(j);
            constraint({group[static_cast<size_t>(s)], ids, search.remaining()},
                       allowed->data() + allowed->size() - words);
        }
    }
}

void Decoder::decode_group(const xf_batch &batch, const std::vector<int64_t> &group, const Constraint &constraint,
                           const Call &call, std::vector<std::vector<Hypothesis>> *answers) {
    const ModelConfig &c = model_->config();
    const Picked picked(batch, group, false);
    packed_.load(stream_, c, picked.view, PackedBatch::Sides::kSource, false);
    network_.prepare(packed_, Transformer::Mode::kInfer, false);
    Pass pass{readable(model_), stream_, call};
    pass.invariant = true;
    const Num memory = network_.encode(pass, packed_);

    std::vector<int64_t> limits;
    for (size_t s = 0; s < group.size(); ++s) {
        const int64_t source = picked.src_offsets[s + 1] - picked.src_offsets[s];
        limits.push_back(std::min(source + config_.max_extra_tokens, c.max_length));
    }
    const int64_t longest = *std::max_element(limits.begin(), limits.end());
    const auto sentences = static_cast<int64_t>(group.size());
    const int64_t k = std::min(BeamSearch::continuations(config_.beam), c.V - 1);
    if (!constraint && DeviceSearch::possible(stream_.device())) {
        step_.begin(packed_.src, sentences, memory, search_.slots(config_.beam, sentences), search_.steps(longest));
        std::vector<std::vector<Hypothesis>> found = search_.run(config_.beam, limits, k, call);
        for (size_t s = 0; s < group.size(); ++s) (*answers)[static_cast<size_t>(group[s])] = std::move(found[s]);
        return;
    }
    step_.begin(packed_.src, sentences, memory, sentences * config_.beam.beam, longest);
    std::vector<BeamSearch> searches;
    for (const int64_t limit : limits) searches.emplace_back(config_.beam, limit);

    std::vector<int32_t> active(group.size());
    std::iota(active.begin(), active.end(), 0);
    RowBook book(sentences, config_.beam.beam);
    DecoderStep::Rows rows;
    std::vector<float> values;
    std::vector<int32_t> ids;
    for (int64_t t = 0; !active.empty(); ++t) {
        call.check();
        book.collect(searches, active, t, &rows);
        if (constraint) constrain(constraint, group, searches, active, &rows.allowed);
        values.resize(rows.tokens.size() * static_cast<size_t>(k));
        ids.resize(values.size());
        step_.run(rows, t, k, values.data(), ids.data());
        for (size_t i = 0; i < active.size(); ++i) {
            BeamSearch &search = searches[static_cast<size_t>(active[i])];
            const size_t at = static_cast<size_t>(rows.sentence_begin[i]) * static_cast<size_t>(k);
            search.advance(values.data() + at, ids.data() + at, k);
            if (!search.done()) book.inherit(active[i], search);
        }
        std::erase_if(active, [&](int32_t s) { return searches[static_cast<size_t>(s)].done(); });
    }
    for (size_t s = 0; s < group.size(); ++s) (*answers)[static_cast<size_t>(group[s])] = searches[s].result();
}

template <class Use>
void Decoder::forced(const xf_batch &batch, float smoothing, const Call &call, Use use) {
    XF_CHECK(batch.sentences >= 0, XF_ERROR_INVALID_ARGUMENT, "the batch has %lld sentences",
             static_cast<long long>(batch.sentences));
    if (batch.sentences == 0) return;
    check_sources(batch);
    check_side("target", batch.sentences, batch.tgt_ids, batch.tgt_offsets, model_->config());
    constexpr int64_t kTokens = 4096;  // source and target tokens worked on at a time: bounds the workspace
    const std::vector<int64_t> order = longest_first(batch);
    std::vector<float> loss, nll;
    for (size_t begin = 0; begin < order.size();) {
        std::vector<int64_t> group;
        for (int64_t tokens = 0; begin < order.size(); ++begin) {
            const int64_t b = order[begin];
            tokens += batch.src_offsets[b + 1] - batch.src_offsets[b] + batch.tgt_offsets[b + 1] - batch.tgt_offsets[b];
            if (!group.empty() && tokens > kTokens) break;
            group.push_back(b);
        }
        const Picked picked(batch, group, true);
        packed_.load(stream_, model_->config(), picked.view, PackedBatch::Sides::kBoth, false);
        network_.prepare(packed_, Transformer::Mode::kInfer, true);
        Pass pass{readable(model_), stream_, call};
        pass.invariant = true;
        network_.encode(pass, packed_);
        network_.decode(pass, packed_);
        network_.loss(pass, packed_, smoothing, config_.smooth_uniform);
        loss.resize(static_cast<size_t>(packed_.tgt.rows));
        nll.resize(loss.size());
        stream_.download(loss.data(), network_.token_loss(), loss.size() * sizeof(float));
        stream_.download(nll.data(), network_.token_nll(), nll.size() * sizeof(float));
        for (size_t s = 0; s < group.size(); ++s) {
            const int32_t first = picked.tgt_offsets[s];
            use(group[s], loss.data() + first, nll.data() + first, picked.tgt_offsets[s + 1] - first);
        }
    }
}

void Decoder::score(const xf_batch &batch, double *log_probabilities, const Call &call) {
    std::vector<double> scores(static_cast<size_t>(std::max<int64_t>(batch.sentences, 0)));
    forced(batch, 0, call, [&](int64_t b, const float *, const float *nll, int64_t count) {
        scores[static_cast<size_t>(b)] = -std::accumulate(nll, nll + count, 0.0);
    });
    std::copy(scores.begin(), scores.end(), log_probabilities);
}

void Decoder::evaluate(const xf_batch &batch, EvalStats *stats, const Call &call) {
    // Sums per sentence, then in the order of the batch: grouping must not show in the last bit.
    std::vector<double> losses(static_cast<size_t>(std::max<int64_t>(batch.sentences, 0))), nlls(losses.size());
    int64_t tokens = 0;
    forced(batch, config_.label_smoothing, call, [&](int64_t b, const float *loss, const float *nll, int64_t count) {
        losses[static_cast<size_t>(b)] = std::accumulate(loss, loss + count, 0.0);
        nlls[static_cast<size_t>(b)] = std::accumulate(nll, nll + count, 0.0);
        tokens += count;
    });
    stats->sentences += batch.sentences;
    stats->tgt_tokens += tokens;
    stats->loss_sum = std::accumulate(losses.begin(), losses.end(), stats->loss_sum);
    stats->nll_sum = std::accumulate(nlls.begin(), nlls.end(), stats->nll_sum);
}

AttentionShape Decoder::attention_shape(const xf_batch &pair, AttentionKind kind) const {
    const ModelConfig &c = model_->config();
    check_sources(pair);
    check_side("target", pair.sentences, pair.tgt_ids, pair.tgt_offsets, c);
    const int64_t S = pair.src_offsets[1] - pair.src_offsets[0], T = pair.tgt_offsets[1] - pair.tgt_offsets[0];
    const float scale = 1.0f / std::sqrt(static_cast<float>(c.K));
    switch (kind) {
        case AttentionKind::kEncoder:
            return {c.H, c.K, S, S, false, c.window, scale};
        case AttentionKind::kDecoder:
            return {c.H, c.K, T, T, true, c.window, scale};
        case AttentionKind::kCross:
            break;
    }
    return {c.H, c.K, T, S, false, 0, scale};
}

void Decoder::attention(const xf_batch &pair, AttentionKind kind, int64_t layer, float *weights, const Call &call) {
    const ModelConfig &c = model_->config();
    const AttentionShape shape = attention_shape(pair, kind);
    packed_.load(stream_, c, pair, PackedBatch::Sides::kBoth, false);
    network_.prepare(packed_, Transformer::Mode::kTrain, true);  // which keeps every layer's queries and keys
    Pass pass{readable(model_), stream_, call};
    pass.invariant = true;
    network_.encode(pass, packed_);
    network_.decode(pass, packed_);
    const auto read = [&](Num from, int64_t rows, int64_t columns) {
        return read_numbers(stream_, model_->dtype(), from, rows * columns);
    };
    if (kind == AttentionKind::kCross) {
        const AttentionActivations &acts = network_.cross(layer);
        const std::vector<float> q = read(acts.qkv, shape.queries, c.q_columns());
        const std::vector<float> kv = read(acts.kv, shape.keys, c.kv_columns());
        return attention_weights(shape, q.data(), c.q_columns(), kv.data(), c.kv_columns(), weights);
    }
    const bool encoder = kind == AttentionKind::kEncoder;
    const AttentionActivations &acts = encoder ? network_.encoder_self(layer) : network_.decoder_self(layer);
    const std::vector<float> qkv = read(acts.qkv, shape.queries, c.qkv_columns());
    attention_weights(shape, qkv.data(), c.qkv_columns(), qkv.data() + c.q_columns(), c.qkv_columns(), weights);
}

}  // namespace xf
