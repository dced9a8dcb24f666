// Adding and finding pieces; see vocabulary.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/vocabulary.h"

#include <cinttypes>

#include "core/error.h"

namespace xf {

Vocabulary::Vocabulary() {
    pieces_.push_back({});
    pieces_.push_back({});
    for (int byte = 0; byte < 256; ++byte) {
        const char c = byte;
        add({&c, 1});
    }
}

int32_t Vocabulary::find(std::string_view piece) const {
    return index_.find(hash_bytes(piece), [&](int32_t id) { return bytes(id) == piece; });
}

bool Vocabulary::has_room(size_t piece_bytes) const {
    return size() < kMaxSize && piece_bytes <= kMaxPieceBytes && pieces_.bytes() + piece_bytes <= kMaxTotalBytes;
}

int32_t Vocabulary::add(std::string_view piece) {
    const int32_t id = size();
    XF_CHECK(has_room(piece.size()), XF_ERROR_LIMIT,
             "piece %d with %zu bytes exceeds the limits of a vocabulary: %" PRId64
             " pieces, %zu bytes per piece, %zu bytes in total",
             id, piece.size(), kMaxSize, kMaxPieceBytes, kMaxTotalBytes);
    XF_CHECK(!piece.empty() && find(piece) < 0, XF_ERROR_CORRUPT, "piece %d is %s", id,
             piece.empty() ? "empty" : "a duplicate");
    pieces_.push_back(piece);
    index_.insert(hash_bytes(piece), id);
    XF_CHECK(index_.longest_probe() <= HashIndex::kMaxProbe, XF_ERROR_LIMIT,
             "piece %d has more than %u hash collisions; the file may be malicious", id, HashIndex::kMaxProbe);
    return id;
}

void Vocabulary::reserve(size_t pieces, size_t bytes) {
    pieces_.reserve(pieces_.size() + pieces, pieces_.bytes() + bytes);
    index_.reserve(pieces_.size() + pieces);
}

PieceList Vocabulary::pieces_from(int32_t first) const {
    PieceList list;
    for (int32_t id = first; id < size(); ++id) list.push_back(bytes(id));
    return list;
}

}  // namespace xf
