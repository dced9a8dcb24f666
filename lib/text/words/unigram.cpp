// Building a unigram model and encoding; see words/unigram.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "text/unigram_path.h"

namespace xf {
namespace {

constexpr float kBytePenalty = 10.0f;

}  // namespace

UnigramModel::UnigramModel(WordTable table) : WordModel(table), scores_(std::move(table.scores)) {
    const size_t count = kAscii + characters_.size() + table.pieces.size();
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

template <class Offer>
void UnigramModel::for_each_piece(std::string_view word, size_t at, Offer offer) const {
    trie_.for_each_piece(word, at, [&](size_t end, int32_t index) {
        if (index >= 0)
            offer(end, id_of(index), scores_[index], false);
        else
            offer(end, -1, byte_score_ * (end - at), true);
    });
}

void UnigramModel::encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch,
                          Sampler *sampler) const {
    std::string_view word;
    const auto each = [&](size_t at, auto offer) { for_each_piece(word, at, offer); };
    const auto take = [&](size_t begin, size_t end, int32_t id) {
        if (id >= 0)
            ids->push_back(id);
        else
            for (size_t i = begin; i < end; ++i) ids->push_back(Vocabulary::byte_id(word[i]));
    };
    while (words.next(&word)) {
        if (sampler != nullptr && sampler->alpha() > 0)
            sample_path(word, each, sampler, scratch, take);
        else
            best_path(word, each, -std::numeric_limits<float>::infinity(), scratch, take);
    }
}

}  // namespace xf
