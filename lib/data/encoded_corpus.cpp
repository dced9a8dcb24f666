// Encoding every pair; see encoded_corpus.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/encoded_corpus.h"

#include <cinttypes>
#include <limits>

#include "core/error.h"

namespace xf {
namespace {

constexpr int32_t kEndId = 1;

void append(std::span<const int32_t> sentence, HeapVector<int32_t> *ids, HeapVector<int64_t> *offsets) {
    ids->insert(ids->end(), sentence.begin(), sentence.end());
    ids->push_back(kEndId);
    offsets->push_back(static_cast<int64_t>(ids->size()));
}

// FNV-1a with words in place of bytes and a fold, so that high bits reach low ones.
void absorb(uint64_t *hash, uint64_t word) {
    *hash = (*hash ^ word) * 0x100000001B3u;
    *hash ^= *hash >> 32;
}

}  // namespace

EncodedCorpus::EncodedCorpus(const std::shared_ptr<Heap> &heap)
    : src_ids(HeapAllocator<int32_t>(heap)),
      tgt_ids(src_ids.get_allocator()),
      src_offsets(1, 0, HeapAllocator<int64_t>(heap)),
      tgt_offsets(src_offsets),
      corpus_index(src_offsets.get_allocator()) {}

EncodedCorpus encode_corpus(const Corpus &corpus, const Encode &encode, int64_t max_tokens_per_side, const Call &call,
                            const std::shared_ptr<Heap> &heap) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    XF_CHECK(max_tokens_per_side >= 2 && max_tokens_per_side <= kMost, XF_ERROR_OUT_OF_RANGE,
             "the tokens per side are limited to %" PRId64 ", expected a limit of 2 to %" PRId64, max_tokens_per_side,
             kMost);
    XF_CHECK(corpus.has_text() || !encode, XF_ERROR_INVALID_ARGUMENT,
             "the corpus was made from ids, expected no tokenizer for it");
    XF_CHECK(!corpus.has_text() || encode, XF_ERROR_INVALID_ARGUMENT,
             "the tokenizer is NULL, expected one for a corpus of text");
    EncodedCorpus encoded(heap);
    std::vector<int32_t> src_room, tgt_room;
    const auto encoded_text = [&](std::string_view text, std::vector<int32_t> *room) {
        room->clear();
        encode(text, room);
        return std::span<const int32_t>(*room);
    };
    const auto limit = static_cast<size_t>(max_tokens_per_side) - 1;
    for (int64_t i = 0; i < corpus.size(); ++i) {
        call.progress("encode", i, corpus.size());
        const auto src = encode ? encoded_text(corpus.source(i), &src_room) : corpus.source_ids(i);
        const auto tgt = encode ? encoded_text(corpus.target(i), &tgt_room) : corpus.target_ids(i);
        if (src.empty() || tgt.empty()) {
            ++encoded.skipped_empty;
        } else if (src.size() > limit || tgt.size() > limit) {
            ++encoded.skipped_too_long;
        } else {
            append(src, &encoded.src_ids, &encoded.src_offsets);
            append(tgt, &encoded.tgt_ids, &encoded.tgt_offsets);
            encoded.corpus_index.push_back(i);
        }
    }
    call.progress("encode", corpus.size(), corpus.size());
    return encoded;
}

uint64_t EncodedCorpus::fingerprint() const {
    uint64_t hash = 0xCBF29CE484222325u;
    for (const auto *offsets : {&src_offsets, &tgt_offsets})
        for (int64_t offset : *offsets) absorb(&hash, static_cast<uint64_t>(offset));
    for (const auto *ids : {&src_ids, &tgt_ids})
        for (int32_t id : *ids) absorb(&hash, static_cast<uint32_t>(id));
    return hash;
}

}  // namespace xf
