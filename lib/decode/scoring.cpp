// Scores, losses, and attention weights of given targets. See decoder.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/hash.h"
#include "decode/decoder.h"

namespace xf {
namespace {

// Restores the position of a batcher.
class PositionGuard {
public:
    explicit PositionGuard(Batcher *batcher) : batcher_(*batcher), position_(batcher->position()) {}
    ~PositionGuard() {
        try {
            batcher_.seek(position_);
        } catch (...) {  // out of memory: the batcher remains valid at another position
        }
    }
    PositionGuard(const PositionGuard &) = delete;
    PositionGuard &operator=(const PositionGuard &) = delete;
    int64_t epoch() const { return position_.epoch; }

private:
    Batcher &batcher_;
    Batcher::Position position_;
};

// The number of batches in the epoch, also if the batcher reads it in chunks.
int64_t exact_batches(Batcher *batcher, const Call &call) {
    const PositionGuard guard(batcher);
    batcher->seek_end_of_epoch(call);
    return batcher->batches_in_epoch();
}

// In the order of the sentences, so that the result depends neither on their grouping nor on the ranks.
void add(const std::vector<Decoder::SentenceLoss> &losses, EvalStats *stats) {
    stats->sentences += std::ssize(losses);
    for (const Decoder::SentenceLoss &one : losses) {
        stats->loss_sum += one.loss;
        stats->nll_sum += one.nll;
        stats->tgt_tokens += one.tokens;
    }
}

// Of the pairs and their order.
uint64_t hash_of(const Batcher &batcher) {
    const int64_t epoch = batcher.position().epoch;
    uint64_t hash = hash64(&epoch, sizeof epoch, batcher.fingerprint());
    for (const auto &[key, value] : batcher.order()) hash = hash64(value.data(), value.size(), hash);
    return hash;
}

// Collects what each rank has computed, `own` or an error, in the order of the ranks. fingerprint: of the data, which
// must be the same on all ranks. Collective.
std::vector<Decoder::SentenceLoss> collect(Communicator &communicator, DeferredError *error,
                                           const std::vector<Decoder::SentenceLoss> &own, uint64_t fingerprint) {
    constexpr int64_t kBytes = sizeof(Decoder::SentenceLoss);
    const auto ranks = static_cast<size_t>(communicator.size());
    std::vector<int64_t> counts, fingerprints;
    std::vector<Range> ranges;
    error->run([&] {
        counts.resize(ranks), fingerprints.resize(ranks);
        ranges.reserve(ranks);
    });
    communicator.exchange_status(error->status(), std::ssize(own), error->failed() ? nullptr : counts.data());
    error->rethrow();
    std::vector<Decoder::SentenceLoss> all;
    int64_t count = 0;
    for (const int64_t of_rank : counts) {
        const int64_t begin = count * kBytes;
        XF_CHECK(of_rank >= 0 && of_rank <= (int64_t{1} << 40), XF_ERROR_DESYNC,
                 "a rank has evaluated %" PRId64 " sentences, expected at least 0", of_rank);
        count += of_rank;
        ranges.push_back({begin, count * kBytes});
    }
    error->run([&] {
        all.resize(count);
        std::copy(own.begin(), own.end(), all.begin() + ranges[communicator.rank()].begin / kBytes);
    });
    communicator.exchange_status(error->status(), static_cast<int64_t>(fingerprint),
                                 error->failed() ? nullptr : fingerprints.data());
    error->rethrow();
    for (size_t r = 1; r < ranks; ++r)
        XF_CHECK(fingerprints[r] == fingerprints[0], XF_ERROR_DESYNC,
                 "rank %zu evaluates other data than rank 0, expected the same on all ranks", r);
    communicator.all_gather(all.data(), ranges);
    return all;
}

}  // namespace

void Decoder::check_pairs(const xf_batch &batch) const {
    check_source(batch, model().config());
    check_target(batch, model().config());
}

template <class Use>
void Decoder::run_targets(InferenceModel *member, const xf_batch &batch, float smoothing, const Call &call, Use use) {
    XF_CHECK(batch.sentences >= 0, XF_ERROR_INVALID_ARGUMENT, "the batch has %lld sentences, expected at least 0",
             static_cast<long long>(batch.sentences));
    if (batch.sentences == 0) return;
    check_pairs(batch);
    constexpr int64_t kTokens = 4096;  // source and target tokens of a group; limits the workspace
    order_.resize(batch.sentences);
    std::iota(order_.begin(), order_.end(), 0);
    sort_longest_first(batch.src_offsets);
    for (size_t begin = 0; begin < order_.size();) {
        call.check();
        size_t end = begin;
        for (int64_t tokens = 0; end < order_.size(); ++end) {
            const int64_t b = order_[end];
            tokens += batch.src_offsets[b + 1] - batch.src_offsets[b] + batch.tgt_offsets[b + 1] - batch.tgt_offsets[b];
            if (end > begin && tokens > kTokens) break;
        }
        const std::span<const int64_t> group(order_.data() + begin, end - begin);
        PackedBatch &packed = member->packed;
        Transformer &network = member->network;
        packed.load(member->stream, member->model->config(), batch, group, PackedBatch::Sides::kBoth,
                    config_.beam.start_token);
        network.prepare(packed, PassKind::kInference, true);
        const Pass pass = member->pass(call);
        network.encode(pass, packed);
        network.decode(pass, packed);
        network.loss(pass, packed, smoothing, config_.smooth_uniform);
        losses_.resize(packed.tgt.rows);
        nlls_.resize(losses_.size());
        member->stream.download(losses_.data(), network.token_loss(), losses_.size() * sizeof(float));
        member->stream.download(nlls_.data(), network.token_nll(), nlls_.size() * sizeof(float));
        for (size_t s = 0; s < group.size(); ++s) {
            const int32_t first = packed.tgt.host_begin[s];
            use(group[s], losses_.data() + first, nlls_.data() + first, packed.tgt.host_length[s]);
        }
        begin = end;
    }
}

void Decoder::score(const xf_batch &batch, double *log_probabilities, const Call &call) {
    std::vector<double> scores(std::max<int64_t>(batch.sentences, 0));
    for (const auto &member : members_)
        run_targets(member.get(), batch, 0, call, [&](int64_t b, const float *, const float *nll, int64_t count) {
            scores[b] -= std::accumulate(nll, nll + count, 0.0);
        });
    const auto models = static_cast<double>(members_.size());
    std::transform(scores.begin(), scores.end(), log_probabilities, [&](double sum) { return sum / models; });
}

std::vector<Decoder::SentenceLoss> Decoder::losses_of(const xf_batch &batch, const Call &call) {
    std::vector<SentenceLoss> losses(std::max<int64_t>(batch.sentences, 0));
    for (const auto &member : members_)
        run_targets(member.get(), batch, config_.label_smoothing, call,
                    [&](int64_t b, const float *loss, const float *nll, int64_t count) {
                        losses[b].loss += std::accumulate(loss, loss + count, 0.0);
                        losses[b].nll += std::accumulate(nll, nll + count, 0.0);
                        losses[b].tokens = count;
                    });
    for (SentenceLoss &one : losses) {
        one.loss /= static_cast<double>(members_.size());
        one.nll /= static_cast<double>(members_.size());
    }
    return losses;
}

void Decoder::evaluate(const xf_batch &batch, EvalStats *stats, const Call &call) {
    add(losses_of(batch, call), stats);
}

template <class Use>
void Decoder::evaluate_batches(Batcher *batcher, Range batches, const Call &call, const Use &use) {
    const PositionGuard guard(batcher);
    batcher->seek_in_epoch(guard.epoch(), batches.begin, call);
    int64_t done = 0;
    for (; done < batches.count() && !batcher->at_end_of_epoch() && batcher->next(&batch_, call); ++done) {
        call.progress("evaluate", done, std::min(batches.count(), batcher->batches_in_epoch() - batches.begin));
        use(losses_of(batch_.view(), call));
    }
    call.progress("evaluate", done, done);
}

EvalStats Decoder::evaluate(Batcher *batcher, const Call &call) {
    Communicator &communicator = model().context().communicator();
    EvalStats stats;
    if (!config_.divide_evaluation || communicator.size() == 1) {
        const auto unsampled = batcher->unsampled(call);
        Batcher *const pairs = unsampled ? unsampled.get() : batcher;
        evaluate_batches(pairs, {0, std::numeric_limits<int64_t>::max()}, call,
                         [&](const std::vector<SentenceLoss> &losses) { add(losses, &stats); });
        return stats;
    }
    std::vector<SentenceLoss> own;
    uint64_t fingerprint = 0;
    DeferredError error;
    error.run([&] {
        const auto unsampled = batcher->unsampled(call);
        Batcher *const pairs = unsampled ? unsampled.get() : batcher;
        fingerprint = hash_of(*pairs);
        const Range batches = even_chunk(exact_batches(pairs, call), communicator.rank(), communicator.size());
        evaluate_batches(pairs, batches, call, [&](const std::vector<SentenceLoss> &losses) {
            own.insert(own.end(), losses.begin(), losses.end());
        });
    });
    add(collect(communicator, &error, own, fingerprint), &stats);
    return stats;
}

AttentionShape Decoder::attention_shape(const xf_batch &pair, int32_t kind, int64_t layer) const {
    const ModelConfig &c = model().config();
    XF_CHECK(pair.sentences == 1, XF_ERROR_INVALID_ARGUMENT, "the batch has %lld sentences, expected 1",
             static_cast<long long>(pair.sentences));
    XF_CHECK(kind >= 1 && kind <= 3, XF_ERROR_OUT_OF_RANGE, "kind is %d, expected 1 to 3", kind);
    const auto which = static_cast<AttentionKind>(kind);
    const int64_t layers = which == AttentionKind::kEncoder ? c.encoder_layers : c.decoder_layers;
    XF_CHECK(layer >= 0 && layer < layers, XF_ERROR_OUT_OF_RANGE, "layer is %lld, expected 0 to %lld",
             static_cast<long long>(layer), static_cast<long long>(layers - 1));
    check_pairs(pair);
    const int64_t S = pair.src_offsets[1] - pair.src_offsets[0], T = pair.tgt_offsets[1] - pair.tgt_offsets[0];
    const float scale = c.attention_scale();
    switch (which) {
        case AttentionKind::kEncoder:
            return {c.H, c.d_k, S, S, false, c.window, scale};
        case AttentionKind::kDecoder:
            return {c.H, c.d_k, T, T, true, c.window, scale};
        case AttentionKind::kCross:
            break;
    }
    return {c.H, c.d_k, T, S, false, 0, scale};
}

void Decoder::attention(const xf_batch &pair, int32_t kind, int64_t layer, float *weights, const Call &call) {
    const ModelConfig &c = model().config();
    const AttentionShape shape = attention_shape(pair, kind, layer);
    const auto which = static_cast<AttentionKind>(kind);
    const int64_t first[] = {0};
    InferenceModel &member = this->first();
    Transformer &network = member.network;
    member.packed.load(member.stream, c, pair, first, PackedBatch::Sides::kBoth, config_.beam.start_token);
    network.prepare(member.packed, PassKind::kTraining, true);  // keeps the queries and keys of all layers
    const Pass pass = member.pass(call);
    network.encode(pass, member.packed);
    network.decode(pass, member.packed);
    const auto read = [&](Num from, int64_t rows, int64_t columns) { return member.read(from, rows * columns); };
    if (which == AttentionKind::kCross) {
        const AttentionActivations &acts = network.activations(Stack::kDecoder).layers[layer].cross;
        const std::vector<float> q = read(acts.qkv, shape.queries, c.q_columns());
        const std::vector<float> kv = read(acts.kv, shape.keys, c.kv_columns());
        return attention_weights(shape, q.data(), c.q_columns(), kv.data(), c.kv_columns(), weights);
    }
    const bool encoder = which == AttentionKind::kEncoder;
    const AttentionActivations &acts =
        network.activations(encoder ? Stack::kEncoder : Stack::kDecoder).layers[layer].self;
    const std::vector<float> qkv = read(acts.qkv, shape.queries, c.qkv_columns());
    attention_weights(shape, qkv.data(), c.qkv_columns(), qkv.data() + c.q_columns(), c.qkv_columns(), weights);
}

}  // namespace xf
