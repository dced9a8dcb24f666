// Sentence pairs in memory: as text, or as token ids from a tokenizer of the caller.
//
// Text is read from one file of "source TAB target" lines, from two files with the same number of lines, or from pairs
// in memory. Invalid lines are never accepted silently: each is either an error that names the file and the line, or it
// is skipped, counted under one reason, and reported. The text is stored in one buffer with 16 bytes of offsets per
// pair, allocated from the context's heap; parts of a corpus share the buffer. Text is stored unchanged, except that
// line ends and a byte order mark are removed; lib/text normalizes it.
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
#include "core/heap.h"
#include "core/options.h"
#include "data/mix.h"
#include "xformer/data.h"

namespace xf {

// The number of lines by outcome. A line with several faults is counted under one of them: lines == kept + skipped().
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
    bool strict = false;                            // an invalid line is an error instead of being skipped
    int64_t sample = 0;                             // keep at most so many pairs, chosen at random; 0: all
    uint64_t seed = 1;                              // of the sample
    int64_t part_pairs = 1 << 17;                   // of read_in_parts()
    std::shared_ptr<Heap> heap;                     // may be null

    static CorpusOptions from(const Options &options);
};

class CorpusFolder;
struct TextFiles;

// Immutable, so any number of threads may read it.
class Corpus {
public:
    // Receives at most ten messages about skipped lines and one summary. May be empty.
    using Warn = std::function<void(const std::string &)>;

    // Reads a file, or all files of a folder. Cancellation is checked after every MiB and every 1024 lines, and while a
    // pipe has no data. XF_ERROR_DATA if no line is a valid pair.
    static std::shared_ptr<const Corpus> open_tsv(const std::string &path, const CorpusOptions &options,
                                                  const Warn &warn = {}, const Call &call = {});
    // Reads two files, or two folders. Different numbers of lines are always an error, because every pair after a
    // missing line would be wrong.
    static std::shared_ptr<const Corpus> open_pair(const std::string &source_path, const std::string &target_path,
                                                   const CorpusOptions &options, const Warn &warn = {},
                                                   const Call &call = {});
    // Copies pairs from memory. Tabs and line ends are part of the text. If lengths is null, the texts are
    // NUL-terminated.
    struct Side {
        const char *const *texts;
        const size_t *lengths;
    };
    static std::shared_ptr<const Corpus> from_pairs(const Side &sources, const Side &targets, size_t count,
                                                    const CorpusOptions &options, const Warn &warn = {},
                                                    const Call &call = {});
    // Reads files as open_tsv() or open_pair() do, but passes on the pairs in parts that end after part_pairs pairs or
    // some MiB, so that the memory does not depend on the files. Reports progress as "encode", in bytes.
    using TakePart = std::function<void(const Corpus &)>;
    struct InParts {
        CorpusStats stats;
        std::vector<CorpusFile> files;
    };
    static InParts read_in_parts(const TextFiles &files, const CorpusOptions &options, const Warn &warn,
                                 const Call &call, const TakePart &take);
    // An encoded corpus on disk. Its pairs are not in memory, so only size() and stats() apply to it.
    static std::shared_ptr<const Corpus> from_folder(std::shared_ptr<const CorpusFolder> folder);
    // Copies token ids; each sentence includes its end token. XF_ERROR_INVALID_ARGUMENT for offsets that do not
    // increase and for sentences without a token or end token, XF_ERROR_OUT_OF_RANGE for a negative id, XF_ERROR_DATA
    // if there are no pairs.
    static std::shared_ptr<const Corpus> from_ids(const xf_batch &pairs, const std::shared_ptr<Heap> &heap);

    // Returns the given pairs in the given order. XF_ERROR_OUT_OF_RANGE for an invalid index.
    std::shared_ptr<const Corpus> subset(const int64_t *indices, size_t count) const;
    // Holds out pairs that are chosen at random by the seed. Both parts keep the order of the corpus.
    struct Parts {
        std::shared_ptr<const Corpus> rest, held_out;
    };
    Parts split(int64_t held_out_count, uint64_t seed) const;

    // The number of pairs, which a sample makes smaller than stats().kept.
    int64_t size() const { return size_; }
    bool has_text() const { return store_->is_text; }
    // Null unless the corpus is an encoded one on disk.
    const std::shared_ptr<const CorpusFolder> &folder() const { return folder_; }
    // Identifies all texts of a corpus that is not a part of another one.
    std::string text_sha256() const;
    std::string_view source(int64_t i) const { return text(2 * stored(i)); }
    std::string_view target(int64_t i) const { return text(2 * stored(i) + 1); }
    // For a corpus of ids. The end tokens are included.
    std::span<const int32_t> source_ids(int64_t i) const { return ids(2 * stored(i)); }
    std::span<const int32_t> target_ids(int64_t i) const { return ids(2 * stored(i) + 1); }
    // The files of which this is the corpus or a part, in the order of their pairs; empty unless it is from files.
    const std::vector<CorpusFile> &files() const;
    // The index in files() of each pair's file; there must be files.
    std::function<size_t(int64_t pair)> file_of_pairs() const;
    const CorpusStats &stats() const { return stats_; }

    // Throws XF_ERROR_OUT_OF_RANGE unless 0 <= i < size().
    void check_index(int64_t i) const;
    // Throws XF_ERROR_STATE for a corpus of ids.
    void check_text() const;
    // Throws XF_ERROR_STATE for an encoded corpus on disk.
    void check_in_memory() const;

private:
    friend class CorpusBuilder;
    struct Store {
        explicit Store(const std::shared_ptr<Heap> &heap);
        HeapVector<char> bytes;        // source, target, source, target, ...: text or int32 ids
        HeapVector<uint64_t> offsets;  // [2 * pairs + 1]
        bool is_text = true;
        std::vector<CorpusFile> files;
    };

    explicit Corpus(std::shared_ptr<const Store> store);
    std::shared_ptr<const Corpus> part(HeapVector<int64_t> pairs) const;
    int64_t stored(int64_t i) const { return all_ ? i : pairs_[i]; }
    std::string_view text(int64_t side) const;
    std::span<const int32_t> ids(int64_t side) const;

    std::shared_ptr<const Store> store_;
    std::shared_ptr<const CorpusFolder> folder_;
    int64_t size_ = 0;
    bool all_ = true;            // contains the whole store; otherwise the pairs in pairs_
    HeapVector<int64_t> pairs_;  // indices of pairs in the store
    CorpusStats stats_;
};

}  // namespace xf
