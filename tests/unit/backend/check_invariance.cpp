// Same bits for any number of workers, address, other rows of the call, and vector width.
//
// A library chooses its algorithm and its tiles by the shape, so small cases prove little. check_sweep() therefore uses
// the shapes of the paper's base model: on a GPU with every number of rows up to 4096, elsewhere, with much smaller
// shapes, with those at the edges of tiles.
//
// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "backend/check.h"
#include "core/error.h"

namespace xf_test {
namespace {

// Rows of a taken call against the same rows of the whole one. Buffers that aren't cut by rows (the output of
// attention, a cache) are compared where the taken call changed them.
void compare_rows(const Problem &whole, const Words &all, const Problem &part, const Words &some,
                  const std::vector<int64_t> &rows, Failures &failures) {
    for (size_t b = 0; b < part.buffers.size(); ++b) {
        const Buffer &buffer = part.buffers[b];
        if (!buffer.out) continue;
        for (size_t i = 0; i < some[b].size(); ++i) {
            size_t j = i;
            if (buffer.per_row) {
                const size_t ld = static_cast<size_t>(buffer.ld);
                j = static_cast<size_t>(rows[i / ld]) * ld + i % ld;
            } else if (some[b][i] == buffer.words[i]) {
                continue;
            }
            if (some[b][i] == all[b][j]) continue;
            failures.add(whole, buffer.name + ": other bits in a call of " + std::to_string(part.rows) + " rows, row " +
                                    std::to_string(i / static_cast<size_t>(buffer.ld)) + " of it");
            return;
        }
    }
}

std::vector<std::vector<int64_t>> choices(int64_t M) {
    std::vector<int64_t> reversed, tail, thirds;
    for (int64_t m = M - 1; m >= 0; --m) reversed.push_back(m);
    for (int64_t m = 1; m < M; ++m) tail.push_back(m);
    for (int64_t m = 0; m < M; m += 3) thirds.push_back(m);
    std::vector<std::vector<int64_t>> list = {{0}, {M / 2}, {M - 1}, reversed, thirds};
    if (M > 1) list.push_back(tail), list.push_back({M - 1, 0});
    if (M > 9) list.push_back({7, 2, 9, 4, 1}), list.push_back({9, 8, 7, 6, 5, 4, 3, 2});
    return list;
}

// Sentences laid out in reverse order, with other neighbours at other addresses.
void compare_layouts(Opened &opened, const Problem &whole, const Words &all, Failures &failures) {
    Problem moved;
    for (Problem &problem : make_problems(whole.c, reference, true).problems)
        if (problem.name == whole.name) moved = problem;
    const Words words = run(opened, moved).words;
    const Buffer &from = whole.at("q_begin"), &to = moved.at("q_begin"), &length = whole.at("q_len");
    for (const char *name : {"dst", "lse"}) {
        if (whole.index(name) < 0) continue;
        const size_t b = static_cast<size_t>(whole.index(name)), ld = static_cast<size_t>(whole.buffers[b].ld);
        for (int64_t s = 0; s < whole.rows; ++s)
            for (size_t i = 0; i < static_cast<size_t>(length.integer(s, 0)) * ld; ++i)
                if (all[b][static_cast<size_t>(from.integer(s, 0)) * ld + i] !=
                    words[b][static_cast<size_t>(to.integer(s, 0)) * ld + i]) {
                    failures.add(whole, std::string(name) + ": other bits if the order of the sentences changes");
                    return;
                }
    }
}

// Each query as a separate sentence: allowed if it attends to all keys at every position.
void compare_queries(Opened &opened, const Problem &whole, const Words &all, Failures &failures) {
    std::vector<int32_t> q_begin, q_len, k_begin, k_len;
    for (int64_t s = 0; s < whole.rows; ++s)
        for (int32_t i = 0; i < whole.at("q_len").integer(s, 0); i += 2) {  // every second one
            q_begin.push_back(whole.at("q_begin").integer(s, 0) + i);
            q_len.push_back(1);
            k_begin.push_back(whole.at("k_begin").integer(s, 0));
            k_len.push_back(whole.at("k_len").integer(s, 0));
        }
    Problem split = whole;
    split.rows = static_cast<int64_t>(q_begin.size());
    split.at("q_begin") = integers("q_begin", q_begin);
    split.at("q_len") = integers("q_len", q_len);
    split.at("k_begin") = integers("k_begin", k_begin);
    split.at("k_len") = integers("k_len", k_len);
    compare_rows(whole, all, split, run(opened, split).words, {}, failures);
}

}  // namespace

int check_rows(const Backend &backend) {
    Failures failures(backend);
    Opened opened(backend, 2);
    Sparing cases(backend, 1, 8), choosing(backend, 2, 1, 2);
    for (const Tested &tested : all_tested(backend.bf16())) {
        const Problem &whole = tested.problem;
        if (!whole.row_invariant || whole.rows == 0 || !backend.serves(whole.c) || cases.spares()) continue;
        const Words all = run(opened, whole).words;
        for (const std::vector<int64_t> &rows : choices(whole.rows)) {
            if (choosing.spares()) continue;
            const Problem part = take_rows(whole, rows);
            compare_rows(whole, all, part, run(opened, part).words, rows, failures);
        }
        if (whole.name != "attention_fwd") continue;
        compare_layouts(opened, whole, all, failures);
        if (!whole.c.has(kCausal) && whole.c.window == 0) compare_queries(opened, whole, all, failures);
    }
    return failures.count();
}

int check_steps(const Backend &backend) {
    Failures failures(backend);
    Opened opened(backend, 2);
    for (const Tested &tested : all_tested(backend.bf16())) {
        const Problem &whole = tested.problem;
        if (!whole.c.has(kMultiStep)) continue;
        const Words all = run(opened, whole).words;
        Problem single = whole;
        single.c.flags &= ~static_cast<uint32_t>(kMultiStep);
        single.call = make_problems(single.c, reference).problems[0].call;
        for (const int64_t first : {2, 1, 0}) {  // in ascending order of steps
            std::vector<int64_t> rows;
            for (int64_t r = first; r < whole.rows; r += 3) rows.push_back(r);
            Problem step = take_rows(single, rows);
            for (const char *name : {"k_cache", "v_cache"}) {  // this call does not write the cells of other steps
                Buffer &cache = step.at(name);
                const Buffer &steps = step.at("steps"), &slots = step.at("slot_of_row"), &cells = step.at("cells");
                cache.writes.assign(cache.writes.size(), Write::kNo);
                for (int64_t r = 0; r < step.rows; ++r)
                    cache.writes[static_cast<size_t>(cells.integer(slots.integer(r, 0), steps.integer(r, 0)))] =
                        Write::kYes;
            }
            const Result result = run(opened, step);
            if (!result.trouble.empty()) failures.add(step, result.trouble);
            compare_rows(whole, all, step, result.words, rows, failures);
            for (const char *name : {"k_cache", "v_cache"})
                single.at(name).words = result.words[static_cast<size_t>(single.index(name))];
        }
    }
    return failures.count();
}

int check_workers(const Backend &backend) {
    Failures failures(backend);
    Opened one(backend, 1), two(backend, 2), three(backend, 3), many(backend, 61);
    const bool cpu = std::strcmp(backend.table->kind, "cpu") == 0;
    Sparing sparing(backend, 4, 16), large(backend, 1, 2), twos(backend, 3, 1, 3), threes = twos, sixties = twos;
    twos.spares(), threes.spares(), threes.spares();  // each case with one of them
    for (const Tested &tested : all_tested(backend.bf16())) {
        const Problem &problem = tested.problem;
        if (!backend.serves(problem.c)) continue;
        if (sparing.spares()) {
            // With many workers the work is split differently, so memory is checked for every second case.
            if (XF_TEST_SANITIZED && cpu && !large.spares()) run(many, problem, 3);
            continue;
        }
        const Words first = run(one, problem).words;
        const auto same = [&](const Words &words, const char *what) {
            const std::string where = difference(problem, first, words);
            if (!where.empty()) failures.add(problem, where + ": other bits " + what);
        };
        same(run(one, problem, 1).words, "in a repeated call, 4 bytes further in memory");
        if (!cpu) continue;  // the others don't use the host's workers
        if (!twos.spares()) same(run(two, problem).words, "with 2 workers");
        if (!threes.spares()) same(run(three, problem, 3).words, "with 3 workers");
        if (!sixties.spares()) same(run(many, problem).words, "with 61 workers");
    }
    return failures.count();
}

namespace {

// With numbers so small that products of them, and many sums, are denormal; true where the call is such a product.
bool make_tiny(Problem *problem) {
    if (problem->name.rfind("linear", 0) != 0) return false;
    problem->name += " of tiny numbers";
    for (Buffer &buffer : problem->buffers) {
        if (buffer.out || buffer.type != Type::kFloat || !buffer.num) continue;
        for (uint32_t &word : buffer.words) {
            const float tiny = as_float(word) * 0x1p-64f;  // NaN stays
            std::memcpy(&word, &tiny, sizeof word);
        }
    }
    return true;
}

}  // namespace

int check_instructions(const Backend &backend) {
    Failures failures(backend);
    Backend first = backend;  // the first instruction set of this machine with these bits
#if defined(__aarch64__)
    first.isa = "neon";
#else
    first.isa = "avx2";
#endif
    Opened tested_set(backend, 2), other(first, 1);
    Sparing sparing(backend, 1, 4);
    for (const Tested &tested : all_tested(backend.bf16())) {
        if (!backend.serves(tested.problem.c) || sparing.spares()) continue;
        const auto compare = [&](const Problem &problem) {
            const std::string where = difference(problem, run(tested_set, problem).words, run(other, problem).words);
            if (!where.empty()) failures.add(problem, where + ": other bits than with " + first.isa);
        };
        compare(tested.problem);
        Problem tiny = tested.problem;
        if (backend.bf16() && make_tiny(&tiny)) compare(tiny);
    }
    return failures.count();
}

// Of a pair, the second product is 2^-126, the smallest normal number; the first is subtracted from it.
int check_flush(const Backend &backend) {
    Failures failures(backend);
    constexpr auto bf16 = [](int exponent, bool negative = false) {
        return static_cast<uint16_t>((exponent + 127) << 7 | (negative ? 0x8000 : 0));
    };
    const uint16_t src[] = {bf16(-75), bf16(-63)};
    const uint16_t weights[] = {bf16(-75, true), bf16(-63), bf16(-76, true), bf16(-63), bf16(-77, true), bf16(-63)};
    // 2^-126 - 2^-150 has 24 bits and is subnormal; the other differences round to 2^-126.
    const uint16_t expected[] = {0, bf16(-126), bf16(-126)};
    uint16_t dst[3] = {};
    Opened opened(backend, 1);
    xf_linear_fwd args{};
    args.M = 1, args.N = 3, args.K = 2;
    args.src = reinterpret_cast<const xf_num *>(src), args.ld_src = 2;
    args.weights = reinterpret_cast<const xf_num *>(weights);
    args.dst = reinterpret_cast<xf_num *>(dst), args.ld_dst = 3;
    xf_error err{};
    const int32_t status = opened.table().linear_fwd(opened.stream(), &args, &err);
    XF_CHECK(status == XF_OK, static_cast<xf_status>(status), "%s", err.message);
    Problem problem;
    problem.name = "linear_fwd";
    for (int i = 0; i < 3; ++i)
        if (dst[i] != expected[i])
            failures.add(problem,
                         xf::format("near the smallest normal number, difference %d has the bits %04x, not %04x", i,
                                    dst[i], expected[i]));
    return failures.count();
}

int check_no_memory(const Backend &backend) {
    Failures failures(backend);
    for (const Tested &tested : all_tested(backend.bf16())) {
        if (!tested.problem.c.has(kGradient) && tested.problem.c.M != 9) continue;
        if (!backend.serves(tested.problem.c)) continue;
        Opened opened(backend, 2);  // fresh: no scratch yet
        const Result without = run(opened, tested.problem, 0, true);
        if (without.status != XF_OK && without.status != XF_ERROR_NO_MEMORY)
            failures.add(tested.problem, std::string("without memory: ") + xf_status_name(without.status));
        const Result with = run(opened, tested.problem);
        if (!with.trouble.empty()) failures.add(tested.problem, "after a failure for memory: " + with.trouble);
    }
    return failures.count();
}

namespace {

// Memory of the device, freed at the end.
class Memory {
public:
    Memory(Opened &opened, size_t bytes) : opened_(opened), bytes_(bytes) {
        xf_error err{};
        const int32_t status = opened.table().mem_alloc(opened.device(), bytes, &ptr_, &err);
        XF_CHECK(status == XF_OK, static_cast<xf_status>(status), "%s", err.message);
    }
    ~Memory() { opened_.table().mem_free(opened_.device(), ptr_, bytes_); }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    char *at(size_t bytes) const { return static_cast<char *>(ptr_) + bytes; }

private:
    Opened &opened_;
    void *ptr_ = nullptr;
    size_t bytes_;
};

class Sweep {
public:
    Sweep(Opened &opened, int64_t N, int64_t K, int64_t most)
        : opened_(opened),
          N_(N),
          K_(K),
          size_(opened.bf16() ? 2 : 4),
          src_(opened, bytes(most, K)),
          weights_(opened, bytes(N, K)),
          dst_(opened, bytes(most, N)),
          all_(bytes(most, N)),
          row_(bytes(1, N)) {
        fill(src_, bytes(most, K), 1);
        fill(weights_, bytes(N, K), 2);
        multiply(0, most);
        check(opened.table().mem_download(opened.stream(), all_.data(), dst_.at(0), all_.size(), &err_));
    }

    // Rows first .. first + count - 1 alone: the first row of them with other bits, or -1. Three are looked at.
    int64_t different(int64_t first, int64_t count) {
        check(opened_.table().mem_zero(opened_.stream(), dst_.at(0), bytes(count, N_), &err_));
        multiply(first, count);
        for (const int64_t row : {int64_t{0}, count / 2, count - 1}) {
            check(opened_.table().mem_download(opened_.stream(), row_.data(), dst_.at(bytes(row, N_)), row_.size(),
                                               &err_));
            if (std::memcmp(row_.data(), all_.data() + bytes(first + row, N_), row_.size()) != 0) return row;
        }
        return -1;
    }

private:
    size_t bytes(int64_t rows, int64_t columns) const { return static_cast<size_t>(rows * columns) * size_; }
    void check(int32_t status) { XF_CHECK(status == XF_OK, static_cast<xf_status>(status), "%s", err_.message); }
    void multiply(int64_t first, int64_t count) {
        xf_linear_fwd args{};
        args.M = count, args.N = N_, args.K = K_;
        args.src = reinterpret_cast<const xf_num *>(src_.at(bytes(first, K_)));
        args.weights = reinterpret_cast<const xf_num *>(weights_.at(0));
        args.dst = reinterpret_cast<xf_num *>(dst_.at(0));
        args.ld_src = K_, args.ld_dst = N_;
        args.flags = XF_LINEAR_ROW_INVARIANT;
        check(opened_.table().linear_fwd(opened_.stream(), &args, &err_));
    }
    // Numbers of -1 to 1: the upper half of a float is a bf16.
    void fill(const Memory &memory, size_t count, uint32_t seed) {
        std::mt19937 random(seed);
        std::vector<char> data(count);
        for (size_t at = 0; at < count; at += size_) {
            const float x = static_cast<float>(random() >> 8) / 8388608.0f - 1.0f;
            std::memcpy(&data[at], reinterpret_cast<const char *>(&x) + (size_ == 2 ? 2 : 0), size_);
        }
        check(opened_.table().mem_upload(opened_.stream(), memory.at(0), data.data(), count, &err_));
    }

    Opened &opened_;
    int64_t N_, K_;
    size_t size_;
    xf_error err_{};
    Memory src_, weights_, dst_;
    std::vector<char> all_, row_;
};

}  // namespace

int check_sweep(const Backend &backend) {
    Failures failures(backend);
    Opened opened(backend, 2);
    const bool gpu = std::strcmp(backend.table->kind, "cuda") == 0 && !backend.emulated();
    const int64_t scale = gpu ? 1 : 32, most = gpu ? 4096 : XF_TEST_SANITIZED ? 100 : 300;
    for (const int64_t N : {512, 1536, 2048, 37000})
        for (const int64_t K : {512, 2048}) {
            Sweep sweep(opened, N / scale, K / scale, most);
            const auto step = [&](int64_t M) -> int64_t {
                if (!gpu) return M < 4 ? 1 : M % 16 == 1 ? 14 : 1;         // 15, 16, 17; 31, 32, 33 ...
                return M < 256 || backend.bf16() ? 1 : 8 + (M % 16 == 8);  // fp32 has no tensor cores: fewer
            };
            for (int64_t M = 1; M <= most; M += step(M)) {
                const int64_t first = M * 37 % (most - M + 1), row = sweep.different(first, M);
                if (row < 0) continue;
                Problem problem;
                problem.name = "linear_fwd row-invariant";
                problem.c.op = "linear", problem.c.M = M, problem.c.N = N / scale, problem.c.K = K / scale;
                failures.add(problem, "row " + std::to_string(row) + " of rows " + std::to_string(first) +
                                          " .. has other bits than among " + std::to_string(most));
            }
        }
    return failures.count();
}

}  // namespace xf_test
