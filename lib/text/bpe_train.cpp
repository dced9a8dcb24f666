// BPE training; see bpe_train.h.
//
// All distinct words lie one after another in one array of positions, linked as lists: a merge joins position n into
// position p and unlinks n. A position's piece only ever grows, so a place noted for a pair can be out of date but
// never doubly noted, and checking the two pieces there tells. Counts change through `pairs_`; the heap keeps old
// counts until they come up, when they are corrected and put back.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/bpe_train.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/utf8.h"
#include "text/stable_log.h"

namespace xf {
namespace {

constexpr size_t kMaxTrainedPieceBytes = 128;  // longer pieces are junk (runs of "-----"); files may hold up to 256

double x_log_x(double x) { return x > 0 ? x * stable_log(x) : 0; }

enum class Criterion { kCount, kLikelihood };

class Trainer {
public:
    Trainer(const WordCounts &words, const BpeTrainOptions &options, Criterion criterion, const Call &call);

    void run(const BpeTrainOptions &options);

    BpeTable take_table() { return std::move(table_); }
    const Vocabulary &vocabulary() const { return vocabulary_; }

private:
    struct Pair {
        int32_t left;
        int32_t right;
        int64_t count = 0;
        int32_t result = -1;  // the merged piece, once the merge is learnt
        bool grown = false;   // listed in grown_
        std::vector<int32_t> places;
    };
    struct Candidate {
        double score;
        int32_t pair;
    };

    double score(const Pair &pair) const;
    bool less(const Candidate &a, const Candidate &b) const;
    void push(int32_t pair);
    void look_at_all(int64_t min_count);
    int32_t find(int32_t left, int32_t right, uint64_t *hash) const;
    void increase(int32_t left, int32_t right, int32_t place);
    void decrease(int32_t left, int32_t right, int64_t count);
    bool learn(int32_t pair);
    void apply(int32_t pair);

    int32_t &at(std::vector<int32_t> &v, int32_t i) const { return v[static_cast<size_t>(i)]; }

    const Criterion criterion_;
    const Call &call_;
    BpeTable table_;
    Vocabulary vocabulary_;
    std::vector<int64_t> piece_counts_;  // by id
    double total_ = 0;                   // of piece_counts_, at the last look at all pairs
    std::vector<int64_t> counts_;        // by word
    std::vector<int32_t> symbols_;       // by position, as the next three
    std::vector<int32_t> next_;          // -1 at the end of a word
    std::vector<int32_t> previous_;      // -1 at its beginning
    std::vector<int32_t> word_;
    std::vector<Pair> pairs_;
    HashIndex index_;
    std::vector<int32_t> grown_;  // pairs whose count rose since they were last put on the heap
    std::vector<Candidate> heap_;
};

Trainer::Trainer(const WordCounts &words, const BpeTrainOptions &options, Criterion criterion, const Call &call)
    : criterion_(criterion), call_(call) {
    table_.characters =
        choose_characters(words, options.character_coverage, options.vocab_size - Vocabulary::kFirstPieceId);
    add_characters(table_.characters, &vocabulary_);
    for (const WordCounts::Word &word : words.words()) {
        call.check();
        const size_t begin = symbols_.size();
        append_characters(vocabulary_, words.bytes(word), &symbols_);
        XF_CHECK(symbols_.size() < static_cast<size_t>(std::numeric_limits<int32_t>::max()), XF_ERROR_LIMIT,
                 "the distinct words of the training text have more than %d characters",
                 std::numeric_limits<int32_t>::max());
        for (size_t i = begin; i < symbols_.size(); ++i) {
            previous_.push_back(i > begin ? static_cast<int32_t>(i - 1) : -1);
            next_.push_back(i + 1 < symbols_.size() ? static_cast<int32_t>(i + 1) : -1);
            word_.push_back(static_cast<int32_t>(counts_.size()));
        }
        piece_counts_.resize(static_cast<size_t>(vocabulary_.size()));
        for (size_t i = begin; i < symbols_.size(); ++i) piece_counts_[static_cast<size_t>(symbols_[i])] += word.count;
        counts_.push_back(word.count);
    }
}

double Trainer::score(const Pair &pair) const {
    const auto m = static_cast<double>(pair.count);
    if (criterion_ == Criterion::kCount) return m;
    const auto left = static_cast<double>(piece_counts_[static_cast<size_t>(pair.left)]);
    const auto right = static_cast<double>(piece_counts_[static_cast<size_t>(pair.right)]);
    const double after = pair.left == pair.right ? x_log_x(left - 2 * m) : x_log_x(left - m) + x_log_x(right - m);
    const double before = pair.left == pair.right ? x_log_x(left) : x_log_x(left) + x_log_x(right);
    return after + x_log_x(m) - x_log_x(total_ - m) - before + x_log_x(total_);
}

// The order of the heap: the pair of higher score is greater, then the one with smaller bytes.
bool Trainer::less(const Candidate &a, const Candidate &b) const {
    if (a.score != b.score) return a.score < b.score;
    const Pair &p = pairs_[static_cast<size_t>(a.pair)];
    const Pair &q = pairs_[static_cast<size_t>(b.pair)];
    const int order = vocabulary_.bytes(p.left).compare(vocabulary_.bytes(q.left));
    return order != 0 ? order > 0 : vocabulary_.bytes(p.right).compare(vocabulary_.bytes(q.right)) > 0;
}

void Trainer::push(int32_t pair) {
    heap_.push_back({score(pairs_[static_cast<size_t>(pair)]), pair});
    std::push_heap(heap_.begin(), heap_.end(), [&](const auto &a, const auto &b) { return less(a, b); });
}

void Trainer::look_at_all(int64_t min_count) {
    total_ = 0;
    for (const int64_t count : piece_counts_) total_ += static_cast<double>(count);
    heap_.clear();
    for (size_t i = 0; i < pairs_.size(); ++i)
        if (pairs_[i].count >= min_count) heap_.push_back({score(pairs_[i]), static_cast<int32_t>(i)});
    std::make_heap(heap_.begin(), heap_.end(), [&](const auto &a, const auto &b) { return less(a, b); });
    for (const int32_t i : grown_) pairs_[static_cast<size_t>(i)].grown = false;
    grown_.clear();
}

int32_t Trainer::find(int32_t left, int32_t right, uint64_t *hash) const {
    *hash = mix_hash((static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right));
    return index_.find(*hash, [&](int32_t i) {
        const Pair &pair = pairs_[static_cast<size_t>(i)];
        return pair.left == left && pair.right == right;
    });
}

void Trainer::increase(int32_t left, int32_t right, int32_t place) {
    if (Vocabulary::is_fallback(left) || Vocabulary::is_fallback(right)) return;
    if (vocabulary_.bytes(left).size() + vocabulary_.bytes(right).size() > kMaxTrainedPieceBytes) return;
    uint64_t hash = 0;
    int32_t i = find(left, right, &hash);
    if (i < 0) {
        i = static_cast<int32_t>(pairs_.size());
        pairs_.push_back({left, right, 0, -1, false, {}});
        index_.insert(hash, i);
    }
    Pair &pair = pairs_[static_cast<size_t>(i)];
    pair.count += counts_[static_cast<size_t>(at(word_, place))];
    pair.places.push_back(place);
    if (!pair.grown) grown_.push_back(i);
    pair.grown = true;
}

void Trainer::decrease(int32_t left, int32_t right, int64_t count) {
    uint64_t hash = 0;
    const int32_t i = find(left, right, &hash);
    if (i >= 0) pairs_[static_cast<size_t>(i)].count -= count;
}

// Gives the pair its merged piece; false when the vocabulary has no room for it.
bool Trainer::learn(int32_t i) {
    Pair &pair = pairs_[static_cast<size_t>(i)];
    if (pair.result >= 0) return true;  // learnt before, and made again by a later merge with the same bytes
    std::string bytes(vocabulary_.bytes(pair.left));
    bytes += vocabulary_.bytes(pair.right);
    const int32_t known = vocabulary_.find(bytes);
    if ((known < 0 && !vocabulary_.has_room(bytes.size())) || table_.merges.size() == BpeTable::kMaxMerges)
        return false;
    pair.result = known >= 0 ? known : vocabulary_.add(bytes);
    piece_counts_.resize(static_cast<size_t>(vocabulary_.size()));
    table_.merges.push_back({pair.left, pair.right});
    return true;
}

void Trainer::apply(int32_t i) {
    const int32_t left = pairs_[static_cast<size_t>(i)].left;
    const int32_t right = pairs_[static_cast<size_t>(i)].right;
    const int32_t result = pairs_[static_cast<size_t>(i)].result;
    std::vector<int32_t> places = std::move(pairs_[static_cast<size_t>(i)].places);
    pairs_[static_cast<size_t>(i)].places = {};
    std::sort(places.begin(), places.end());  // leftmost first, as in encoding: "aaa" is "aa" "a"
    for (const int32_t place : places) {
        call_.check();
        const int32_t second = at(next_, place);
        if (at(symbols_, place) != left || second < 0 || at(symbols_, second) != right) continue;
        const int64_t count = counts_[static_cast<size_t>(at(word_, place))];
        const int32_t before = at(previous_, place);
        const int32_t after = at(next_, second);
        decrease(left, right, count);
        piece_counts_[static_cast<size_t>(left)] -= count;
        piece_counts_[static_cast<size_t>(right)] -= count;
        piece_counts_[static_cast<size_t>(result)] += count;
        if (before >= 0) decrease(at(symbols_, before), left, count);
        if (after >= 0) decrease(right, at(symbols_, after), count);
        at(symbols_, place) = result;
        at(symbols_, second) = -1;
        at(next_, place) = after;
        if (after >= 0) at(previous_, after) = place;
        if (before >= 0) increase(at(symbols_, before), result, before);
        if (after >= 0) increase(result, at(symbols_, after), place);
    }
}

void Trainer::run(const BpeTrainOptions &options) {
    for (size_t i = 0; i < next_.size(); ++i) {
        call_.check();
        if (next_[i] >= 0) increase(symbols_[i], symbols_[static_cast<size_t>(next_[i])], static_cast<int32_t>(i));
    }
    int64_t next_look = criterion_ == Criterion::kLikelihood ? 0 : options.vocab_size;
    while (vocabulary_.size() < options.vocab_size) {
        call_.progress("tokenizer", vocabulary_.size(), options.vocab_size);
        if (vocabulary_.size() >= next_look) {
            look_at_all(options.min_pair_count);
            next_look = vocabulary_.size() + vocabulary_.size() / 20;
        }
        for (const int32_t i : grown_) {
            Pair &pair = pairs_[static_cast<size_t>(i)];
            pair.grown = false;
            if (pair.count >= options.min_pair_count) push(i);
        }
        grown_.clear();
        if (heap_.empty()) break;
        std::pop_heap(heap_.begin(), heap_.end(), [&](const auto &a, const auto &b) { return less(a, b); });
        const Candidate top = heap_.back();
        heap_.pop_back();
        const Pair &pair = pairs_[static_cast<size_t>(top.pair)];
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
    // Without entropy, early in a boot, addresses must do.
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof seed))
        seed = mix_hash(reinterpret_cast<uintptr_t>(&seed) ^ static_cast<uint64_t>(getpid()));
    return seed;
}

WordCounts::WordCounts() : seed_(random_hash_seed()) {}

void WordCounts::add(std::string_view word) {
    const uint64_t hash = hash_bytes(word, seed_);
    const int32_t known = index_.find(hash, [&](int32_t i) { return bytes(words_[static_cast<size_t>(i)]) == word; });
    if (known >= 0) {
        ++words_[static_cast<size_t>(known)].count;
        return;
    }
    XF_CHECK(words_.size() < static_cast<size_t>(std::numeric_limits<int32_t>::max()), XF_ERROR_LIMIT,
             "the training text has more than %d distinct words", std::numeric_limits<int32_t>::max());
    index_.insert(hash, static_cast<int32_t>(words_.size()));
    words_.push_back({bytes_.size(), static_cast<uint32_t>(word.size()), 1});
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
            total += static_cast<double>(word.count);
        }
    }
    std::vector<uint32_t> characters;
    for (uint32_t c = 0x80; c < counts.size(); ++c)
        if (counts[c] > 0) characters.push_back(c);
    std::stable_sort(characters.begin(), characters.end(),
                     [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
    double covered = 0;
    size_t kept = 0;
    while (kept < characters.size() && static_cast<int64_t>(kept) < room && covered < coverage * total)
        covered += static_cast<double>(counts[characters[kept++]]);
    characters.resize(kept);
    return characters;
}

BpeTable train_bpe(WordCounts words, const BpeTrainOptions &options, const Call &call) {
    Trainer trainer(words, options, Criterion::kCount, call);
    words = WordCounts();
    trainer.run(options);
    return trainer.take_table();
}

WordPieceTable train_wordpiece(WordCounts words, const BpeTrainOptions &options, const Call &call) {
    Trainer trainer(words, options, Criterion::kLikelihood, call);
    words = WordCounts();
    trainer.run(options);
    std::vector<uint32_t> characters = trainer.take_table().characters;
    const auto first = Vocabulary::kFirstPieceId + static_cast<int32_t>(characters.size());
    return {std::move(characters), trainer.vocabulary().from(first)};
}

}  // namespace xf
