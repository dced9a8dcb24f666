// A corpus as token ids, packed: what batches are cut from.
//
// Encoding is done by callbacks, so that lib/data knows no tokenizer; a corpus of ids needs none. The ids are on
// the account of the context. Each side ends with the end symbol, which counts as a token everywhere: in offsets, in
// limits and in batch sizes.
// The trap: pairs may be dropped here (too many tokens, or none), so index i is not the corpus's; corpus_index[i] is.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "core/call.h"
#include "core/thread_pool.h"
#include "data/corpus.h"

namespace xf {

struct EncodedCorpus {
    explicit EncodedCorpus(const std::shared_ptr<Heap> &heap = nullptr);

    HeapVector<int32_t> src_ids, tgt_ids;
    HeapVector<int64_t> src_offsets, tgt_offsets;  // [size()+1], from 0; pair i is ids[offsets[i], offsets[i+1])
    HeapVector<int64_t> corpus_index;              // [size()]: which pair of the corpus
    int64_t skipped_too_long = 0;                  // a side has more than max_tokens_per_side
    int64_t skipped_empty = 0;                     // a side has no token but the end symbol

    int64_t size() const { return static_cast<int64_t>(src_offsets.size()) - 1; }
    int64_t src_length(int64_t i) const { return length(src_offsets, i); }
    int64_t tgt_length(int64_t i) const { return length(tgt_offsets, i); }

    // Depends on every id and every sentence end. A checkpoint keeps it: a position in other data means nothing.
    uint64_t fingerprint() const;

private:
    static int64_t length(const HeapVector<int64_t> &offsets, int64_t i) {
        const auto at = static_cast<size_t>(i);
        return offsets[at + 1] - offsets[at];
    }
};

enum class Side { kSource, kTarget };

// Which text is encoded, and for which epoch: where texts are segmented at random, each epoch has other ids.
struct TextPlace {
    static constexpr int64_t kUnsampled = -1;  // in place of an epoch: as texts are segmented to translate them

    Side side;
    int64_t pair;  // of the corpus
    int64_t epoch;

    // Of all texts of the corpus.
    uint64_t number() const { return 2 * static_cast<uint64_t>(pair) + (side == Side::kTarget ? 1 : 0); }
};

// Writes the ids of a text, the end symbol last; it may throw. It is given an empty vector, so appending and replacing
// are the same. The ids are a function of the place and the text alone.
using Encode = std::function<void(const TextPlace &place, std::string_view text, std::vector<int32_t> *ids)>;

// Callbacks for the workers of a pool, each of which uses its own: they may keep scratch memory.
struct Encoders {
    ThreadPool *pool;
    std::vector<Encode> of_worker;  // empty for a corpus of ids; else pool->workers()
};

// max_tokens_per_side counts the end symbol and is at least 2. encode is empty for a corpus of ids, and for no other:
// XF_ERROR_INVALID_ARGUMENT. call hears "encode", in pairs.
EncodedCorpus encode_corpus(const Corpus &corpus, const Encode &encode, int64_t max_tokens_per_side,
                            const Call &call = Call(), const std::shared_ptr<Heap> &heap = nullptr,
                            int64_t epoch = TextPlace::kUnsampled);

// The same on all workers of a pool, to the same bytes. What is wrong with several pairs is said of the first.
EncodedCorpus encode_corpus(const Corpus &corpus, const Encoders &encoders, int64_t max_tokens_per_side,
                            const Call &call = Call(), const std::shared_ptr<Heap> &heap = nullptr,
                            int64_t epoch = TextPlace::kUnsampled);

}  // namespace xf
