// Counting words, and learning BPE and WordPiece; see words/train.h.
//
// All distinct words are stored consecutively in one array of positions, linked as lists: a merge joins position n into
// position p and unlinks n. The piece at a position only grows, so a position recorded for a pair may be out of date
// but is never recorded twice; comparing the two pieces detects this. Counts are updated in `pairs_`. The heap keeps
// old scores until they reach the top, where they are corrected and pushed again.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/train.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/os/process.h"
#include "core/utf8.h"
#include "text/stable_log.h"
#include "text/words/bpe.h"

namespace xf {
namespace {

constexpr size_t kMaxTrainedPieceBytes = 128;  // longer pieces are useless (runs of "-----"); files may have up to 256
constexpr size_t kMaxIndices = std::numeric_limits<int32_t>::max();

double x_log_x(double x) { return x > 0 ? x * stable_log(x) : 0; }

enum class Criterion { kCount, kLikelihood };

class BpeTrainer {
public:
    BpeTrainer(const WordCounts &words, const BpeTrainOptions &options, Criterion criterion, const Call &call);

    void run(const BpeTrainOptions &options);

    WordTable take_table() { return std::move(table_); }
    const Vocabulary &vocabulary() const { return vocabulary_; }

private:
    struct Pair {
        int32_t left;
        int32_t right;
        int64_t count = 0;
        int32_t result = -1;  // the merged piece, after the merge has been learned
        bool grown = false;   // is in grown_
        std::vector<int32_t> positions;
    };
    struct Candidate {
        double score;
        int32_t pair;
    };

    double score(const Pair &pair) const;
    bool less(const Candidate &a, const Candidate &b) const;
    void push(int32_t pair);
    void rebuild_heap(int64_t min_count);
    int32_t find(int32_t left, int32_t right, uint64_t *hash) const;
    void increase(int32_t left, int32_t right, int32_t position);
    void decrease(int32_t left, int32_t right, int64_t count);
    bool learn(int32_t pair);
    void apply(int32_t pair);

    const Criterion criterion_;
    const Call &call_;
    WordTable table_;
    Vocabulary vocabulary_;
    std::vector<int64_t> piece_counts_;  // by id
    double total_ = 0;                   // sum of piece_counts_ when the heap was last rebuilt
    std::vector<int64_t> counts_;        // by word
    std::vector<int32_t> symbols_;       // by position, like the next three
    std::vector<int32_t> next_;          // -1 at the end of a word
    std::vector<int32_t> previous_;      // -1 at its beginning
    std::vector<int32_t> word_;
    std::vector<Pair> pairs_;
    HashIndex index_;
    std::vector<int32_t> grown_;  // pairs whose count increased since they were last pushed onto the heap
    std::vector<Candidate> heap_;
};

BpeTrainer::BpeTrainer(const WordCounts &words, const BpeTrainOptions &options, Criterion criterion, const Call &call)
    : criterion_(criterion), call_(call) {
    table_.characters =
        choose_characters(words, options.character_coverage, options.vocab_size - Vocabulary::kFirstPieceId);
    add_characters(table_.characters, &vocabulary_);
    for (const WordCounts::Word &word : words.words()) {
        call.check();
        const int32_t begin = symbols_.size();
        append_characters(vocabulary_, words.bytes(word), &symbols_);
        XF_CHECK(symbols_.size() < kMaxIndices, XF_ERROR_LIMIT,
                 "the distinct words of the training text have more than %zu characters", kMaxIndices);
        for (int32_t i = begin; i < std::ssize(symbols_); ++i) {
            previous_.push_back(i > begin ? i - 1 : -1);
            next_.push_back(i + 1 < std::ssize(symbols_) ? i + 1 : -1);
            word_.push_back(counts_.size());
        }
        piece_counts_.resize(vocabulary_.size());
        for (int32_t i = begin; i < std::ssize(symbols_); ++i) piece_counts_[symbols_[i]] += word.count;
        counts_.push_back(word.count);
    }
}

double BpeTrainer::score(const Pair &pair) const {
    const double m = pair.count;
    if (criterion_ == Criterion::kCount) return m;
    const double left = piece_counts_[pair.left], right = piece_counts_[pair.right];
    const double after = pair.left == pair.right ? x_log_x(left - 2 * m) : x_log_x(left - m) + x_log_x(right - m);
    const double before = pair.left == pair.right ? x_log_x(left) : x_log_x(left) + x_log_x(right);
    return after + x_log_x(m) - x_log_x(total_ - m) - before + x_log_x(total_);
}

// The order of the heap: the pair with the higher score is greater, then the one with smaller bytes.
bool BpeTrainer::less(const Candidate &a, const Candidate &b) const {
    if (a.score != b.score) return a.score < b.score;
    const Pair &p = pairs_[a.pair];
    const Pair &q = pairs_[b.pair];
    const int order = vocabulary_.bytes(p.left).compare(vocabulary_.bytes(q.left));
    return order != 0 ? order > 0 : vocabulary_.bytes(p.right).compare(vocabulary_.bytes(q.right)) > 0;
}

void BpeTrainer::push(int32_t pair) {
    heap_.push_back({score(pairs_[pair]), pair});
    std::push_heap(heap_.begin(), heap_.end(), [&](const auto &a, const auto &b) { return less(a, b); });
}

void BpeTrainer::rebuild_heap(int64_t min_count) {
    total_ = 0;
    for (const int64_t count : piece_counts_) total_ += count;
    heap_.clear();
    for (int32_t i = 0; i < std::ssize(pairs_); ++i)
        if (pairs_[i].count >= min_count) heap_.push_back({score(pairs_[i]), i});
    std::make_heap(heap_.begin(), heap_.end(), [&](const auto &a, const auto &b) { return less(a, b); });
    for (const int32_t i : grown_) pairs_[i].grown = false;
    grown_.clear();
}

int32_t BpeTrainer::find(int32_t left, int32_t right, uint64_t *hash) const {
    *hash = mix_hash(uint64_t(left) << 32 | uint32_t(right));
    return index_.find(*hash, [&](int32_t i) {
        const Pair &pair = pairs_[i];
        return pair.left == left && pair.right == right;
    });
}

void BpeTrainer::increase(int32_t left, int32_t right, int32_t position) {
    if (Vocabulary::is_fallback(left) || Vocabulary::is_fallback(right)) return;
    if (vocabulary_.bytes(left).size() + vocabulary_.bytes(right).size() > kMaxTrainedPieceBytes) return;
    uint64_t hash = 0;
    int32_t i = find(left, right, &hash);
    if (i < 0) {
        i = pairs_.size();
        pairs_.push_back({left, right, 0, -1, false, {}});
        index_.insert(hash, i);
    }
    Pair &pair = pairs_[i];
    pair.count += counts_[word_[position]];
    pair.positions.push_back(position);
    if (!pair.grown) grown_.push_back(i);
    pair.grown = true;
}

void BpeTrainer::decrease(int32_t left, int32_t right, int64_t count) {
    uint64_t hash = 0;
    const int32_t i = find(left, right, &hash);
    if (i >= 0) pairs_[i].count -= count;
}

// Sets the merged piece of a pair; returns false if the vocabulary has no room for it.
bool BpeTrainer::learn(int32_t i) {
    Pair &pair = pairs_[i];
    if (pair.result >= 0) return true;  // learned before; the pair occurs again after a merge with the same bytes
    std::string bytes(vocabulary_.bytes(pair.left));
    bytes += vocabulary_.bytes(pair.right);
    const int32_t known = vocabulary_.find(bytes);
    if ((known < 0 && !vocabulary_.has_room(bytes.size())) || table_.merges.size() == BpeModel::kMaxMerges)
        return false;
    pair.result = known >= 0 ? known : vocabulary_.add(bytes);
    piece_counts_.resize(vocabulary_.size());
    table_.merges.push_back({pair.left, pair.right});
    return true;
}

void BpeTrainer::apply(int32_t i) {
    const int32_t left = pairs_[i].left;
    const int32_t right = pairs_[i].right;
    const int32_t result = pairs_[i].result;
    std::vector<int32_t> positions = std::move(pairs_[i].positions);
    pairs_[i].positions = {};
    std::sort(positions.begin(), positions.end());  // leftmost first, as in encoding: "aaa" = "aa" + "a"
    for (const int32_t position : positions) {
        call_.check();
        const int32_t second = next_[position];
        if (symbols_[position] != left || second < 0 || symbols_[second] != right) continue;
        const int64_t count = counts_[word_[position]];
        const int32_t before = previous_[position];
        const int32_t after = next_[second];
        decrease(left, right, count);
        piece_counts_[left] -= count;
        piece_counts_[right] -= count;
        piece_counts_[result] += count;
        if (before >= 0) decrease(symbols_[before], left, count);
        if (after >= 0) decrease(right, symbols_[after], count);
        symbols_[position] = result;
        symbols_[second] = -1;
        next_[position] = after;
        if (after >= 0) previous_[after] = position;
        if (before >= 0) increase(symbols_[before], result, before);
        if (after >= 0) increase(result, symbols_[after], position);
    }
}

void BpeTrainer::run(const BpeTrainOptions &options) {
    for (int32_t i = 0; i < std::ssize(next_); ++i) {
        call_.check();
        if (next_[i] >= 0) increase(symbols_[i], symbols_[next_[i]], i);
    }
    int64_t next_rebuild = criterion_ == Criterion::kLikelihood ? 0 : options.vocab_size;
    while (vocabulary_.size() < options.vocab_size) {
        call_.progress("tokenizer", vocabulary_.size(), options.vocab_size);
        if (vocabulary_.size() >= next_rebuild) {
            rebuild_heap(options.min_pair_count);
            next_rebuild = vocabulary_.size() + vocabulary_.size() / 20;
        }
        for (const int32_t i : grown_) {
            Pair &pair = pairs_[i];
            pair.grown = false;
            if (pair.count >= options.min_pair_count) push(i);
        }
        grown_.clear();
        if (heap_.empty()) break;
        std::pop_heap(heap_.begin(), heap_.end(), [&](const auto &a, const auto &b) { return less(a, b); });
        const Candidate top = heap_.back();
        heap_.pop_back();
        const Pair &pair = pairs_[top.pair];
        const double now = score(pair);
        if (pair.count < options.min_pair_count) continue;
        if (now == top.score) {
            if (!learn(top.pair)) break;
            apply(top.pair);
        } else {
            push(top.pair);
        }
    }
    call_.progress("tokenizer", options.vocab_size, options.vocab_size);
}

}  // namespace

uint64_t random_hash_seed() {
    uint64_t seed = 0;
    // Early during boot there may be no entropy; an address is the best substitute.
    if (!random_bytes(&seed, sizeof seed)) seed = mix_hash(reinterpret_cast<uintptr_t>(&seed) ^ process_id());
    return seed;
}

WordCounts::WordCounts() : seed_(random_hash_seed()) {}

void WordCounts::add(std::string_view word) {
    const uint64_t hash = hash_bytes(word, seed_);
    const int32_t known = index_.find(hash, [&](int32_t i) { return bytes(words_[i]) == word; });
    if (known >= 0) {
        ++words_[known].count;
        return;
    }
    XF_CHECK(words_.size() < kMaxIndices, XF_ERROR_LIMIT, "the training text has more than %zu distinct words",
             kMaxIndices);
    index_.insert(hash, words_.size());
    words_.push_back({bytes_.size(), uint32_t(word.size()), 1});
    bytes_.append(word);
}

std::vector<uint32_t> choose_characters(const WordCounts &words, double coverage, int64_t room) {
    std::vector<int64_t> counts(0x110000, 0);
    double total = 0;
    for (const WordCounts::Word &word : words.words()) {
        const std::string_view bytes = words.bytes(word);
        for (size_t i = 0; i < bytes.size();) {
            const CodePoint c = decode_utf8(bytes, i);
            i += c.size;
            if (!c.valid || c.value < 0x80) continue;
            counts[c.value] += word.count;
            total += word.count;
        }
    }
    std::vector<uint32_t> characters;
    for (uint32_t c = 0x80; c < counts.size(); ++c)
        if (counts[c] > 0) characters.push_back(c);
    std::stable_sort(characters.begin(), characters.end(),
                     [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
    double covered = 0;
    size_t kept = 0;
    const size_t most = std::clamp<int64_t>(room, 0, characters.size());
    while (kept < most && covered < coverage * total) covered += counts[characters[kept++]];
    characters.resize(kept);
    return characters;
}

WordTable train_bpe(WordCounts words, const BpeTrainOptions &options, const Call &call) {
    BpeTrainer trainer(words, options, Criterion::kCount, call);
    words = WordCounts();
    trainer.run(options);
    return trainer.take_table();
}

WordTable train_wordpiece(WordCounts words, const BpeTrainOptions &options, const Call &call) {
    BpeTrainer trainer(words, options, Criterion::kLikelihood, call);
    words = WordCounts();
    trainer.run(options);
    WordTable table = trainer.take_table();
    table.merges.clear();
    table.pieces = trainer.vocabulary().pieces_from(Vocabulary::kFirstPieceId + std::ssize(table.characters));
    return table;
}

}  // namespace xf
