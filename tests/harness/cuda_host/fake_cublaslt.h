// The declarations of <cublasLt.h> that the plugin uses, so that its wrapper of cuBLASLt can be compiled and tested on
// machines without CUDA; fake_cublaslt.cpp is the library. The build defines CUBLAS_VER_MAJOR.
//
// Names, numbers, and types are those of the public API. If the toolkit is installed, fake_cublaslt_api.cpp compares
// them; that file includes only the lists.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

// clang-format off
// e(type, its values as v(name, number))
#define XF_FAKE_CUBLASLT_ENUMS(e, v) \
    e(cudaDataType_t, v(CUDA_R_32F, 0) v(CUDA_R_16BF, 14)) \
    e(cublasStatus_t, v(CUBLAS_STATUS_SUCCESS, 0) v(CUBLAS_STATUS_ALLOC_FAILED, 3) v(CUBLAS_STATUS_INVALID_VALUE, 7) \
        v(CUBLAS_STATUS_ARCH_MISMATCH, 8) v(CUBLAS_STATUS_EXECUTION_FAILED, 13) v(CUBLAS_STATUS_INTERNAL_ERROR, 14) \
        v(CUBLAS_STATUS_NOT_SUPPORTED, 15)) \
    e(cublasOperation_t, v(CUBLAS_OP_N, 0) v(CUBLAS_OP_T, 1)) \
    e(cublasComputeType_t, v(CUBLAS_COMPUTE_32F, 68)) \
    e(cublasLtMatmulDescAttributes_t, v(CUBLASLT_MATMUL_DESC_TRANSA, 3) v(CUBLASLT_MATMUL_DESC_TRANSB, 4) \
        v(CUBLASLT_MATMUL_DESC_EPILOGUE, 7) v(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)) \
    e(cublasLtEpilogue_t, v(CUBLASLT_EPILOGUE_DEFAULT, 1) v(CUBLASLT_EPILOGUE_RELU, 2) v(CUBLASLT_EPILOGUE_BIAS, 4) \
        v(CUBLASLT_EPILOGUE_RELU_BIAS, 6)) \
    e(cublasLtReductionScheme_t, v(CUBLASLT_REDUCTION_SCHEME_NONE, 0) v(CUBLASLT_REDUCTION_SCHEME_INPLACE, 1) \
        v(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2) v(CUBLASLT_REDUCTION_SCHEME_MASK, 7)) \
    e(cublasLtMatmulPreferenceAttributes_t, v(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1) \
        v(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3) v(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5) \
        v(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6) v(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7) \
        v(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8))

// f(result, name without cublasLt, parameters)
#define XF_FAKE_CUBLASLT_FUNCTIONS(f) \
    f(size_t, GetVersion, ()) \
    f(const char *, GetStatusString, (cublasStatus_t)) \
    f(cublasStatus_t, Create, (cublasLtHandle_t *)) \
    f(cublasStatus_t, Destroy, (cublasLtHandle_t)) \
    f(cublasStatus_t, MatmulDescCreate, (cublasLtMatmulDesc_t *, cublasComputeType_t, cudaDataType_t)) \
    f(cublasStatus_t, MatmulDescDestroy, (cublasLtMatmulDesc_t)) \
    f(cublasStatus_t, MatmulDescSetAttribute, \
      (cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void *, size_t)) \
    f(cublasStatus_t, MatrixLayoutCreate, (cublasLtMatrixLayout_t *, cudaDataType_t, uint64_t, uint64_t, int64_t)) \
    f(cublasStatus_t, MatrixLayoutDestroy, (cublasLtMatrixLayout_t)) \
    f(cublasStatus_t, MatmulPreferenceCreate, (cublasLtMatmulPreference_t *)) \
    f(cublasStatus_t, MatmulPreferenceDestroy, (cublasLtMatmulPreference_t)) \
    f(cublasStatus_t, MatmulPreferenceSetAttribute, \
      (cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void *, size_t)) \
    f(cublasStatus_t, MatmulAlgoGetHeuristic, \
      (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, \
       cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t *, int *)) \
    f(cublasStatus_t, MatmulAlgoCheck, \
      (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, \
       cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *, cublasLtMatmulHeuristicResult_t *)) \
    f(cublasStatus_t, Matmul, \
      (cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *, cublasLtMatrixLayout_t, const void *, \
       cublasLtMatrixLayout_t, const void *, const void *, cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t, \
       const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t))
// clang-format on

#ifndef XF_FAKE_CUBLASLT_LISTS_ONLY
#include <cstddef>
#include <cstdint>

#include "cuda_host/api.h"

#define XF_FAKE_CUBLASLT_VALUE(name, number) name = number,
#define XF_FAKE_CUBLASLT_ENUM(type, values) enum type { values };
XF_FAKE_CUBLASLT_ENUMS(XF_FAKE_CUBLASLT_ENUM, XF_FAKE_CUBLASLT_VALUE)
#undef XF_FAKE_CUBLASLT_VALUE
#undef XF_FAKE_CUBLASLT_ENUM

using cublasLtHandle_t = struct cublasLtContext *;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque_t *;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque_t *;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque_t *;
struct cublasLtMatmulAlgo_t {
    uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
};

#define XF_FAKE_CUBLASLT_DECLARE(result, name, parameters) \
    extern "C" __attribute__((visibility("default"))) result cublasLt##name parameters;
XF_FAKE_CUBLASLT_FUNCTIONS(XF_FAKE_CUBLASLT_DECLARE)
#undef XF_FAKE_CUBLASLT_DECLARE
#endif
