// Reading a corpus of text: checks lines and stores pairs. See corpus.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/os/file.h"
#include "core/utf8.h"
#include "data/corpus_folder.h"
#include "data/decompression.h"
#include "data/line_reader.h"
#include "data/shuffle.h"

namespace xf {
namespace {

constexpr int64_t kMaxWarnings = 10;
// Size hints are not trusted beyond this limit: a sparse file can claim any size.
constexpr uint64_t kMaxReserve = uint64_t{1} << 28;
// A part of a corpus ends after so many bytes of text.
constexpr size_t kPartBytes = size_t{1} << 26;
// Makes the choice of a sample independent of other uses of the seed.
constexpr uint64_t kSampleStream = 0x73616D706C652121u;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

bool all_blank(std::string_view text) { return std::all_of(text.begin(), text.end(), is_blank); }

// Shortens a long path to its end, which says more than its beginning, because an error message has only 247 bytes.
std::string shorten_path(std::string_view path) {
    constexpr size_t kMaxBytes = 120;
    if (path.size() <= kMaxBytes) return std::string(path);
    size_t from = path.size() - kMaxBytes;
    while (from < path.size() && (path[from] & 0xC0) == 0x80) ++from;
    return "..." + std::string(path.substr(from));
}

std::unique_ptr<ByteSource> open_text(const std::string &path) {
    return decompress(open_file_source(path), shorten_path(path));
}

// Returns the files of a folder, sorted by the bytes of their names, which gives the same order on every machine; for
// another path, the path. Spark and Hadoop write data sets as folders of part-00000, part-00001, and so on, next to
// _SUCCESS and .part-00000.crc, so names that begin with "_" or "." are ignored.
std::vector<std::string> list_files(const std::string &path) {
    FileStatus status;
    if (path.find('\0') != std::string::npos) return {path};  // rejected by open_text()
    if (stat_file(path.c_str(), &status) != 0) fail_errno(errno, "open", path);
    if (status.kind != FileKind::kFolder) return {path};
    std::vector<std::string> names, files;
    if (list_folder(kCurrentFolder, path.c_str(), "", &names) != 0) fail_errno(errno, "open", path);
    for (const std::string &name : names)
        if (name[0] != '.' && name[0] != '_') files.push_back(path + (path.back() == '/' ? "" : "/") + name);
    XF_CHECK(!files.empty(), XF_ERROR_DATA, "the folder '%s' has no files", path.c_str());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

class CorpusBuilder {
public:
    CorpusBuilder(const CorpusOptions &options, const Corpus::Warn &warn, const Call &call)
        : options_(options),
          warn_(warn),
          call_(call),
          store_(std::make_shared<Corpus::Store>(options.heap)),
          sample_order_(options.seed ^ kSampleStream, 0, uint64_t{1} << 62),
          keys_(HeapAllocator<uint64_t>(options.heap)) {}

    // Passes on the pairs in parts instead of keeping them.
    Corpus::InParts read_in_parts(const TextFiles &files, const Corpus::TakePart &take) {
        take_ = &take;
        for (const std::string *path : {&files.source, &files.target})
            if (!path->empty())
                for (const std::string &file : list_files(*path)) {
                    FileStatus status;
                    if (stat_file(file.c_str(), &status) == 0) total_bytes_ += std::max<int64_t>(0, status.size);
                }
        if (files.target.empty())
            read_tsv(files.source);
        else
            read_parallel(files.source, files.target);
        if (store_->offsets.size() > 1) pass_on();
        call_.progress("encode", read_bytes_, read_bytes_);
        return {stats_, std::move(files_)};
    }

    // Reads a file or all files of a folder.
    void read_tsv(const std::string &path) {
        for (const std::string &file : list_files(path)) read_lines(file);
        end(path);
    }

    // Reads two files, or two folders with the same number of files, which are matched in the order of their names.
    void read_parallel(const std::string &source_path, const std::string &target_path) {
        const std::vector<std::string> sources = list_files(source_path), targets = list_files(target_path);
        XF_CHECK(sources.size() == targets.size(), XF_ERROR_DATA,
                 "'%s' has %zu files and '%s' has %zu, expected the same number", shorten_path(source_path).c_str(),
                 sources.size(), shorten_path(target_path).c_str(), targets.size());
        for (size_t i = 0; i < sources.size(); ++i) read_pair(sources[i], targets[i]);
        end(source_path);
    }

    // Errors are counted and reported as for lines of a file.
    void read_pairs(const Corpus::Side &sources, const Corpus::Side &targets, size_t count) {
        const std::string name = "pairs";
        const auto line_of = [&](const Corpus::Side &side, size_t i) {
            XF_CHECK(side.texts[i] != nullptr, XF_ERROR_INVALID_ARGUMENT, "text %zu is NULL", i);
            const size_t length = side.lengths != nullptr ? side.lengths[i] : std::strlen(side.texts[i]);
            return LineReader::Line{{side.texts[i], length}, false};
        };
        uint64_t bytes = 0;
        for (size_t i = 0; i < count; ++i) bytes += line_of(sources, i).text.size() + line_of(targets, i).text.size();
        reserve(bytes);
        for (size_t i = 0; i < count; ++i) {
            const Location location = {name, int64_t(i) + 1};
            poll(location.line);
            take_pair(location, line_of(sources, i), location, line_of(targets, i));
        }
        end(name);
    }

    std::shared_ptr<const Corpus> finish() {
        if (options_.sample > 0) drop_surplus();
        store_->files = std::move(files_);
        std::shared_ptr<Corpus> corpus(new Corpus(std::move(store_)));
        corpus->stats_ = stats_;
        return corpus;
    }

private:
    struct Location {
        const std::string &file;
        int64_t line;
    };

    void begin_file(const std::string &path) {
        files_.push_back({path.substr(name_offset(path)), take_ != nullptr ? stats_.kept : stored_pairs()});
    }

    void read_lines(const std::string &path) {
        begin_file(path);
        LineReader reader(open_text(path), line_bound(2), call_);
        reserve(reader.size_hint());
        const std::string file = shorten_path(path);
        const int64_t before = read_bytes_;
        for (LineReader::Line line; reader.next(&line);) {
            read_bytes_ = before + reader.position();
            poll(reader.lines());
            take_tsv({file, reader.lines()}, line);
        }
    }

    void read_pair(const std::string &source_path, const std::string &target_path) {
        begin_file(source_path);
        LineReader src(open_text(source_path), line_bound(1), call_);
        LineReader tgt(open_text(target_path), line_bound(1), call_);
        reserve(src.size_hint() + tgt.size_hint());
        const std::string src_file = shorten_path(source_path), tgt_file = shorten_path(target_path);
        const int64_t before = read_bytes_;
        for (;;) {
            LineReader::Line src_line, tgt_line;
            const bool src_more = src.next(&src_line), tgt_more = tgt.next(&tgt_line);
            if (!src_more && !tgt_more) break;
            if (src_more != tgt_more) fail_unequal(&src, src_file, &tgt, tgt_file);
            read_bytes_ = before + src.position() + tgt.position();
            poll(src.lines());
            take_pair({src_file, src.lines()}, src_line, {tgt_file, tgt.lines()}, tgt_line);
        }
    }

    void end(const std::string &name) {
        const std::string file = shorten_path(name);
        summarize(file);
        check_not_empty(file);
    }

    size_t line_bound(int sides) const { return options_.max_bytes_per_side * sides + 1; }

    void reserve(uint64_t bytes) {
        if (take_ != nullptr || options_.sample > 0) return;  // only a part of the text is kept
        // At least doubles the capacity, so that many small files do not cause many reallocations.
        const size_t wanted = store_->bytes.size() + std::min(bytes, kMaxReserve);
        if (wanted > store_->bytes.capacity()) store_->bytes.reserve(std::max(wanted, 2 * store_->bytes.size()));
    }

    void take_tsv(const Location &location, const LineReader::Line &line) {
        ++stats_.lines;
        if (!good(location, line)) return;
        const std::string_view text = line.text;
        const size_t tab = text.find('\t');
        if (tab == std::string_view::npos)
            return skip(location, &CorpusStats::no_tab, "no tab between source and target");
        const std::string_view src = text.substr(0, tab), tgt = text.substr(tab + 1);
        if (tgt.find('\t') != std::string_view::npos) {
            const int64_t columns = std::count(tgt.begin(), tgt.end(), '\t') + 2;
            return skip(location, &CorpusStats::many_tabs,
                        format("%" PRId64 " columns, expected 2: source, tab, target", columns));
        }
        if (good_side(location, "source", src) && good_side(location, "target", tgt)) keep(src, tgt);
    }

    void take_pair(const Location &src_location, const LineReader::Line &src, const Location &tgt_location,
                   const LineReader::Line &tgt) {
        ++stats_.lines;
        if (good(src_location, src) && good(tgt_location, tgt) && good_side(src_location, "source", src.text) &&
            good_side(tgt_location, "target", tgt.text))
            keep(src.text, tgt.text);
    }

    // Checks for cancellation more often than once per block, because a block can contain many lines.
    void poll(int64_t line) const {
        if (line % 1024 == 1) call_.check();
    }

    // Checks a line before it is split into columns.
    bool good(const Location &location, const LineReader::Line &line) {
        const std::string_view text = line.text;
        if (line.too_long) {
            skip(location, &CorpusStats::too_long,
                 format("the line has more than %" PRId64 " bytes per side (data.max_bytes)",
                        options_.max_bytes_per_side));
            return false;
        }
        const size_t nul = text.find('\0');
        if (nul != std::string_view::npos) {
            skip(location, &CorpusStats::nul_byte, format("a NUL byte at byte %zu of the line", nul + 1));
            return false;
        }
        const size_t invalid = find_invalid_utf8(text);
        if (invalid != std::string_view::npos) {
            skip(location, &CorpusStats::invalid_utf8, format("not valid UTF-8 at byte %zu of the line", invalid + 1));
            return false;
        }
        return true;
    }

    bool good_side(const Location &location, const char *side, std::string_view text) {
        if (all_blank(text)) {
            skip(location, &CorpusStats::empty_side, format("the %s is empty", side));
            return false;
        }
        if (std::ssize(text) > options_.max_bytes_per_side) {
            skip(location, &CorpusStats::too_long,
                 format("the %s has %zu bytes; the maximum is %" PRId64 " (data.max_bytes)", side, text.size(),
                        options_.max_bytes_per_side));
            return false;
        }
        return true;
    }

    void keep(std::string_view src, std::string_view tgt) {
        if (options_.sample > 0 && take_ == nullptr && !in_sample()) return;
        for (const std::string_view side : {src, tgt}) {
            store_->bytes.insert(store_->bytes.end(), side.begin(), side.end());
            store_->offsets.push_back(store_->bytes.size());
        }
        ++stats_.kept;
        if (take_ == nullptr) return;
        if (stored_pairs() == options_.part_pairs || store_->bytes.size() >= kPartBytes) pass_on();
    }

    int64_t stored_pairs() const { return (std::ssize(store_->offsets) - 1) / 2; }

    // Passes on the stored pairs and removes them.
    void pass_on() {
        auto next = std::make_shared<Corpus::Store>(options_.heap);
        next->bytes.reserve(store_->bytes.size());
        next->offsets.reserve(store_->offsets.size());
        std::swap(store_, next);
        (*take_)(Corpus(std::move(next)));
        call_.progress("encode", read_bytes_, std::max(read_bytes_, total_bytes_));
    }

    // The sample consists of the pairs with the smallest keys, so it does not depend on how often others are dropped.
    bool in_sample() {
        const uint64_t key = sample_order_(stats_.kept);
        if (key > largest_key_) {
            ++stats_.kept;
            return false;
        }
        if (std::ssize(keys_) >= 2 * options_.sample) drop_surplus();
        keys_.push_back(key);
        return true;
    }

    void drop_surplus() {
        if (std::ssize(keys_) <= options_.sample) return;
        std::vector<uint64_t> sorted(keys_.begin(), keys_.end());
        const auto last = sorted.begin() + options_.sample - 1;
        std::nth_element(sorted.begin(), last, sorted.end());
        largest_key_ = *last;
        auto &bytes = store_->bytes;
        auto &offsets = store_->offsets;
        size_t kept = 0, end = 0;
        auto file = files_.begin();
        const auto begin_files = [&](size_t pair) {
            for (; file != files_.end() && size_t(file->first) <= pair; ++file) file->first = kept;
        };
        for (size_t i = 0; i < keys_.size(); ++i) {
            begin_files(i);
            if (keys_[i] > largest_key_) continue;
            keys_[kept] = keys_[i];
            const uint64_t begin = offsets[2 * i], middle = offsets[2 * i + 1], stop = offsets[2 * i + 2];
            std::memmove(bytes.data() + end, bytes.data() + begin, stop - begin);
            offsets[2 * kept + 1] = end + (middle - begin);
            end += stop - begin;
            offsets[2 * ++kept] = end;
        }
        begin_files(keys_.size());
        keys_.resize(kept);
        offsets.resize(2 * kept + 1);
        bytes.resize(end);
    }

    void skip(const Location &location, int64_t CorpusStats::*reason, const std::string &what) {
        ++(stats_.*reason);
        if (!options_.strict && (!warn_ || warned_ == kMaxWarnings)) return;
        const std::string message = format("%s:%" PRId64 ": %s", location.file.c_str(), location.line, what.c_str());
        XF_CHECK(!options_.strict, XF_ERROR_DATA, "%s", message.c_str());
        ++warned_;
        warn_(message);
    }

    // Returns the skipped lines by reason: "50 without a tab, 2 too long".
    std::string skipped() const {
        const CorpusStats &s = stats_;
        std::string text;
        const char *separator = "";
        const auto add = [&](int64_t count, const char *what) {
            if (count == 0) return;
            text += format("%s%" PRId64 " %s", separator, count, what);
            separator = ", ";
        };
        add(s.no_tab, "without a tab");
        add(s.many_tabs, "with more than two columns");
        add(s.empty_side, "with an empty side");
        add(s.too_long, "too long");
        add(s.invalid_utf8, "not valid UTF-8");
        add(s.nul_byte, "with a NUL byte");
        return text;
    }

    void summarize(const std::string &file) {
        if (!warn_ || stats_.skipped() == 0) return;
        warn_(format("%s: skipped %" PRId64 " of %" PRId64 " lines: %s", file.c_str(), stats_.skipped(), stats_.lines,
                     skipped().c_str()));
    }

    void check_not_empty(const std::string &file) const {
        const std::string why = stats_.skipped() > 0 ? ": " + skipped() : "";
        XF_CHECK(stats_.kept > 0, XF_ERROR_DATA, "%s: no valid sentence pair in %" PRId64 " lines%s", file.c_str(),
                 stats_.lines, why.c_str());
    }

    [[noreturn]] static void fail_unequal(LineReader *src, const std::string &src_file, LineReader *tgt,
                                          const std::string &tgt_file) {
        LineReader::Line line;
        while (src->next(&line)) continue;
        while (tgt->next(&line)) continue;
        fail(XF_ERROR_DATA, "'%s' has %" PRId64 " lines and '%s' has %" PRId64 ", expected the same number",
             src_file.c_str(), src->lines(), tgt_file.c_str(), tgt->lines());
    }

    const CorpusOptions options_;
    const Corpus::Warn &warn_;
    const Call &call_;
    std::shared_ptr<Corpus::Store> store_;
    CorpusStats stats_;
    int64_t warned_ = 0;
    std::vector<CorpusFile> files_;
    const Corpus::TakePart *take_ = nullptr;
    int64_t read_bytes_ = 0, total_bytes_ = 0;
    const Permutation sample_order_;
    HeapVector<uint64_t> keys_;  // of the stored pairs, with data.sample
    uint64_t largest_key_ = std::numeric_limits<uint64_t>::max();
};

Corpus::InParts Corpus::read_in_parts(const TextFiles &files, const CorpusOptions &options, const Warn &warn,
                                      const Call &call, const TakePart &take) {
    return CorpusBuilder(options, warn, call).read_in_parts(files, take);
}

std::shared_ptr<const Corpus> Corpus::open_tsv(const std::string &path, const CorpusOptions &options, const Warn &warn,
                                               const Call &call) {
    CorpusBuilder builder(options, warn, call);
    builder.read_tsv(path);
    return builder.finish();
}

std::shared_ptr<const Corpus> Corpus::open_pair(const std::string &source_path, const std::string &target_path,
                                                const CorpusOptions &options, const Warn &warn, const Call &call) {
    CorpusBuilder builder(options, warn, call);
    builder.read_parallel(source_path, target_path);
    return builder.finish();
}

std::shared_ptr<const Corpus> Corpus::from_pairs(const Side &sources, const Side &targets, size_t count,
                                                 const CorpusOptions &options, const Warn &warn, const Call &call) {
    CorpusBuilder builder(options, warn, call);
    builder.read_pairs(sources, targets, count);
    return builder.finish();
}

}  // namespace xf
