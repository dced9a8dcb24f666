// Building a unigram model and encoding; see words/unigram.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/unigram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/utf8.h"
#include "text/sample_path.h"

namespace xf {
namespace {

constexpr float kBytePenalty = 10.0f;

}  // namespace

UnigramModel::UnigramModel(UnigramTable table)
    : characters_(std::move(table.characters)), scores_(std::move(table.scores)) {
    add_characters(characters_, &vocabulary_);
    add_pieces(table.pieces, &vocabulary_);
    const size_t count = UnigramTable::kAscii + characters_.size() + table.pieces.size();
    table.pieces = {};  // the vocabulary has a copy
    XF_CHECK(scores_.size() == count, XF_ERROR_CORRUPT,
             "the tokenizer has %zu scores, expected one for each of %zu pieces", scores_.size(), count);
    for (size_t i = 0; i < count; ++i) {
        const float score = scores_[i];
        XF_CHECK(std::isfinite(score) && std::fabs(score) <= 1e6f, XF_ERROR_CORRUPT,
                 "the score of piece %d is %s, expected -1e6 to 1e6", id_of(i), number(score).c_str());
        byte_score_ = std::min(byte_score_, score);
    }
    byte_score_ -= kBytePenalty;
    std::vector<int32_t> indices(count);
    std::iota(indices.begin(), indices.end(), 0);
    trie_ = PieceTrie(std::move(indices), [&](int32_t i) { return vocabulary_.bytes(id_of(i)); });
}

UnigramTable UnigramModel::table() const {
    return {characters_, vocabulary_.pieces_from(Vocabulary::kFirstPieceId + std::ssize(characters_)), scores_};
}

template <class Offer>
void UnigramModel::for_each_piece(std::string_view word, size_t at, Offer offer) const {
    const size_t size = decode_utf8(word, at).size;
    bool covered = false;
    int32_t node = PieceTrie::kRoot;
    for (size_t end = at; end < word.size();) {
        node = trie_.child(node, word[end++]);
        if (node < 0) break;
        const int32_t index = trie_.value(node);
        if (index < 0) continue;
        offer(end, id_of(index), scores_[index], false);
        covered = covered || end == at + size;
    }
    if (!covered) offer(at + size, -1, byte_score_ * size, true);
}

void UnigramModel::append(int32_t id, std::string_view piece, std::vector<int32_t> *ids) const {
    if (id >= 0) {
        ids->push_back(id);
        return;
    }
    for (const char byte : piece) ids->push_back(Vocabulary::byte_id(byte));
}

void UnigramModel::encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch,
                          Sampler *sampler) const {
    const bool draw = sampler != nullptr && sampler->alpha() > 0;
    std::string_view word;
    while (words.next(&word)) {
        if (!draw) {
            encode_word(word, ids, scratch);
            continue;
        }
        sample_path(
            word, [&](size_t at, auto offer) { for_each_piece(word, at, offer); }, sampler, scratch,
            [&](size_t begin, size_t end, int32_t id) { append(id, word.substr(begin, end - begin), ids); });
    }
}

void UnigramModel::encode_word(std::string_view word, std::vector<int32_t> *ids, EncodeScratch *scratch) const {
    std::vector<EncodeScratch::Path> &paths = scratch->paths, &pieces = scratch->pieces;
    paths.assign(word.size() + 1, {});
    for (size_t at = 0; at < word.size(); at += decode_utf8(word, at).size) {
        const float before = paths[at].score;
        for_each_piece(word, at, [&](size_t end, int32_t id, float score, bool) {
            EncodeScratch::Path &path = paths[end];
            if (path.size > 0 && before + score <= path.score) return;
            path.id = id;
            path.score = before + score;
            path.size = end - at;
        });
    }
    pieces.clear();
    for (size_t at = word.size(); at > 0; at -= pieces.back().size) pieces.push_back(paths[at]);
    size_t at = 0;
    for (size_t i = pieces.size(); i-- > 0; at += pieces[i].size)
        append(pieces[i].id, word.substr(at, pieces[i].size), ids);
}

}  // namespace xf
