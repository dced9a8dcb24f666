// SPDX-License-Identifier: Apache-2.0
#include "html_tokens.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>

#include "html_entities.h"

namespace serve {
namespace {

constexpr size_t kNone = std::string_view::npos;

class Tokenizer {
public:
    explicit Tokenizer(std::string_view source) : source_(source), last_end_(source.rfind('>')) {}

    std::vector<Token> run() {
        size_t text = 0;  // the beginning of the text that precedes at_
        while ((at_ = source_.find('<', at_)) != kNone) {
            const size_t begin = at_;
            TokenKind kind;
            const size_t end = markup_end(begin, &kind);
            if (end == kNone) {
                ++at_;
                continue;
            }
            add(text, begin, TokenKind::kText);
            add(begin, end, kind);
            at_ = text = end;
            if (kind == TokenKind::kOpen) at_ = text = raw_end(source_.substr(begin, end - begin), end);
        }
        add(text, source_.size(), TokenKind::kText);
        return std::move(tokens_);
    }

private:
    void add(size_t begin, size_t end, TokenKind kind) {
        if (begin < end) tokens_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end), kind});
    }

    char byte(size_t at) const { return at < source_.size() ? source_[at] : '\0'; }

    size_t after(std::string_view end, size_t from) const {
        const size_t found = source_.find(end, from);
        return found == kNone ? source_.size() : found + end.size();
    }

    // The end of the tag or comment at `begin`; kNone if it is text.
    size_t markup_end(size_t begin, TokenKind *kind) {
        *kind = TokenKind::kPoint;
        const char next = byte(begin + 1);
        if (source_.compare(begin, 4, "<!--") == 0) {
            if (source_.compare(begin + 4, 1, ">") == 0) return begin + 5;
            return after("-->", source_.compare(begin + 4, 2, "->") == 0 ? begin + 3 : begin + 4);
        }
        if (source_.compare(begin, 9, "<![CDATA[") == 0) return after("]]>", begin + 9);
        if (last_end_ == kNone || begin > last_end_) return kNone;
        const bool closes = next == '/';
        if (!is_ascii_letter(byte(begin + 1 + closes)))
            return closes || next == '!' || next == '?' ? after(">", begin) : kNone;
        const size_t end = tag_end(begin + 1 + closes);
        if (end == kNone) return source_.size();
        const std::string_view tag = source_.substr(begin, end - begin);
        if (closes)
            *kind = TokenKind::kClose;
        else if (!closes_itself(tag) && (element_flags(name_of(tag)) & kVoid) == 0)
            *kind = TokenKind::kOpen;
        return end;
    }

    // The last slash of <a href=x/> belongs to the value.
    static bool closes_itself(std::string_view tag) {
        if (tag[tag.size() - 2] != '/') return false;
        const char before = tag[tag.size() - 3];
        return is_space(before) || before == '"' || before == '\'' || tag.find('=') == kNone;
    }

    // kNone: not closed. Quotes after '=' may contain '>'. If a quote is not closed, the tag extends to the end of the
    // document, as in browsers.
    size_t tag_end(size_t at) const {
        bool value = false;  // only white space since '='
        for (; source_[at] != '>'; ++at) {
            const char c = source_[at];
            if (value && (c == '"' || c == '\'')) at = source_.find(c, at + 1);
            if (at >= source_.size() - 1) return kNone;
            value = c == '=' || (value && is_space(c));
        }
        return at + 1;
    }

    // After a start tag: adds the content of an element without tags, and returns its end.
    size_t raw_end(std::string_view tag, size_t begin) {
        const std::string_view name = name_of(tag);
        const unsigned flags = element_flags(name);
        const bool opaque = (flags & kOpaque) != 0;
        if ((flags & kRaw) == 0 || (!opaque && title_is_open_)) return begin;
        size_t end = begin;
        for (;; ++end) {
            end = source_.find("</", end);
            if (end == kNone) break;
            const char next = byte(end + 2 + name.size());
            if (next != '>' && next != '/' && !is_space(next)) continue;
            if (std::equal(name.begin(), name.end(), source_.begin() + static_cast<ptrdiff_t>(end) + 2,
                           [](char a, char b) { return lower(a) == lower(b); }))
                break;
        }
        if (end == kNone && !opaque) {
            title_is_open_ = true;
            return begin;
        }
        end = std::min(end, source_.size());
        add(begin, end, opaque ? TokenKind::kPoint : TokenKind::kText);
        return end;
    }

    std::string_view source_;
    size_t last_end_;
    size_t at_ = 0;
    bool title_is_open_ = false;
    std::vector<Token> tokens_;
};

}  // namespace

std::string_view name_of(std::string_view tag) {
    const size_t begin = tag.size() > 1 && tag[1] == '/' ? 2 : 1;
    size_t end = begin;
    while (end < tag.size() && !is_space(tag[end]) && tag[end] != '/' && tag[end] != '>' && tag[end] != '.') ++end;
    return tag.substr(begin, end - begin);
}

bool equals_ignoring_case(std::string_view text, std::string_view lower_case) {
    return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                      [](char a, char b) { return lower(a) == b; });
}

Attributes::Attributes(std::string_view tag)
    : tag_(tag.substr(0, tag.size() - 1)),
      at_(static_cast<size_t>(name_of(tag).data() - tag.data()) + name_of(tag).size()) {}

bool Attributes::next(Attribute *attribute) {
    const auto skip = [&](auto &&condition) {
        const size_t begin = at_;
        while (at_ < tag_.size() && condition(tag_[at_])) ++at_;
        return tag_.substr(begin, at_ - begin);
    };
    skip([](char c) { return is_space(c) || c == '/' || c == '='; });
    if (at_ >= tag_.size()) return false;
    *attribute = {skip([](char c) { return !is_space(c) && c != '/' && c != '='; }), {}, 0};
    const size_t end = at_;
    skip(is_space);
    if (at_ >= tag_.size() || tag_[at_] != '=') {
        at_ = end;
        return true;
    }
    ++at_;
    skip(is_space);
    const char quote = at_ < tag_.size() ? tag_[at_] : '\0';
    if (quote != '"' && quote != '\'') {
        attribute->value = skip([](char c) { return !is_space(c); });
        return true;
    }
    ++at_;
    attribute->value = skip([&](char c) { return c != quote; });
    if (at_ < tag_.size()) {
        attribute->quote = quote;
        ++at_;
    }
    return true;
}

std::vector<uint32_t> match_tags(std::string_view source, std::span<const Token> tokens) {
    std::vector<uint32_t> partners(tokens.size(), kNoPartner);
    std::unordered_map<std::string, std::vector<uint32_t>> open;
    std::string name;
    for (uint32_t i = 0; i < tokens.size(); ++i) {
        const Token &token = tokens[i];
        if (token.kind != TokenKind::kOpen && token.kind != TokenKind::kClose) continue;
        name = name_of(source.substr(token.begin, token.end - token.begin));
        std::transform(name.begin(), name.end(), name.begin(), lower);
        std::vector<uint32_t> &same = open[name];
        if (token.kind == TokenKind::kOpen) {
            same.push_back(i);
        } else if (!same.empty()) {
            partners[i] = same.back();
            partners[same.back()] = i;
            same.pop_back();
        }
    }
    return partners;
}

std::vector<Token> tokenize_html(std::string_view source) { return Tokenizer(source).run(); }

}  // namespace serve
