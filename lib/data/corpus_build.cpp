// Checking lines and keeping pairs; see corpus.h. What is made of them is in corpus.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "core/error.h"
#include "core/utf8.h"
#include "data/folder.h"
#include "data/line_reader.h"

namespace xf {
namespace {

constexpr int64_t kMaxBytesPerSide = int64_t{1} << 28;
constexpr int64_t kMaxSentences = 10;
// A size hint is a claim (a sparse file of 1 TB costs nothing to make), so no more is reserved on its word.
constexpr uint64_t kMaxReserve = uint64_t{1} << 28;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

bool all_blank(std::string_view text) { return std::all_of(text.begin(), text.end(), is_blank); }

// The end of a long path says more than its beginning, and an error message has room for 247 bytes.
std::string shown_path(std::string_view path) {
    constexpr size_t kMost = 120;
    if (path.size() <= kMost) return std::string(path);
    size_t from = path.size() - kMost;
    while (from < path.size() && (static_cast<unsigned char>(path[from]) & 0xC0) == 0x80) ++from;
    return "..." + std::string(path.substr(from));
}

}  // namespace

class CorpusBuilder {
public:
    CorpusBuilder(const CorpusOptions &options, const Corpus::Warn &warn, const Call &call)
        : options_(options), warn_(warn), call_(call), store_(std::make_shared<Corpus::Store>(options.heap)) {
        XF_CHECK(options.max_bytes_per_side >= 1 && options.max_bytes_per_side <= kMaxBytesPerSide,
                 XF_ERROR_OUT_OF_RANGE, "max_bytes_per_side is %" PRId64 ", expected 1 to %" PRId64,
                 options.max_bytes_per_side, kMaxBytesPerSide);
    }

    void read_tsv(const std::string &name, std::unique_ptr<ByteSource> source) {
        read_lines(name, std::move(source));
        end(name);
    }

    // path: a file, or a folder of files.
    void read_tsv(const std::string &path) {
        for (const std::string &file : files_of(path)) read_lines(file, open_file_source(file));
        end(path);
    }

    // Two files, or two folders of as many, each of which belongs to the other's of its number.
    void read_parallel(const std::string &source_path, const std::string &target_path) {
        const std::vector<std::string> sources = files_of(source_path), targets = files_of(target_path);
        XF_CHECK(sources.size() == targets.size(), XF_ERROR_DATA,
                 "files in '%s': %zu, in '%s': %zu, expected as many in both", shown_path(source_path).c_str(),
                 sources.size(), shown_path(target_path).c_str(), targets.size());
        for (size_t i = 0; i < sources.size(); ++i) read_pair(sources[i], targets[i]);
        end(source_path);
    }

    // A pair stands for a line of a file: what is wrong with it is counted likewise.
    void read_pairs(const Corpus::Side &sources, const Corpus::Side &targets, size_t count) {
        const std::string shown = "pairs";
        const auto line_of = [&](const Corpus::Side &side, size_t i) {
            XF_CHECK(side.texts[i] != nullptr, XF_ERROR_INVALID_ARGUMENT, "text %zu is NULL", i);
            const size_t length = side.lengths != nullptr ? side.lengths[i] : std::strlen(side.texts[i]);
            return LineReader::Line{{side.texts[i], length}, false};
        };
        uint64_t bytes = 0;
        for (size_t i = 0; i < count; ++i) bytes += line_of(sources, i).text.size() + line_of(targets, i).text.size();
        reserve(bytes);
        for (size_t i = 0; i < count; ++i) {
            const Place place = {shown, static_cast<int64_t>(i) + 1};
            poll(place.line);
            take_pair(place, line_of(sources, i), place, line_of(targets, i));
        }
        end(shown);
    }

    std::shared_ptr<const Corpus> finish() {
        std::shared_ptr<Corpus> corpus(new Corpus(std::move(store_)));
        corpus->stats_ = stats_;
        return corpus;
    }

private:
    struct Place {
        const std::string &file;
        int64_t line;
    };

    void read_lines(const std::string &name, std::unique_ptr<ByteSource> source) {
        LineReader reader(std::move(source), line_bound(2), call_);
        reserve(reader.size_hint());
        const std::string shown = shown_path(name);
        for (LineReader::Line line; reader.next(&line);) {
            poll(reader.lines());
            take_tsv({shown, reader.lines()}, line);
        }
    }

    void read_pair(const std::string &source_path, const std::string &target_path) {
        LineReader src(open_file_source(source_path), line_bound(1), call_);
        LineReader tgt(open_file_source(target_path), line_bound(1), call_);
        reserve(src.size_hint() + tgt.size_hint());
        const std::string src_shown = shown_path(source_path), tgt_shown = shown_path(target_path);
        for (;;) {
            LineReader::Line src_line, tgt_line;
            const bool src_more = src.next(&src_line), tgt_more = tgt.next(&tgt_line);
            if (!src_more && !tgt_more) break;
            if (src_more != tgt_more) fail_unequal(&src, src_shown, &tgt, tgt_shown);
            poll(src.lines());
            take_pair({src_shown, src.lines()}, src_line, {tgt_shown, tgt.lines()}, tgt_line);
        }
    }

    void end(const std::string &name) {
        const std::string shown = shown_path(name);
        summarise(shown);
        check_not_empty(shown);
    }

    size_t line_bound(int sides) const { return static_cast<size_t>(options_.max_bytes_per_side) * sides + 1; }

    void reserve(uint64_t bytes) {
        // More files follow one: what is there grows by doubling, however small each is.
        const size_t wanted = store_->bytes.size() + static_cast<size_t>(std::min(bytes, kMaxReserve));
        if (wanted > store_->bytes.capacity()) store_->bytes.reserve(std::max(wanted, 2 * store_->bytes.size()));
    }

    void take_tsv(const Place &place, const LineReader::Line &line) {
        ++stats_.lines;
        if (!good(place, line)) return;
        const std::string_view text = line.text;
        const size_t tab = text.find('\t');
        if (tab == std::string_view::npos) return skip(place, &CorpusStats::no_tab, "no tab between source and target");
        const std::string_view src = text.substr(0, tab), tgt = text.substr(tab + 1);
        if (tgt.find('\t') != std::string_view::npos) {
            const auto columns = static_cast<int64_t>(std::count(tgt.begin(), tgt.end(), '\t')) + 2;
            return skip(place, &CorpusStats::many_tabs,
                        format("%" PRId64 " columns, expected 2: source, tab, target", columns));
        }
        if (good_side(place, "source", src) && good_side(place, "target", tgt)) keep(src, tgt);
    }

    void take_pair(const Place &src_place, const LineReader::Line &src, const Place &tgt_place,
                   const LineReader::Line &tgt) {
        ++stats_.lines;
        if (good(src_place, src) && good(tgt_place, tgt) && good_side(src_place, "source", src.text) &&
            good_side(tgt_place, "target", tgt.text))
            keep(src.text, tgt.text);
    }

    // Beside the poll of each block: many lines of a block that are warned about or counted take longer than a line
    // does.
    void poll(int64_t line) const {
        if (line % 1024 == 1) call_.check();
    }

    // What can be said of a line before it is split.
    bool good(const Place &place, const LineReader::Line &line) {
        const std::string_view text = line.text;
        if (line.cut) {
            skip(place, &CorpusStats::too_long,
                 format("the line is longer than %" PRId64 " bytes a side", options_.max_bytes_per_side));
            return false;
        }
        const size_t nul = text.find('\0');
        if (nul != std::string_view::npos) {
            skip(place, &CorpusStats::nul_byte, format("a NUL byte at byte %zu of the line", nul + 1));
            return false;
        }
        const size_t invalid = find_invalid_utf8(text);
        if (invalid != std::string_view::npos) {
            skip(place, &CorpusStats::invalid_utf8, format("not valid UTF-8 at byte %zu of the line", invalid + 1));
            return false;
        }
        return true;
    }

    bool good_side(const Place &place, const char *side, std::string_view text) {
        if (all_blank(text)) {
            skip(place, &CorpusStats::empty_side, format("the %s is empty", side));
            return false;
        }
        const auto bytes = static_cast<int64_t>(text.size());
        if (bytes > options_.max_bytes_per_side) {
            skip(place, &CorpusStats::too_long,
                 format("the %s has %" PRId64 " bytes, at most %" PRId64 " are taken", side, bytes,
                        options_.max_bytes_per_side));
            return false;
        }
        return true;
    }

    void keep(std::string_view src, std::string_view tgt) {
        for (const std::string_view side : {src, tgt}) {
            store_->bytes.insert(store_->bytes.end(), side.begin(), side.end());
            store_->offsets.push_back(store_->bytes.size());
        }
        ++stats_.kept;
    }

    void skip(const Place &place, int64_t CorpusStats::*reason, const std::string &what) {
        ++(stats_.*reason);
        if (!options_.strict && (!warn_ || warned_ == kMaxSentences)) return;
        const std::string sentence = format("%s:%" PRId64 ": %s", place.file.c_str(), place.line, what.c_str());
        XF_CHECK(!options_.strict, XF_ERROR_DATA, "%s", sentence.c_str());
        ++warned_;
        warn_(sentence);
    }

    // What was skipped, and why: "50 without a tab, 2 too long".
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

    void summarise(const std::string &shown) {
        if (!warn_ || stats_.skipped() == 0) return;
        warn_(format("%s: skipped %" PRId64 " of %" PRId64 " lines: %s", shown.c_str(), stats_.skipped(), stats_.lines,
                     skipped().c_str()));
    }

    void check_not_empty(const std::string &shown) const {
        const std::string why = stats_.skipped() > 0 ? ": " + skipped() : "";
        XF_CHECK(stats_.kept > 0, XF_ERROR_DATA, "%s: not one good pair of sentences in %" PRId64 " lines%s",
                 shown.c_str(), stats_.lines, why.c_str());
    }

    [[noreturn]] static void fail_unequal(LineReader *src, const std::string &src_shown, LineReader *tgt,
                                          const std::string &tgt_shown) {
        LineReader::Line line;
        while (src->next(&line)) continue;
        while (tgt->next(&line)) continue;
        fail(XF_ERROR_DATA, "lines in '%s': %" PRId64 ", in '%s': %" PRId64 ", expected as many in both",
             src_shown.c_str(), src->lines(), tgt_shown.c_str(), tgt->lines());
    }

    const CorpusOptions options_;
    const Corpus::Warn &warn_;
    const Call &call_;
    std::shared_ptr<Corpus::Store> store_;
    CorpusStats stats_;
    int64_t warned_ = 0;
};

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

std::shared_ptr<const Corpus> Corpus::from_memory(std::string_view name, std::string_view tsv,
                                                  const CorpusOptions &options, const Warn &warn, const Call &call) {
    CorpusBuilder builder(options, warn, call);
    builder.read_tsv(std::string(name), memory_source(tsv));
    return builder.finish();
}

std::shared_ptr<const Corpus> Corpus::from_pairs(const Side &sources, const Side &targets, size_t count,
                                                 const CorpusOptions &options, const Warn &warn, const Call &call) {
    CorpusBuilder builder(options, warn, call);
    builder.read_pairs(sources, targets, count);
    return builder.finish();
}

}  // namespace xf
