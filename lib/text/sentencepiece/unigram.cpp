// The most likely segmentation of a text (Kudo 2018), by the Viterbi algorithm over the bytes:
//
//     best(0) = 0,   best(j) = max over pieces w = text[i .. j) of best(i) + score(w)
//
// A user-defined symbol scores 0.1 for each byte except the first, regardless of its score in the file. A character
// that is not a piece is unknown and scores less than any piece. Ties are resolved in favor of the piece that begins
// first. best() is a float; in a long text the rounding of its sums can decide between segmentations with nearly equal
// scores. To produce the ids of the sentencepiece package, this file rounds as the package does: it subtracts best()
// wherever best() is below -100,000, which also preserves precision. (0.1 and -100,000 were determined by experiments
// with version 0.2.3.)
//
// If no path extends beyond the current offset, every path passes through it. The pieces before it are then final; they
// are written, and their buffers are reused.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "core/utf8.h"
#include "text/piece_trie.h"
#include "text/sample_path.h"
#include "text/sentencepiece/encoder.h"

namespace xf {
namespace {

constexpr float kUnknownPenalty = 10.0f;
constexpr double kUserDefinedBonus = 0.1;  // for each byte except the first
constexpr float kMinSum = -100000.0f;

class UnigramEncoder final : public SentencePieceEncoder {
public:
    UnigramEncoder(const SentencePieceTable &table, int32_t unknown_id) : table_(table), unknown_id_(unknown_id) {
        std::vector<int32_t> texts, user_defined;
        float least = std::numeric_limits<float>::max();
        for (int32_t id = 0; id < table.pieces.size(); ++id) {
            if (table.is_text(id)) texts.push_back(id);
            if (table.type(id) == PieceType::kUserDefined) user_defined.push_back(id);
            if (table.type(id) != PieceType::kNormal) continue;
            least = std::min(least, table.score(id));
        }
        const auto piece = [&](int32_t id) { return table.pieces.bytes(id); };
        trie_ = PieceTrie(std::move(texts), piece);
        user_defined_ = PieceTrie(std::move(user_defined), piece);
        unknown_score_ = least - kUnknownPenalty;
    }

    void encode(std::string_view text, PieceSink *sink, EncodeScratch *scratch, Sampler *sampler) const override {
        if (sampler != nullptr && sampler->alpha() > 0) {
            sample(text, sink, scratch, sampler);
            return;
        }
        std::vector<EncodeScratch::Path> &paths = scratch->paths;
        paths.assign(1, {});
        size_t base = 0;   // paths[0] belongs to offset `base` of the text
        size_t reach = 0;  // the greatest offset that has a path
        for (size_t at = 0; at < text.size();) {
            if (at == reach && at > base) {
                const float score = paths[at - base].score;
                write(text, base, at, sink, scratch);
                paths.assign(1, {-1, score, 0});
                base = at;
            }
            const float sum = paths[at - base].score;
            for (size_t i = at - base; i < paths.size() && sum < kMinSum; ++i) paths[i].score -= sum;
            reach = std::max(reach, extend(text, base, at, &paths));
            at += decode_utf8(text, at).size;
        }
        if (!text.empty()) write(text, base, text.size(), sink, scratch);
    }

private:
    // Calls offer(end, id, score, fallback) for each piece that begins at text[at]. If the character there is not a
    // piece, also calls it for the unknown piece, with fallback set.
    template <class Offer>
    void for_each_piece(std::string_view text, size_t at, Offer offer) const {
        const size_t character = decode_utf8(text, at).size;
        bool covered = false;
        int32_t node = PieceTrie::kRoot;
        for (size_t end = at; end < text.size();) {
            node = trie_.child(node, text[end++]);
            if (node < 0) break;
            const int32_t id = trie_.value(node);
            if (id < 0) continue;
            float score = table_.score(id);
            if (table_.type(id) == PieceType::kUserDefined) score = (end - at) * kUserDefinedBonus - kUserDefinedBonus;
            offer(end, id, score, false);
            covered = covered || end == at + character;
        }
        if (!covered) offer(at + character, unknown_id_, unknown_score_, true);
    }

    // Updates the paths to the ends of all pieces that begin at `at`; returns the greatest end.
    size_t extend(std::string_view text, size_t base, size_t at, std::vector<EncodeScratch::Path> *paths) const {
        const float before = (*paths)[at - base].score;
        size_t furthest = at;
        for_each_piece(text, at, [&](size_t end, int32_t id, float score, bool) {
            furthest = std::max(furthest, end);
            if (paths->size() <= end - base) paths->resize(end - base + 1);
            EncodeScratch::Path &path = (*paths)[end - base];
            if (path.size > 0 && score + before <= path.score) return;
            path.id = id;
            path.score = score + before;
            path.size = end - at;
        });
        return furthest;
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

    // Writes the pieces of the best path from `base` to `end`.
    void write(std::string_view text, size_t base, size_t end, PieceSink *sink, EncodeScratch *scratch) const {
        scratch->pieces.clear();
        for (size_t at = end; at > base; at -= scratch->pieces.back().size)
            scratch->pieces.push_back(scratch->paths[at - base]);
        size_t at = base;
        for (size_t i = scratch->pieces.size(); i-- > 0;) {
            const EncodeScratch::Path &piece = scratch->pieces[i];
            sink->add(piece.id, text.substr(at, piece.size));
            at += piece.size;
        }
    }

    const SentencePieceTable &table_;
    const int32_t unknown_id_;
    PieceTrie trie_, user_defined_;
    float unknown_score_ = 0;
};

}  // namespace

std::unique_ptr<const SentencePieceEncoder> make_unigram_encoder(const SentencePieceTable &table, int32_t unknown_id) {
    return std::make_unique<UnigramEncoder>(table, unknown_id);
}

}  // namespace xf
