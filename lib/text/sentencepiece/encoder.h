// Segmentation of a normalized text by a SentencePiece model: by the most likely path (unigram) or by merges (BPE).
//
// Both algorithms operate on the whole text, not on words. Most texts consist of independent segments whose boundaries
// no piece crosses. Segments are processed one at a time and reuse the same buffers, so the longest segment determines
// the memory. The result is the same.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/encode_scratch.h"
#include "text/piece_trie.h"
#include "text/sampling.h"
#include "text/sentencepiece/table.h"

namespace xf {

// Receives the pieces of a text in order and appends their ids. A run of unknown pieces becomes one unknown id or, with
// byte fallback, the ids of its bytes.
class PieceSink {
public:
    PieceSink(int32_t unknown_id, const std::array<int32_t, 256> *byte_ids, std::vector<int32_t> *ids)
        : unknown_id_(unknown_id), byte_ids_(byte_ids), ids_(ids) {}

    void add(int32_t id, std::string_view piece) {
        const bool unknown = id == unknown_id_;
        if (unknown && byte_ids_ != nullptr) {
            for (const char c : piece) ids_->push_back((*byte_ids_)[c & 0xFF]);
        } else if (!unknown || !after_unknown_) {
            ids_->push_back(id);
        }
        after_unknown_ = unknown;
    }

private:
    int32_t unknown_id_;
    const std::array<int32_t, 256> *byte_ids_;  // nullptr without byte fallback
    std::vector<int32_t> *ids_;
    bool after_unknown_ = false;
};

class SentencePieceEncoder {
public:
    virtual ~SentencePieceEncoder() = default;

    // The text must be valid UTF-8. sampler may be nullptr. Thread-safe.
    virtual void encode(std::string_view text, PieceSink *sink, EncodeScratch *scratch, Sampler *sampler) const = 0;
};

// The table and the trie of its pieces of type kUserDefined must outlive the encoder. unknown_id is the id of its piece
// of type kUnknown.
std::unique_ptr<const SentencePieceEncoder> make_unigram_encoder(const SentencePieceTable &table, int32_t unknown_id,
                                                                 const PieceTrie &user_defined);
std::unique_ptr<const SentencePieceEncoder> make_bpe_encoder(const SentencePieceTable &table, int32_t unknown_id,
                                                             const PieceTrie &user_defined);

}  // namespace xf
