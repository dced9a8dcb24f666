// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "html_entities.h"
#include "inline_text.h"
#include "word_units.h"

namespace serve {
namespace {

// Units [first, last) of the translation. An empty range is a position.
struct Window {
    size_t first, last;
};

class Placement {
public:
    Placement(const std::vector<Mark> &marks, std::string_view source, const Translation &translation)
        : marks_(marks), source_size_(source.size()) {
        std::vector<size_t> cuts;
        for (const Mark &mark : marks) {
            cuts.push_back(mark.text_begin);
            cuts.push_back(mark.text_end);
        }
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        units_ = word_units(source, translation, cuts);
        by_source_.resize(units_.size());
        std::iota(by_source_.begin(), by_source_.end(), size_t{0});
        std::stable_sort(by_source_.begin(), by_source_.end(),
                         [&](size_t a, size_t b) { return units_[a].source_begin < units_[b].source_begin; });
        owner_.assign(units_.size(), 0);
        windows_.assign(marks.size(), {0, 0});
        group();
        for (size_t scope = 0; scope <= marks.size(); ++scope) place_children(scope);
    }

    const std::vector<AlignedSpan> &units() const { return units_; }
    const Window &window(size_t mark) const { return windows_[mark]; }
    Window window_of_scope(size_t scope) const { return scope == 0 ? Window{0, units_.size()} : windows_[scope - 1]; }

    // The marks in a scope, in the order of the translation.
    std::span<const uint32_t> children(size_t scope) const {
        return std::span(children_).subspan(starts_[scope], starts_[scope + 1] - starts_[scope]);
    }

private:
    // Sorts the marks by scope.
    void group() {
        starts_.assign(marks_.size() + 2, 0);
        for (const Mark &mark : marks_) ++starts_[mark.scope + 1];
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        children_.resize(marks_.size());
        std::vector<size_t> next = starts_;
        for (uint32_t i = 0; i < marks_.size(); ++i) children_[next[marks_[i].scope]++] = i;
    }

    // The first index in by_source_ whose word does not end before `offset`.
    size_t first_after(size_t offset) const {
        const auto found = std::partition_point(by_source_.begin(), by_source_.end(),
                                                [&](size_t i) { return units_[i].source_end <= offset; });
        return static_cast<size_t>(found - by_source_.begin());
    }

    void place_children(size_t scope) {
        const Window outer = window_of_scope(scope);
        const std::span<uint32_t> list =
            std::span(children_).subspan(starts_[scope], starts_[scope + 1] - starts_[scope]);
        for (const uint32_t i : list) {
            if (marks_[i].kind != Mark::kPair && marks_[i].kind != Mark::kPiece) continue;
            windows_[i] = best_window(marks_[i], scope);
            std::fill_n(owner_.begin() + static_cast<ptrdiff_t>(windows_[i].first),
                        windows_[i].last - windows_[i].first, i + 1);
        }
        size_t last = outer.first;  // position of the last tag without partner
        for (const uint32_t i : list) {
            if (windows_[i].first < windows_[i].last) continue;
            if (outer.first == outer.last) {
                windows_[i] = outer;
                continue;
            }
            size_t position = std::clamp(position_of(marks_[i], scope), outer.first, outer.last);
            const size_t owner = position > 0 && position < units_.size() ? owner_[position] : scope;
            if (owner != scope && owner_[position - 1] == owner) position = windows_[owner - 1].first;
            if (marks_[i].kind == Mark::kOpen || marks_[i].kind == Mark::kClose)
                position = last = std::max(position, last);
            windows_[i] = {position, position};
        }
        std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
            const Window &x = windows_[a], &y = windows_[b];
            return x.first != y.first ? x.first < y.first : (x.first == x.last) && (y.first != y.last);
        });
    }

    // The range of units that belong to the scope with the largest number of units aligned to the mark minus others.
    Window best_window(const Mark &mark, size_t scope) {
        std::vector<size_t> &aligned = aligned_;
        aligned.clear();
        for (size_t k = first_after(mark.text_begin);
             k < by_source_.size() && units_[by_source_[k]].source_begin < mark.text_end; ++k)
            if (owner_[by_source_[k]] == scope) aligned.push_back(by_source_[k]);
        std::sort(aligned.begin(), aligned.end());
        Window best{0, 0};
        size_t start = 0, sum = 0, most = 0;
        for (size_t k = 0; k < aligned.size(); ++k) {
            const size_t gap = k == 0 ? 0 : aligned[k] - aligned[k - 1] - 1;
            const auto unit = owner_.begin() + static_cast<ptrdiff_t>(aligned[k]);
            const bool joins =
                k > 0 && gap < sum && (gap == 0 || mark.kind != Mark::kPiece) &&
                std::all_of(unit - static_cast<ptrdiff_t>(gap), unit, [&](size_t o) { return o == scope; });
            if (!joins) start = aligned[k];
            sum = joins ? sum - gap + 1 : 1;
            if (sum <= most) continue;
            most = sum;
            best = {start, aligned[k] + 1};
        }
        return best;
    }

    size_t position_of(const Mark &mark, size_t scope) const {
        const Window outer = window_of_scope(scope);
        const size_t end = scope == 0 ? source_size_ : marks_[scope - 1].text_end;
        const size_t next = first_after(mark.text_begin);
        if (mark.kind == Mark::kClose) return next == 0 ? outer.first : by_source_[next - 1] + 1;
        if (next == by_source_.size() || units_[by_source_[next]].source_begin >= end) return outer.last;
        return by_source_[next];
    }

    const std::vector<Mark> &marks_;
    size_t source_size_;
    std::vector<AlignedSpan> units_;
    std::vector<size_t> by_source_, starts_, aligned_;
    std::vector<size_t> owner_;  // of each unit: 1 + the innermost mark so far, or 0
    std::vector<Window> windows_;
    std::vector<uint32_t> children_;
};

class Renderer {
public:
    Renderer(const Paragraph &paragraph, std::string_view source_text, const Translation &translation,
             const InlineStyle &style, const CopySource &copy, std::string *out)
        : marks_(paragraph.marks),
          text_(translation.text + (paragraph.final_space ? " " : "")),
          style_(style),
          copy_(copy),
          out_(out),
          placement_(marks_, source_text, translation) {}

    void run() {
        struct Level {
            size_t scope;
            std::span<const uint32_t> rest;
        };
        std::vector<Level> levels{{0, placement_.children(0)}};
        while (!levels.empty()) {
            Level &level = levels.back();
            if (level.rest.empty()) {
                if (level.scope > 0) close(level.scope - 1);
                levels.pop_back();
                continue;
            }
            const uint32_t i = level.rest.front();
            level.rest = level.rest.subspan(1);
            open(i, placement_.window_of_scope(level.scope), level.scope);
            if (marks_[i].kind == Mark::kPair) levels.push_back({i + size_t{1}, placement_.children(i + size_t{1})});
        }
        emit_to(text_.size());
    }

private:
    void emit_to(size_t offset) {
        if (offset <= cursor_) return;
        append_text(std::string_view(text_).substr(cursor_, offset - cursor_), style_, out_);
        cursor_ = offset;
    }

    // Moves to a position, and there to the beginning or the end of the white space.
    void move_to(size_t offset, bool after) {
        if (after)
            while (offset < text_.size() && is_space(text_[offset])) ++offset;
        else
            while (offset > 0 && is_space(text_[offset - 1])) --offset;
        emit_to(offset);
    }

    size_t begin_of(size_t unit) const { return placement_.units()[unit].target_begin; }
    size_t end_before(size_t unit) const { return placement_.units()[unit - 1].target_end; }

    void open(uint32_t i, Window outer, size_t scope) {
        const Mark &mark = marks_[i];
        const Window window = placement_.window(i);
        const bool ends_scope = window.first == outer.last && window.first == window.last;
        if (mark.kind == Mark::kClose || (ends_scope && scope > 0)) {
            move_to(window.first > outer.first ? end_before(window.first) : cursor_, mark.after);
        } else {
            move_to(ends_scope ? text_.size() : begin_of(window.first), mark.after);
        }
        const bool word = mark.kind == Mark::kPiece && window.first == window.last;  // without a word in its place
        if (word && cursor_ > 0 && !is_space(text_[cursor_ - 1])) *out_ += ' ';
        copy_(mark.begin, mark.end, out_);
        if (mark.kind == Mark::kPiece && window.first < window.last) cursor_ = end_before(window.last);
        if (mark.space || (word && cursor_ < text_.size() && !is_space(text_[cursor_]))) *out_ += ' ';
    }

    void close(size_t i) {
        const Mark &mark = marks_[i];
        const Window window = placement_.window(i);
        move_to(window.first < window.last ? end_before(window.last) : cursor_, mark.close_after);
        copy_(mark.close_begin, mark.close_end, out_);
        if (mark.close_space) *out_ += ' ';
    }

    const std::vector<Mark> &marks_;
    std::string text_;
    const InlineStyle &style_;
    const CopySource &copy_;
    std::string *out_;
    Placement placement_;
    size_t cursor_ = 0;
};

}  // namespace

void render_paragraph(const Paragraph &paragraph, std::string_view source_text, const Translation &translation,
                      const InlineStyle &style, const CopySource &copy, std::string *out) {
    if (paragraph.marks.empty()) return append_text(translation.text, style, out);
    Renderer(paragraph, source_text, translation, style, copy, out).run();
}

}  // namespace serve
