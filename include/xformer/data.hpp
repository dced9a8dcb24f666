/*
 * xformer/data.hpp - data.h for C++: sentence pairs and batches.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_DATA_HPP
#define XFORMER_DATA_HPP

#include <string>
#include <string_view>
#include <vector>

#include "xformer/base.hpp"
#include "xformer/call.hpp"
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

/** @brief Sentence pairs, as text or as ids, or encoded on disk; immutable. A range of Pair. */
class Corpus : public Owner<View<xf_corpus>, xf_corpus, xf_corpus_free> {
public:
    using Owner::Owner;
    /** @brief Opens pairs: lines "source TAB target".
     *  @param context [in] the context
     *  @param path [in] a file or a folder
     *  @param config [in] "data." options
     *  @param call [in] parameters of the call
     *  @return the corpus */
    static Corpus open(const Context &context, CString path, ConfigView config = {}, const Call &call = {}) {
        return detail::make<Corpus>(xf_corpus_open, context.get(), path.c_str(), static_cast<const char *>(nullptr),
                                    config.get(), detail::CallStruct(call).get());
    }
    /** @brief Opens parallel files: line n of one is the translation of line n of the other.
     *  @param context [in] the context
     *  @param source [in] a file or a folder
     *  @param target [in] a file or a folder
     *  @param config [in] "data." options
     *  @param call [in] parameters of the call
     *  @return the corpus */
    static Corpus open_parallel(const Context &context, CString source, CString target, ConfigView config = {},
                                const Call &call = {}) {
        return detail::make<Corpus>(xf_corpus_open, context.get(), source.c_str(), target.c_str(), config.get(),
                                    detail::CallStruct(call).get());
    }
    /** @brief Encodes pairs and writes an encoded corpus, which may be larger than memory. Continues what an earlier
     * call has begun. Open the folder with open().
     *  @param context [in] the context
     *  @param path [in] a file or a folder
     *  @param tokenizer [in] the tokenizer
     *  @param folder [in] the folder that is written
     *  @param config [in] "data." and "text." options
     *  @param call [in] parameters of the call */
    static void encode(const Context &context, CString path, TokenizerView tokenizer, CString folder,
                       ConfigView config = {}, const Call &call = {}) {
        detail::call(xf_corpus_encode, context.get(), path.c_str(), static_cast<const char *>(nullptr), tokenizer.get(),
                     config.get(), detail::CallStruct(call).get(), folder.c_str());
    }
    /** @brief Encodes parallel files as encode() does.
     *  @param context [in] the context
     *  @param source [in] a file or a folder
     *  @param target [in] a file or a folder
     *  @param tokenizer [in] the tokenizer
     *  @param folder [in] the folder that is written
     *  @param config [in] "data." and "text." options
     *  @param call [in] parameters of the call */
    static void encode_parallel(const Context &context, CString source, CString target, TokenizerView tokenizer,
                                CString folder, ConfigView config = {}, const Call &call = {}) {
        detail::call(xf_corpus_encode, context.get(), source.c_str(), target.c_str(), tokenizer.get(), config.get(),
                     detail::CallStruct(call).get(), folder.c_str());
    }
    /** @brief Creates a corpus from pairs in memory.
     *  @param context [in] the context
     *  @param pairs [in] a range of std::pair or similar; copied
     *  @param config [in] "data." options
     *  @param call [in] parameters of the call
     *  @return the corpus */
    template <class Pairs>
    static Corpus from_pairs(const Context &context, const Pairs &pairs, ConfigView config = {},
                             const Call &call = {}) {
        detail::Texts sources, targets;
        for (const auto &[source, target] : pairs) {
            sources.add(source);
            targets.add(target);
        }
        return detail::make<Corpus>(xf_corpus_from_pairs, context.get(), sources.pointers.data(),
                                    sources.lengths.data(), targets.pointers.data(), targets.lengths.data(),
                                    sources.size(), config.get(), detail::CallStruct(call).get());
    }
    /** @brief Creates a corpus of ids. @param context [in] the context @param pairs [in] with targets; copied
     *  @param call [in] parameters of the call @return the corpus, which contains no text */
    static Corpus from_ids(const Context &context, const xf_batch &pairs, const Call &call = {}) {
        return detail::make<Corpus>(xf_corpus_from_ids, context.get(), &pairs, detail::CallStruct(call).get());
    }
    /** @brief Creates a corpus from some pairs. @param indices [in] indices of the pairs, in the desired order
     *  @return the corpus */
    Corpus subset(span<const std::int64_t> indices) const {
        return detail::make<Corpus>(xf_corpus_subset, get(), indices.data(), indices.size());
    }
    /** @brief Splits the corpus at random. @param held_out [in] number of held-out pairs @param seed [in] seed of the
     *  selection
     *  @return the rest, and the held-out pairs */
    std::pair<Corpus, Corpus> split(std::size_t held_out, std::int64_t seed = 1) const {
        xf_corpus *rest = nullptr, *out = nullptr;
        detail::call(xf_corpus_split, get(), static_cast<std::int64_t>(held_out), seed, &rest, &out);
        return {Corpus(rest), Corpus(out)};
    }

    /** @brief Returns the number of pairs. @return the number */
    std::size_t size() const noexcept { return static_cast<std::size_t>(xf_corpus_pair_count(get())); }
    auto begin() const { return pairs().begin(); } /**< @brief Returns the beginning. @return an iterator */
    auto end() const { return pairs().end(); }     /**< @brief Returns the end. @return an iterator */
    /** @brief Returns a pair. @param index [in] less than size(); otherwise throws Error @return its text */
    Pair operator[](std::size_t index) const { return pairs()[index]; }
    /** @brief Reports the numbers of lines read, kept, and skipped. @return the numbers */
    xf_corpus_stats stats() const {
        return detail::fill(xf_corpus_stats XF_CORPUS_STATS_INIT, xf_corpus_get_stats, get());
    }

private:
    Range<detail::PairAt> pairs() const { return {size(), {get()}}; }
};

/** @brief Packed sentences: an xf_batch, whose arrays belong to a Batcher, a BatchBuffer, or the caller. */
class Batch : public xf_batch {
public:
    /** @brief Creates an empty batch, for Batcher::next(). */
    Batch() noexcept : xf_batch(XF_BATCH_INIT) {}
    /** @brief Copies a struct of the C API. @param batch [in] its arrays must outlive this object */
    explicit Batch(const xf_batch &batch) noexcept : xf_batch(batch) {}
    /** @brief Returns the number of sentences. @return the number */
    std::size_t size() const noexcept { return static_cast<std::size_t>(sentences); }
    /** @brief Returns a source sentence. @param index [in] less than size(); otherwise throws Error @return ids with
     * the end symbol */
    span<const std::int32_t> source(std::size_t index) const { return side(src_ids, src_offsets, index); }
    /** @brief Returns a target sentence. @param index [in] less than size(); otherwise throws Error @return ids with
     * the end symbol; empty if the batch has no targets */
    span<const std::int32_t> target(std::size_t index) const { return side(tgt_ids, tgt_offsets, index); }

private:
    span<const std::int32_t> side(const std::int32_t *ids, const std::int64_t *offsets, std::size_t index) const {
        if (index >= size())
            throw Error(XF_ERROR_OUT_OF_RANGE,
                        "sentence " + std::to_string(index) + ", expected less than " + std::to_string(size()));
        if (offsets == nullptr) return {};
        return {ids + offsets[index], static_cast<std::size_t>(offsets[index + 1] - offsets[index])};
    }
};
static_assert(sizeof(Batch) == sizeof(xf_batch), "a span of Batch is an array of xf_batch");

/** @brief Packs sentences into a batch. */
class BatchBuffer {
public:
    /** @brief Creates an empty buffer. @param end_token [in] the end symbol; 1 for tokenizers that this library
     *  trained, otherwise xf_tokenizer_info::end_token */
    explicit BatchBuffer(std::int32_t end_token = 1) noexcept : end_(end_token) {}
    /** @brief Adds a sentence, for decoding. @param source [in] ids without the end symbol */
    void add(span<const std::int32_t> source) {
        src_.append(source, end_);
        ++src_.count;
    }
    /** @brief Adds a pair, for training and scoring. @param source [in] ids without the end symbol
     *  @param target [in] ids without the end symbol */
    void add(span<const std::int32_t> source, span<const std::int32_t> target) {
        src_.append(source, end_);
        tgt_.append(target, end_);
        ++src_.count;
        ++tgt_.count;
    }
    /** @brief Removes all sentences and keeps the memory. */
    void clear() noexcept { src_.count = tgt_.count = 0; }
    /** @brief Returns the batch; throws Error if only some sentences have a target. @return valid until this object
     *  is changed */
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
        std::vector<std::int32_t> ids;
        std::vector<std::int64_t> offsets;  // append() removes everything after the first count sentences
        std::size_t count = 0;

        void append(span<const std::int32_t> sentence, std::int32_t end) {
            offsets.resize(count + 1);
            ids.resize(static_cast<std::size_t>(offsets.back()));
            ids.insert(ids.end(), sentence.begin(), sentence.end());
            ids.push_back(end);
            offsets.push_back(static_cast<std::int64_t>(ids.size()));
        }
    };
    Side src_, tgt_;
    std::int32_t end_;
};

/** @brief Produces batches from a corpus. A loop over it reads the remaining batches of the epoch; the next loop reads
 *  the next epoch.
 *
 *     for (const xformer::Batch &batch : batcher) trainer.step(batch);
 */
class Batcher : public Owner<View<xf_batcher>, xf_batcher, xf_batcher_free> {
public:
    using Owner::Owner;
    /** @brief Encodes a corpus. @param corpus [in] may be freed afterwards @param tokenizer [in] may be freed
     *  afterwards; none for a corpus of ids @param config [in] "data." and "text." options
     *  @param call [in] parameters of the call */
    Batcher(const Corpus &corpus, TokenizerView tokenizer, ConfigView config = {}, const Call &call = {})
        : Batcher(detail::make<Batcher>(xf_batcher_create, corpus.get(), tokenizer.get(), config.get(),
                                        detail::CallStruct(call).get())) {}

    /** @brief Returns the next batch. @param batch [out] its arrays are valid until the next call
     *  @param call [in] parameters of the call @return false at the end of an epoch; the next call begins the next
     *  epoch */
    [[nodiscard]] bool next(Batch &batch, const Call &call = {}) {
        return detail::call(xf_batcher_next, get(), detail::CallStruct(call).get(), static_cast<xf_batch *>(&batch)) ==
               XF_OK;
    }

    /** @brief Reads batches until the epoch ends. */
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag; /**< a single pass */
        using value_type = Batch;                          /**< a batch */
        using difference_type = std::ptrdiff_t;            /**< not used */
        using pointer = const Batch *;                     /**< valid until the iterator advances */
        using reference = const Batch &;                   /**< valid until the iterator advances */
        iterator() = default;
        /** @brief Reads the next batch. @param from [in,out] the batcher */
        explicit iterator(Batcher &from) : from_(&from) { ++*this; }
        reference operator*() const noexcept { return batch_; } /**< @brief Returns the batch. @return the batch */
        pointer operator->() const noexcept { return &batch_; } /**< @brief Returns the batch. @return the batch */
        /** @brief Reads the next batch. @return this */
        iterator &operator++() {
            if (!from_->next(batch_)) from_ = nullptr;
            return *this;
        }
        void operator++(int) { ++*this; } /**< @brief Reads the next batch. */
        /** @brief Compares with end(). @param other [in] end() @return true if the epoch has ended */
        bool operator==(const iterator &other) const noexcept { return from_ == other.from_; }
        /** @brief Compares with end(). @param other [in] end() @return false if the epoch has ended */
        bool operator!=(const iterator &other) const noexcept { return from_ != other.from_; }

    private:
        Batcher *from_ = nullptr;
        Batch batch_;
    };
    iterator begin() { return iterator(*this); } /**< @brief Reads the next batch. @return an iterator */
    iterator end() { return {}; }                /**< @brief Returns the end of the epoch. @return an iterator */

    /** @brief Reports position and contents. @return the position of the next batch, and the counts of the epoch */
    xf_batcher_stats stats() const {
        return detail::fill(xf_batcher_stats XF_BATCHER_STATS_INIT, xf_batcher_get_stats, get());
    }
    /** @brief Moves to a position. @param epoch [in] from 0 @param batch [in] from 0
     *  @param call [in] parameters of the call */
    void seek(std::int64_t epoch, std::int64_t batch = 0, const Call &call = {}) {
        detail::call(xf_batcher_seek, get(), epoch, batch, detail::CallStruct(call).get());
    }
    /** @brief Moves to the position that was saved in a checkpoint. @param trainer [in] from Trainer::resume()
     *  @param call [in] parameters of the call */
    void resume(const View<xf_trainer> &trainer, const Call &call = {}) {
        detail::call(xf_batcher_resume, get(), trainer.get(), detail::CallStruct(call).get());
    }
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_DATA_HPP */
