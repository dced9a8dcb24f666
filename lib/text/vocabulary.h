// The pieces of a tokenizer by id, and the ids by bytes.
//
// Every kind of tokenizer that is learnt here begins with the same ids: "<s>", "</s>", then the 256 bytes. So any input
// can be encoded, and an ASCII character is its byte. The two specials have no bytes and cannot be found: no text
// encodes to them.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "text/hash_index.h"
#include "text/piece_list.h"

namespace xf {

class Vocabulary {
public:
    static constexpr int32_t kStartId = 0;
    static constexpr int32_t kEndId = 1;
    static constexpr int32_t kFirstByteId = 2;
    static constexpr int32_t kFirstPieceId = kFirstByteId + 256;
    static constexpr int64_t kMaxSize = int64_t{1} << 20;
    static constexpr size_t kMaxPieceBytes = 256;
    static constexpr size_t kMaxTotalBytes = size_t{1} << 24;

    // Holds the specials and the bytes.
    Vocabulary();

    // Holds nothing: for tokenizers made elsewhere, which have ids of their own.
    struct Bare {};
    explicit Vocabulary(Bare) {}

    int32_t size() const { return static_cast<int32_t>(pieces_.size()); }
    bool contains(int32_t id) const { return id >= 0 && id < size(); }

    static constexpr int32_t byte_id(unsigned char byte) { return kFirstByteId + byte; }

    // Bytes 0x80 to 0xFF: fallback for parts of a character. They never merge, so that all other pieces are text.
    static constexpr bool is_fallback(int32_t id) { return id >= kFirstByteId + 128 && id < kFirstPieceId; }

    // The bytes of a piece, empty for a special. The id must be contained.
    std::string_view bytes(int32_t id) const { return pieces_[static_cast<size_t>(id)]; }

    // The id of the piece with exactly these bytes, or -1.
    int32_t find(std::string_view bytes) const;

    // True while another piece of so many bytes may be added.
    bool has_room(size_t piece_bytes) const;

    // Adds a piece and returns its id. XF_ERROR_LIMIT without room, XF_ERROR_CORRUPT when it is empty or a duplicate.
    int32_t add(std::string_view bytes);

    // Room for so many more pieces, of so many bytes together.
    void reserve(size_t pieces, size_t bytes);

    // The pieces from this id on.
    PieceList from(int32_t first) const;

private:
    PieceList pieces_;
    HashIndex index_;
};

}  // namespace xf
