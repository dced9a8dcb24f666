// The pieces of a tokenizer by id, and the ids by bytes.
//
// Every tokenizer learned by this library begins with the same ids: "<s>", "</s>", and the 256 bytes. Therefore any
// input can be encoded, and an ASCII character is its byte. "<s>" and "</s>" have no bytes and cannot be found, so no
// text encodes to them.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/hash_index.h"

namespace xf {

// The bytes of many pieces, concatenated. A piece takes 4 bytes more than its text; a std::string would take 32.
class PieceList {
public:
    PieceList() = default;
    PieceList(std::initializer_list<std::string_view> pieces) {
        for (const std::string_view piece : pieces) push_back(piece);
    }

    size_t size() const { return ends_.size(); }
    size_t bytes() const { return bytes_.size(); }  // of all pieces, less than 4 GiB

    std::string_view operator[](size_t i) const {
        const size_t begin = i == 0 ? 0 : ends_[i - 1];
        return std::string_view(bytes_).substr(begin, ends_[i] - begin);
    }

    void push_back(std::string_view piece) {
        bytes_.append(piece);
        ends_.push_back(bytes_.size());
    }
    void reserve(size_t pieces, size_t bytes) {
        ends_.reserve(pieces);
        bytes_.reserve(bytes);
    }

private:
    std::string bytes_;
    std::vector<uint32_t> ends_;
};

class Vocabulary {
public:
    static constexpr int32_t kStartId = 0;
    static constexpr int32_t kEndId = 1;
    static constexpr int32_t kFirstByteId = 2;
    static constexpr int32_t kFirstPieceId = kFirstByteId + 256;
    static constexpr int64_t kMaxSize = int64_t{1} << 20;
    static constexpr size_t kMaxPieceBytes = 256;
    static constexpr size_t kMaxTotalBytes = size_t{1} << 24;

    // Contains "<s>", "</s>", and the bytes.
    Vocabulary();

    // Empty, for tokenizers from elsewhere, which have their own ids.
    struct Bare {};
    explicit Vocabulary(Bare) {}

    int32_t size() const { return pieces_.size(); }
    bool contains(int32_t id) const { return id >= 0 && id < size(); }

    static constexpr int32_t byte_id(unsigned char byte) { return kFirstByteId + byte; }

    // The bytes 0x80 to 0xFF, which encode characters without a piece. They never merge, so all other pieces are valid
    // text.
    static constexpr bool is_fallback(int32_t id) { return id >= kFirstByteId + 128 && id < kFirstPieceId; }

    // The bytes of a piece, empty for "<s>" and "</s>". Requires contains(id).
    std::string_view bytes(int32_t id) const { return pieces_[id]; }

    // Returns the id of the piece with exactly these bytes, or -1.
    int32_t find(std::string_view bytes) const;

    // Returns whether another piece of this size may be added.
    bool has_room(size_t piece_bytes) const;

    // Adds a piece and returns its id. XF_ERROR_LIMIT if has_room() is false, XF_ERROR_CORRUPT for an empty or
    // duplicate piece.
    int32_t add(std::string_view bytes);

    // Reserves memory for `pieces` more pieces of `bytes` bytes in total.
    void reserve(size_t pieces, size_t bytes);

    // Returns the pieces with ids of at least `first`.
    PieceList pieces_from(int32_t first) const;

private:
    PieceList pieces_;
    HashIndex index_;
};

}  // namespace xf
