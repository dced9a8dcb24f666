// Row-invariant products at the shapes of the paper's base model: a row has the same bits in a call of any number of
// rows, at any position. A library chooses its algorithm and its tiles by the shape, so small cases prove nothing
// here. On a GPU every number of rows up to 4096 is tried; elsewhere, on shapes far smaller, those at
// the edges of tiles.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>
#include <random>

#include "backend/check.h"
#include "core/error.h"

namespace xf_test {
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
