// The unigram model: building it from a table, and encoding; see unigram_model.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/unigram_model.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/utf8.h"
#include "text/bpe_model.h"

namespace xf {
namespace {

constexpr float kBytePenalty = 10.0f;

}  // namespace

UnigramModel::UnigramModel(UnigramTable table) : table_(std::move(table)) {
    add_characters(table_.characters, &vocabulary_);
    add_pieces(table_.pieces, &vocabulary_);
    const size_t count = UnigramTable::kAscii + table_.characters.size() + table_.pieces.size();
    XF_CHECK(table_.scores.size() == count, XF_ERROR_CORRUPT, "%zu scores for %zu pieces", table_.scores.size(), count);
    std::vector<PieceTrie::Entry> entries;
    for (size_t place = 0; place < count; ++place) {
        const float score = table_.scores[place];
        XF_CHECK(std::isfinite(score) && std::fabs(score) <= 1e6f, XF_ERROR_CORRUPT,
                 "the score of piece %d is %s, expected -1e6 to 1e6", id_of(place),
                 number(static_cast<double>(score)).c_str());
        byte_score_ = std::min(byte_score_, score);
        entries.push_back({vocabulary_.bytes(id_of(place)), static_cast<int32_t>(place)});
    }
    byte_score_ -= kBytePenalty;
    trie_ = PieceTrie(std::move(entries));
}

void UnigramModel::encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch) const {
    std::string_view word;
    while (words.next(&word)) encode_word(word, ids, scratch);
}

void UnigramModel::encode_word(std::string_view word, std::vector<int32_t> *ids, EncodeScratch *scratch) const {
    std::vector<EncodeScratch::Path> &paths = scratch->paths;
    paths.assign(word.size() + 1, {});
    const auto offer = [&](size_t begin, size_t end, int32_t id, float score) {
        EncodeScratch::Path &path = paths[end];
        if (path.size > 0 && score <= path.score) return;
        path = {id, score, static_cast<uint32_t>(end - begin)};
    };
    for (size_t at = 0; at < word.size();) {
        const float before = paths[at].score;
        const size_t size = decode_utf8(word, at).size;
        bool covered = false;
        int32_t node = PieceTrie::kRoot;
        for (size_t end = at; end < word.size();) {
            node = trie_.child(node, word[end++]);
            if (node < 0) break;
            const int32_t place = trie_.value(node);
            if (place < 0) continue;
            const auto index = static_cast<size_t>(place);
            offer(at, end, id_of(index), before + table_.scores[index]);
            covered = covered || end == at + size;
        }
        if (!covered) offer(at, at + size, -1, before + byte_score_ * static_cast<float>(size));
        at += size;
    }
    const size_t begin = ids->size();
    for (size_t at = word.size(); at > 0; at -= paths[at].size) {
        const EncodeScratch::Path &path = paths[at];
        if (path.id >= 0) {
            ids->push_back(path.id);
            continue;
        }
        for (size_t i = at; i > at - path.size; --i)
            ids->push_back(Vocabulary::byte_id(static_cast<unsigned char>(word[i - 1])));
    }
    std::reverse(ids->begin() + static_cast<ptrdiff_t>(begin), ids->end());
}

}  // namespace xf
