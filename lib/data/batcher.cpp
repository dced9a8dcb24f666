// Planning epochs and gathering batches; see batcher.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/batcher.h"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <limits>
#include <utility>

#include "core/error.h"
#include "data/shuffle.h"

namespace xf {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kBatchesPerWindow = 100;
// Makes the order of the batches independent of the order of the pairs.
constexpr uint64_t kBatchOrderStream = 0x6261746368657321u;

// Copies one side of the pairs [begin, end).
void gather_side(const HeapVector<int32_t> &ids, const HeapVector<int64_t> &offsets, const uint32_t *begin,
                 const uint32_t *end, std::vector<int32_t> *out_ids, std::vector<int64_t> *out_offsets) {
    out_ids->clear();
    out_offsets->assign(1, 0);
    for (const uint32_t *pair = begin; pair != end; ++pair) {
        out_ids->insert(out_ids->end(), ids.begin() + offsets[*pair], ids.begin() + offsets[size_t{*pair} + 1]);
        out_offsets->push_back(out_ids->size());
    }
}

void check_size(const EncodedCorpus &corpus) {
    XF_CHECK(corpus.size() > 0, XF_ERROR_DATA, "the corpus contains no sentence pairs");
    XF_CHECK(corpus.size() < kMaxInt32, XF_ERROR_LIMIT, "the corpus has %" PRId64 " pairs; the maximum is %" PRId64,
             corpus.size(), kMaxInt32 - 1);
}

}  // namespace

BatcherOptions BatcherOptions::from(const Options &options) {
    BatcherOptions b;
    b.batch_tokens = options.i64("data.batch_tokens");
    b.max_tokens = options.i64("data.max_tokens");
    b.seed = options.i64("data.seed");
    b.shuffle = options.boolean("data.shuffle");
    b.sampling = options.f64("data.sampling");
    return b;
}

Batcher::Batcher(std::shared_ptr<const EncodedCorpus> corpus, const BatcherOptions &options, EncodeEpoch encode_epoch)
    : options_(options), encode_epoch_(std::move(encode_epoch)) {
    check_size(*corpus);
    plan_ = make_plan(std::move(corpus), 0);
    fingerprint_ = plan_.corpus->fingerprint();
}

std::unique_ptr<Batcher> Batcher::create(const std::shared_ptr<const Corpus> &corpus, const Encoders &encoders,
                                         const BatcherOptions &options, const std::shared_ptr<Heap> &heap,
                                         const Corpus::Warn &warn, const Call &call) {
    EncodeEpoch encode = [corpus, encoders, longest = options.longest_side(), heap](int64_t epoch, const Call &now) {
        return std::make_shared<EncodedCorpus>(encode_corpus(*corpus, encoders, longest, now, heap, epoch));
    };
    auto encoded = encode(options.sample() ? 0 : TextKey::kUnsampled, call);
    const int64_t skipped = encoded->skipped_too_long + encoded->skipped_empty;
    const std::string message =
        format("skipped %" PRId64 " of %" PRId64 " pairs: %" PRId64 " have a side of more than %" PRId64
               " tokens, %" PRId64 " have an empty side",
               skipped, corpus->size(), encoded->skipped_too_long, options.longest_side(), encoded->skipped_empty);
    XF_CHECK(encoded->size() > 0, XF_ERROR_DATA, "%s", message.c_str());
    if (skipped > 0 && warn) warn(message);
    return std::make_unique<Batcher>(std::move(encoded), options, options.sample() ? std::move(encode) : EncodeEpoch());
}

std::map<std::string, std::string> Batcher::order() const {
    return {{"data.batch_tokens", std::to_string(options_.batch_tokens)},
            {"data.shuffle", options_.shuffle ? "true" : "false"},
            {"data.seed", std::to_string(options_.seed)},
            {"data.sampling", number(options_.sampling)}};
}

// The number of pairs that are sorted by length together.
size_t Batcher::window_size(const EncodedCorpus &c) const {
    // The longer side fills a batch first, so its mean length determines the number of pairs per batch.
    const int64_t tokens = std::max(c.src_ids.size(), c.tgt_ids.size());
    const int64_t mean = std::max<int64_t>(1, tokens / c.size());
    return kBatchesPerWindow * std::max<int64_t>(1, options_.batch_tokens / mean);
}

// The longer side comes first in the key because it determines how many pairs fit. Ties keep the shuffled order.
void Batcher::sort_windows(Plan *plan) const {
    const EncodedCorpus &c = *plan->corpus;
    std::vector<uint32_t> &order = plan->order;
    struct Key {
        int64_t longest, src;
        size_t at;
        uint32_t pair;
        auto operator<=>(const Key &) const = default;
    };
    const size_t n = order.size(), window = window_size(c);
    std::vector<Key> keys;
    for (size_t begin = 0; begin < n; begin += window) {
        const size_t end = std::min(n, begin + window);
        keys.clear();
        for (size_t at = begin; at < end; ++at) {
            const uint32_t pair = order[at];
            const int64_t src = c.src_length(pair), tgt = c.tgt_length(pair);
            keys.push_back({std::max(src, tgt), src, at, pair});
        }
        std::sort(keys.begin(), keys.end());
        for (size_t at = begin; at < end; ++at) order[at] = keys[at - begin].pair;
    }
}

// A batch ends where the next pair would exceed a limit.
void Batcher::divide_into_batches(Plan *plan) const {
    const EncodedCorpus &c = *plan->corpus;
    plan->starts.clear();
    int64_t src = 0, tgt = 0;
    for (size_t at = 0; at < plan->order.size(); ++at) {
        const int64_t more_src = c.src_length(plan->order[at]), more_tgt = c.tgt_length(plan->order[at]);
        const bool full = src + more_src > options_.batch_tokens || tgt + more_tgt > options_.batch_tokens;
        if (at == 0 || full) {
            plan->starts.push_back(at);
            src = tgt = 0;
        }
        src += more_src;
        tgt += more_tgt;
    }
    plan->starts.push_back(plan->order.size());
}

Batcher::Plan Batcher::make_plan(std::shared_ptr<const EncodedCorpus> corpus, int64_t epoch) const {
    const uint64_t n = corpus->size();
    Plan plan;
    plan.corpus = std::move(corpus);
    plan.order.resize(n);
    const Permutation pair_order(options_.seed, epoch, n);
    for (uint64_t i = 0; i < n; ++i) plan.order[i] = options_.shuffle ? pair_order(i) : i;
    if (options_.shuffle) sort_windows(&plan);
    divide_into_batches(&plan);
    if (!options_.shuffle) return plan;

    const uint64_t count = batches(plan);
    const Permutation batch_order(options_.seed ^ kBatchOrderStream, epoch, count);
    Plan mixed;
    mixed.corpus = plan.corpus;
    mixed.order.reserve(n);
    mixed.starts.reserve(count + 1);
    mixed.starts.push_back(0);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t from = batch_order(i);
        mixed.order.insert(mixed.order.end(), plan.order.begin() + plan.starts[from],
                           plan.order.begin() + plan.starts[from + 1]);
        mixed.starts.push_back(mixed.order.size());
    }
    return mixed;
}

void Batcher::gather(int64_t batch_in_plan, Batch *batch) const {
    const uint32_t *const pairs = plan_.order.data();
    const uint32_t *const begin = pairs + plan_.starts[batch_in_plan];
    const uint32_t *const end = pairs + plan_.starts[batch_in_plan + 1];
    const EncodedCorpus &c = *plan_.corpus;
    gather_side(c.src_ids, c.src_offsets, begin, end, &batch->src_ids, &batch->src_offsets);
    gather_side(c.tgt_ids, c.tgt_offsets, begin, end, &batch->tgt_ids, &batch->tgt_offsets);
    batch->pair_index.clear();
    for (const uint32_t *pair = begin; pair != end; ++pair) batch->pair_index.push_back(c.corpus_index[*pair]);
}

bool Batcher::next(Batch *batch, const Call &call) {
    call.check();
    if (position_.batch == batches_in_epoch()) {
        seek({position_.epoch + 1, 0}, call);
        return false;
    }
    gather(position_.batch, batch);
    ++position_.batch;
    return true;
}

bool Batcher::peek(Batch *batch) const {
    if (position_.batch == batches_in_epoch()) return false;
    gather(position_.batch, batch);
    return true;
}

uint64_t Batcher::new_id() {
    static std::atomic<uint64_t> last{0};
    return ++last;
}

std::shared_ptr<const EncodedCorpus> Batcher::corpus_of(int64_t epoch, const Call &call) const {
    if (!encode_epoch_) return plan_.corpus;
    auto corpus = encode_epoch_(epoch, call);
    check_size(*corpus);
    return corpus;
}

std::unique_ptr<Batcher> Batcher::unsampled(const Call &call) const {
    if (!encode_epoch_) return nullptr;
    BatcherOptions options = options_;
    options.sampling = 0;
    auto batcher = std::make_unique<Batcher>(encode_epoch_(TextKey::kUnsampled, call), options);
    batcher->seek({position_.epoch, 0});
    return batcher;
}

void Batcher::prepare_epoch(const Call &call) {
    call.check();
    const int64_t epoch = position_.epoch + 1;
    if (prepared_epoch_ == epoch || (!options_.shuffle && !encode_epoch_)) return;
    prepared_ = make_plan(corpus_of(epoch, call), epoch);
    prepared_epoch_ = epoch;
}

void Batcher::seek(Position position, const Call &call) {
    call.check();
    constexpr int64_t kLastEpoch = std::numeric_limits<int64_t>::max() - 1;
    XF_CHECK(position.epoch >= 0 && position.epoch <= kLastEpoch, XF_ERROR_OUT_OF_RANGE,
             "epoch %" PRId64 ", expected 0 to %" PRId64, position.epoch, kLastEpoch);
    // Without shuffling and random segmentation all epochs are the same, so the current plan is reused.
    const bool same = position.epoch == position_.epoch || (!options_.shuffle && !encode_epoch_);
    Plan plan;
    if (!same && position.epoch == prepared_epoch_)
        plan = std::move(prepared_);
    else if (!same)
        plan = make_plan(corpus_of(position.epoch, call), position.epoch);
    if (!same) prepared_ = Plan(), prepared_epoch_ = -1;
    const int64_t count = same ? batches_in_epoch() : batches(plan);
    XF_CHECK(position.batch >= 0 && position.batch <= count, XF_ERROR_OUT_OF_RANGE,
             "batch %" PRId64 " of epoch %" PRId64 ", expected 0 to %" PRId64, position.batch, position.epoch, count);
    if (!same) plan_ = std::move(plan);
    position_ = position;
}

}  // namespace xf
