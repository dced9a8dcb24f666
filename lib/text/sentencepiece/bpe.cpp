// BPE as defined by SentencePiece: starts from the characters of the whole text and repeatedly merges the two adjacent
// symbols whose concatenation is the piece with the highest score, leftmost first. Any pair with the bytes of a piece
// gives that piece, whereas a merge in words/bpe.h names one pair. User-defined symbols are found first and never
// merge.
//
// Merges on the two sides of a boundary that no piece crosses are independent. Therefore the text is split between two
// characters that are not adjacent in any piece, and each segment is encoded separately with a heap: O(n log n). The
// adjacent characters of all pieces are stored in a Bloom filter; a false positive only costs time.
//
// With BPE-dropout, a merge that reaches the top of the heap is skipped with the given probability and remains skipped
// until one of its symbols merges with another, as in the sentencepiece package. (words/bpe.h draws again at each step
// of a word; here the result would then depend on the segment boundaries.)
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/utf8.h"
#include "text/hash_index.h"
#include "text/sentencepiece/encoder.h"

namespace xf {
namespace {

class AdjacencyFilter {
public:
    AdjacencyFilter() : bits_(kBits / 64) {}
    void add(uint32_t left, uint32_t right) {
        const size_t bit = bit_of(left, right);
        bits_[bit / 64] |= uint64_t{1} << bit % 64;
    }
    bool maybe(uint32_t left, uint32_t right) const {
        const size_t bit = bit_of(left, right);
        return (bits_[bit / 64] >> bit % 64 & 1) != 0;
    }

private:
    static constexpr size_t kBits = size_t{1} << 20;
    static size_t bit_of(uint32_t left, uint32_t right) { return mix_hash(uint64_t{left} << 32 | right) % kBits; }
    std::vector<uint64_t> bits_;
};

class BpeEncoder final : public SentencePieceEncoder {
public:
    BpeEncoder(const SentencePieceTable &table, int32_t unknown_id, const PieceTrie &user_defined);
    void encode(std::string_view text, PieceSink *sink, EncodeScratch *scratch, Sampler *sampler) const override;

private:
    // The piece of a character, of any type.
    int32_t find_character(std::string_view bytes) const {
        const int32_t id = table_.pieces.find(bytes);
        return id >= 0 ? id : unknown_id_;
    }
    int32_t find_merged(std::string_view bytes) const {
        const int32_t id = bytes.size() <= longest_ ? table_.pieces.find(bytes) : -1;
        return id >= 0 && table_.is_text(id) ? id : -1;
    }
    void encode_segment(std::string_view text, PieceSink *sink, EncodeScratch *scratch, Sampler *sampler) const;

    const SentencePieceTable &table_;
    const int32_t unknown_id_;
    const PieceTrie &user_defined_;
    AdjacencyFilter adjacent_;
    std::vector<uint32_t> ranks_;  // by id; 0 for the highest score
    size_t longest_ = 0;
};

BpeEncoder::BpeEncoder(const SentencePieceTable &table, int32_t unknown_id, const PieceTrie &user_defined)
    : table_(table), unknown_id_(unknown_id), user_defined_(user_defined) {
    std::vector<int32_t> by_score;
    for (int32_t id = 0; id < table.pieces.size(); ++id) {
        by_score.push_back(id);
        XF_CHECK(table.type(id) != PieceType::kUnused, XF_ERROR_CORRUPT,
                 "piece %d has the unused type, which sentencepiece-bpe does not support", id);
        if (!table.is_text(id)) continue;
        const std::string_view piece = table.pieces.bytes(id);
        longest_ = std::max(longest_, piece.size());
        CodePoint before{};
        for (size_t i = 0; i < piece.size(); i += before.size) {
            const CodePoint c = decode_utf8(piece, i);
            if (i > 0) adjacent_.add(before.value, c.value);
            before = c;
        }
    }
    std::sort(by_score.begin(), by_score.end(), [&](int32_t a, int32_t b) { return table.score(a) > table.score(b); });
    ranks_.resize(by_score.size());
    uint32_t rank = 0;
    for (size_t i = 0; i < by_score.size(); ++i) {
        if (i > 0 && table.score(by_score[i]) < table.score(by_score[i - 1])) ++rank;
        ranks_[by_score[i]] = rank;
    }
}

void BpeEncoder::encode(std::string_view text, PieceSink *sink, EncodeScratch *scratch, Sampler *sampler) const {
    if (sampler != nullptr && !sampler->drops_merges()) sampler = nullptr;
    size_t begin = 0;  // of the segment
    const auto finish = [&](size_t end) {
        if (end > begin) encode_segment(text.substr(begin, end - begin), sink, scratch, sampler);
        begin = end;
    };
    CodePoint before{};
    for (size_t at = 0; at < text.size();) {
        const size_t symbol = user_defined_.empty() ? 0 : user_defined_.longest(text.substr(at));
        if (symbol > 0) {
            finish(at);
            const std::string_view piece = text.substr(at, symbol);
            sink->add(find_character(piece), piece);
            begin = at += symbol;
            continue;
        }
        const CodePoint c = decode_utf8(text, at);
        if (at > begin && !adjacent_.maybe(before.value, c.value)) finish(at);
        before = c;
        at += c.size;
    }
    finish(text.size());
}

void BpeEncoder::encode_segment(std::string_view text, PieceSink *sink, EncodeScratch *scratch,
                                Sampler *sampler) const {
    std::vector<int32_t> &symbols = scratch->symbols, &next = scratch->next, &previous = scratch->previous;
    std::vector<int32_t> &candidates = scratch->candidates;
    std::vector<uint32_t> &starts = scratch->starts;
    // Entries are rank << 32 | index of the left symbol, smallest first. An entry is out of date if the candidate of
    // that symbol has another rank.
    std::vector<uint64_t> &heap = scratch->heap;
    symbols.clear();
    starts.clear();
    heap.clear();
    for (size_t i = 0; i < text.size();) {
        const size_t size = decode_utf8(text, i).size;
        starts.push_back(i);
        symbols.push_back(find_character(text.substr(i, size)));
        i += size;
    }
    const int32_t count = symbols.size();
    next.resize(count);
    previous.resize(count);
    candidates.resize(count);
    const auto end_of = [&](int32_t i) -> size_t { return next[i] < 0 ? text.size() : starts[next[i]]; };
    const auto bytes_of = [&](int32_t first, int32_t last) {
        return text.substr(starts[first], end_of(last) - starts[first]);
    };
    // Computes the piece that a symbol and the next one would merge into.
    const auto find_candidate = [&](int32_t left) {
        const int32_t right = next[left];
        const int32_t id = right < 0 ? -1 : find_merged(bytes_of(left, right));
        candidates[left] = id;
        if (id >= 0) heap.push_back(uint64_t{ranks_[id]} << 32 | uint32_t(left));
        return id >= 0;
    };
    const auto update_candidate = [&](int32_t left) {
        if (find_candidate(left)) std::push_heap(heap.begin(), heap.end(), std::greater<>());
    };

    for (int32_t i = 0; i < count; ++i) {
        next[i] = i + 1 < count ? i + 1 : -1;
        previous[i] = i - 1;
    }
    for (int32_t i = 0; i < count; ++i) find_candidate(i);
    std::make_heap(heap.begin(), heap.end(), std::greater<>());
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        const uint64_t top = heap.back();
        heap.pop_back();
        const int32_t left = top & 0xFFFFFFFFu;
        const int32_t merged = candidates[left];
        if (merged < 0 || ranks_[merged] != top >> 32) continue;
        if (sampler != nullptr && sampler->drop()) {
            candidates[left] = -1;
            continue;
        }
        const int32_t right = next[left];
        symbols[left] = merged;
        symbols[right] = candidates[right] = -1;
        const int32_t after = next[left] = next[right];
        if (after >= 0) previous[after] = left;
        if (previous[left] >= 0) update_candidate(previous[left]);
        update_candidate(left);
    }
    for (int32_t i = 0; i >= 0; i = next[i]) sink->add(symbols[i], bytes_of(i, i));
}

}  // namespace

std::unique_ptr<const SentencePieceEncoder> make_bpe_encoder(const SentencePieceTable &table, int32_t unknown_id,
                                                             const PieceTrie &user_defined) {
    return std::make_unique<BpeEncoder>(table, unknown_id, user_defined);
}

}  // namespace xf
