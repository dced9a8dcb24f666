// Batches of similar numbers of tokens, in a reproducible order.
//
// An epoch contains every pair once, or as often as data.mix says (mix.h). The pairs are permuted, divided into
// windows, sorted by length within each window, and divided into batches of at most batch_tokens source tokens and at
// most batch_tokens target tokens (the paper's "25000 source tokens and 25000 target tokens", s. 5.1). Then the batches
// of the epoch are permuted. The result is a pure function of (corpus, options, epoch, batch), so a position is two
// integers and resuming needs no replay. With random segmentation, the corpus is encoded again at the beginning of each
// epoch. The number of batches differs slightly between epochs.
//
// An encoded corpus that is larger than memory is read in chunks (corpus_folder.h). All of the above then applies to
// each chunk: it is loaded, planned, and used to its end before the next one is loaded, and a position contains the
// chunk. No update of a trainer uses batches of two chunks.
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
#include "data/mix.h"
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
    bool shuffle = true;            // if false, every epoch has the order of the corpus
    double sampling = 0;            // random segmentation by the encoders (text/sampling.h); 0 is off
    double augment = 0;             // share of pairs that the encoders change (text/augmentation.h)
    std::string mix = {};           // factors of files (mix.h)
    int64_t chunk_pairs = 1 << 20;  // pairs of an encoded corpus that are in memory at a time

    static BatcherOptions from(const Options &options);
    // XF_ERROR_INVALID_ARGUMENT for options that need the text of a corpus.
    void check_encoded() const;
    // The limit for encode_corpus(). A pair must also fit into a batch.
    int64_t longest_side() const { return std::min(max_tokens, batch_tokens); }
    // Whether each epoch has other ids.
    bool sample() const { return sampling > 0 || augment > 0; }
};

class Batcher {
public:
    // The next batch. {e, batches_in_epoch()} is the end of epoch e before next() has returned false.
    struct Position {
        int64_t epoch = 0;
        int64_t batch = 0;   // in the chunk
        int64_t chunk = 0;   // in the epoch
        int64_t before = 0;  // batches in the epoch's earlier chunks
        bool operator==(const Position &) const = default;
        int64_t batch_in_epoch() const { return before + batch; }
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
    Batcher(std::shared_ptr<const EncodedCorpus> corpus, const BatcherOptions &options, EncodeEpoch encode_epoch = {},
            Mix mix = {});

    // Loads a chunk of an epoch, which may have no pairs.
    struct Chunks {
        std::function<std::shared_ptr<const EncodedCorpus>(int64_t epoch, int64_t chunk, const Call &call)> load;
        int64_t count = 1;
        uint64_t fingerprint = 0;  // of all pairs and of how they are divided
        Mix mix = {};
    };
    // Loads the first chunk.
    Batcher(Chunks chunks, const BatcherOptions &options, const Call &call);

    // Creates the batcher of an encoded corpus on disk. A corpus of one chunk has the batches of the same pairs in
    // memory.
    static std::unique_ptr<Batcher> create(const std::shared_ptr<const CorpusFolder> &folder,
                                           const BatcherOptions &options, Mix mix, const std::shared_ptr<Heap> &heap,
                                           const Corpus::Warn &warn, const Call &call);

    // Sets *batch to the next batch. At the end of an epoch returns false and leaves *batch unchanged; the following
    // call returns the first batch of the next epoch. If that call fails or is cancelled while encoding, the batcher
    // stays at the end of the epoch. The vectors of *batch are reused, so after they have grown, nothing is allocated
    // within an epoch.
    bool next(Batch *batch, const Call &call = Call());
    // The same as next(), without changing the position.
    bool peek(Batch *batch) const;

    Position position() const { return position_; }
    // Whether the next batch is in the next chunk or epoch.
    bool at_end_of_chunk() const { return position_.batch == batches_in_chunk(); }
    // Moves from the end of a chunk to the next one and returns true, or from the end of the epoch to the next epoch
    // and returns false. XF_ERROR_DATA if the epoch had no pairs.
    bool next_chunk(const Call &call);
    // Prepares next_chunk(), so that it is fast and cannot fail.
    void prepare_chunk(const Call &call);
    // Moves to a position. Plans its chunk, except within the same one. `before` is not checked.
    void seek(Position position, const Call &call = Call());
    bool at_end_of_epoch() const { return at_end_of_chunk() && position_.chunk + 1 == chunks_.count; }
    // Moves to a batch of an epoch; plans all chunks before it.
    void seek_in_epoch(int64_t epoch, int64_t batch, const Call &call);
    // Moves to the end of this epoch, where batches_in_epoch() is exact; plans all chunks.
    void seek_end_of_epoch(const Call &call);
    // Moves within the chunk.
    void seek_in_chunk(int64_t batch);

    // Returns a batcher of the same pairs for evaluation, at the beginning of the same epoch: without random
    // segmentation, changed texts, and data.mix. nullptr if this batcher uses none of them.
    std::unique_ptr<Batcher> unsampled(const Call &call) const;

    int64_t batches_in_chunk() const { return batches(plan_); }
    // The pairs of all batches of the current epoch, or its chunk, and their tokens.
    int64_t pairs() const { return std::ssize(plan_.order); }
    int64_t src_tokens() const { return plan_.src_tokens; }
    int64_t tgt_tokens() const { return plan_.tgt_tokens; }
    // With several chunks an estimate, but exact in the last one.
    int64_t batches_in_epoch() const;
    // The corpus of the current epoch, or its chunk.
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
        std::vector<uint32_t> order;   // the pairs of all batches
        std::vector<uint32_t> starts;  // [batches + 1]: index in `order` of each batch's first pair
        int64_t src_tokens = 0, tgt_tokens = 0;
    };

    static int64_t batches(const Plan &plan) { return std::ssize(plan.starts) - 1; }
    std::shared_ptr<const EncodedCorpus> load(int64_t epoch, int64_t chunk, const Call &call) const;
    // Whether the epochs and chunks of the positions have the same plan.
    bool same_plan(const Position &a, const Position &b) const;
    Position after_chunk() const;
    Position locate(int64_t epoch, int64_t batch, const Call &call) const;
    Plan take_plan(const Position &position, const Call &call);
    std::vector<uint32_t> pairs_of_epoch(const EncodedCorpus &corpus, int64_t epoch) const;
    size_t window_size(const Plan &plan) const;
    void sort_windows(Plan *plan) const;
    void divide_into_batches(Plan *plan) const;
    Plan make_plan(std::shared_ptr<const EncodedCorpus> corpus, const Position &position) const;
    void gather(int64_t batch_in_plan, Batch *batch) const;

    static uint64_t new_id();

    BatcherOptions options_;
    Chunks chunks_;  // `load` is empty if the pairs of all epochs are in memory
    uint64_t id_ = new_id();
    Plan plan_;  // of position_
    Plan prepared_;
    Position prepared_position_{-1};  // of prepared_; epoch -1 if there is none
    uint64_t fingerprint_ = 0;
    Position position_;
};

}  // namespace xf
