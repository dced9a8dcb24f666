/*
 * xformer/data.hpp - data.h for C++: sentence pairs and batches.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_DATA_HPP
#define XFORMER_DATA_HPP

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "xformer/base.hpp"
#include "xformer/config.hpp"
#include "xformer/context.hpp"
#include "xformer/data.h"
#include "xformer/range.hpp"
#include "xformer/text.hpp"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief The text of a sentence pair, owned by its corpus. */
struct Pair {
    std::string_view source; /**< UTF-8 */
    std::string_view target; /**< UTF-8 */
};

/** @cond INTERNAL */
namespace detail {
struct PairAt {
    const xf_corpus *corpus = nullptr;
    Pair operator()(std::size_t index) const {
        const char *source = nullptr, *target = nullptr;
        std::size_t source_length = 0, target_length = 0;
        call(xf_corpus_get_pair, corpus, static_cast<std::int64_t>(index), &source, &source_length, &target,
             &target_length);
        return {{source, source_length}, {target, target_length}};
    }
};
}  // namespace detail
/** @endcond */

/** @brief Sentence pairs, as text or as ids; immutable. A range of Pair. */
class Corpus : public Owner<View<xf_corpus>, xf_corpus, xf_corpus_free> {
public:
    using Owner::Owner;
    /** @brief Opens a file of lines "source TAB target".
     *  @param context [in] the context
     *  @param path [in] file name
     *  @param config [in] options "data."
     *  @return the corpus */
    static Corpus open(const Context &context, CString path, ConfigView config = {}) {
        return detail::make<Corpus>(xf_corpus_open, context.get(), config.get(), path.c_str());
    }
    /** @brief Opens two files of as many lines.
     *  @param context [in] the context
     *  @param source [in] file name
     *  @param target [in] file name
     *  @param config [in] options "data."
     *  @return the corpus */
    static Corpus open_parallel(const Context &context, CString source, CString target, ConfigView config = {}) {
        return detail::make<Corpus>(xf_corpus_open_parallel, context.get(), config.get(), source.c_str(),
                                    target.c_str());
    }
    /** @brief Reads lines "source TAB target" in memory.
     *  @param context [in] the context
     *  @param text [in] copied
     *  @param config [in] options "data."
     *  @param name [in] what messages call it
     *  @return the corpus */
    static Corpus from_text(const Context &context, std::string_view text, ConfigView config = {},
                            CString name = "text") {
        return detail::make<Corpus>(xf_corpus_from_memory, context.get(), config.get(), name.c_str(), text.data(),
                                    text.size());
    }
    /** @brief Makes a corpus of pairs of texts.
     *  @param context [in] the context
     *  @param pairs [in] a range of std::pair and the like; copied
     *  @param config [in] options "data."
     *  @return the corpus */
    template <class Pairs>
    static Corpus from_pairs(const Context &context, const Pairs &pairs, ConfigView config = {}) {
        std::vector<const char *> sources, targets;
        std::vector<std::size_t> source_lengths, target_lengths;
        const auto add = [](std::string_view text, std::vector<const char *> &texts,
                            std::vector<std::size_t> &lengths) {
            texts.push_back(text.data() != nullptr ? text.data() : "");
            lengths.push_back(text.size());
        };
        for (const auto &[source, target] : pairs) {
            add(source, sources, source_lengths);
            add(target, targets, target_lengths);
        }
        return detail::make<Corpus>(xf_corpus_from_pairs, context.get(), config.get(), sources.data(),
                                    source_lengths.data(), targets.data(), target_lengths.data(), sources.size());
    }
    /** @brief Makes a corpus of ids. @param context [in] the context @param pairs [in] with targets; copied
     *  @return the corpus, without text */
    static Corpus from_ids(const Context &context, const xf_batch &pairs) {
        return detail::make<Corpus>(xf_corpus_from_ids, context.get(), &pairs);
    }
    /** @brief Takes some pairs. @param indices [in] their numbers, in the order wanted @return a corpus of them */
    Corpus subset(span<const std::int64_t> indices) const {
        return detail::make<Corpus>(xf_corpus_subset, get(), indices.data(), indices.size());
    }
    /** @brief Holds pairs out at random. @param held_out [in] how many @param seed [in] which
     *  @return the rest, and what is held out */
    std::pair<Corpus, Corpus> split(std::size_t held_out, std::int64_t seed = 1) const {
        xf_corpus *rest = nullptr, *out = nullptr;
        detail::call(xf_corpus_split, get(), static_cast<std::int64_t>(held_out), seed, &rest, &out);
        return {Corpus(rest), Corpus(out)};
    }

    /** @brief Counts. @return pairs */
    std::size_t size() const noexcept { return static_cast<std::size_t>(xf_corpus_pair_count(get())); }
    auto begin() const { return pairs().begin(); } /**< @brief The first pair. @return its place */
    auto end() const { return pairs().end(); }     /**< @brief Behind the last pair. @return that place */
    /** @brief One pair. @param index [in] below size(), else an Error @return its text */
    Pair operator[](std::size_t index) const { return pairs()[index]; }
    /** @brief Tells what became of the lines. @return kept, and skipped for which reason */
    xf_corpus_stats stats() const {
        return detail::fill(xf_corpus_stats XF_CORPUS_STATS_INIT, xf_corpus_get_stats, get());
    }

private:
    Range<detail::PairAt> pairs() const { return {size(), {get()}}; }
};

/** @brief Packed sentences in somebody else's arrays: an xf_batch, whose members are there to be used. */
class Batch : public xf_batch {
public:
    /** @brief Makes an empty one, for Batcher::next(). */
    Batch() noexcept : xf_batch(XF_BATCH_INIT) {}
    /** @brief Takes a batch of the C API. @param batch [in] its arrays outlive this */
    explicit Batch(const xf_batch &batch) noexcept : xf_batch(batch) {}
    /** @brief Counts. @return sentences */
    std::size_t size() const noexcept { return static_cast<std::size_t>(sentences); }
    /** @brief A source. @param index [in] below size(), else an Error @return its ids, with the end symbol */
    span<const std::int32_t> source(std::size_t index) const { return side(src_ids, src_offsets, index); }
    /** @brief A target. @param index [in] below size(), else an Error @return its ids, with the end symbol; empty in a
     *  batch without targets */
    span<const std::int32_t> target(std::size_t index) const { return side(tgt_ids, tgt_offsets, index); }

private:
    span<const std::int32_t> side(const std::int32_t *ids, const std::int32_t *offsets, std::size_t index) const {
        if (index >= size())
            throw Error(XF_ERROR_OUT_OF_RANGE,
                        "sentence " + std::to_string(index) + ", expected less than " + std::to_string(size()));
        if (offsets == nullptr) return {};
        return {ids + offsets[index], static_cast<std::size_t>(offsets[index + 1] - offsets[index])};
    }
};
static_assert(sizeof(Batch) == sizeof(xf_batch), "for the C API a span of Batch is an array of xf_batch");

/** @brief Packs your own sentences into a batch. */
class BatchBuffer {
public:
    /** @brief Makes an empty one. @param end_token [in] what is added behind each sentence; see
     *  TokenizerView::end_token() */
    explicit BatchBuffer(std::int32_t end_token = XF_TOKEN_END) noexcept : end_(end_token) {}
    /** @brief Adds a sentence, for decoding. @param source [in] ids without the end symbol, which is added */
    void add(span<const std::int32_t> source) {
        src_.append(source, end_);
        ++src_.count;
    }
    /** @brief Adds a pair, for training and scoring. @param source [in] ids without the end symbol, which is added
     *  @param target [in] likewise */
    void add(span<const std::int32_t> source, span<const std::int32_t> target) {
        src_.append(source, end_);
        tgt_.append(target, end_);
        ++src_.count;
        ++tgt_.count;
    }
    /** @brief Takes all sentences out and keeps the memory. */
    void clear() noexcept { src_.count = tgt_.count = 0; }
    /** @brief The batch; an Error when some sentences have a target and others have none. @return of arrays of this
     *  object, valid until it is changed */
    Batch batch() const {
        if (tgt_.count != 0 && tgt_.count != src_.count)
            throw Error(XF_ERROR_INVALID_ARGUMENT, std::to_string(src_.count) + " sources and " +
                                                       std::to_string(tgt_.count) + " targets, expected as many");
        Batch batch;
        batch.sentences = static_cast<std::int64_t>(src_.count);
        batch.src_ids = src_.ids.data();
        batch.src_offsets = src_.offsets.data();
        if (tgt_.count != 0) {
            batch.tgt_ids = tgt_.ids.data();
            batch.tgt_offsets = tgt_.offsets.data();
        }
        return batch;
    }

private:
    struct Side {
        std::vector<std::int32_t> ids, offsets;  // behind the first count sentences is what the next append() drops
        std::size_t count = 0;

        void append(span<const std::int32_t> sentence, std::int32_t end) {
            offsets.resize(count + 1);
            ids.resize(static_cast<std::size_t>(offsets.back()));
            if (sentence.size() >= std::numeric_limits<std::int32_t>::max() - ids.size())
                throw Error(XF_ERROR_LIMIT, std::to_string(sentence.size()) + " ids after " +
                                                std::to_string(ids.size()) + ", expected less than 2^31 together");
            ids.insert(ids.end(), sentence.begin(), sentence.end());
            ids.push_back(end);
            offsets.push_back(static_cast<std::int32_t>(ids.size()));
        }
    };
    Side src_, tgt_;
    std::int32_t end_;
};

/** @brief Makes batches from a corpus. As a range it is the rest of its epoch; the next loop is the next epoch.
 *
 *     for (const xformer::Batch &batch : batcher) losses.push_back(decoder.evaluate(batch).loss);
 */
class Batcher : public Owner<View<xf_batcher>, xf_batcher, xf_batcher_free> {
public:
    using Owner::Owner;
    /** @brief Encodes a corpus. @param corpus [in] not needed afterwards @param tokenizer [in] not needed afterwards;
     * none for a corpus of ids @param config [in] options "data." */
    Batcher(const Corpus &corpus, TokenizerView tokenizer, ConfigView config = {})
        : Batcher(detail::make<Batcher>(xf_batcher_create, corpus.get(), tokenizer.get(), config.get())) {}

    /** @brief Gives the next batch. @param batch [out] its arrays are valid until the next call @return false at the
     *  end of an epoch; the next call begins the next */
    [[nodiscard]] bool next(Batch &batch) { return detail::call(xf_batcher_next, get(), &batch) == XF_OK; }

    /** @brief Takes batches until an epoch ends. */
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag; /**< once through */
        using value_type = Batch;                          /**< a batch */
        using difference_type = std::ptrdiff_t;            /**< not used */
        using pointer = const Batch *;                     /**< valid until the iterator goes on */
        using reference = const Batch &;                   /**< valid until the iterator goes on */
        iterator() = default;
        /** @brief Takes the next batch. @param from [in,out] the batcher */
        explicit iterator(Batcher &from) : from_(&from) { ++*this; }
        reference operator*() const noexcept { return batch_; } /**< @brief Reads. @return the batch */
        pointer operator->() const noexcept { return &batch_; } /**< @brief Reads. @return the batch */
        /** @brief Takes the next batch. @return this */
        iterator &operator++() {
            if (!from_->next(batch_)) from_ = nullptr;
            return *this;
        }
        void operator++(int) { ++*this; } /**< @brief Takes the next batch. */
        /** @brief Compares. @param other [in] end() @return true when the epoch has ended */
        bool operator==(const iterator &other) const noexcept { return from_ == other.from_; }
        /** @brief Compares. @param other [in] end() @return false when the epoch has ended */
        bool operator!=(const iterator &other) const noexcept { return from_ != other.from_; }

    private:
        Batcher *from_ = nullptr;
        Batch batch_;
    };
    iterator begin() { return iterator(*this); } /**< @brief Takes the next batch. @return it */
    iterator end() { return {}; }                /**< @brief The end of the epoch. @return no batch */

    /** @brief Tells where it stands. @return the place of the next batch, and what an epoch has */
    xf_batcher_stats stats() const {
        return detail::fill(xf_batcher_stats XF_BATCHER_STATS_INIT, xf_batcher_get_stats, get());
    }
    /** @brief Moves to a place. @param epoch [in] from 0 @param batch [in] from 0 */
    void seek(std::int64_t epoch, std::int64_t batch = 0) { detail::call(xf_batcher_seek, get(), epoch, batch); }
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_DATA_HPP */
