// Building a WordPiece model and encoding; see words/wordpiece.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/wordpiece.h"

#include "core/utf8.h"

namespace xf {

WordPieceModel::WordPieceModel(const WordTable &table) : WordModel(table) {
    std::vector<int32_t> ids;
    for (int32_t id = Vocabulary::kFirstByteId; id < vocabulary_.size(); ++id)
        if (!Vocabulary::is_fallback(id)) ids.push_back(id);
    trie_ = PieceTrie(std::move(ids), [&](int32_t id) { return vocabulary_.bytes(id); });
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
        size_t longest = 0;
        int32_t id = -1;
        trie_.for_each_prefix(word, i, [&](size_t end, int32_t piece) {
            longest = end;
            id = piece;
        });
        if (id >= 0) {
            ids->push_back(id);
            i = longest;
            continue;
        }
        const size_t size = decode_utf8(word, i).size;
        for (size_t end = i + size; i < end; ++i) ids->push_back(Vocabulary::byte_id(word[i]));
    }
}

}  // namespace xf
