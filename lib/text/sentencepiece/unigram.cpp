// The most likely segmentation of a text (unigram_path.h) as the sentencepiece package computes it.
//
// A user-defined symbol scores 0.1 for each byte except the first, regardless of its score in the file. A character
// that is not a piece is unknown and scores less than any piece. In a long text the rounding of sums can decide between
// segmentations with nearly equal scores. To produce the same ids, this file rounds as the package does: it subtracts
// best() wherever best() is below -100,000. (0.1 and -100,000 were determined by experiments with version 0.2.3.)
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "core/utf8.h"
#include "text/sentencepiece/encoder.h"
#include "text/unigram_path.h"

namespace xf {
namespace {

constexpr float kUnknownPenalty = 10.0f;
constexpr double kUserDefinedBonus = 0.1;  // for each byte except the first
constexpr float kMinSum = -100000.0f;

class UnigramEncoder final : public SentencePieceEncoder {
public:
    UnigramEncoder(const SentencePieceTable &table, int32_t unknown_id, const PieceTrie &user_defined)
        : table_(table), unknown_id_(unknown_id), user_defined_(user_defined) {
        std::vector<int32_t> texts;
        float least = std::numeric_limits<float>::max();
        for (int32_t id = 0; id < table.pieces.size(); ++id) {
            if (table.is_text(id)) texts.push_back(id);
            if (table.type(id) == PieceType::kNormal) least = std::min(least, table.score(id));
        }
        trie_ = PieceTrie(std::move(texts), [&](int32_t id) { return table.pieces.bytes(id); });
        unknown_score_ = least - kUnknownPenalty;
    }

    void encode(std::string_view text, PieceSink *sink, EncodeScratch *scratch, Sampler *sampler) const override {
        if (sampler != nullptr && sampler->alpha() > 0) {
            sample(text, sink, scratch, sampler);
            return;
        }
        best_path(
            text, [&](size_t at, auto offer) { for_each_piece(text, at, offer); }, kMinSum, scratch,
            [&](size_t begin, size_t end, int32_t id) { sink->add(id, text.substr(begin, end - begin)); });
    }

private:
    // Calls offer(end, id, score, fallback) for each piece that begins at text[at]. If the character there is not a
    // piece, also calls it for the unknown piece, with fallback set.
    template <class Offer>
    void for_each_piece(std::string_view text, size_t at, Offer offer) const {
        trie_.for_each_piece(text, at, [&](size_t end, int32_t id) {
            if (id < 0) return offer(end, unknown_id_, unknown_score_, true);
            float score = table_.score(id);
            if (table_.type(id) == PieceType::kUserDefined) score = (end - at) * kUserDefinedBonus - kUserDefinedBonus;
            offer(end, id, score, false);
        });
    }

    // Draws a segmentation. User-defined symbols are always one piece, so the text between them is sampled separately.
    void sample(std::string_view text, PieceSink *sink, EncodeScratch *scratch, Sampler *sampler) const {
        size_t begin = 0;
        const auto finish = [&](size_t end) {
            const std::string_view part = text.substr(begin, end - begin);
            sample_path(
                part, [&](size_t at, auto offer) { for_each_piece(part, at, offer); }, sampler, scratch,
                [&](size_t from, size_t to, int32_t id) { sink->add(id, part.substr(from, to - from)); });
        };
        for (size_t at = 0; !user_defined_.empty() && at < text.size();) {
            const std::string_view symbol = text.substr(at, user_defined_.longest(text.substr(at)));
            if (symbol.empty()) {
                at += decode_utf8(text, at).size;
                continue;
            }
            finish(at);
            sink->add(table_.pieces.find(symbol), symbol);
            begin = at += symbol.size();
        }
        finish(text.size());
    }

    const SentencePieceTable &table_;
    const int32_t unknown_id_;
    const PieceTrie &user_defined_;
    PieceTrie trie_;
    float unknown_score_ = 0;
};

}  // namespace

std::unique_ptr<const SentencePieceEncoder> make_unigram_encoder(const SentencePieceTable &table, int32_t unknown_id,
                                                                 const PieceTrie &user_defined) {
    return std::make_unique<UnigramEncoder>(table, unknown_id, user_defined);
}

}  // namespace xf
