// Planning epochs and gathering batches; see batcher.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/batcher.h"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <limits>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/hash.h"
#include "data/corpus_folder.h"
#include "data/shuffle.h"

namespace xf {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kBatchesPerWindow = 100;
// Makes the order of the batches independent of the order of the pairs.
constexpr uint64_t kBatchOrderStream = 0x6261746368657321u;
// Makes the orders of the chunks of an epoch independent of each other. The first chunk has the order of a corpus in
// memory.
constexpr uint64_t kPartOrderStream = 0x7061727473212121u;
constexpr uint64_t kChunkStride = 0x9E3779B97F4A7C15u;

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

void report_skipped(const EncodedCorpus &encoded, const BatcherOptions &options, const Corpus::Warn &warn) {
    const int64_t skipped = encoded.skipped_too_long + encoded.skipped_empty;
    const std::string message = format("skipped %" PRId64 " of %" PRId64 " pairs: %" PRId64
                                       " have a side of more than %" PRId64 " tokens, %" PRId64 " have an empty side",
                                       skipped, skipped + encoded.size(), encoded.skipped_too_long,
                                       options.longest_side(), encoded.skipped_empty);
    XF_CHECK(encoded.size() > 0, XF_ERROR_DATA, "%s", message.c_str());
    if (skipped > 0 && warn) warn(message);
}

}  // namespace

BatcherOptions BatcherOptions::from(const Options &options) {
    BatcherOptions b;
    b.batch_tokens = options.i64("data.batch_tokens");
    b.max_tokens = options.i64("data.max_tokens");
    b.seed = options.i64("data.seed");
    b.shuffle = options.boolean("data.shuffle");
    b.sampling = options.f64("data.sampling");
    b.augment = options.f64("data.augment");
    b.mix = options.str("data.mix");
    b.chunk_pairs = options.i64("data.chunk_pairs");
    return b;
}

void BatcherOptions::check_encoded() const {
    for (const auto &[name, value] : {std::pair("sampling", sampling), std::pair("augment", augment)})
        XF_CHECK(value == 0, XF_ERROR_INVALID_ARGUMENT,
                 "data.%s is set, but an encoded corpus has no text; use a corpus of text", name);
}

Batcher::Batcher(std::shared_ptr<const EncodedCorpus> corpus, const BatcherOptions &options, EncodeEpoch encode_epoch,
                 Mix mix)
    : options_(options) {
    chunks_.mix = std::move(mix);
    if (encode_epoch)
        chunks_.load = [encode = std::move(encode_epoch)](int64_t epoch, int64_t, const Call &call) {
            return encode(epoch, call);
        };
    check_size(*corpus);
    plan_ = make_plan(std::move(corpus), {});
    fingerprint_ = plan_.corpus->fingerprint();
}

Batcher::Batcher(Chunks chunks, const BatcherOptions &options, const Call &call)
    : options_(options), chunks_(std::move(chunks)), fingerprint_(chunks_.fingerprint) {
    plan_ = make_plan(load(0, 0, call), {});
}

std::unique_ptr<Batcher> Batcher::create(const std::shared_ptr<const Corpus> &corpus, const Encoders &encoders,
                                         const BatcherOptions &options, const std::shared_ptr<Heap> &heap,
                                         const Corpus::Warn &warn, const Call &call) {
    Mix mix{mix_factors(options.mix, corpus->files()), {}};
    if (!mix.factors.empty()) mix.file = corpus->file_of_pairs();
    if (corpus->folder() != nullptr) {
        corpus->folder()->check_identity(encoders);
        return create(corpus->folder(), options, std::move(mix), heap, warn, call);
    }
    EncodeEpoch encode = [corpus, encoders, longest = options.longest_side(), heap](int64_t epoch, const Call &now) {
        return std::make_shared<EncodedCorpus>(encode_corpus(*corpus, encoders, longest, now, heap, epoch));
    };
    auto encoded = encode(options.sample() ? 0 : TextKey::kUnsampled, call);
    report_skipped(*encoded, options, warn);
    return std::make_unique<Batcher>(std::move(encoded), options, options.sample() ? std::move(encode) : EncodeEpoch(),
                                     std::move(mix));
}

std::unique_ptr<Batcher> Batcher::create(const std::shared_ptr<const CorpusFolder> &folder,
                                         const BatcherOptions &options, Mix mix, const std::shared_ptr<Heap> &heap,
                                         const Corpus::Warn &warn, const Call &call) {
    options.check_encoded();
    const int64_t parts = std::ssize(folder->parts()), pairs = folder->stats().kept;
    const int64_t count = std::min(parts, (pairs + options.chunk_pairs - 1) / options.chunk_pairs);
    const auto read = [folder, heap, longest = options.longest_side()](const std::vector<int64_t> &which,
                                                                       const Call &now) {
        return std::make_shared<const EncodedCorpus>(folder->read(which, longest, heap, now));
    };
    if (count <= 1) {
        std::vector<int64_t> all(parts);
        std::iota(all.begin(), all.end(), 0);
        auto encoded = read(all, call);
        report_skipped(*encoded, options, warn);
        return std::make_unique<Batcher>(std::move(encoded), options, EncodeEpoch(), std::move(mix));
    }
    // Chunk i consists of the parts [i, i + 1) * parts / count of an order that is new in each epoch.
    Chunks chunks;
    chunks.load = [read, parts, count, options](int64_t epoch, int64_t chunk, const Call &now) {
        const Permutation order(options.seed ^ kPartOrderStream, epoch, parts);
        std::vector<int64_t> which;
        for (int64_t i = chunk * parts / count; i < (chunk + 1) * parts / count; ++i)
            which.push_back(options.shuffle ? order(i) : i);
        return read(which, now);
    };
    chunks.count = count;
    chunks.mix = std::move(mix);
    const int64_t division[] = {count, options.longest_side()};
    chunks.fingerprint = hash64(division, sizeof division, folder->fingerprint());
    return std::make_unique<Batcher>(std::move(chunks), options, call);
}

std::map<std::string, std::string> Batcher::order() const {
    std::map<std::string, std::string> order = {{"data.batch_tokens", std::to_string(options_.batch_tokens)},
                                                {"data.shuffle", options_.shuffle ? "true" : "false"},
                                                {"data.seed", std::to_string(options_.seed)},
                                                {"data.sampling", number(options_.sampling)}};
    if (options_.augment > 0) order["data.augment"] = number(options_.augment);
    if (!options_.mix.empty()) order["data.mix"] = options_.mix;
    return order;
}

// The number of pairs that are sorted by length together.
size_t Batcher::window_size(const Plan &plan) const {
    // The longer side fills a batch first, so its mean length determines the number of pairs per batch.
    const int64_t tokens = std::max(plan.src_tokens, plan.tgt_tokens);
    const int64_t mean = std::max<int64_t>(1, tokens / std::max<int64_t>(1, std::ssize(plan.order)));
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
    const size_t n = order.size(), window = window_size(*plan);
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

// The pairs of an epoch in the order of the corpus.
std::vector<uint32_t> Batcher::pairs_of_epoch(const EncodedCorpus &corpus, int64_t epoch) const {
    const auto count_of = [&](int64_t i) { return chunks_.mix.count(corpus.corpus_index[i], options_.seed, epoch); };
    int64_t count = 0;  // first, so that a wrong factor does not fill the memory
    for (int64_t i = 0; i < corpus.size(); ++i) count += count_of(i);
    XF_CHECK(count < kMaxInt32, XF_ERROR_LIMIT,
             "data.mix gives epoch %" PRId64 " %" PRId64 " pairs; the maximum is %" PRId64, epoch, count,
             kMaxInt32 - 1);
    std::vector<uint32_t> pairs;
    pairs.reserve(count);
    for (int64_t i = 0; i < corpus.size(); ++i) pairs.insert(pairs.end(), count_of(i), i);
    XF_CHECK(!pairs.empty() || corpus.size() == 0 || chunks_.count > 1, XF_ERROR_DATA,
             "data.mix leaves no pair of the corpus in epoch %" PRId64, epoch);
    return pairs;
}

Batcher::Plan Batcher::make_plan(std::shared_ptr<const EncodedCorpus> corpus, const Position &position) const {
    const std::vector<uint32_t> pairs = pairs_of_epoch(*corpus, position.epoch);
    const uint64_t n = pairs.size(), seed = options_.seed ^ (position.chunk * kChunkStride);
    Plan plan;
    plan.corpus = std::move(corpus);
    plan.order.resize(n);
    const Permutation pair_order(seed, position.epoch, n);
    for (uint64_t i = 0; i < n; ++i) plan.order[i] = pairs[options_.shuffle ? pair_order(i) : i];
    for (const uint32_t pair : pairs) {
        plan.src_tokens += plan.corpus->src_length(pair);
        plan.tgt_tokens += plan.corpus->tgt_length(pair);
    }
    if (options_.shuffle) sort_windows(&plan);
    divide_into_batches(&plan);
    if (!options_.shuffle) return plan;

    const uint64_t count = batches(plan);
    const Permutation batch_order(seed ^ kBatchOrderStream, position.epoch, count);
    Plan mixed;
    mixed.corpus = plan.corpus;
    mixed.src_tokens = plan.src_tokens;
    mixed.tgt_tokens = plan.tgt_tokens;
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
    while (at_end_of_chunk())
        if (!next_chunk(call)) return false;
    gather(position_.batch, batch);
    ++position_.batch;
    return true;
}

bool Batcher::peek(Batch *batch) const {
    if (at_end_of_chunk()) return false;
    gather(position_.batch, batch);
    return true;
}

uint64_t Batcher::new_id() {
    static std::atomic<uint64_t> last{0};
    return ++last;
}

std::shared_ptr<const EncodedCorpus> Batcher::load(int64_t epoch, int64_t chunk, const Call &call) const {
    if (!chunks_.load) return plan_.corpus;
    auto corpus = chunks_.load(epoch, chunk, call);
    if (chunks_.count == 1 || corpus->size() > 0) check_size(*corpus);
    return corpus;
}

std::unique_ptr<Batcher> Batcher::unsampled(const Call &call) const {
    if (!options_.sample() && options_.mix.empty()) return nullptr;
    BatcherOptions options = options_;
    options.sampling = options.augment = 0;
    options.mix.clear();
    std::unique_ptr<Batcher> batcher;
    if (chunks_.count > 1) {
        Chunks chunks = chunks_;
        chunks.mix = {};
        batcher = std::make_unique<Batcher>(std::move(chunks), options, call);
    } else {
        auto corpus = chunks_.load ? chunks_.load(TextKey::kUnsampled, 0, call) : plan_.corpus;
        batcher = std::make_unique<Batcher>(std::move(corpus), options);
    }
    batcher->seek({position_.epoch, 0});
    return batcher;
}

int64_t Batcher::batches_in_epoch() const {
    // Chunks have about the same size.
    return (position_.before + batches_in_chunk()) * chunks_.count / (position_.chunk + 1);
}

// Without shuffling and data.mix, all epochs of the pairs in memory are the same.
bool Batcher::same_plan(const Position &a, const Position &b) const {
    const bool same_epochs = !options_.shuffle && !chunks_.load && options_.mix.empty();
    return (a.epoch == b.epoch || same_epochs) && a.chunk == b.chunk;
}

Batcher::Position Batcher::after_chunk() const {
    const Position &at = position_;
    if (at.chunk + 1 < chunks_.count) return {at.epoch, 0, at.chunk + 1, at.before + batches_in_chunk()};
    return {at.epoch + 1};
}

bool Batcher::next_chunk(const Call &call) {
    const Position next = after_chunk();
    const bool more = next.epoch == position_.epoch;
    XF_CHECK(more || position_.before + batches_in_chunk() > 0, XF_ERROR_DATA,
             "every pair of the corpus is skipped: a side is empty or has more than %" PRId64 " tokens",
             options_.longest_side());
    seek(next, call);
    return more;
}

void Batcher::prepare_chunk(const Call &call) {
    call.check();
    const Position next = after_chunk();
    if (prepared_position_ == next || same_plan(next, position_)) return;
    prepared_ = make_plan(load(next.epoch, next.chunk, call), next);
    prepared_position_ = next;
}

// The plan of a position, which is not that of the present one.
Batcher::Plan Batcher::take_plan(const Position &position, const Call &call) {
    const bool prepared = prepared_position_.epoch == position.epoch && prepared_position_.chunk == position.chunk;
    Plan plan = prepared ? std::move(prepared_) : make_plan(load(position.epoch, position.chunk, call), position);
    prepared_ = Plan(), prepared_position_ = {-1};
    return plan;
}

void Batcher::seek(Position position, const Call &call) {
    call.check();
    constexpr int64_t kLastEpoch = std::numeric_limits<int64_t>::max() - 1;
    XF_CHECK(position.epoch >= 0 && position.epoch <= kLastEpoch, XF_ERROR_OUT_OF_RANGE,
             "epoch %" PRId64 ", expected 0 to %" PRId64, position.epoch, kLastEpoch);
    XF_CHECK(position.chunk >= 0 && position.chunk < chunks_.count, XF_ERROR_OUT_OF_RANGE,
             "chunk %" PRId64 ", expected 0 to %" PRId64, position.chunk, chunks_.count - 1);
    const bool same = same_plan(position, position_);
    Plan plan;
    if (!same) plan = take_plan(position, call);
    const int64_t count = same ? batches_in_chunk() : batches(plan);
    XF_CHECK(position.batch >= 0 && position.batch <= count, XF_ERROR_OUT_OF_RANGE,
             "batch %" PRId64 " of epoch %" PRId64 ", expected %" PRId64 " to %" PRId64, position.batch_in_epoch(),
             position.epoch, position.before, position.before + count);
    if (!same) plan_ = std::move(plan);
    position_ = position;
}

// The position of a batch of an epoch, which may be beyond its end.
Batcher::Position Batcher::locate(int64_t epoch, int64_t batch, const Call &call) const {
    Position position{epoch};
    for (; position.chunk + 1 < chunks_.count; ++position.chunk) {
        const bool same = same_plan(position, position_);
        const Plan plan = same ? Plan() : make_plan(load(epoch, position.chunk, call), position);
        const int64_t count = same ? batches_in_chunk() : batches(plan);
        if (batch < position.before + count) break;
        position.before += count;
    }
    position.batch = batch - position.before;
    return position;
}

void Batcher::seek_in_epoch(int64_t epoch, int64_t batch, const Call &call) { seek(locate(epoch, batch, call), call); }

void Batcher::seek_end_of_epoch(const Call &call) {
    Position last = locate(position_.epoch, std::numeric_limits<int64_t>::max(), call);
    last.batch = 0;
    seek(last, call);
    seek_in_chunk(batches_in_chunk());
}

void Batcher::seek_in_chunk(int64_t batch) {
    Position position = position_;
    position.batch = batch;
    seek(position);
}

}  // namespace xf
