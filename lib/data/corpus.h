// Pairs of sentences, read once into memory.
//
// A corpus is either one file of "source TAB target" lines or two files with the same number of lines. What is not
// such a pair is never taken silently: it is an error that names the file and the line, or it is counted under one
// reason and reported. Text is kept in one buffer with offsets, 16 bytes a pair above the text itself.
// The trap: text is kept as it came (only line ends and a byte order mark are gone); normalising is lib/text's work.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/call.h"

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
    int64_t max_words = 0;                          // of one side, between blanks; 0 is no limit
    bool strict = false;                            // the first bad line is an error; else it is skipped and counted
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

    int64_t size() const { return stats_.kept; }
    std::string_view source(int64_t i) const { return side(2 * i); }
    std::string_view target(int64_t i) const { return side(2 * i + 1); }
    const CorpusStats &stats() const { return stats_; }

private:
    friend class CorpusBuilder;
    Corpus() = default;
    std::string_view side(int64_t k) const;

    std::string text_;                     // source, target, source, target, ...
    std::vector<uint64_t> offsets_ = {0};  // 2 size() + 1 of them
    CorpusStats stats_;
};

}  // namespace xf
