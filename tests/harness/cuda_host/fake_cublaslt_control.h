// Controls of the fake cuBLASLt and records of its calls. Matrices are column-major as in its API, so m is the N of the
// caller and n the M of the caller.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "cuda_runtime.h"
#include "fake_cublaslt.h"

namespace fake_cublaslt {

struct Matrix {
    cudaDataType_t type;
    int64_t rows, columns, ld;
};

struct Question {
    int64_t m, n, k;
    Matrix a, b, c;
    cublasOperation_t op_a, op_b;
    cublasLtEpilogue_t epilogue;
    cublasComputeType_t compute;
};

struct Wish {
    size_t workspace;
    uint32_t schemes;
    uint32_t alignment[4];  // of A, B, C, D
    int most;               // algorithms asked for
};

// The data of an algorithm.
enum AlgorithmData { kBlock, kParts, kInPlace, kAlignment, kWorkspace, kConfiguration, kRank, kBias };

using Found = std::vector<cublasLtMatmulHeuristicResult_t>;
struct Library {
    std::mutex lock;  // of all below, while more than one thread calls
    // Set by the test before the first product: cuda_host::enqueue of its program.
    cudaError_t (*enqueue)(cudaStream_t, const cuda_host::Task &) = nullptr;
    // May change what the heuristic finds; its status is that of the call.
    std::function<cublasStatus_t(const Question &, Found &)> heuristic;
    // May refuse what is otherwise right.
    std::function<cublasStatus_t(const Question &, const cublasLtMatmulAlgo_t &, cublasLtMatmulHeuristicResult_t *)>
        algo_check;
    // The n-th next call fails; calls that destroy and MatmulAlgoCheck, which only says no, aren't counted.
    int64_t fail_after = 0;
    cublasStatus_t failure = CUBLAS_STATUS_INTERNAL_ERROR;

    std::string failed;  // the function that did
    std::string broken;  // the first rule that the caller broke
    int64_t live_handles = 0, live_descriptions = 0;
    std::vector<std::pair<Question, Wish>> asked;
    std::vector<Question> checked;
    std::vector<std::pair<Question, cublasLtMatmulAlgo_t>> multiplied;

    void forget() {
        heuristic = nullptr, algo_check = nullptr, fail_after = 0;
        failed.clear(), broken.clear(), asked.clear(), checked.clear(), multiplied.clear();
    }
};

}  // namespace fake_cublaslt

extern "C" __attribute__((visibility("default"))) fake_cublaslt::Library *xf_fake_cublaslt();
