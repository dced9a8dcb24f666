// A corpus as packed token ids, from which batches are made.
//
// Encoding is done by callbacks, so that lib/data does not depend on a tokenizer; a corpus of ids needs none. The ids
// are allocated from the context's heap. Each side ends with the end token, which counts as a token everywhere: in
// offsets, in limits, and in batch sizes. Pairs that are too long or empty are skipped here, so pair i is pair
// corpus_index[i] of the corpus.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/call.h"
#include "core/safetensors_header.h"
#include "core/thread_pool.h"
#include "data/corpus.h"

namespace xf {

struct EncodedCorpus {
    explicit EncodedCorpus(const std::shared_ptr<Heap> &heap = nullptr);

    HeapVector<int32_t> src_ids, tgt_ids;
    HeapVector<int64_t> src_offsets, tgt_offsets;  // [size() + 1]; pair i is ids[offsets[i], offsets[i + 1])
    HeapVector<int64_t> corpus_index;              // [size()]: index of each pair in the corpus
    int64_t skipped_too_long = 0;                  // pairs with a side of more than max_tokens_per_side
    int64_t skipped_empty = 0;                     // pairs with a side that has only the end token

    int64_t size() const { return std::ssize(src_offsets) - 1; }
    int64_t src_length(int64_t i) const { return length(src_offsets, i); }
    int64_t tgt_length(int64_t i) const { return length(tgt_offsets, i); }

    // Appends a pair of the corpus, or counts it as skipped.
    void take(std::span<const int32_t> src, std::span<const int32_t> tgt, int64_t index, int64_t max_tokens_per_side);

    // A hash of all ids and offsets. Checkpoints store it, because a position is meaningless for other data.
    uint64_t fingerprint() const;

private:
    static int64_t length(const HeapVector<int64_t> &offsets, int64_t i) { return offsets[i + 1] - offsets[i]; }
};

enum class Side { kSource, kTarget };

// Identifies a text and the epoch it is encoded for. With random segmentation, each epoch has different ids.
struct TextKey {
    static constexpr int64_t kUnsampled = -1;  // an `epoch` without random segmentation

    Side side;
    int64_t pair;  // of the corpus
    int64_t epoch;

    // The index of the text among all texts of the corpus.
    uint64_t number() const { return 2 * pair + (side == Side::kTarget ? 1 : 0); }
};

// Writes the ids of a text, including the end token, to an empty vector. May throw. The ids must depend only on the key
// and the text.
using Encode = std::function<void(const TextKey &key, std::string_view text, std::vector<int32_t> *ids)>;

// One callback per worker of a pool, so that each can keep scratch memory.
struct Encoders {
    ThreadPool *pool = nullptr;
    std::vector<Encode> of_worker;  // [pool->workers()], or empty for a corpus of ids
    // Values on which the ids depend, such as a hash of the tokenizer, by name; an encoded corpus on disk stores them.
    // Empty for a corpus of ids.
    std::function<Metadata()> identity = {};
};

// A value of max_tokens_per_side for which no pair is skipped, not even an empty one.
inline constexpr int64_t kEveryPair = std::numeric_limits<int64_t>::max();

// max_tokens_per_side includes the end token and is at least 2. There must be no encoders for a corpus of ids and only
// then: XF_ERROR_INVALID_ARGUMENT. The result does not depend on the number of workers; if several pairs cause errors,
// the first one is reported. Reports progress as "encode", in pairs.
EncodedCorpus encode_corpus(const Corpus &corpus, const Encoders &encoders, int64_t max_tokens_per_side,
                            const Call &call = Call(), const std::shared_ptr<Heap> &heap = nullptr,
                            int64_t epoch = TextKey::kUnsampled);

}  // namespace xf
