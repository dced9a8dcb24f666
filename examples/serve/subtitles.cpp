// parse_subtitles(): SubRip and WebVTT.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "html_entities.h"
#include "tagged_document.h"

namespace serve {
namespace {

constexpr size_t kLongestTag = 512;  // bytes; bounds the time for tags without an end

struct Line {
    size_t begin, end;  // without the line end
};

std::vector<Line> lines_of(std::string_view source) {
    std::vector<Line> lines;
    for (size_t begin = 0; begin < source.size();) {
        const size_t next = std::min(source.find('\n', begin), source.size());
        lines.push_back({begin, next > begin && source[next - 1] == '\r' ? next - 1 : next});
        begin = next + 1;
    }
    return lines;
}

class SubtitleParser {
public:
    SubtitleParser(TaggedDocument *document, bool webvtt)
        : document_(*document), source_(document->source()), lines_(lines_of(source_)), webvtt_(webvtt) {}

    // Blocks are separated by blank lines. A block with times in its first or second line is a cue.
    void run() {
        bool has_cue = false;
        for (size_t i = 0; i < lines_.size();) {
            if (is_blank(i)) {
                ++i;
                continue;
            }
            const bool is_cue = is_time(i) || is_time(i + 1);
            has_cue |= is_cue;
            size_t first = i;
            if (is_cue) first += is_time(i) ? 1 : 2;
            i = first;
            while (i < lines_.size() && !is_blank(i) && !(is_number(i) && is_time(i + 1))) ++i;
            // SubRip: a block without times is the continuation of a cue that has a blank line.
            if (is_cue || (has_cue && !webvtt_)) parse_cue(first, i);
        }
    }

private:
    std::string_view line(size_t i) const {
        if (i >= lines_.size()) return {};
        return source_.substr(lines_[i].begin, lines_[i].end - lines_[i].begin);
    }
    bool is_blank(size_t i) const { return line(i).empty(); }
    bool is_time(size_t i) const {
        const std::string_view text = line(i);
        const size_t begin = text.find_first_not_of(" \t");
        return begin != std::string_view::npos && is_digit(text[begin]) && text.find("-->") != std::string_view::npos;
    }
    bool is_number(size_t i) const { return line(i).find_first_not_of("0123456789") == std::string_view::npos; }

    void parse_cue(size_t first, size_t last) {
        for (size_t i = first; i < last; ++i)
            parse_line(lines_[i].begin, i + 1 < lines_.size() ? lines_[i + 1].begin : lines_[i].end);
        flush();
    }

    // Adds the tokens of a line with its line end. A dash at its beginning begins a paragraph.
    void parse_line(size_t begin, size_t end) {
        bool beginning = true;
        std::vector<Token> tokens;
        size_t text = begin;
        for (size_t i = begin; i < end;) {
            TokenKind kind = TokenKind::kPoint;
            size_t next = tag_end(i, end, &kind);
            if (next == i && beginning) {
                next = dash_end(i, end);
                if (next > i) flush();
                beginning = is_space(source_[i]);
            }
            if (next == i) {
                ++i;
                continue;
            }
            add(text, i, TokenKind::kText, &tokens);
            add(i, next, kind, &tokens);
            text = i = next;
        }
        add(text, end, TokenKind::kText, &tokens);
        cue_.insert(cue_.end(), tokens.begin(), tokens.end());
    }

    static void add(size_t begin, size_t end, TokenKind kind, std::vector<Token> *tokens) {
        if (begin < end) tokens->push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end), kind});
    }

    // The end of the tag at `begin`, or `begin` if there is none: <i>, </i>, <00:01.000>, or {\an8}.
    size_t tag_end(size_t begin, size_t end, TokenKind *kind) {
        const char first = source_[begin], second = begin + 1 < end ? source_[begin + 1] : '\0';
        const bool braces = first == '{' && second == '\\';
        if (!braces && (first != '<' || !(is_ascii_letter(second) || second == '/' || is_digit(second)))) return begin;
        const size_t found = source_.substr(0, std::min(end, begin + kLongestTag)).find(braces ? '}' : '>', begin);
        if (found == std::string_view::npos) return begin;
        if (!braces && second == '/') *kind = TokenKind::kClose;
        if (!braces && is_ascii_letter(second)) *kind = TokenKind::kOpen;
        return found + 1;
    }

    size_t dash_end(size_t begin, size_t end) const {
        const std::string_view text = source_.substr(begin, end - begin);
        size_t size = 0;
        for (const std::string_view dash : {"-", "\u2010", "\u2013", "\u2014"})
            if (text.substr(0, dash.size()) == dash) size = dash.size();
        if (size == 0 || (size < text.size() && is_digit(text[size]))) return begin;
        while (size < text.size() && (text[size] == ' ' || text[size] == '\t')) ++size;
        return begin + size;
    }

    void flush() {
        document_.add_paragraph(cue_, true);
        cue_.clear();
    }

    TaggedDocument &document_;
    std::string_view source_;
    std::vector<Line> lines_;
    bool webvtt_;
    std::vector<Token> cue_;
};

}  // namespace

std::unique_ptr<Document> parse_subtitles(std::string_view source) {
    const std::string_view text = source.substr(source.compare(0, 3, "\xEF\xBB\xBF") == 0 ? 3 : 0);
    const bool webvtt = text.compare(0, 6, "WEBVTT") == 0;
    const bool carriage_return = source.find("\r\n") != std::string_view::npos;
    auto document = std::make_unique<TaggedDocument>(
        source, InlineStyle{.references = webvtt, .line_end = carriage_return ? "\r\n" : "\n"});
    SubtitleParser(document.get(), webvtt).run();
    return document;
}

}  // namespace serve
