// BPE as SentencePiece does it: start from the characters of the whole text, and while two neighbours joined are a
// piece, join the two whose piece has the highest score, leftmost first. A piece is made of whatever pair has its
// bytes, not of one pair as in bpe_model.h. User-defined symbols are found first and never join.
//
// Merges on both sides of a place that no piece crosses don't know of each other. So the text is cut before a character
// that follows the one before it in no piece, and each stretch is done for itself, by a heap: O(n log n). Which two
// characters are neighbours in a piece is kept in a filter that may say yes too often, which only costs time.
//
// With BPE-dropout a merge whose turn comes is left out with the probability, until one of its two is joined with
// another: as the sentencepiece package does it. (bpe_model.h draws anew at each step of a word, which here would
// depend on where the text is cut.)
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/utf8.h"
#include "text/hash_index.h"
#include "text/piece_trie.h"
#include "text/sentencepiece_encoder.h"

namespace xf {
namespace {

class NeighbourFilter {
public:
    NeighbourFilter() : bits_(kBits / 64) {}
    void add(uint32_t left, uint32_t right) {
        const size_t bit = place(left, right);
        bits_[bit / 64] |= uint64_t{1} << bit % 64;
    }
    bool maybe(uint32_t left, uint32_t right) const {
        const size_t bit = place(left, right);
        return (bits_[bit / 64] >> bit % 64 & 1) != 0;
    }

private:
    static constexpr size_t kBits = size_t{1} << 20;
    static size_t place(uint32_t left, uint32_t right) {
        return mix_hash(static_cast<uint64_t>(left) << 32 | right) % kBits;
    }
    std::vector<uint64_t> bits_;
};

class BpeEncoder final : public SentencePieceEncoder {
public:
    BpeEncoder(const SentencePieceTable &table, int32_t unknown_id);
    void encode(std::string_view text, PieceSink *sink, EncodeScratch *scratch, Sampler *sampler) const override;

private:
    // A character's piece, of whatever type it is.
    int32_t find_character(std::string_view bytes) const {
        const int32_t id = table_.pieces.find(bytes);
        return id >= 0 ? id : unknown_id_;
    }
    int32_t find_merged(std::string_view bytes) const {
        const int32_t id = bytes.size() <= longest_ ? table_.pieces.find(bytes) : -1;
        return id >= 0 && table_.is_text(id) ? id : -1;
    }
    void encode_stretch(std::string_view text, PieceSink *sink, EncodeScratch *scratch, Sampler *sampler) const;

    const SentencePieceTable &table_;
    const int32_t unknown_id_;
    PieceTrie user_defined_;
    NeighbourFilter neighbours_;
    std::vector<uint32_t> ranks_;  // by id: 0 for the highest score
    size_t longest_ = 0;
};

BpeEncoder::BpeEncoder(const SentencePieceTable &table, int32_t unknown_id) : table_(table), unknown_id_(unknown_id) {
    std::vector<int32_t> user_defined, by_score;
    for (int32_t id = 0; id < table.pieces.size(); ++id) {
        by_score.push_back(id);
        XF_CHECK(table.type(id) != PieceType::kUnused, XF_ERROR_CORRUPT,
                 "piece %d is unused, which a tokenizer of the kind sentencepiece-bpe can't have", id);
        if (!table.is_text(id)) continue;
        const std::string_view piece = table.pieces.bytes(id);
        longest_ = std::max(longest_, piece.size());
        if (table.type(id) == PieceType::kUserDefined) user_defined.push_back(id);
        CodePoint before{};
        for (size_t i = 0; i < piece.size(); i += before.size) {
            const CodePoint c = decode_utf8(piece, i);
            if (i > 0) neighbours_.add(before.value, c.value);
            before = c;
        }
    }
    user_defined_ = PieceTrie(std::move(user_defined), [&](int32_t id) { return table.pieces.bytes(id); });
    std::sort(by_score.begin(), by_score.end(), [&](int32_t a, int32_t b) { return table.score(a) > table.score(b); });
    ranks_.resize(by_score.size());
    uint32_t rank = 0;
    for (size_t i = 0; i < by_score.size(); ++i) {
        if (i > 0 && table.score(by_score[i]) < table.score(by_score[i - 1])) ++rank;
        ranks_[static_cast<size_t>(by_score[i])] = rank;
    }
}

void BpeEncoder::encode(std::string_view text, PieceSink *sink, EncodeScratch *scratch, Sampler *sampler) const {
    if (sampler != nullptr && !sampler->drops_merges()) sampler = nullptr;
    size_t begin = 0;  // of the stretch
    const auto finish = [&](size_t end) {
        if (end > begin) encode_stretch(text.substr(begin, end - begin), sink, scratch, sampler);
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
        if (at > begin && !neighbours_.maybe(before.value, c.value)) finish(at);
        before = c;
        at += c.size;
    }
    finish(text.size());
}

void BpeEncoder::encode_stretch(std::string_view text, PieceSink *sink, EncodeScratch *scratch,
                                Sampler *sampler) const {
    std::vector<int32_t> &symbols = scratch->symbols, &next = scratch->next, &previous = scratch->previous;
    std::vector<int32_t> &candidates = scratch->candidates;
    std::vector<uint32_t> &starts = scratch->starts;
    // rank << 32 | position of the left symbol, smallest first; out of date where the candidate there has another rank.
    std::vector<uint64_t> &heap = scratch->heap;
    symbols.clear();
    starts.clear();
    heap.clear();
    for (size_t i = 0; i < text.size();) {
        const size_t size = decode_utf8(text, i).size;
        starts.push_back(static_cast<uint32_t>(i));
        symbols.push_back(find_character(text.substr(i, size)));
        i += size;
    }
    const size_t count = symbols.size();
    next.resize(count);
    previous.resize(count);
    candidates.resize(count);
    const auto at = [](auto &v, int32_t i) -> auto & { return v[static_cast<size_t>(i)]; };
    const auto end_of = [&](int32_t i) {
        return at(next, i) < 0 ? text.size() : static_cast<size_t>(at(starts, at(next, i)));
    };
    const auto bytes_of = [&](int32_t first, int32_t last) {
        return text.substr(at(starts, first), end_of(last) - at(starts, first));
    };
    const auto rank_of = [&](int32_t id) { return at(ranks_, id); };
    const auto look = [&](int32_t left) {  // at what this symbol and the next would become
        const int32_t right = at(next, left);
        const int32_t id = right < 0 ? -1 : find_merged(bytes_of(left, right));
        at(candidates, left) = id;
        if (id >= 0) heap.push_back(static_cast<uint64_t>(rank_of(id)) << 32 | static_cast<uint32_t>(left));
        return id >= 0;
    };
    const auto look_again = [&](int32_t left) {
        if (look(left)) std::push_heap(heap.begin(), heap.end(), std::greater<>());
    };

    const auto last = static_cast<int32_t>(count) - 1;
    for (int32_t i = 0; i <= last; ++i) {
        at(next, i) = i < last ? i + 1 : -1;
        at(previous, i) = i - 1;
    }
    for (int32_t i = 0; i <= last; ++i) look(i);
    std::make_heap(heap.begin(), heap.end(), std::greater<>());
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        const uint64_t top = heap.back();
        heap.pop_back();
        const auto left = static_cast<int32_t>(top & 0xFFFFFFFFu);
        const int32_t merged = at(candidates, left);
        if (merged < 0 || rank_of(merged) != top >> 32) continue;
        if (sampler != nullptr && sampler->drop()) {
            at(candidates, left) = -1;
            continue;
        }
        const int32_t right = at(next, left);
        at(symbols, left) = merged;
        at(symbols, right) = -1;
        at(candidates, right) = -1;
        const int32_t after = at(next, left) = at(next, right);
        if (after >= 0) at(previous, after) = left;
        if (at(previous, left) >= 0) look_again(at(previous, left));
        look_again(left);
    }
    for (int32_t i = 0; i >= 0; i = at(next, i)) sink->add(at(symbols, i), bytes_of(i, i));
}

}  // namespace

std::unique_ptr<const SentencePieceEncoder> make_bpe_encoder(const SentencePieceTable &table, int32_t unknown_id) {
    return std::make_unique<BpeEncoder>(table, unknown_id);
}

}  // namespace xf
