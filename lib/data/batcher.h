// Batches of similar numbers of tokens, in a reproducible order.
//
// An epoch contains every pair once. The pairs are permuted, divided into windows, sorted by length within each window,
// and divided into batches of at most batch_tokens source tokens and at most batch_tokens target tokens (the paper's
// "25000 source tokens and 25000 target tokens", s. 5.1). Then the batches of the epoch are permuted. The result is a
// pure function of (corpus, options, epoch, batch), so a position is two integers and resuming needs no replay. With
// random segmentation, the corpus is encoded again at the beginning of each epoch. The number of batches differs
// slightly between epochs.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/encoded_corpus.h"
#include "xformer/data.h"

namespace xf {

// B sentence pairs, concatenated without padding.
struct Batch {
    std::vector<int32_t> src_ids, tgt_ids;  // [source tokens], [target tokens]; each sentence ends with its end id
    std::vector<int64_t> src_offsets, tgt_offsets;  // [B+1], from 0
    std::vector<int64_t> pair_index;                // [B]: which pair of the corpus (EncodedCorpus::corpus_index)

    int64_t size() const { return std::ssize(pair_index); }
    xf_batch view() const {
        return {sizeof(xf_batch),   size(),         src_ids.data(),
                src_offsets.data(), tgt_ids.data(), tgt_offsets.data(),
                pair_index.data(),  nullptr,        0};
    }
};

struct BatcherOptions {
    int64_t batch_tokens = 4096;  // maximum number of source tokens, and of target tokens, including end tokens
    int64_t max_tokens = 256;     // pairs with a longer side are skipped
    uint64_t seed = 1;
    bool shuffle = true;  // if false, every epoch has the order of the corpus
    double sampling = 0;  // random segmentation by the encoders (text/sampling.h); 0 is off

    static BatcherOptions from(const Options &options);
    // The limit for encode_corpus(). A pair must also fit into a batch.
    int64_t longest_side() const { return std::min(max_tokens, batch_tokens); }
    bool sample() const { return sampling > 0; }
};

class Batcher {
public:
    // The next batch. {e, batches_in_epoch()} is the end of epoch e before next() has returned false.
    struct Position {
        int64_t epoch = 0;
        int64_t batch = 0;
        bool operator==(const Position &) const = default;
    };

    // Encodes a corpus and creates its batcher. Reports skipped pairs to `warn`. With random segmentation, the batcher
    // keeps the corpus and the encoders.
    static std::unique_ptr<Batcher> create(const std::shared_ptr<const Corpus> &corpus, const Encoders &encoders,
                                           const BatcherOptions &options, const std::shared_ptr<Heap> &heap,
                                           const Corpus::Warn &warn, const Call &call);

    // Encodes the corpus for an epoch, or without random segmentation for TextKey::kUnsampled.
    using EncodeEpoch = std::function<std::shared_ptr<const EncodedCorpus>(int64_t epoch, const Call &call)>;

    // The corpus is encoded for epoch 0 or, without encode_epoch, for all epochs. Its pairs must fit into a batch.
    // XF_ERROR_DATA if there are no pairs; XF_ERROR_LIMIT for 2^31 - 1 or more.
    Batcher(std::shared_ptr<const EncodedCorpus> corpus, const BatcherOptions &options, EncodeEpoch encode_epoch = {});

    // Sets *batch to the next batch. At the end of an epoch returns false and leaves *batch unchanged; the following
    // call returns the first batch of the next epoch. If that call fails or is cancelled while encoding, the batcher
    // stays at the end of the epoch. The vectors of *batch are reused, so after they have grown, nothing is allocated
    // within an epoch.
    bool next(Batch *batch, const Call &call = Call());
    // The same as next(), without changing the position.
    bool peek(Batch *batch) const;

    Position position() const { return position_; }
    // Prepares the next epoch, so that the call of next() that enters it is fast and cannot fail.
    void prepare_epoch(const Call &call);
    // Moves to a position. Plans the epoch, except within the same epoch.
    void seek(Position position, const Call &call = Call());

    // Returns a batcher of the same pairs with deterministic segmentation, for evaluation, at the beginning of the same
    // epoch. nullptr if this batcher does not use random segmentation.
    std::unique_ptr<Batcher> unsampled(const Call &call) const;

    int64_t batches_in_epoch() const { return batches(plan_); }
    // The corpus of the current epoch.
    const EncodedCorpus &corpus() const { return *plan_.corpus; }
    // Unique in this process. With a position it identifies a batch.
    uint64_t id() const { return id_; }

    // A position is only meaningful for the same token ids (the fingerprint) and the same options that determine the
    // order of batches, by key.
    uint64_t fingerprint() const { return fingerprint_; }
    std::map<std::string, std::string> order() const;

private:
    struct Plan {
        std::shared_ptr<const EncodedCorpus> corpus;
        std::vector<uint32_t> order;   // [size()]: the pairs of all batches
        std::vector<uint32_t> starts;  // [batches + 1]: index in `order` of each batch's first pair
    };

    static int64_t batches(const Plan &plan) { return std::ssize(plan.starts) - 1; }
    std::shared_ptr<const EncodedCorpus> corpus_of(int64_t epoch, const Call &call) const;
    size_t window_size(const EncodedCorpus &corpus) const;
    void sort_windows(Plan *plan) const;
    void divide_into_batches(Plan *plan) const;
    Plan make_plan(std::shared_ptr<const EncodedCorpus> corpus, int64_t epoch) const;
    void gather(int64_t batch_in_plan, Batch *batch) const;

    static uint64_t new_id();

    BatcherOptions options_;
    EncodeEpoch encode_epoch_;
    uint64_t id_ = new_id();
    Plan plan_;  // of position_.epoch
    Plan prepared_;
    int64_t prepared_epoch_ = -1;  // the epoch of prepared_, or -1
    uint64_t fingerprint_ = 0;
    Position position_;
};

}  // namespace xf
