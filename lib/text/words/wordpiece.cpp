// Building a WordPiece model and encoding; see words/wordpiece.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/wordpiece.h"

#include <algorithm>

#include "core/error.h"
#include "core/utf8.h"

namespace xf {

WordPieceModel::WordPieceModel(WordPieceTable table) : characters_(std::move(table.characters)) {
    add_characters(characters_, &vocabulary_);
    add_pieces(table.pieces, &vocabulary_);
    table.pieces = {};  // the vocabulary has a copy
    sorted_.reserve(vocabulary_.size());
    for (int32_t id = Vocabulary::kFirstByteId; id < vocabulary_.size(); ++id)
        if (!Vocabulary::is_fallback(id)) sorted_.push_back(id);
    std::sort(sorted_.begin(), sorted_.end(),
              [&](int32_t a, int32_t b) { return vocabulary_.bytes(a) < vocabulary_.bytes(b); });
}

WordPieceTable WordPieceModel::table() const {
    return {characters_, vocabulary_.pieces_from(Vocabulary::kFirstPieceId + std::ssize(characters_))};
}

// Returns the id of the longest piece that is a prefix of the text, or -1.
int32_t WordPieceModel::longest(std::string_view text) const {
    int32_t found = -1;
    auto begin = sorted_.begin(), end = sorted_.end();
    for (size_t depth = 0; depth < text.size() && begin != end; ++depth) {
        // All pieces of the range begin with text[0 .. depth). The shortest, text[0 .. depth) itself, is the first.
        const int byte = text[depth] & 0xFF;
        const auto byte_of = [&](int32_t id) {
            const std::string_view bytes = vocabulary_.bytes(id);
            return depth < bytes.size() ? bytes[depth] & 0xFF : -1;
        };
        begin = std::partition_point(begin, end, [&](int32_t id) { return byte_of(id) < byte; });
        end = std::partition_point(begin, end, [&](int32_t id) { return byte_of(id) == byte; });
        if (begin != end && vocabulary_.bytes(*begin).size() == depth + 1) found = *begin;
    }
    return found;
}

void WordPieceModel::encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *, Sampler *) const {
    std::string_view word;
    while (words.next(&word)) {
        const int32_t whole = vocabulary_.find(word);
        if (whole >= 0)
            ids->push_back(whole);
        else
            encode_word(word, ids);
    }
}

void WordPieceModel::encode_word(std::string_view word, std::vector<int32_t> *ids) const {
    for (size_t i = 0; i < word.size();) {
        const int32_t id = longest(word.substr(i));
        if (id >= 0) {
            ids->push_back(id);
            i += vocabulary_.bytes(id).size();
            continue;
        }
        const size_t size = decode_utf8(word, i).size;
        for (size_t end = i + size; i < end; ++i) ids->push_back(Vocabulary::byte_id(word[i]));
    }
}

}  // namespace xf
