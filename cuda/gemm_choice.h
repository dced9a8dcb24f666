// Chooses the cuBLASLt algorithm of a product: a function of the call, computed once and cached.
//
// The goal is that the same call always gives the same bits. cuBLASLt documents equal bits for the same algorithm, GPU
// model, and exclusive workspace, so the algorithm must be a function of the call:
// - It is the first one that the heuristic returns, and is cached in a table. The heuristic receives types, shape,
//   epilogue, and row distances, but no addresses: the alignment that it receives is derived from the row distances.
// - The number of rows that are computed or summed over changes with every training batch. The heuristic receives this
//   number rounded up to five significant bits, so the table remains small and a batch rarely needs a new choice.
// - Partial sums of a split along K are added in a separate step, from the workspace, in fp32; never in place.
// - row_invariant: the algorithm is requested for 256 rows without a split of K ("in one sequence"), must accept a list
//   of other row counts (as far as these give matrices of fewer than 2^31 elements), and is then used for every M: if
//   it refuses one, for parts of the rows. The sums of a row then do not depend on M, because its tile only adds along
//   K.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "common.cuh"
#include "cublaslt.h"
#include "gemm.h"

namespace xf::cuda {

constexpr size_t kSlots = 1024;       // slots of the table
constexpr size_t kRowAlignment = 16;  // the largest alignment that the library's loads can require
// Trial row counts for row-invariant algorithms, in increasing order.
constexpr int64_t kTrialRows[] = {1, 2, 17, 64, 255, 1000, 4096, 65536};

struct Key {
    int64_t M, N, K, lda, ldb, ldc;
    uint32_t operand_type, result_type, a_transposed, b_transposed, bias, relu, beta, row_invariant;
};

struct Choice {
    Key key;
    bool known;
    bool plain;  // the library has no algorithm; gemm_plain computes the product
    cublasLtMatmulAlgo_t algorithm;
};

struct GemmState {
    cublasLtHandle_t handle;
    size_t workspace;  // bytes an algorithm may use
    std::mutex lock;   // guards the table
    Choice table[kSlots];
};

// The library's description of a product with M rows and K terms; everything else comes from the key.
class Description {
public:
    Description() = default;
    Description(const Description &) = delete;
    Description &operator=(const Description &) = delete;
    ~Description();
    cublasStatus_t make(const Key &key, int64_t M, int64_t K);

    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
};

// exact: the key of the exact shape instead of the rounded number of rows.
Key make_key(const Gemm &g, bool exact);
// Looks up the choice for a key; computes and stores it if it is missing.
int32_t choose(xf_stream *stream, const Key &key, Choice *choice, xf_error *err);
// Returns CUBLAS_STATUS_SUCCESS if the algorithm supports d, CUBLAS_STATUS_NOT_SUPPORTED if not, and
// CUBLAS_STATUS_ALLOC_FAILED if memory ran out before this was known.
cublasStatus_t check_algorithm(const GemmState &state, const Description &d, const cublasLtMatmulAlgo_t &algorithm);
// The alignment of every row if the first row is aligned to kRowAlignment.
size_t row_alignment(int64_t ld, uint32_t type);
size_t bytes_of(uint32_t type);
// Converts the status of a library call.
int32_t check_library(xf_stream *stream, cublasStatus_t code, const char *what, xf_error *err);

}  // namespace xf::cuda
