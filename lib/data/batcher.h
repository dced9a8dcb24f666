// Batches of about as many tokens each, in an order that can be found again.
//
// An epoch gives every pair once: the pairs are permuted, cut into windows, sorted by length within each window, cut
// into batches of at most batch_tokens source and at most batch_tokens target tokens (the paper's "25000 source tokens
// and 25000 target tokens", s. 5.1), and the batches of the whole epoch are permuted again. Everything is a pure
// function of (corpus, options, epoch, batch), so a position is two integers and resuming needs no replay. Where texts
// are segmented at random, an epoch begins with encoding the corpus for it.
// The trap: the number of batches differs a little from epoch to epoch, because the cuts do.
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

// Packed: B sentences one behind the other, no padding.
struct Batch {
    std::vector<int32_t> src_ids, tgt_ids;  // [source tokens], [target tokens]; each sentence ends with its end id
    std::vector<int32_t> src_offsets, tgt_offsets;  // [B+1], from 0
    std::vector<int64_t> pair_index;                // [B]: which pair of the corpus (EncodedCorpus::corpus_index)

    int64_t size() const { return static_cast<int64_t>(pair_index.size()); }
    xf_batch view() const {
        return {sizeof(xf_batch),   size(),           src_ids.data(), src_offsets.data(), tgt_ids.data(),
                tgt_offsets.data(), pair_index.data()};
    }
};

struct BatcherOptions {
    int64_t batch_tokens = 4096;  // at most so many source tokens, and at most so many target tokens, end symbols too
    int64_t max_tokens = 256;     // pairs with a longer side are left out before
    uint64_t seed = 1;
    bool shuffle = true;  // false: corpus order, cut greedily, the same in each epoch
    // How texts are segmented at random (text/sampling.h); 0, 0: not at all. The encoders do it.
    double bpe_dropout = 0, unigram_alpha = 0;

    static BatcherOptions from(const Options &options);
    // What encode_corpus() is to leave out: a pair must fit a batch, too.
    int64_t longest_side() const { return std::min(max_tokens, batch_tokens); }
    bool sample() const { return bpe_dropout > 0 || unigram_alpha > 0; }
};

class Batcher {
public:
    // The next batch to be given. {e, batches_in_epoch()} is the end of epoch e, before next() has said so.
    struct Position {
        int64_t epoch = 0;
        int64_t batch = 0;
        bool operator==(const Position &) const = default;
    };

    // Encodes a corpus (encode_corpus() says what encoders are) and makes its batcher. warn hears of the pairs left
    // out. The batcher keeps corpus and encoders where it samples.
    static std::unique_ptr<Batcher> of(const std::shared_ptr<const Corpus> &corpus, const Encoders &encoders,
                                       const BatcherOptions &options, const std::shared_ptr<Heap> &heap,
                                       const Corpus::Warn &warn, const Call &call);

    // The corpus as an epoch has it, or TextPlace::kUnsampled.
    using EncodeEpoch = std::function<std::shared_ptr<const EncodedCorpus>(int64_t epoch, const Call &call)>;

    // An error that names the pair if one does not fit a batch; one that says so if there is no pair at all. The corpus
    // is that of epoch 0; without encode_epoch, of all.
    Batcher(std::shared_ptr<const EncodedCorpus> corpus, const BatcherOptions &options, EncodeEpoch encode_epoch = {});

    // False at the end of an epoch, *batch untouched; the call after that gives the next epoch's first batch. What
    // fails there (encoding, which asks the call) leaves the batcher at the end of the epoch. The vectors of *batch are
    // reused: once they have grown, nothing is allocated within an epoch.
    bool next(Batch *batch, const Call &call = Call());
    // What next() would give, without a move.
    bool peek(Batch *batch) const;

    Position position() const { return position_; }
    // What entering the next epoch may fail of, done now: the call that enters it can't fail then, and costs nothing.
    void prepare_epoch(const Call &call);
    // As if next() had been called up to there from the start. Costs one epoch's plan, nothing within the same epoch.
    void seek(Position position, const Call &call = Call());

    // The same pairs as texts are segmented to translate them, at the beginning of the same epoch: what to measure
    // with. nullptr where this batcher doesn't sample.
    std::unique_ptr<Batcher> unsampled(const Call &call) const;

    int64_t batches_in_epoch() const { return batches(plan_); }
    // Of this epoch.
    const EncodedCorpus &corpus() const { return *plan_.corpus; }
    // No other batcher of this process has or had it: with a position it says which batch.
    uint64_t id() const { return id_; }

    // What a position means something with: these ids, and the options by key that fix which batches come when.
    uint64_t fingerprint() const { return fingerprint_; }
    std::map<std::string, std::string> order() const;

private:
    struct Plan {
        std::shared_ptr<const EncodedCorpus> corpus;
        std::vector<uint32_t> order;   // [size()]: pairs, batch by batch
        std::vector<uint32_t> starts;  // [batches+1]: where each batch begins in order
    };

    static int64_t batches(const Plan &plan) { return static_cast<int64_t>(plan.starts.size()) - 1; }
    void check_corpus(const EncodedCorpus *corpus) const;
    std::shared_ptr<const EncodedCorpus> corpus_of(int64_t epoch, const Call &call) const;
    int64_t window_of(const EncodedCorpus &corpus) const;
    void sort_windows(Plan *plan) const;
    void cut(Plan *plan) const;
    Plan make_plan(std::shared_ptr<const EncodedCorpus> corpus, int64_t epoch) const;
    void gather(int64_t batch_in_plan, Batch *batch) const;

    static uint64_t new_id();

    BatcherOptions options_;
    EncodeEpoch encode_epoch_;
    uint64_t id_ = new_id();
    Plan plan_;  // of position_.epoch
    Plan prepared_;
    int64_t prepared_epoch_ = -1;  // -1: none is prepared
    uint64_t fingerprint_ = 0;
    Position position_;
};

}  // namespace xf
