// Accessors, corpora of ids, and parts of a corpus; see corpus.h. Reading text is in corpus_build.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.h"

#include <algorithm>
#include <cinttypes>

#include "core/error.h"
#include "core/sha256.h"
#include "data/corpus_folder.h"
#include "data/shuffle.h"

namespace xf {
namespace {

// Makes the choice of held-out pairs independent of the shuffle order.
constexpr uint64_t kSplitStream = 0x73706C6974706172u;

void check_side(const char *side, int64_t sentences, const int32_t *ids, const int64_t *offsets) {
    XF_CHECK(ids != nullptr && offsets != nullptr, XF_ERROR_INVALID_ARGUMENT, "the %s ids or offsets are NULL", side);
    XF_CHECK(offsets[0] == 0, XF_ERROR_INVALID_ARGUMENT, "the first %s offset is %" PRId64 ", expected 0", side,
             offsets[0]);
    for (int64_t i = 0; i < sentences; ++i) {
        const int64_t length = std::max<int64_t>(offsets[i + 1], -1) - offsets[i];  // cannot overflow
        XF_CHECK(length >= 2, XF_ERROR_INVALID_ARGUMENT,
                 "%s sentence %" PRId64 " has %" PRId64 " ids, expected at least a token and the end token", side, i,
                 length);
    }
    for (int64_t i = 0; i < offsets[sentences]; ++i)
        XF_CHECK(ids[i] >= 0, XF_ERROR_OUT_OF_RANGE, "%s id %d at %" PRId64 ", expected 0 or more", side, ids[i], i);
}

// All sentences must have the same end token, which may be followed by a language token. It is either the last or the
// next-to-last id of the first sentence.
void check_ends(const xf_batch &pairs) {
    const auto check = [&](const char *side, const int32_t *ids, const int64_t *offsets, int32_t end, bool *valid) {
        for (int64_t i = 0; i < pairs.sentences; ++i) {
            const int32_t *const last = ids + offsets[i + 1] - 1;
            if (*last == end || (last - ids - offsets[i] > 1 && last[-1] == end)) continue;
            XF_CHECK(valid != nullptr, XF_ERROR_INVALID_ARGUMENT,
                     "%s sentence %" PRId64 " ends with id %d, expected the end token of the first sentence, %d", side,
                     i, *last, end);
            *valid = false;
        }
    };
    const auto check_both = [&](int32_t end, bool *valid) {
        check("source", pairs.src_ids, pairs.src_offsets, end, valid);
        check("target", pairs.tgt_ids, pairs.tgt_offsets, end, valid);
    };
    const int32_t *const last = pairs.src_ids + pairs.src_offsets[1] - 1;
    bool has_language = pairs.src_offsets[1] > 2;
    if (has_language) check_both(last[-1], &has_language);
    if (!has_language) check_both(*last, nullptr);
}

}  // namespace

CorpusOptions CorpusOptions::from(const Options &options) {
    CorpusOptions c;
    c.max_bytes_per_side = options.i64("data.max_bytes");
    c.strict = options.boolean("data.strict");
    c.sample = options.i64("data.sample");
    c.seed = options.i64("data.seed");
    c.part_pairs = options.i64("data.part_pairs");
    return c;
}

Corpus::Store::Store(const std::shared_ptr<Heap> &heap)
    : bytes(HeapAllocator<char>(heap)), offsets(1, 0, HeapAllocator<uint64_t>(heap)) {}

Corpus::Corpus(std::shared_ptr<const Store> store)
    : store_(std::move(store)), size_((std::ssize(store_->offsets) - 1) / 2) {}

std::string_view Corpus::text(int64_t side) const {
    const size_t begin = store_->offsets[side], end = store_->offsets[side + 1];
    return {store_->bytes.data() + begin, end - begin};
}

std::span<const int32_t> Corpus::ids(int64_t side) const {
    const std::string_view bytes = text(side);
    return {reinterpret_cast<const int32_t *>(bytes.data()), bytes.size() / sizeof(int32_t)};
}

void Corpus::check_index(int64_t i) const {
    XF_CHECK(i >= 0 && i < size(), XF_ERROR_OUT_OF_RANGE, "pair index %" PRId64 ", expected 0 to %" PRId64, i,
             size() - 1);
}

std::string Corpus::text_sha256() const {
    Sha256 hash;
    hash.update(store_->offsets.data(), store_->offsets.size() * sizeof(uint64_t));
    hash.update(store_->bytes.data(), store_->bytes.size());
    return hash.hex();
}

const std::vector<CorpusFile> &Corpus::files() const { return folder_ != nullptr ? folder_->files() : store_->files; }

std::function<size_t(int64_t)> Corpus::file_of_pairs() const {
    if (all_) return [files = files()](int64_t pair) { return file_of(files, pair); };
    // Not this corpus, whose text the caller may free.
    std::vector<uint32_t> file(size());
    for (int64_t i = 0; i < size(); ++i) file[i] = file_of(files(), stored(i));
    return [file = std::move(file)](int64_t pair) -> size_t { return file[pair]; };
}

void Corpus::check_in_memory() const {
    XF_CHECK(folder_ == nullptr, XF_ERROR_STATE, "the corpus is encoded on disk, expected one in memory");
}

void Corpus::check_text() const {
    check_in_memory();
    XF_CHECK(has_text(), XF_ERROR_STATE, "the corpus consists of token ids and has no text");
}

std::shared_ptr<const Corpus> Corpus::from_ids(const xf_batch &pairs, const std::shared_ptr<Heap> &heap) {
    XF_CHECK(pairs.sentences > 0, XF_ERROR_DATA, "the corpus contains no sentence pairs");
    check_side("source", pairs.sentences, pairs.src_ids, pairs.src_offsets);
    check_side("target", pairs.sentences, pairs.tgt_ids, pairs.tgt_offsets);
    check_ends(pairs);
    auto store = std::make_shared<Store>(heap);
    store->is_text = false;
    const size_t tokens = pairs.src_offsets[pairs.sentences] + pairs.tgt_offsets[pairs.sentences];
    store->offsets.reserve(2 * pairs.sentences + 1);
    store->bytes.reserve(tokens * sizeof(int32_t));
    const auto append = [&](const int32_t *ids, const int64_t *offsets, int64_t i) {
        const auto *begin = reinterpret_cast<const char *>(ids + offsets[i]);
        store->bytes.insert(store->bytes.end(), begin, begin + (offsets[i + 1] - offsets[i]) * sizeof(int32_t));
        store->offsets.push_back(store->bytes.size());
    };
    for (int64_t i = 0; i < pairs.sentences; ++i) {
        append(pairs.src_ids, pairs.src_offsets, i);
        append(pairs.tgt_ids, pairs.tgt_offsets, i);
    }
    std::shared_ptr<Corpus> corpus(new Corpus(std::move(store)));
    corpus->stats_.lines = corpus->stats_.kept = pairs.sentences;
    return corpus;
}

std::shared_ptr<const Corpus> Corpus::from_folder(std::shared_ptr<const CorpusFolder> folder) {
    auto store = std::make_shared<Store>(nullptr);
    store->is_text = false;
    std::shared_ptr<Corpus> corpus(new Corpus(std::move(store)));
    corpus->stats_ = folder->stats();
    corpus->size_ = corpus->stats_.kept;
    corpus->folder_ = std::move(folder);
    return corpus;
}

std::shared_ptr<const Corpus> Corpus::part(HeapVector<int64_t> pairs) const {
    std::shared_ptr<Corpus> corpus(new Corpus(store_));
    corpus->all_ = false;
    corpus->stats_.lines = corpus->stats_.kept = corpus->size_ = std::ssize(pairs);
    corpus->pairs_ = std::move(pairs);
    return corpus;
}

std::shared_ptr<const Corpus> Corpus::subset(const int64_t *indices, size_t count) const {
    check_in_memory();
    HeapVector<int64_t> pairs{HeapAllocator<int64_t>(store_->bytes.get_allocator())};
    pairs.reserve(count);
    for (size_t i = 0; i < count; ++i) {
        check_index(indices[i]);
        pairs.push_back(stored(indices[i]));
    }
    return part(std::move(pairs));
}

Corpus::Parts Corpus::split(int64_t held_out_count, uint64_t seed) const {
    check_in_memory();
    XF_CHECK(held_out_count >= 1 && held_out_count < size(), XF_ERROR_OUT_OF_RANGE,
             "%" PRId64 " of %" PRId64 " pairs are to be held out, expected 1 to %" PRId64, held_out_count, size(),
             size() - 1);
    const HeapAllocator<int64_t> account(store_->bytes.get_allocator());
    HeapVector<int64_t> rest(account), held(account);
    held.reserve(held_out_count);
    rest.reserve(size() - held_out_count);
    const Permutation order(seed ^ kSplitStream, 0, size());
    for (int64_t i = 0; i < held_out_count; ++i) held.push_back(order(i));
    std::sort(held.begin(), held.end());
    size_t next = 0;
    for (int64_t i = 0; i < size(); ++i) {
        const bool out = next < held.size() && held[next] == i;
        if (!out) rest.push_back(stored(i));
        if (out) held[next++] = stored(i);
    }
    return {part(std::move(rest)), part(std::move(held))};
}

}  // namespace xf
