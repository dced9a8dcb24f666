// The matrix products of a base model, as gpu_products.cpp asks cuBLASLt for them; see there.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "cublaslt.h"
#include "cuda_runtime.h"

namespace products {

// Row-major as in cuda/gemm.h: c [M, N] = op(a) op(b), with what is done to the result.
enum class After { kNothing, kAdd, kBias, kReluBias, kReluBits, kMaskAndSums };
struct Shape {
    const char *name;
    int64_t M, N, K;
    bool a_transposed, b_transposed;
    cudaDataType_t operands, result;
    After after;
    bool row_invariant;
};

// Tokens of a step, rows of a piece of the loss and of what is gathered of it.
constexpr int64_t kTokens = 25024, kPiece = 1024, kGathered = 4096, kVocab = 37000;
constexpr auto kHalf = CUDA_R_16BF, kFull = CUDA_R_32F;
constexpr Shape kShapes[] = {
    // Forward: x W^T + bias.
    {"qkv", kTokens, 1536, 512, false, true, kHalf, kHalf, After::kNothing, false},
    {"attention out, cross q", kTokens, 512, 512, false, true, kHalf, kHalf, After::kNothing, false},
    {"cross k v", kTokens, 1024, 512, false, true, kHalf, kHalf, After::kNothing, false},
    {"ff in, ReLU", kTokens, 2048, 512, false, true, kHalf, kHalf, After::kReluBias, false},
    {"ff out", kTokens, 512, 2048, false, true, kHalf, kHalf, After::kBias, false},
    {"logits", kPiece, kVocab, 512, false, true, kHalf, kFull, After::kNothing, false},
    // Gradients of inputs: dy W.
    {"d qkv", kTokens, 512, 1536, false, false, kHalf, kHalf, After::kNothing, false},
    {"d attention out", kTokens, 512, 512, false, false, kHalf, kHalf, After::kNothing, false},
    {"d cross k v", kTokens, 512, 1024, false, false, kHalf, kHalf, After::kAdd, false},
    {"d ff in", kTokens, 512, 2048, false, false, kHalf, kHalf, After::kNothing, false},
    {"d ff out", kTokens, 2048, 512, false, false, kHalf, kHalf, After::kNothing, false},
    {"d logits", kGathered, 512, kVocab, false, false, kHalf, kHalf, After::kNothing, false},
    // Gradients of weights: dy^T x, added.
    {"dW qkv", 1536, 512, kTokens, true, false, kHalf, kFull, After::kAdd, false},
    {"dW attention out", 512, 512, kTokens, true, false, kHalf, kFull, After::kAdd, false},
    {"dW cross k v", 1024, 512, kTokens, true, false, kHalf, kFull, After::kAdd, false},
    {"dW ff in", 2048, 512, kTokens, true, false, kHalf, kFull, After::kAdd, false},
    {"dW ff out", 512, 2048, kTokens, true, false, kHalf, kFull, After::kAdd, false},
    {"dW embedding", kVocab, 512, kGathered, true, false, kHalf, kFull, After::kAdd, false},
    // Decoding: four rows, and the algorithm must be the same for any number of them.
    {"step qkv", 4, 1536, 512, false, true, kHalf, kHalf, After::kNothing, true},
    {"step attention out", 4, 512, 512, false, true, kHalf, kHalf, After::kNothing, true},
    {"step cross k v", 4, 1024, 512, false, true, kHalf, kHalf, After::kNothing, true},
    {"step ff in, ReLU", 4, 2048, 512, false, true, kHalf, kHalf, After::kReluBias, true},
    {"step ff out", 4, 512, 2048, false, true, kHalf, kHalf, After::kBias, true},
    {"step logits", 4, kVocab, 512, false, true, kHalf, kFull, After::kNothing, true},
    {"step logits of 4096 rows", 4096, kVocab, 512, false, true, kHalf, kFull, After::kNothing, true},
};
static_assert(sizeof kShapes / sizeof *kShapes == 25);

// The same step in fp32, only with few rows.
constexpr Shape kFullSteps[] = {
    {"step qkv, fp32", 4, 1536, 512, false, true, kFull, kFull, After::kNothing, true},
    {"step ff out, fp32", 4, 512, 2048, false, true, kFull, kFull, After::kBias, true},
    {"step logits, fp32", 4, kVocab, 512, false, true, kFull, kFull, After::kNothing, true},
};

// The most that matrices reach here.
constexpr Shape kCeiling = {"8192 x 8192 x 8192", 8192, 8192, 8192, false, true, kHalf, kHalf, After::kNothing, false};
// Alternatives to the mask of the ReLU gradient and the sums of its bias, and products with 8 bits.
constexpr Shape kReluBits = {"ff in, ReLU and its bits", kTokens, 2048, 512, false, true, kHalf, kHalf,
                             After::kReluBits,           false};
constexpr Shape kMaskAndSums = {"d ff out, mask and sums", kTokens, 2048, 512, false, false, kHalf, kHalf,
                                After::kMaskAndSums,       false};
constexpr Shape kEightBits = {"ff in, FP8", kTokens,         2048, 512, false, true, CUDA_R_8F_E4M3,
                              kHalf,        After::kNothing, false};

struct Failed : std::runtime_error {
    using std::runtime_error::runtime_error;
};
inline void check(cudaError_t code, const char *what) {
    if (code != cudaSuccess) throw Failed(std::string(what) + ": " + cudaGetErrorString(code));
}
inline void check(cublasStatus_t code, const char *what) {
    if (code != CUBLAS_STATUS_SUCCESS)
        throw Failed(std::string(what) + ": " + xf::cuda::cublaslt().GetStatusString(code));
}
#define XF_DO(call) ::products::check(call, #call)

// All sizes are divided by it, but in steps of what 16-byte rows need.
inline int64_t divisor = 1;
inline int64_t cut(int64_t x) { return divisor == 1 ? x : std::max<int64_t>(16, x / divisor / 16 * 16); }

// A shape with this number of rows as passed to the library: column-major, so the operands are exchanged.
class Told {
public:
    Told(const Shape &s, int64_t rows, void *bits, void *bias) {
        const auto &lt = xf::cuda::cublaslt();
        const int64_t M = rows, N = cut(s.N), K = cut(s.K);
        XF_DO(lt.MatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
        const cublasOperation_t op[2] = {CUBLAS_OP_N, CUBLAS_OP_T};
        set(CUBLASLT_MATMUL_DESC_TRANSA, op[s.b_transposed]);
        set(CUBLASLT_MATMUL_DESC_TRANSB, op[s.a_transposed]);
        const cublasLtEpilogue_t after[] = {CUBLASLT_EPILOGUE_DEFAULT,       CUBLASLT_EPILOGUE_DEFAULT,
                                            CUBLASLT_EPILOGUE_BIAS,          CUBLASLT_EPILOGUE_RELU_BIAS,
                                            CUBLASLT_EPILOGUE_RELU_AUX_BIAS, CUBLASLT_EPILOGUE_DRELU_BGRAD};
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, after[static_cast<int>(s.after)]);
        if (s.after >= After::kBias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
        if (s.after >= After::kReluBits) {
            const int64_t ld = (N + 127) / 128 * 128;  // bits of a row
            set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, bits);
            set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ld);
        }
        lay_out(&first, s.operands, s.b_transposed, N, K);
        lay_out(&second, s.operands, s.a_transposed, K, M);
        lay_out(&result, s.result, false, N, M);
    }
    Told(const Told &) = delete;
    Told &operator=(const Told &) = delete;
    ~Told() {
        const auto &lt = xf::cuda::cublaslt();
        for (cublasLtMatrixLayout_t layout : {first, second, result})
            if (layout != nullptr) lt.MatrixLayoutDestroy(layout);
        if (product != nullptr) lt.MatmulDescDestroy(product);
    }

    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;

private:
    template <class T>
    void set(cublasLtMatmulDescAttributes_t attribute, const T &value) {
        XF_DO(xf::cuda::cublaslt().MatmulDescSetAttribute(product, attribute, &value, sizeof value));
    }
    static void lay_out(cublasLtMatrixLayout_t *layout, cudaDataType_t type, bool swapped, int64_t rows,
                        int64_t columns) {
        const int64_t down = swapped ? columns : rows, across = swapped ? rows : columns;
        XF_DO(xf::cuda::cublaslt().MatrixLayoutCreate(layout, type, static_cast<uint64_t>(down),
                                                      static_cast<uint64_t>(across), down));
    }
};

}  // namespace products
