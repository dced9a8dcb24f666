// Building a BPE model and encoding; see words/bpe.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/bpe.h"

#include <algorithm>
#include <functional>

#include "core/error.h"

namespace xf {
namespace {

constexpr size_t kMaxIntactBytes = 64;  // longer words are not looked up; limits the work of the constructor

uint64_t pair_key(int32_t left, int32_t right) { return uint64_t(left) << 32 | uint32_t(right); }

}  // namespace

BpeModel::BpeModel(WordTable table) : WordModel(table), merges_(std::move(table.merges)) {
    XF_CHECK(merges_.size() <= kMaxMerges, XF_ERROR_LIMIT, "the tokenizer has %zu merges, expected at most %zu",
             merges_.size(), kMaxMerges);
    results_.reserve(merges_.size());
    for (size_t rank = 0; rank < merges_.size(); ++rank) add_merge(rank);

    intact_.assign(vocabulary_.size(), 0);
    EncodeScratch scratch;
    std::vector<int32_t> ids;
    for (int32_t id = Vocabulary::kFirstByteId; id < vocabulary_.size(); ++id) {
        const std::string_view piece = vocabulary_.bytes(id);
        if (piece.size() > kMaxIntactBytes) continue;
        ids.clear();
        encode_word(piece, &scratch, nullptr, &ids);
        intact_[id] = ids.size() == 1 && ids[0] == id;
    }
}

void BpeModel::add_merge(size_t rank) {
    const auto [left, right] = merges_[rank];
    for (const int32_t id : {left, right}) {
        XF_CHECK(id >= Vocabulary::kFirstByteId && id < vocabulary_.size() && !Vocabulary::is_fallback(id),
                 XF_ERROR_CORRUPT, "merge %zu refers to piece %d, expected an earlier piece that is text", rank, id);
    }
    XF_CHECK(find_merge(left, right) < 0, XF_ERROR_CORRUPT, "merge %zu is a duplicate", rank);
    ranks_.insert(mix_hash(pair_key(left, right)), rank);
    XF_CHECK(ranks_.longest_probe() <= HashIndex::kMaxProbe, XF_ERROR_LIMIT,
             "merge %zu has more than %u hash collisions; the file may be malicious", rank, HashIndex::kMaxProbe);
    std::string bytes(vocabulary_.bytes(left));
    bytes += vocabulary_.bytes(right);
    const int32_t known = vocabulary_.find(bytes);
    results_.push_back(known >= 0 ? known : vocabulary_.add(bytes));
}

int32_t BpeModel::find_merge(int32_t left, int32_t right) const {
    return ranks_.find(mix_hash(pair_key(left, right)), [&](int32_t rank) {
        const BpeMerge &merge = merges_[rank];
        return merge.left == left && merge.right == right;
    });
}

void BpeModel::encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch, Sampler *sampler) const {
    if (sampler != nullptr && !sampler->drops_merges()) sampler = nullptr;
    std::string_view word;
    while (words.next(&word)) {
        const int32_t id = sampler == nullptr && word.size() <= kMaxIntactBytes ? vocabulary_.find(word) : -1;
        if (id >= 0 && intact_[id])
            ids->push_back(id);
        else
            encode_word(word, scratch, sampler, ids);
    }
}

void BpeModel::encode_word(std::string_view word, EncodeScratch *scratch, Sampler *sampler,
                           std::vector<int32_t> *ids) const {
    std::vector<int32_t> &symbols = scratch->symbols, &next = scratch->next, &previous = scratch->previous;
    // Entries are rank << 32 | index of the left symbol, smallest first. An entry may be out of date.
    std::vector<uint64_t> &heap = scratch->heap, &dropped = scratch->dropped;
    symbols.clear();
    dropped.clear();
    append_characters(vocabulary_, word, &symbols);
    const int32_t count = symbols.size();  // at most WordSplitter::kMaxWordBytes + 8
    next.resize(symbols.size());
    previous.resize(symbols.size());
    heap.clear();
    const auto candidate = [&](int32_t left, int32_t right) {
        const int32_t rank = find_merge(symbols[left], symbols[right]);
        if (rank >= 0) heap.push_back(pair_key(rank, left));
        return rank >= 0;
    };
    const auto sift = [&] { std::push_heap(heap.begin(), heap.end(), std::greater<>()); };
    const auto push = [&](int32_t left, int32_t right) {
        if (candidate(left, right)) sift();
    };

    for (int32_t i = 0; i < count; ++i) {
        next[i] = i + 1 < count ? i + 1 : -1;
        previous[i] = i - 1;
        if (i > 0) candidate(i - 1, i);
    }
    std::make_heap(heap.begin(), heap.end(), std::greater<>());
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        const uint64_t top = heap.back();
        heap.pop_back();
        const size_t rank = top >> 32;
        const int32_t left = top & 0xFFFFFFFFu;
        if (symbols[left] != merges_[rank].left) continue;
        const int32_t right = next[left];
        if (right < 0 || symbols[right] != merges_[rank].right) continue;
        if (sampler != nullptr && sampler->drop()) {
            dropped.push_back(top);
            continue;
        }
        symbols[left] = results_[rank];
        symbols[right] = -1;
        const int32_t after = next[left] = next[right];
        if (after >= 0) previous[after] = left;
        if (previous[left] >= 0) push(previous[left], left);
        if (after >= 0) push(left, after);
        for (const uint64_t merge : dropped) heap.push_back(merge), sift();  // dropped in this step only
        dropped.clear();
    }
    for (const int32_t symbol : symbols)
        if (symbol >= 0) ids->push_back(symbol);
}

}  // namespace xf
