// The most likely way to cut a text into pieces (Kudo 2018): Viterbi over the bytes,
//
//     best(0) = 0,   best(j) = max over pieces w = text[i .. j) of best(i) + score(w)
//
// A user-defined symbol has 0.1 for each byte but the first, whatever its score in the file. A character that is no
// piece may be taken alone, as unknown, for less than any piece costs. Ties go to the piece that begins first. best()
// is a float, and the rounding of its sums decides which of two ways of nearly the same score a long text takes; the
// ids must be those of the sentencepiece package. It, and so this file, begins again at 0 wherever best() has fallen
// below -100,000, so that few digits are lost. (Both numbers were found by experiment, with version 0.2.3.)
//
// Where the furthest place reached is the one being looked at, every path runs through it: what lies before is written
// out, and the room for it used again.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "core/utf8.h"
#include "text/piece_trie.h"
#include "text/sentencepiece_encoder.h"
#include "text/unigram_sample.h"

namespace xf {
namespace {

constexpr float kUnknownPenalty = 10.0f;
constexpr double kUserDefinedBonus = 0.1;  // for each byte but the first
constexpr float kLeastSum = -100000.0f;

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
            draw(text, sink, scratch, sampler);
            return;
        }
        std::vector<EncodeScratch::Path> &paths = scratch->paths;
        paths.assign(1, {});
        size_t base = 0;   // paths[0] is the place text[base]
        size_t reach = 0;  // the furthest place that has a path
        for (size_t at = 0; at < text.size();) {
            if (at == reach && at > base) {
                const float score = paths[at - base].score;
                write(text, base, at, sink, scratch);
                paths.assign(1, {-1, score, 0});
                base = at;
            }
            const float sum = paths[at - base].score;
            for (size_t i = at - base; i < paths.size() && sum < kLeastSum; ++i) paths[i].score -= sum;
            reach = std::max(reach, extend(text, base, at, &paths));
            at += decode_utf8(text, at).size;
        }
        if (!text.empty()) write(text, base, text.size(), sink, scratch);
    }

private:
    // Calls offer(end, id, score, fallback) for each piece that the text goes on with at a character's beginning, and
    // where none is that character alone, for the unknown one.
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
            if (table_.type(id) == PieceType::kUserDefined)
                score = static_cast<float>(static_cast<double>(end - at) * kUserDefinedBonus - kUserDefinedBonus);
            offer(end, id, score, false);
            covered = covered || end == at + character;
        }
        if (!covered) offer(at + character, unknown_id_, unknown_score_, true);
    }

    // Offers every piece that begins at `at` to the place where it ends; returns the furthest.
    size_t extend(std::string_view text, size_t base, size_t at, std::vector<EncodeScratch::Path> *paths) const {
        const float before = (*paths)[at - base].score;
        size_t furthest = at;
        for_each_piece(text, at, [&](size_t end, int32_t id, float score, bool) {
            furthest = std::max(furthest, end);
            if (paths->size() <= end - base) paths->resize(end - base + 1);
            EncodeScratch::Path &path = (*paths)[end - base];
            if (path.size > 0 && score + before <= path.score) return;
            path = {id, score + before, static_cast<uint32_t>(end - at)};
        });
        return furthest;
    }

    // Of all ways. A user-defined symbol is one piece whatever is drawn, and the text is cut at it.
    void draw(std::string_view text, PieceSink *sink, EncodeScratch *scratch, Sampler *sampler) const {
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

    // The pieces of the best path from `base` to `end`.
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
