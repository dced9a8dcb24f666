// Compares LineReader with a simple splitter on random bytes that arrive in random chunks, and tests a failing source.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include <cerrno>

#include "data/line_reader.h"

namespace {

using xf::LineReader;

struct Random {
    uint32_t state;
    uint32_t below(uint32_t n) {
        return static_cast<uint32_t>((uint64_t{state = state * 1664525u + 1013904223u} * n) >> 32);
    }
};

// Returns 1 to `most` bytes per call. Optionally fails instead of ending.
class Pieces final : public xf::ByteSource {
public:
    Pieces(std::string bytes, uint32_t most, uint32_t seed, bool fails = false)
        : bytes_(std::move(bytes)), most_(most), random_{seed}, fails_(fails) {}
    size_t read(char *dst, size_t size) override {
        if (fails_ && at_ == bytes_.size()) xf::fail_errno(EIO, "read", "pieces");
        const size_t count = std::min({size, bytes_.size() - at_, size_t{1} + random_.below(most_)});
        std::copy_n(bytes_.data() + at_, count, dst);
        at_ += count;
        return count;
    }
    uint64_t size_hint() const override { return 0; }
    int64_t position() const override { return static_cast<int64_t>(at_); }

private:
    std::string bytes_;
    size_t at_ = 0;
    uint32_t most_;
    Random random_;
    bool fails_;
};

std::string shown(std::string_view line, bool cut) { return cut ? "(cut)" : std::string(line).append("$"); }

std::vector<std::string> read_lines(LineReader reader) {
    std::vector<std::string> lines;
    for (LineReader::Line line; reader.next(&line);) lines.push_back(shown(line.text, line.too_long));
    CHECK_EQ(reader.lines(), static_cast<int64_t>(lines.size()));
    return lines;
}

std::vector<std::string> split_plainly(std::string text, size_t max_bytes) {
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        std::string line = text.substr(at, end - at);
        if (at == 0 && line.rfind("\xEF\xBB\xBF", 0) == 0) line.erase(0, 3);
        if (!line.empty() && line.back() == '\r') line.pop_back();
        lines.push_back(shown(line, line.size() > max_bytes));
        at = end + 1;
    }
    return lines;
}

std::string random_text(Random *random) {
    const char *pieces[] = {"\n", "\r\n", "\r", "a", "bc", "\t", "\xEF\xBB\xBF", "\n\n", "longer than most"};
    std::string text = random->below(3) == 0 ? "\xEF\xBB\xBF" : "";
    for (uint32_t n = random->below(20); n > 0; --n) text += pieces[random->below(9)];
    return text;
}

const xf::Call nobody;  // is never cancelled

}  // namespace

XF_TEST(lines_do_not_depend_on_read_sizes) {
    Random random{1};
    for (uint32_t round = 0; round < 2000; ++round) {
        const std::string text = random_text(&random);
        const size_t max_bytes = random.below(12);
        const auto expected = split_plainly(text, max_bytes);
        CHECK(read_lines(LineReader(std::make_unique<Pieces>(text, 1 + round % 9, round), max_bytes, nobody)) ==
              expected);
        CHECK(read_lines(LineReader(std::make_unique<Pieces>(text, 1u << 22, 1), max_bytes, nobody)) == expected);
    }
}

XF_TEST(lines_may_span_blocks) {
    Random random{2};
    std::string text;
    while (text.size() < (5u << 20))
        text += std::string(random.below(random.below(20) == 0 ? 1500000 : 300), 'x') + "\n";
    for (size_t max_bytes : {size_t{0}, size_t{200}, size_t{1} << 20, size_t{1} << 24})
        CHECK(read_lines(LineReader(std::make_unique<Pieces>(text, 1u << 22, 1), max_bytes, nobody)) ==
              split_plainly(text, max_bytes));
}

XF_TEST(a_read_error_is_not_the_end_of_the_file) {
    LineReader reader(std::make_unique<Pieces>("one\ntwo", 3, 1, true), 100, nobody);
    LineReader::Line line;
    CHECK(reader.next(&line));
    CHECK_EQ(line.text, "one");
    CHECK_FAILS(reader.next(&line), XF_ERROR_IO);
}
