// The BPE model: building it from a table, and encoding; see bpe_model.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/bpe_model.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/utf8.h"

namespace xf {
namespace {

constexpr size_t kMaxIntactBytes = 64;  // longer pieces are never looked up whole; bounds the work of the constructor

uint64_t pair_key(int32_t left, int32_t right) {
    return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

}  // namespace

void append_characters(const Vocabulary &vocabulary, std::string_view word, std::vector<int32_t> *ids) {
    for (size_t i = 0; i < word.size();) {
        const CodePoint c = decode_utf8(word, i);
        const std::string_view bytes = word.substr(i, c.size);
        const int32_t id = c.valid ? vocabulary.find(bytes) : -1;
        if (id >= 0)
            ids->push_back(id);
        else
            for (const char byte : bytes) ids->push_back(Vocabulary::byte_id(static_cast<unsigned char>(byte)));
        i += c.size;
    }
}

void add_characters(const std::vector<uint32_t> &characters, Vocabulary *vocabulary) {
    std::string bytes;
    for (const uint32_t c : characters) {
        XF_CHECK(c >= 0x80 && c < 0x110000 && (c < 0xD800 || c > 0xDFFF), XF_ERROR_CORRUPT,
                 "U+%04X among the characters, expected a scalar value above U+007F", c);
        bytes.clear();
        append_utf8(c, &bytes);
        vocabulary->add(bytes);
    }
}

void add_pieces(const PieceList &pieces, Vocabulary *vocabulary) {
    vocabulary->reserve(pieces.size(), pieces.bytes());
    for (size_t i = 0; i < pieces.size(); ++i) {
        const std::string_view piece = pieces[i];
        XF_CHECK(find_invalid_utf8(piece) == std::string_view::npos, XF_ERROR_CORRUPT, "piece %d is not UTF-8",
                 vocabulary->size());
        XF_CHECK(piece.empty() || decode_utf8(piece, 0).size < piece.size(), XF_ERROR_CORRUPT,
                 "piece %d is one character, expected two or more", vocabulary->size());
        vocabulary->add(piece);
    }
}

BpeModel::BpeModel(BpeTable table) : table_(std::move(table)) {
    XF_CHECK(table_.merges.size() <= BpeTable::kMaxMerges, XF_ERROR_LIMIT, "%zu merges, expected at most %zu",
             table_.merges.size(), BpeTable::kMaxMerges);
    add_characters(table_.characters, &vocabulary_);
    results_.reserve(table_.merges.size());
    for (size_t rank = 0; rank < table_.merges.size(); ++rank) add_merge(rank);

    intact_.assign(static_cast<size_t>(vocabulary_.size()), 0);
    EncodeScratch scratch;
    std::vector<int32_t> ids;
    for (int32_t id = Vocabulary::kFirstByteId; id < vocabulary_.size(); ++id) {
        const std::string_view piece = vocabulary_.bytes(id);
        if (piece.size() > kMaxIntactBytes) continue;
        ids.clear();
        encode_word(piece, &scratch, nullptr, &ids);
        intact_[static_cast<size_t>(id)] = ids.size() == 1 && ids[0] == id;
    }
}

void BpeModel::add_merge(size_t rank) {
    const auto [left, right] = table_.merges[rank];
    for (const int32_t id : {left, right}) {
        XF_CHECK(id >= Vocabulary::kFirstByteId && id < vocabulary_.size() && !Vocabulary::is_fallback(id),
                 XF_ERROR_CORRUPT, "merge %zu names piece %d, expected an earlier piece of text", rank, id);
    }
    XF_CHECK(find_merge(left, right) < 0, XF_ERROR_CORRUPT, "merge %zu is a duplicate", rank);
    ranks_.insert(mix_hash(pair_key(left, right)), static_cast<int32_t>(rank));
    XF_CHECK(ranks_.longest_probe() <= HashIndex::kMaxProbe, XF_ERROR_LIMIT,
             "the merges collide in the hash table more than %u times", HashIndex::kMaxProbe);
    std::string bytes(vocabulary_.bytes(left));
    bytes += vocabulary_.bytes(right);
    const int32_t known = vocabulary_.find(bytes);
    results_.push_back(known >= 0 ? known : vocabulary_.add(bytes));
}

int32_t BpeModel::find_merge(int32_t left, int32_t right) const {
    return ranks_.find(mix_hash(pair_key(left, right)), [&](int32_t rank) {
        const BpeMerge &merge = table_.merges[static_cast<size_t>(rank)];
        return merge.left == left && merge.right == right;
    });
}

void BpeModel::encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch, Sampler *sampler) const {
    if (sampler != nullptr && !sampler->drops_merges()) sampler = nullptr;
    std::string_view word;
    while (words.next(&word)) {
        const int32_t id = sampler == nullptr && word.size() <= kMaxIntactBytes ? vocabulary_.find(word) : -1;
        if (id >= 0 && intact_[static_cast<size_t>(id)])
            ids->push_back(id);
        else
            encode_word(word, scratch, sampler, ids);
    }
}

void BpeModel::encode_word(std::string_view word, EncodeScratch *scratch, Sampler *sampler,
                           std::vector<int32_t> *ids) const {
    // Not a structured binding: clang lets no lambda capture one before its version 16.
    std::vector<int32_t> &symbols = scratch->symbols, &next = scratch->next, &previous = scratch->previous;
    // rank << 32 | position of the left symbol, smallest first; may be out of date.
    std::vector<uint64_t> &heap = scratch->heap, &left_out = scratch->left_out;
    symbols.clear();
    left_out.clear();
    append_characters(vocabulary_, word, &symbols);
    const auto count = static_cast<int32_t>(symbols.size());  // at most WordSplitter::kMaxWordBytes and a few
    next.resize(symbols.size());
    previous.resize(symbols.size());
    heap.clear();
    const auto at = [](std::vector<int32_t> &v, int32_t i) -> int32_t & { return v[static_cast<size_t>(i)]; };
    const auto candidate = [&](int32_t left, int32_t right) {
        const int32_t rank = find_merge(at(symbols, left), at(symbols, right));
        if (rank < 0) return false;
        heap.push_back((static_cast<uint64_t>(rank) << 32) | static_cast<uint32_t>(left));
        return true;
    };
    const auto sift = [&] { std::push_heap(heap.begin(), heap.end(), std::greater<>()); };
    const auto push = [&](int32_t left, int32_t right) {
        if (candidate(left, right)) sift();
    };

    for (int32_t i = 0; i < count; ++i) {
        at(next, i) = i + 1 < count ? i + 1 : -1;
        at(previous, i) = i - 1;
        if (i > 0) candidate(i - 1, i);
    }
    std::make_heap(heap.begin(), heap.end(), std::greater<>());
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        const uint64_t top = heap.back();
        heap.pop_back();
        const size_t rank = top >> 32;
        const auto left = static_cast<int32_t>(top & 0xFFFFFFFFu);
        if (at(symbols, left) != table_.merges[rank].left) continue;
        const int32_t right = at(next, left);
        if (right < 0 || at(symbols, right) != table_.merges[rank].right) continue;
        if (sampler != nullptr && sampler->drop()) {
            left_out.push_back(top);
            continue;
        }
        at(symbols, left) = results_[rank];
        at(symbols, right) = -1;
        const int32_t after = at(next, left) = at(next, right);
        if (after >= 0) at(previous, after) = left;
        if (at(previous, left) >= 0) push(at(previous, left), left);
        if (after >= 0) push(left, after);
        for (const uint64_t again : left_out) heap.push_back(again), sift();  // left out of that step alone
        left_out.clear();
    }
    for (const int32_t symbol : symbols)
        if (symbol >= 0) ids->push_back(symbol);
}

}  // namespace xf
