// Which of cuBLASLt's algorithms computes a product: a function of the call, made once and kept.
//
// Same bits, always. The documentation promises equal bits for the same algorithm, GPU model and workspace of its own,
// so all that is needed is that the algorithm is a function of the call:
// - It is the first that the heuristic gives, and is kept in a table. The heuristic knows types, shape, epilogue and
//   row distances, no addresses: what it is told of alignment follows from the row distances.
// - How many rows are summed over or made differs with each batch of training. Asked for is a number of rows of five
//   significant bits that is not smaller; so the table stays small, and a batch seldom needs a new choice.
// - Sums split along K are added up in a separate step, from the workspace, in fp32; never in place.
// - row_invariant: the algorithm is asked for with 256 rows and without any split of K ("in one sequence"), must accept
//   a list of other numbers of rows (as far as these give matrices below 2^31 numbers), and is used for every M. A
//   row's sums don't know M then: the tile it lies in does nothing but sum along K.
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

constexpr size_t kSlots = 1024;       // of the table
constexpr size_t kRowAlignment = 16;  // what any of the library's loads can want of a row

struct Key {
    int64_t M, N, K, lda, ldb, ldc;
    uint32_t operand_type, result_type, a_transposed, b_transposed, bias, relu, beta, row_invariant;
};

struct Choice {
    Key key;
    bool known;
    bool plain;  // the library has no algorithm
    cublasLtMatmulAlgo_t algorithm;
};

struct GemmState {
    cublasLtHandle_t handle;
    size_t workspace;  // bytes an algorithm may use
    std::mutex lock;   // of the table
    Choice table[kSlots];
};

// A product of M rows over K terms, else as the key says, as the library sees it.
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

// exact: of the very shape, not of the rounded number of rows.
Key make_key(const Gemm &g, bool exact);
// The table's choice for a key, made when there is none.
int32_t choose(xf_stream *stream, const Key &key, Choice *choice, xf_error *err);
// CUBLAS_STATUS_SUCCESS when it can compute d, CUBLAS_STATUS_NOT_SUPPORTED when not, CUBLAS_STATUS_ALLOC_FAILED when
// that can't be told now.
cublasStatus_t check_algorithm(const GemmState &state, const Description &d, const cublasLtMatmulAlgo_t &algorithm);
// What every row start is a multiple of when the first is one of kRowAlignment.
size_t row_alignment(int64_t ld, uint32_t type);
size_t bytes_of(uint32_t type);
// The status of a call of the library.
int32_t check_library(xf_stream *stream, cublasStatus_t code, const char *what, xf_error *err);

}  // namespace xf::cuda
