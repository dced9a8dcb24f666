// Learning a unigram model; see words/train.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/train.h"

#include <algorithm>
#include <numeric>

#include "core/utf8.h"
#include "text/piece_trie.h"
#include "text/stable_log.h"
#include "text/words/unigram.h"

namespace xf {
namespace {

constexpr size_t kMaxSeeds = size_t{1} << 20;
constexpr double kKeptFraction = 0.75;  // of the pieces, per pruning step
constexpr int kRoundsPerStep = 2;       // of EM, before each pruning step
constexpr double kMinProduct = 1e-290;
constexpr double kMinCount = 0.5;         // pieces with a smaller expected count are removed
constexpr double kCharacterCount = 0.01;  // minimum count of a character

class UnigramTrainer {
public:
    UnigramTrainer(const WordCounts &words, const BpeTrainOptions &options, const Call &call);
    void run(const Call &call);
    WordTable table() const;

private:
    struct Piece {
        std::string_view text;
        double p, log_p;
        bool character;
    };
    struct Arc {
        uint32_t begin, end;
        int32_t piece;  // -1 for a character without a piece
    };

    void make_trie();
    void round(const Call &call, bool drop);
    void best_path(std::string_view text, int32_t without, std::vector<int32_t> *pieces) const;
    void prune(size_t keep, const Call &call);

    UnigramText text_;
    std::vector<uint32_t> characters_;
    std::vector<std::string> character_texts_;  // ASCII, then characters_
    std::vector<Piece> pieces_;                 // character_texts_ first
    PieceTrie trie_;
    size_t target_size_;  // number of pieces other than characters
    // Buffers for one chunk or piece.
    std::vector<double> alpha_, beta_;
    std::vector<Arc> arcs_;
    mutable std::vector<double> score_;
    mutable std::vector<Arc> last_;
};

UnigramTrainer::UnigramTrainer(const WordCounts &words, const BpeTrainOptions &options, const Call &call)
    : text_(words, call),
      characters_(
          choose_characters(words, options.character_coverage, options.vocab_size - Vocabulary::kFirstPieceId)) {
    target_size_ = options.vocab_size - Vocabulary::kFirstPieceId - characters_.size();
    for (uint32_t c = 0; c < UnigramModel::kAscii + characters_.size(); ++c) {
        character_texts_.emplace_back();
        append_utf8(c < UnigramModel::kAscii ? c : characters_[c - UnigramModel::kAscii], &character_texts_.back());
    }
    std::vector<double> counts(0x110000, 0);
    for (const UnigramText::Chunk &chunk : text_.chunks) {
        call.check();
        const std::string_view chunk_text = text_.text(chunk);
        for (size_t i = 0; i < chunk_text.size();) {
            const CodePoint c = decode_utf8(chunk_text, i);
            counts[c.value] += chunk.count;
            i += c.size;
        }
    }
    double total = 0;
    for (const std::string &text : character_texts_) {
        pieces_.push_back({text, counts[decode_utf8(text, 0).value] + kCharacterCount, 0, true});
        total += pieces_.back().p;
    }
    for (const UnigramSeed &seed :
         find_seeds(text_, characters_, options.min_pair_count, kMaxSeeds + target_size_, call)) {
        pieces_.push_back({seed.text, double(seed.count * seed.characters), 0, false});
        total += pieces_.back().p;
    }
    for (Piece &piece : pieces_) {
        piece.p /= total;
        piece.log_p = stable_log(piece.p);
    }
}

void UnigramTrainer::make_trie() {
    std::vector<int32_t> all(pieces_.size());
    std::iota(all.begin(), all.end(), 0);
    trie_ = PieceTrie(std::move(all), [&](int32_t i) { return pieces_[i].text; });
}

// One round of EM. With `drop`, removes pieces with a small count if enough pieces remain.
void UnigramTrainer::round(const Call &call, bool drop) {
    make_trie();
    std::vector<double> counts(pieces_.size(), 0);
    for (const UnigramText::Chunk &chunk : text_.chunks) {
        call.check();
        const std::string_view text = text_.text(chunk);
        alpha_.assign(text.size() + 1, 0);
        beta_.assign(text.size() + 1, 0);
        arcs_.clear();
        alpha_[0] = beta_[text.size()] = 1;
        const auto p_of = [&](int32_t piece) { return piece < 0 ? 1 : pieces_[piece].p; };
        for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).size)
            trie_.for_each_piece(text, at, [&](size_t end, int32_t piece) {
                arcs_.push_back({uint32_t(at), uint32_t(end), piece});
                alpha_[end] += alpha_[at] * p_of(piece);
            });
        if (alpha_[text.size()] < kMinProduct) continue;  // only the rarest characters
        const double scale = chunk.count / alpha_[text.size()];
        for (size_t i = arcs_.size(); i-- > 0;) {
            const Arc &arc = arcs_[i];
            const double after = p_of(arc.piece) * beta_[arc.end];
            beta_[arc.begin] += after;
            if (arc.piece >= 0) counts[arc.piece] += alpha_[arc.begin] * after * scale;
        }
    }
    const auto rare = [&](size_t i) { return !pieces_[i].character && counts[i] < kMinCount; };
    size_t others = pieces_.size() - character_texts_.size();
    for (size_t i = 0; i < pieces_.size() && drop; ++i) others -= rare(i);
    drop = drop && others >= target_size_;  // otherwise prune() chooses the pieces to remove
    double total = 0;
    size_t kept = 0;
    for (size_t i = 0; i < pieces_.size(); ++i) {
        if (drop && rare(i)) continue;
        Piece piece = pieces_[i];
        piece.p = std::max(counts[i], kCharacterCount);
        total += piece.p;
        pieces_[kept++] = piece;
    }
    pieces_.resize(kept);
    for (Piece &piece : pieces_) {
        piece.p /= total;
        piece.log_p = stable_log(piece.p);
    }
}

// Computes the most likely segmentation of a text that does not use the piece `without`; *pieces is in reverse order.
void UnigramTrainer::best_path(std::string_view text, int32_t without, std::vector<int32_t> *pieces) const {
    score_.assign(text.size() + 1, 0);
    last_.assign(text.size() + 1, {0, 0, -1});
    for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).size)
        trie_.for_each_piece(text, at, [&](size_t end, int32_t piece) {
            if (piece == without && piece >= 0) return;
            const double score = score_[at] + (piece < 0 ? 0 : pieces_[piece].log_p);
            if (last_[end].end > 0 && score <= score_[end]) return;
            score_[end] = score;
            last_[end] = {uint32_t(at), uint32_t(end), piece};
        });
    pieces->clear();
    for (size_t at = text.size(); at > 0; at = last_[at].begin)
        if (last_[at].piece >= 0) pieces->push_back(last_[at].piece);
}

// Keeps the characters and the `keep` other pieces with the greatest loss of likelihood.
void UnigramTrainer::prune(size_t keep, const Call &call) {
    make_trie();
    std::vector<double> counts(pieces_.size(), 0);
    std::vector<int32_t> path;
    double total = 0;
    for (const UnigramText::Chunk &chunk : text_.chunks) {
        call.check();
        best_path(text_.text(chunk), -1, &path);
        for (const int32_t piece : path) counts[piece] += chunk.count;
        total += double(chunk.count) * path.size();
    }
    struct Loss {
        double loss;
        size_t piece;
    };
    std::vector<Loss> losses;
    for (size_t i = character_texts_.size(); i < pieces_.size(); ++i) {
        double loss = 0;
        call.check();
        if (counts[i] > 0) {
            // Without this piece, the pieces of its best segmentation would each occur counts[i] times more often.
            best_path(pieces_[i].text, i, &path);
            const double log_total = stable_log(total + counts[i] * (double(path.size()) - 1));
            double log_p = 0;
            for (const int32_t piece : path) log_p += stable_log(counts[piece] + counts[i]) - log_total;
            loss = counts[i] * (stable_log(counts[i]) - stable_log(total) - log_p);
        }
        losses.push_back({loss, i});
    }
    std::sort(losses.begin(), losses.end(), [&](const Loss &a, const Loss &b) {
        return a.loss != b.loss ? a.loss > b.loss : pieces_[a.piece].text < pieces_[b.piece].text;
    });
    losses.resize(std::min(losses.size(), keep));
    std::vector<Piece> kept(pieces_.begin(), pieces_.begin() + character_texts_.size());
    for (const Loss &loss : losses) kept.push_back(pieces_[loss.piece]);
    pieces_ = std::move(kept);
}

void UnigramTrainer::run(const Call &call) {
    const size_t characters = character_texts_.size();
    const int64_t first = std::max<size_t>(pieces_.size() - characters, 1);
    for (;;) {
        const size_t pieces = pieces_.size() - characters;
        call.progress("tokenizer", first - pieces, first);
        for (int i = 0; i < kRoundsPerStep; ++i) round(call, pieces > target_size_);
        const size_t left = pieces_.size() - characters;
        if (left <= target_size_) break;
        prune(std::max<size_t>(target_size_, left * kKeptFraction), call);
    }
    std::sort(pieces_.begin() + characters, pieces_.end(),
              [](const Piece &a, const Piece &b) { return a.p != b.p ? a.p > b.p : a.text < b.text; });
    call.progress("tokenizer", first, first);
}

WordTable UnigramTrainer::table() const {
    WordTable table{characters_};
    for (const Piece &piece : pieces_) {
        if (!piece.character) table.pieces.push_back(piece.text);
        table.scores.push_back(piece.log_p);
    }
    return table;
}

}  // namespace

WordTable train_unigram(WordCounts words, const BpeTrainOptions &options, const Call &call) {
    UnigramTrainer trainer(words, options, call);
    words = WordCounts();
    trainer.run(call);
    return trainer.table();
}

}  // namespace xf
