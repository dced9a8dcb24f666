// Building blocks of problems, and the dispatch from a case to its builder; see problem.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/problem.h"

#include "core/half.h"
#include "core/int8.h"

#include "core/error.h"
#include "core/philox.h"

namespace xf_test {
namespace {

// In a function, since builders of other files come before main, in any order.
std::map<std::string, Build> &builders() {
    static std::map<std::string, Build> list;
    return list;
}

}  // namespace

Builder::Builder(const char *op, Build build) { builders()[op] = build; }

float Buffer::get(int64_t row, int64_t column) const {
    float value;
    std::memcpy(&value, &words[static_cast<size_t>(row * ld + column)], sizeof value);
    return value;
}

void Buffer::set(int64_t row, int64_t column, float value) {
    std::memcpy(&words[static_cast<size_t>(row * ld + column)], &value, sizeof value);
}

int Problem::index(const std::string &buffer) const {
    for (size_t i = 0; i < buffers.size(); ++i)
        if (buffers[i].name == buffer) return static_cast<int>(i);
    return -1;
}

const Problem *ProblemSet::find(const std::string &name) const {
    for (const Problem &problem : problems)
        if (problem.name == name) return &problem;
    return nullptr;
}

float noise(uint32_t seed, int64_t row, int64_t column) {
    const xf::Philox r = xf::philox(seed, static_cast<uint32_t>(row), static_cast<uint32_t>(column), 0, 0);
    return (static_cast<float>(r.word[0] >> 8) + 0.5f) / 8388608.0f - 1.0f;
}

uint32_t seed_of(const std::string &text) {
    uint32_t hash = 2166136261u;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
}

Buffer input(const std::string &name, int64_t rows, int64_t width, int64_t ld) {
    Buffer buffer{.name = name, .rows = rows, .width = width, .ld = ld};
    buffer.words.assign(static_cast<size_t>(rows * ld), kPoison);
    const uint32_t seed = seed_of(name);
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < width; ++column) buffer.set(row, column, noise(seed, row, column));
    return buffer;
}

Buffer integers(const std::string &name, const std::vector<int32_t> &values, int64_t width) {
    Buffer buffer{.name = name,
                  .type = Type::kInt,
                  .rows = static_cast<int64_t>(values.size()) / width,
                  .width = width,
                  .ld = width};
    for (const int32_t value : values) buffer.words.push_back(static_cast<uint32_t>(value));
    return buffer;
}

Buffer output(const std::string &name, int64_t rows, int64_t width, int64_t ld) {
    Buffer buffer{.name = name, .out = true, .rows = rows, .width = width, .ld = ld};
    buffer.words.assign(static_cast<size_t>(rows * ld), kPoison);
    buffer.writes.assign(static_cast<size_t>(rows), Write::kYes);
    return buffer;
}

Buffer sum(const std::string &name, int64_t rows, int64_t width, int64_t ld) {
    Buffer buffer = input(name, rows, width, ld);
    buffer.out = true;
    buffer.writes.assign(static_cast<size_t>(rows), Write::kYes);
    return buffer;
}

Buffer per_row(Buffer buffer) {
    buffer.per_row = true;
    return buffer;
}

Buffer copied(const Problem &problem, const Words &words, const std::string &name, const std::string &as) {
    const size_t index = static_cast<size_t>(problem.index(name));
    const Buffer &from = problem.buffers[index];
    Buffer buffer{.name = as, .rows = from.rows, .width = from.width, .ld = from.ld, .words = words[index]};
    buffer.num = from.num;
    return buffer;
}

Buffer fp32(Buffer buffer) {
    buffer.num = false;
    return buffer;
}

Buffer when() { return integers("when", {kDropoutStep, kDropoutBatch}, 2); }

xf_dropout dropout_of(const Case &c, const Args &args, uint32_t site) {
    return {.rate = c.rate,
            .site = site,
            .seed = 0x123456789ABCDEFull,
            .when = static_cast<const uint32_t *>(args.find("when"))};
}

uint32_t to_bf16(uint32_t word) {
    if ((word & 0x7FFFFFFFu) > 0x7F800000u) return (word | 0x00400000u) & 0xFFFF0000u;  // NaN stays NaN
    return (word + 0x7FFFu + ((word >> 16) & 1u)) & 0xFFFF0000u;
}

Matrix::Matrix(const Case &c, const xf_backend_v1 &table, xf_stream *stream, const float *values, int64_t N, int64_t K)
    : data_(values) {
    if (c.weights == XF_WEIGHTS_NUM) return;
    const auto count = static_cast<size_t>(N * K);
    if (c.weights != XF_WEIGHTS_INT8) {
        bytes_.resize(2 * count);
        for (size_t i = 0; i < count; ++i) {
            const uint16_t half = c.weights == XF_WEIGHTS_BF16 ? xf::to_bf16(values[i]) : xf::to_fp16(values[i]);
            std::memcpy(&bytes_[2 * i], &half, sizeof half);
        }
    } else {
        bytes_.resize(static_cast<size_t>(xf_int8_bytes(N, K)) + 64);
        // Packed matrices lie at the beginning of lines.
        auto *rows = reinterpret_cast<int8_t *>((reinterpret_cast<uintptr_t>(bytes_.data()) + 63) / 64 * 64);
        for (int64_t n = 0; n < N; ++n) scales_.push_back(xf::quantize_row(values + n * K, K, rows + n * K));
        const xf_pack_int8 pack{N, K, rows};
        status_ = table.pack_int8(stream, &pack, nullptr);
        data_ = rows;
        return;
    }
    data_ = bytes_.data();
}

void round_matrix(const Case &c, Buffer *weights) {
    if (c.weights != XF_WEIGHTS_BF16 && c.weights != XF_WEIGHTS_FP16) return;
    for (int64_t n = 0; n < weights->rows; ++n)
        for (int64_t k = 0; k < weights->width; ++k) {
            const float x = weights->get(n, k);
            weights->set(n, k,
                         c.weights == XF_WEIGHTS_BF16 ? xf::from_bf16(xf::to_bf16(x)) : xf::from_fp16(xf::to_fp16(x)));
        }
}

double product_of(const Problem &problem, int64_t m, int64_t n) {
    const Buffer &src = problem.at("src"), &weights = problem.at("weights");
    const auto count = weights.width;
    double sum = 0.0;
    if (problem.c.weights != XF_WEIGHTS_INT8) {
        for (int64_t k = 0; k < count; ++k) sum += static_cast<double>(src.get(m, k)) * weights.get(n, k);
        return sum;
    }
    const auto most = [&](const Buffer &buffer, int64_t row) {
        float a = 0.0f;
        for (int64_t k = 0; k < count; ++k) a = std::max(a, std::fabs(buffer.get(row, k)));
        return a;
    };
    const float a = most(src, m), b = most(weights, n);
    if (a == 0.0f || b == 0.0f) return 0.0;
    const float to_a = 127.0f / a, to_b = 127.0f / b;
    for (int64_t k = 0; k < count; ++k)
        sum += static_cast<double>(std::rint(src.get(m, k) * to_a)) *
               static_cast<double>(std::rint(weights.get(n, k) * to_b));
    return static_cast<double>(static_cast<float>(sum) * ((a / 127.0f) * (b / 127.0f)));
}

Problem rounded(const Problem &problem) {
    Problem result = problem;
    if (!problem.c.has(kBf16)) return result;
    for (Buffer &buffer : result.buffers)
        if (buffer.num && buffer.type == Type::kFloat)
            for (uint32_t &word : buffer.words) word = to_bf16(word);
    return result;
}

ProblemSet make_problems(const Case &c, const Reference &wide, bool reversed) {
    const Reference reference = [&](const Problem &problem) { return wide(rounded(problem)); };
    const auto builder = builders().find(c.op);
    XF_CHECK(builder != builders().end(), XF_ERROR_NOT_FOUND, "no operation \"%s\" in the case list", c.op.c_str());
    ProblemSet set = builder->second(c, reference, reversed);
    for (Problem &problem : set.problems) {
        problem.c = c;
        problem = rounded(problem);
    }
    return set;
}

Problem take_rows(const Problem &problem, const std::vector<int64_t> &rows) {
    Problem taken = problem;
    taken.rows = static_cast<int64_t>(rows.size());
    for (size_t b = 0; b < taken.buffers.size(); ++b) {
        Buffer &to = taken.buffers[b];
        const Buffer &from = problem.buffers[b];
        if (!from.per_row) continue;
        to.rows = taken.rows;
        to.words.clear();
        to.writes.clear();
        for (const int64_t row : rows) {
            const auto begin = from.words.begin() + row * from.ld;
            to.words.insert(to.words.end(), begin, begin + from.ld);
            if (from.out) to.writes.push_back(from.writes[static_cast<size_t>(row)]);
        }
    }
    return taken;
}

}  // namespace xf_test
