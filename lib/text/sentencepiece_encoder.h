// How a SentencePiece model cuts a normalised text: by the most likely path (unigram) or by merges (BPE).
//
// Both cut the whole text, not words. But most texts fall apart by themselves into stretches that no piece crosses, and
// what is kept for a stretch is used again for the next: memory is that of the longest stretch, and the answer the
// same.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/encode_scratch.h"
#include "text/sampling.h"
#include "text/sentencepiece_table.h"

namespace xf {

// Takes the pieces of a text in their order and appends their ids. A run of text that no piece covers is one unknown
// id, or with byte fallback the ids of its bytes.
class PieceSink {
public:
    PieceSink(int32_t unknown_id, const std::array<int32_t, 256> *byte_ids, std::vector<int32_t> *ids)
        : unknown_id_(unknown_id), byte_ids_(byte_ids), ids_(ids) {}

    void add(int32_t id, std::string_view piece) {
        const bool unknown = id == unknown_id_;
        if (unknown && byte_ids_ != nullptr) {
            for (const char c : piece) ids_->push_back((*byte_ids_)[static_cast<unsigned char>(c)]);
        } else if (!unknown || !after_unknown_) {
            ids_->push_back(id);
        }
        after_unknown_ = unknown;
    }

private:
    int32_t unknown_id_;
    const std::array<int32_t, 256> *byte_ids_;  // nullptr: no byte fallback
    std::vector<int32_t> *ids_;
    bool after_unknown_ = false;
};

class SentencePieceEncoder {
public:
    virtual ~SentencePieceEncoder() = default;

    // The text is valid UTF-8. sampler may be nullptr. Called from many threads.
    virtual void encode(std::string_view text, PieceSink *sink, EncodeScratch *scratch, Sampler *sampler) const = 0;
};

// The table must live as long as the encoder; unknown_id is the one of its piece of this type.
std::unique_ptr<const SentencePieceEncoder> make_unigram_encoder(const SentencePieceTable &table, int32_t unknown_id);
std::unique_ptr<const SentencePieceEncoder> make_bpe_encoder(const SentencePieceTable &table, int32_t unknown_id);

}  // namespace xf
