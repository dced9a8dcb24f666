// gpu_products: what cuBLASLt does with the matrix products of a base model on this GPU; a part of tests/gpu.sh.
//
//     gpu_products [--divide N] [--text PART]      N: all sizes divided, to try it without a GPU; PART: of shapes'
//     names
//
// Lines "product TAB shape TAB what TAB value":
//   time      the rank that the heuristic gives an algorithm, and microseconds: several products in a graph, replayed,
//             over operands that together are larger than the L2 cache; the median of five
//   best      rank of the fastest, its microseconds, and how much slower the first is (what the plugin takes)
//   accepted  row-invariant shapes: the most rows for which AlgoCheck takes the algorithm, by rank
//   rows      row-invariant shapes: whether the first row has the same bits at 1, 4, 17 and 256 rows, by rank
//   again     whether a second run of the fastest gives the same bits
//   few       row-invariant shapes, also in fp32: a number of rows, the microseconds of the plugin's own kernel, and
//             those of the algorithm that the plugin takes without it; in "rows" the own one's rank is "own"
//   ceiling   the bandwidth of a copy within device memory
//   none      the library has no algorithm, with its status
//   error     the operation that failed; the program continues with the next shape
// Exit status: 0, or 1 when something failed.
//
// SPDX-License-Identifier: Apache-2.0
#include "gpu_products.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "gpu_own_rows.h"

namespace products {
namespace {

constexpr size_t kWorkspace = size_t{32} << 20, kCold = size_t{128} << 20;
constexpr int kWanted = 8, kInGraph = 8, kMeasured = 5;
constexpr int64_t kCanonicalRows = 256;
constexpr int64_t kFewRows[] = {1, 4, 8, 16, 32, 64, 128, 1024, 4096};

size_t bytes_of(cudaDataType_t type) { return type == kFull ? 4 : type == kHalf ? 2 : 1; }

void say(const Shape &shape, const char *what, const std::string &value) {
    std::printf("product\t%s\t%s\t%s\n", shape.name, what, value.c_str());
    std::fflush(stdout);
}
std::string number(const char *format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

struct Place {
    unsigned char *a, *b, *c;
};

class Bench {
public:
    Bench() {
        XF_DO(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        XF_DO(xf::cuda::cublaslt().Create(&handle_));
        pool_bytes_ = divisor == 1 ? size_t{2} << 30 : size_t{64} << 20;
        XF_DO(cudaMalloc(&operands_, pool_bytes_));
        XF_DO(cudaMalloc(&results_, pool_bytes_));
        XF_DO(cudaMemset(results_, 0, pool_bytes_));
        XF_DO(cudaMalloc(&workspace_, kWorkspace));
        XF_DO(cudaMalloc(&bits_, static_cast<size_t>(kTokens) * 2048 / 8));
        XF_DO(cudaMalloc(&bias_, size_t{1} << 20));
        // bf16 numbers of 0.5 to 2, of both signs.
        std::vector<uint16_t> numbers(size_t{4} << 20);
        uint64_t state = 1;
        for (uint16_t &x : numbers) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            x = static_cast<uint16_t>(0x3F00u | (state >> 40 & 0x80FFu));
        }
        const size_t block = numbers.size() * sizeof numbers[0];
        for (size_t at = 0; at < pool_bytes_; at += block)
            XF_DO(
                cudaMemcpy(operands_ + at, numbers.data(), std::min(block, pool_bytes_ - at), cudaMemcpyHostToDevice));
        XF_DO(cudaMemcpy(bias_, numbers.data(), size_t{1} << 20, cudaMemcpyHostToDevice));
        XF_DO(cudaMemset(bits_, 0x5A, static_cast<size_t>(kTokens) * 2048 / 8));
    }

    // The bandwidth of this GPU: a copy within its memory, counting bytes read and written.
    void ceiling() {
        const size_t bytes = pool_bytes_ / 2;
        double best = 1e30;
        for (int i = 0; i < kMeasured; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            XF_DO(cudaMemcpyAsync(results_, results_ + bytes, bytes, cudaMemcpyDeviceToDevice, stream_));
            XF_DO(cudaStreamSynchronize(stream_));
            best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        say(kCeiling, "ceiling", number("a copy moves %.0f GB/s", 2e-9 * static_cast<double>(bytes) / best));
    }

    // False when something failed.
    bool shape(const Shape &s) try {
        const auto found = ask(s);
        if (found.empty()) return true;
        std::vector<double> seconds;
        for (size_t rank = 0; rank < found.size(); ++rank) {
            seconds.push_back(time(
                s, rows_of(s), [&](const Told &told, const Place &at) { multiply(s, told, at, found[rank].algo); }));
            say(s, "time", std::to_string(rank) + number(" %.2f", 1e6 * seconds[rank]));
        }
        const auto best = static_cast<size_t>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin());
        say(s, "best",
            std::to_string(best) + number(" %.2f", 1e6 * seconds[best]) + number(" %.3f", seconds[0] / seconds[best]));
        if (s.after != After::kAdd) {
            const bool same = result_of(s, rows_of(s), found[best].algo) == result_of(s, rows_of(s), found[best].algo);
            say(s, "again", same ? "same bits" : "OTHER BITS");
        }
        for (size_t rank = 0; s.row_invariant && rank < found.size(); ++rank) of_any_rows(s, rank, found[rank].algo);
        return true;
    } catch (const Failed &error) {
        say(s, "error", error.what());
        return false;
    }

    // The plugin's own kernel beside the algorithm that serves all numbers of rows. False when something failed.
    bool few_rows(Shape s) try {
        const auto found = ask(s);
        const auto own = [&](int64_t rows) {
            return [this, s, rows](const Told &, const Place &at) {
                if (!own_rows(stream_, call(s, rows, at))) throw Failed("an own product could not be launched");
            };
        };
        if (!own_rows_serve(call(s, 1, place(s, 1, 0)))) return true;
        for (const int64_t rows : kFewRows) {
            if (divisor != 1 && rows > 64) break;
            std::string line = std::to_string(rows) + number(" %.2f", 1e6 * time(s, rows, own(rows)));
            if (!found.empty())
                line += number(" %.2f", 1e6 * time(s, rows, [&](const Told &told, const Place &at) {
                                            multiply(s, told, at, found[0].algo);
                                        }));
            say(s, "few", line);
        }
        const size_t row = static_cast<size_t>(cut(s.N)) * bytes_of(s.result);
        const auto expected = result_of(s, 1, own(1));
        std::string other;
        for (const int64_t rows : {4, 8, 9, 16, 17, 32, 33, 64, 256})
            if (std::memcmp(result_of(s, rows, own(rows)).data(), expected.data(), row) != 0)
                other += ' ' + std::to_string(rows);
        say(s, "rows", other.empty() ? "own same bits" : "own OTHER BITS at" + other);
        return true;
    } catch (const Failed &error) {
        say(s, "error", error.what());
        return false;
    }

private:
    static int64_t rows_of(const Shape &s) { return s.M <= 64 ? s.M : cut(s.M); }

    std::vector<cublasLtMatmulHeuristicResult_t> ask(const Shape &s) {
        const auto &lt = xf::cuda::cublaslt();
        const Told told(s, s.row_invariant ? kCanonicalRows : rows_of(s), bits_, bias_);
        cublasLtMatmulPreference_t wish;
        XF_DO(lt.MatmulPreferenceCreate(&wish));
        const size_t workspace = kWorkspace;
        const uint32_t scheme =
            s.row_invariant ? CUBLASLT_REDUCTION_SCHEME_NONE : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
        lt.MatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
        lt.MatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &scheme, sizeof scheme);
        const uint32_t alignment = 16;
        for (auto which : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
            lt.MatmulPreferenceSetAttribute(wish, which, &alignment, sizeof alignment);
        std::vector<cublasLtMatmulHeuristicResult_t> found(kWanted);
        int count = 0;
        const cublasStatus_t code =
            lt.MatmulAlgoGetHeuristic(handle_, told.product, told.first, told.second, told.result, told.result, wish,
                                      kWanted, found.data(), &count);
        lt.MatmulPreferenceDestroy(wish);
        found.resize(code == CUBLAS_STATUS_SUCCESS ? static_cast<size_t>(count) : 0);
        std::erase_if(found, [](const auto &one) { return one.state != CUBLAS_STATUS_SUCCESS; });
        if (found.empty()) say(s, "none", lt.GetStatusString(code));
        return found;
    }

    // The turn-th of some places: together they are larger than the cache.
    Place place(const Shape &s, int64_t rows, int turn) const {
        const auto up = [](size_t bytes) { return (bytes + 255) / 256 * 256; };
        const auto M = static_cast<size_t>(rows), N = static_cast<size_t>(cut(s.N)), K = static_cast<size_t>(cut(s.K));
        const size_t a = up(M * K * bytes_of(s.operands)), b = up(K * N * bytes_of(s.operands));
        const size_t c = up(M * N * bytes_of(s.result));
        if (std::max(a + b, c) > pool_bytes_) throw Failed("the pool is too small");
        const size_t places = std::min(pool_bytes_ / std::max(a + b, c), kCold / (a + b + c) + 1);
        const size_t at = static_cast<size_t>(turn) % places;
        return {operands_ + at * (a + b), operands_ + at * (a + b) + a, results_ + at * c};
    }

    void multiply(const Shape &s, const Told &told, const Place &at, const cublasLtMatmulAlgo_t &algorithm) {
        const float one = 1.0f, beta = s.after == After::kAdd ? 1.0f : 0.0f;
        XF_DO(xf::cuda::cublaslt().Matmul(handle_, told.product, &one, at.b, told.first, at.a, told.second, &beta, at.c,
                                          told.result, at.c, told.result, &algorithm, workspace_, kWorkspace, stream_));
    }

    // Row-major, as the plugin asks for it.
    xf::cuda::Gemm call(const Shape &s, int64_t rows, const Place &at) const {
        xf::cuda::Gemm g{};
        g.M = rows, g.N = cut(s.N), g.K = cut(s.K);
        g.a = at.a, g.lda = g.K, g.b = at.b, g.ldb = g.K, g.c = at.c, g.ldc = g.N;
        g.b_transposed = g.row_invariant = true;
        g.operand_type = s.operands == kFull ? XF_FP32 : XF_BF16, g.result_type = s.result == kFull ? XF_FP32 : XF_BF16;
        g.bias = s.after >= After::kBias ? bias_ : nullptr;
        g.relu = s.after == After::kReluBias;
        return g;
    }

    // once(told, place) queues a product of so many rows.
    template <class Once>
    double time(const Shape &s, int64_t rows, const Once &once) {
        const Told told(s, rows, bits_, bias_);
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        once(told, place(s, rows, 0));  // what is loaded at the first use
        XF_DO(cudaStreamSynchronize(stream_));
        XF_DO(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
        for (int turn = 0; turn < kInGraph; ++turn) once(told, place(s, rows, turn));
        XF_DO(cudaStreamEndCapture(stream_, &graph));
        XF_DO(cudaGraphInstantiate(&exec, graph, 0));
        const auto run = [&](int times) {
            const auto begin = std::chrono::steady_clock::now();
            for (int i = 0; i < times; ++i) XF_DO(cudaGraphLaunch(exec, stream_));
            XF_DO(cudaStreamSynchronize(stream_));
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / times;
        };
        const int times = std::clamp(static_cast<int>(4e-3 / run(1)), 1, 50);  // some milliseconds
        std::vector<double> all;
        for (int i = 0; i < kMeasured; ++i) all.push_back(run(times) / kInGraph);
        XF_DO(cudaGraphExecDestroy(exec));
        XF_DO(cudaGraphDestroy(graph));
        std::sort(all.begin(), all.end());
        return all[kMeasured / 2];
    }

    // Copies the result of this number of rows; the buffer was filled with 0xFF.
    std::vector<unsigned char> result_of(const Shape &s, int64_t rows, const cublasLtMatmulAlgo_t &algorithm) {
        return result_of(s, rows, [&](const Told &told, const Place &at) { multiply(s, told, at, algorithm); });
    }
    template <class Once>
    std::vector<unsigned char> result_of(const Shape &s, int64_t rows, const Once &once) {
        const Told told(s, rows, bits_, bias_);
        const Place at = place(s, std::max(rows, kCanonicalRows), 0);
        const size_t row = static_cast<size_t>(cut(s.N)) * bytes_of(s.result);
        std::vector<unsigned char> found(row * static_cast<size_t>(std::min(rows, kCanonicalRows)));
        XF_DO(cudaMemsetAsync(at.c, 0xFF, row * static_cast<size_t>(rows), stream_));
        once(told, at);
        XF_DO(cudaStreamSynchronize(stream_));
        XF_DO(cudaMemcpy(found.data(), at.c, found.size(), cudaMemcpyDeviceToHost));
        return found;
    }

    void of_any_rows(const Shape &s, size_t rank, const cublasLtMatmulAlgo_t &algorithm) {
        std::string refused;
        for (const int64_t rows : {1, 2, 4, 16, 17, 32, 64, 255, 256, 1000, 1024, 4096, 16384, 32768, 57344, 65536}) {
            const Told told(s, rows, bits_, bias_);
            cublasLtMatmulHeuristicResult_t checked{};
            const cublasStatus_t code = xf::cuda::cublaslt().MatmulAlgoCheck(
                handle_, told.product, told.first, told.second, told.result, told.result, &algorithm, &checked);
            if (code != CUBLAS_STATUS_SUCCESS || checked.state != CUBLAS_STATUS_SUCCESS)
                refused += ' ' + std::to_string(rows);
        }
        say(s, "accepted", std::to_string(rank) + (refused.empty() ? " 1 to 65536" : " all but" + refused));
        const size_t row = static_cast<size_t>(cut(s.N)) * bytes_of(s.result);
        const auto expected = result_of(s, 1, algorithm);
        std::string other;
        for (const int64_t rows : {4, 17, 256})
            if (std::memcmp(result_of(s, rows, algorithm).data(), expected.data(), row) != 0)
                other += ' ' + std::to_string(rows);
        say(s, "rows", std::to_string(rank) + (other.empty() ? " same bits" : " OTHER BITS at" + other));
    }

    cudaStream_t stream_ = nullptr;
    cublasLtHandle_t handle_ = nullptr;
    size_t pool_bytes_ = 0;
    unsigned char *operands_ = nullptr, *results_ = nullptr, *workspace_ = nullptr, *bits_ = nullptr, *bias_ = nullptr;
};

int run(const char *text) {
    if (const char *missing = xf::cuda::cublaslt().missing; *missing != 0) throw Failed(missing);
    std::printf("product\tlibrary\tversion\t%s\n", xf::cuda::cublaslt().version);
    std::fflush(stdout);
    Bench bench;
    bench.ceiling();
    bool good = bench.shape(kCeiling);
    for (const Shape &s : kShapes)
        if (std::strstr(s.name, text) != nullptr) good = bench.shape(s) && good;
    const auto few_rows = [&](const Shape &s) {
        if (s.row_invariant && s.M < 4096 && std::strstr(s.name, text) != nullptr) good = bench.few_rows(s) && good;
    };
    std::for_each(std::begin(kShapes), std::end(kShapes), few_rows);
    std::for_each(std::begin(kFullSteps), std::end(kFullSteps), few_rows);
    for (const Shape *s : {&kReluBits, &kMaskAndSums, &kEightBits})
        if (std::strstr(s->name, text) != nullptr) good = bench.shape(*s) && good;
    return good ? 0 : 1;
}

}  // namespace
}  // namespace products

int main(int argc, char **argv) {
    const char *text = "";
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--divide") == 0) products::divisor = std::max(1, std::atoi(argv[i + 1]));
        if (std::strcmp(argv[i], "--text") == 0) text = argv[i + 1];
    }
    try {
        return products::run(text);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "gpu_products: %s\n", error.what());
        return 1;
    }
}
