// Adding characters and pieces to a vocabulary; see words/model.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/model.h"

#include "core/error.h"
#include "core/utf8.h"

namespace xf {

void append_characters(const Vocabulary &vocabulary, std::string_view word, std::vector<int32_t> *ids) {
    for (size_t i = 0; i < word.size();) {
        const CodePoint c = decode_utf8(word, i);
        const std::string_view bytes = word.substr(i, c.size);
        const int32_t id = c.valid ? vocabulary.find(bytes) : -1;
        if (id >= 0)
            ids->push_back(id);
        else
            for (const char byte : bytes) ids->push_back(Vocabulary::byte_id(byte));
        i += c.size;
    }
}

void add_characters(const std::vector<uint32_t> &characters, Vocabulary *vocabulary) {
    std::string bytes;
    for (const uint32_t c : characters) {
        XF_CHECK(c >= 0x80 && c < 0x110000 && (c < 0xD800 || c > 0xDFFF), XF_ERROR_CORRUPT,
                 "the characters include U+%04X, expected scalar values above U+007F", c);
        bytes.clear();
        append_utf8(c, &bytes);
        vocabulary->add(bytes);
    }
}

WordModel::WordModel(const WordTable &table) : characters_(table.characters) {
    add_characters(characters_, &vocabulary_);
    vocabulary_.reserve(table.pieces.size(), table.pieces.bytes());
    for (size_t i = 0; i < table.pieces.size(); ++i) {
        const std::string_view piece = table.pieces[i];
        XF_CHECK(find_invalid_utf8(piece) == std::string_view::npos, XF_ERROR_CORRUPT, "piece %d is not UTF-8",
                 vocabulary_.size());
        XF_CHECK(piece.empty() || decode_utf8(piece, 0).size < piece.size(), XF_ERROR_CORRUPT,
                 "piece %d is one character, expected two or more", vocabulary_.size());
        vocabulary_.add(piece);
    }
}

}  // namespace xf
