// Encoding every pair; see encoded_corpus.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/encoded_corpus.h"

#include <cinttypes>
#include <limits>

#include "core/error.h"

namespace xf {
namespace {

void append(std::vector<int32_t> *ids, std::vector<int64_t> *offsets, const std::vector<int32_t> &sentence,
            int32_t end_id) {
    ids->insert(ids->end(), sentence.begin(), sentence.end());
    ids->push_back(end_id);
    offsets->push_back(static_cast<int64_t>(ids->size()));
}

// FNV-1a with words in place of bytes and a fold, so that high bits reach low ones.
void absorb(uint64_t *hash, uint64_t word) {
    *hash = (*hash ^ word) * 0x100000001B3u;
    *hash ^= *hash >> 32;
}

}  // namespace

EncodedCorpus encode_corpus(const Corpus &corpus, const Encode &encode, int64_t max_tokens_per_side, const Call &call,
                            int32_t end_id) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    XF_CHECK(max_tokens_per_side >= 2 && max_tokens_per_side <= kMost, XF_ERROR_OUT_OF_RANGE,
             "the tokens per side are limited to %" PRId64 ", expected a limit of 2 to %" PRId64, max_tokens_per_side,
             kMost);
    EncodedCorpus encoded;
    std::vector<int32_t> src, tgt;
    const auto limit = static_cast<size_t>(max_tokens_per_side) - 1;
    for (int64_t i = 0; i < corpus.size(); ++i) {
        call.progress("encode", i, corpus.size());
        src.clear();
        tgt.clear();
        encode(corpus.source(i), &src);
        encode(corpus.target(i), &tgt);
        if (src.empty() || tgt.empty()) {
            ++encoded.skipped_empty;
        } else if (src.size() > limit || tgt.size() > limit) {
            ++encoded.skipped_too_long;
        } else {
            append(&encoded.src_ids, &encoded.src_offsets, src, end_id);
            append(&encoded.tgt_ids, &encoded.tgt_offsets, tgt, end_id);
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
