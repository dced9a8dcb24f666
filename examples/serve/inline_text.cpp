// SPDX-License-Identifier: Apache-2.0
#include "inline_text.h"

#include <algorithm>

#include "html_entities.h"

namespace serve {
namespace {

constexpr size_t kDeepest = 64;        // pairs around a word that are placed by alignment
constexpr size_t kLongestPiece = 128;  // in bytes of the source; longer ones are not words of the sentence

// Keeps the pairs that are nested within the paragraph: for crossing ones, the outer pair.
void check_pairs(std::span<const Token> tokens, std::span<uint32_t> partners) {
    std::vector<uint32_t> open;
    size_t deepest = 0;
    const auto separate = [&](uint32_t token) {
        if (partners[token] < tokens.size()) partners[partners[token]] = kNoPartner;
        partners[token] = kNoPartner;
    };
    for (uint32_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i].kind == TokenKind::kOpen) {
            open.push_back(i);
            if (partners[i] < tokens.size()) deepest = std::max(deepest, open.size());
        } else if (tokens[i].kind == TokenKind::kClose && partners[i] != kNoPartner) {
            for (; open.back() != partners[i]; open.pop_back()) separate(open.back());
            open.pop_back();
        }
    }
    for (const uint32_t token : open) separate(token);
    if (deepest > kDeepest) std::fill(partners.begin(), partners.end(), kNoPartner);
}

class Builder {
public:
    Builder(std::string_view source, std::span<const Token> tokens, const InlineStyle &style, std::string *text)
        : source_(source), tokens_(tokens), partners_(match_tags(source, tokens)), style_(style), text_(*text) {}

    std::optional<Paragraph> run() {
        check_pairs(tokens_, partners_);
        if (!find_ends()) return std::nullopt;
        Paragraph paragraph{begin_, end_, 1, 0, false, {}};
        for (uint32_t i = first_token_; i <= last_token_; ++i) {
            const Token &token = tokens_[i];
            if (token.kind == TokenKind::kText) {
                const size_t from = std::max(begin_, token.begin);
                letters_ |= add_text(source_.substr(from, std::min(end_, token.end) - from));
            } else {
                add_mark(i);
            }
        }
        if (!text_.empty() && text_.back() == ' ') {
            text_.pop_back();
            paragraph.final_space = true;
        }
        for (Mark &mark : marks_) {
            mark.text_begin = std::min(mark.text_begin, static_cast<uint32_t>(text_.size()));
            mark.text_end = std::min(mark.text_end, static_cast<uint32_t>(text_.size()));
        }
        if (!letters_) return std::nullopt;
        paragraph.marks = std::move(marks_);
        return paragraph;
    }

private:
    bool has_words(const Token &token) const {
        if (token.kind == TokenKind::kPiece) return !words_of_piece(token).empty();
        const std::string_view text = bytes(token);
        return token.kind == TokenKind::kText && !std::all_of(text.begin(), text.end(), is_space);
    }

    std::string_view bytes(const Token &token) const { return source_.substr(token.begin, token.end - token.begin); }

    // The words of an element that is not translated; empty if it contains other things than words.
    std::string_view words_of_piece(const Token &piece) const {
        const std::string_view all = bytes(piece);
        if (all.size() > kLongestPiece) return {};
        const std::vector<Token> inner = tokenize_html(all);
        if (inner.size() != 3 || inner[1].kind != TokenKind::kText) return {};
        const std::string_view words = all.substr(inner[1].begin, inner[1].end - inner[1].begin);
        return has_letter(words) && !is_space(words.front()) && !is_space(words.back()) ? words : std::string_view();
    }

    // Tags that precede or follow all words remain where they are, unless their pair ends within the words.
    bool find_ends() {
        const uint32_t count = static_cast<uint32_t>(tokens_.size());
        uint32_t first_word = 0, last_word = count;
        while (first_word < count && !has_words(tokens_[first_word])) ++first_word;
        if (first_word == count) return false;
        while (!has_words(tokens_[last_word - 1])) --last_word;
        --last_word;
        const auto inside = [&](uint32_t i) {
            return i == first_word || i == last_word ||
                   (partners_[i] != kNoPartner && partners_[i] > first_word && partners_[i] < last_word);
        };
        for (first_token_ = 0; !inside(first_token_);) ++first_token_;
        for (last_token_ = count - 1; !inside(last_token_);) --last_token_;
        begin_ = tokens_[first_token_].begin;
        end_ = tokens_[last_token_].end;
        if (tokens_[first_token_].kind == TokenKind::kText)
            while (is_space(source_[begin_])) ++begin_;
        if (tokens_[last_token_].kind == TokenKind::kText)
            while (end_ > begin_ && is_space(source_[end_ - 1])) --end_;
        return true;
    }

    // Returns whether there are letters.
    bool add_text(std::string_view part) {
        const size_t begin = text_.size();
        while (!part.empty()) {
            Decoded c{0, 0};
            if (part[0] == '&' && style_.references) c = decode_reference(part, false);
            if (is_space(part[0]) || (c.size > 0 && c.value < 0x80 && is_space(static_cast<char>(c.value)))) {
                add_space();
            } else {
                if (c.size > 0)
                    append_utf8(c.value, &text_);
                else
                    text_ += part[0];
                pending_ = marks_.size();
                has_last_ = false;
            }
            part.remove_prefix(std::max<size_t>(c.size, 1));
        }
        return has_letter(std::string_view(text_).substr(begin));
    }

    void add_space() {
        if (text_.empty() || text_.back() == ' ') {
            // Between tags, or after an image, this is not the same space.
            if (has_last_) (last_closes_ ? marks_[last_].close_space : marks_[last_].space) = true;
            return;
        }
        text_ += ' ';
        has_last_ = false;
        for (; pending_ < marks_.size(); ++pending_) marks_[pending_].after = false;
    }

    uint32_t here() const { return static_cast<uint32_t>(text_.size()); }

    void add_mark(uint32_t i) {
        const Token &token = tokens_[i];
        const bool after_space = !text_.empty() && text_.back() == ' ';
        if (token.kind == TokenKind::kClose && partners_[i] != kNoPartner) {
            Mark &mark = marks_[scope_ - 1];
            mark.close_begin = token.begin;
            mark.close_end = token.end;
            mark.text_end = here();
            mark.close_after = after_space;
            last_ = scope_ - 1;
            has_last_ = last_closes_ = true;
            scope_ = mark.scope;
            return;
        }
        Mark mark{token.begin, token.end, 0, 0, here(), here(), scope_, Mark::kPoint, true, false, false, false};
        if (token.kind == TokenKind::kClose) {
            mark.kind = Mark::kClose;
            mark.after = after_space;
        } else if (token.kind == TokenKind::kOpen) {
            mark.kind = partners_[i] == kNoPartner ? Mark::kOpen : Mark::kPair;
        } else if (token.kind == TokenKind::kPiece) {
            if (const std::string_view words = words_of_piece(token); !words.empty()) {
                mark.kind = Mark::kPiece;
                marks_.push_back(mark);
                add_text(words);
                marks_.back().text_end = here();
                return;
            }
        }
        last_ = marks_.size();
        has_last_ = true;
        last_closes_ = false;
        marks_.push_back(mark);
        if (mark.kind == Mark::kPair) scope_ = static_cast<uint32_t>(marks_.size());
    }

    std::string_view source_;
    std::span<const Token> tokens_;
    std::vector<uint32_t> partners_;
    const InlineStyle &style_;
    std::string &text_;
    std::vector<Mark> marks_;
    size_t pending_ = 0;  // marks from here on follow the last character
    size_t last_ = 0;     // the last tag since the last character, if has_last_
    bool has_last_ = false, last_closes_ = false;
    uint32_t scope_ = 0, first_token_ = 0, last_token_ = 0, begin_ = 0, end_ = 0;
    bool letters_ = false;
};

}  // namespace

std::optional<Paragraph> build_paragraph(std::string_view source, std::span<const Token> tokens,
                                         const InlineStyle &style, std::string *text) {
    text->clear();
    return Builder(source, tokens, style, text).run();
}

void append_text(std::string_view text, const InlineStyle &style, std::string *out) {
    while (true) {
        const size_t line = style.line_end == "\n" ? std::string_view::npos : text.find('\n');
        if (style.references)
            append_escaped(text.substr(0, line), 0, out);
        else
            *out += text.substr(0, line);
        if (line == std::string_view::npos) return;
        *out += style.line_end;
        text.remove_prefix(line + 1);
    }
}

}  // namespace serve
