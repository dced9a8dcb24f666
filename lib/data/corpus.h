// Pairs of sentences, read once into memory: as text, or as ids of a host's own tokenizer.
//
// A corpus of text is one file of "source TAB target" lines, two files with the same number of lines, or pairs that a
// host has in memory. What is not such a pair is never taken silently: it is an error that names the file and the line,
// or it is counted under one reason and reported. All is kept in one buffer with offsets, 16 bytes a pair above the
// text itself, on the account of the context; parts of a corpus share the buffer.
// The trap: text is kept as it came (only line ends and a byte order mark are gone); normalising is lib/text's work.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/call.h"
#include "core/heap_vector.h"
#include "core/options.h"
#include "xformer/data.h"

namespace xf {

// What became of the lines. A line with several faults counts under one of them: lines == kept + skipped().
struct CorpusStats {
    int64_t lines = 0;
    int64_t kept = 0;
    int64_t no_tab = 0;
    int64_t many_tabs = 0;  // three or more columns
    int64_t empty_side = 0;
    int64_t too_long = 0;
    int64_t invalid_utf8 = 0;
    int64_t nul_byte = 0;

    int64_t skipped() const { return no_tab + many_tabs + empty_side + too_long + invalid_utf8 + nul_byte; }
};

struct CorpusOptions {
    int64_t max_bytes_per_side = int64_t{1} << 16;  // 1 .. 2^28
    bool strict = false;                            // the first bad line is an error; else it is skipped and counted
    std::shared_ptr<Heap> heap;                     // the account; may be null

    static CorpusOptions from(const Options &options);
};

// Immutable once made, so any number of threads may read it.
class Corpus {
public:
    // Gets at most ten sentences about skipped lines and one summary; may be empty.
    using Warn = std::function<void(const std::string &)>;

    // The call is asked at each MiB and each 1024 lines, and while a pipe has nothing.
    // Not one good pair is an error: there is nothing to train on, and the file is likely of another kind.
    static std::shared_ptr<const Corpus> open_tsv(const std::string &path, const CorpusOptions &options,
                                                  const Warn &warn = {}, const Call &call = {});
    // Different numbers of lines are an error whatever the options say: every pair after the gap would be wrong.
    static std::shared_ptr<const Corpus> open_pair(const std::string &source_path, const std::string &target_path,
                                                   const CorpusOptions &options, const Warn &warn = {},
                                                   const Call &call = {});
    // As open_tsv, of bytes in memory, which are copied; `name` stands for the path in sentences.
    static std::shared_ptr<const Corpus> from_memory(std::string_view name, std::string_view tsv,
                                                     const CorpusOptions &options, const Warn &warn = {},
                                                     const Call &call = {});
    // Pairs that are split already: tabs and line ends are text. lengths may be null: then the texts end with a NUL.
    struct Side {
        const char *const *texts;
        const size_t *lengths;
    };
    static std::shared_ptr<const Corpus> from_pairs(const Side &sources, const Side &targets, size_t count,
                                                    const CorpusOptions &options, const Warn &warn = {},
                                                    const Call &call = {});
    // Of ids, each sentence with its end symbol. XF_ERROR_INVALID_ARGUMENT for offsets that do not rise and sentences
    // without a token or end symbol, XF_ERROR_OUT_OF_RANGE for a negative id, XF_ERROR_DATA when there is no pair.
    static std::shared_ptr<const Corpus> from_ids(const xf_batch &pairs, const std::shared_ptr<Heap> &heap);

    // Some pairs, in the order given. XF_ERROR_OUT_OF_RANGE for an index.
    std::shared_ptr<const Corpus> subset(const int64_t *indices, size_t count) const;
    // Holds out so many pairs, chosen by the seed; both parts keep the order.
    struct Parts {
        std::shared_ptr<const Corpus> rest, held_out;
    };
    Parts split(int64_t held_out_count, uint64_t seed) const;

    int64_t size() const { return stats_.kept; }
    bool has_text() const { return store_->is_text; }
    std::string_view source(int64_t i) const { return text(2 * stored(i)); }
    std::string_view target(int64_t i) const { return text(2 * stored(i) + 1); }
    // Of a corpus of ids, the end symbols with them.
    std::span<const int32_t> source_ids(int64_t i) const { return ids(2 * stored(i)); }
    std::span<const int32_t> target_ids(int64_t i) const { return ids(2 * stored(i) + 1); }
    const CorpusStats &stats() const { return stats_; }

    // XF_ERROR_OUT_OF_RANGE unless 0 <= i < size().
    void check_index(int64_t i) const;
    // XF_ERROR_STATE for a corpus of ids.
    void check_text() const;

private:
    friend class CorpusBuilder;
    struct Store {
        explicit Store(const std::shared_ptr<Heap> &heap);
        HeapVector<char> bytes;        // source, target, source, target, ...; text or int32
        HeapVector<uint64_t> offsets;  // twice the pairs, and one
        bool is_text = true;
    };

    explicit Corpus(std::shared_ptr<const Store> store);
    std::shared_ptr<const Corpus> part(HeapVector<int64_t> pairs) const;
    int64_t stored(int64_t i) const { return all_ ? i : pairs_[static_cast<size_t>(i)]; }
    std::string_view text(int64_t side) const;
    std::span<const int32_t> ids(int64_t side) const;

    std::shared_ptr<const Store> store_;
    bool all_ = true;            // or those of pairs_
    HeapVector<int64_t> pairs_;  // places in the store
    CorpusStats stats_;
};

}  // namespace xf
