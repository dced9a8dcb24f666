// A replacement of cuBLASLt for tests of cuda/gemm_cublaslt.cu. It checks all arguments strictly, and varies its
// behavior within the documentation of cuBLASLt.
//
// Checks: matrices must fit each other, and rows their stride; pointers must have the alignment that was declared when
// the algorithm was chosen; an algorithm is valid for the types, transposes, and epilogue for which it was chosen; the
// workspace must be as large as the algorithm needs, and both of its ends are filled with NaNs. A violation is recorded
// in Library::broken. Variation: the best algorithm, and with it the order of a sum, differs for nearly every shape;
// sums are split along K whenever this is allowed, and in-place sums in an order that changes from call to call.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>

#include "cuda_bf16.h"
#include "fake_cublaslt_control.h"

using namespace fake_cublaslt;

struct cublasLtContext {
    int unused;
};
struct cublasLtMatmulDescOpaque_t {
    cublasComputeType_t compute;
    cublasOperation_t op_a, op_b;
    cublasLtEpilogue_t epilogue;
    const void *bias;
};
struct cublasLtMatrixLayoutOpaque_t {
    Matrix matrix;
};
struct cublasLtMatmulPreferenceOpaque_t {
    Wish wish;
};

extern "C" Library *xf_fake_cublaslt() {
    static Library library;
    return &library;
}

namespace {

constexpr size_t kScribbled = size_t{64} << 10;  // bytes at each end of the workspace
std::atomic<int64_t> runs;                       // products that ran

Library &library() { return *xf_fake_cublaslt(); }

cublasStatus_t broke(const char *rule) {
    const std::lock_guard<std::mutex> guard(library().lock);
    if (library().broken.empty()) library().broken = rule;
    return CUBLAS_STATUS_INVALID_VALUE;
}
#define XF_RULE(condition) \
    if (!(condition)) return broke(#condition)

cublasStatus_t enter(const char *function) {
    Library &fake = library();
    const std::lock_guard<std::mutex> guard(fake.lock);
    if (fake.fail_after == 0 || --fake.fail_after != 0) return CUBLAS_STATUS_SUCCESS;
    fake.failed = function;
    return fake.failure;
}
#define XF_ENTER() \
    if (const cublasStatus_t code_ = enter(__func__); code_ != CUBLAS_STATUS_SUCCESS) return code_

void count(int64_t Library::*live, int64_t change) {
    const std::lock_guard<std::mutex> guard(library().lock);
    library().*live += change;
}

template <class T>
cublasStatus_t create(T **made, const T &value, int64_t Library::*live) {
    *made = new T(value);
    count(live, 1);
    return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t destroy(T *object, int64_t Library::*live) {
    XF_RULE(object != nullptr);
    delete object;
    count(live, -1);
    return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t assign(T *to, const void *value, size_t bytes) {
    XF_RULE(value != nullptr && bytes == sizeof(T));
    std::memcpy(to, value, sizeof(T));
    return CUBLAS_STATUS_SUCCESS;
}

size_t bytes_of(cudaDataType_t type) { return type == CUDA_R_16BF ? 2 : 4; }

cublasStatus_t understand(cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t result, Question *question) {
    XF_RULE(d != nullptr && a != nullptr && b != nullptr && c != nullptr && c == result);
    Question &q = *question;
    q = {0, 0, 0, a->matrix, b->matrix, c->matrix, d->op_a, d->op_b, d->epilogue, d->compute};
    const bool ta = q.op_a == CUBLAS_OP_T, tb = q.op_b == CUBLAS_OP_T;
    q.m = ta ? q.a.columns : q.a.rows, q.k = ta ? q.a.rows : q.a.columns, q.n = tb ? q.b.rows : q.b.columns;
    XF_RULE(q.k == (tb ? q.b.columns : q.b.rows));
    XF_RULE(q.c.rows == q.m && q.c.columns == q.n);
    XF_RULE(q.a.type == q.b.type && (q.c.type == q.a.type || q.c.type == CUDA_R_32F));
    XF_RULE(d->epilogue == CUBLASLT_EPILOGUE_DEFAULT || (d->epilogue & ~uint32_t{CUBLASLT_EPILOGUE_RELU_BIAS}) == 0);
    XF_RULE((d->epilogue & CUBLASLT_EPILOGUE_BIAS) == 0 || d->bias != nullptr);
    return CUBLAS_STATUS_SUCCESS;
}

uint64_t configuration(const Question &q) {
    return static_cast<uint64_t>(q.a.type) | static_cast<uint64_t>(q.c.type) << 8 | uint64_t{q.op_a} << 16 |
           uint64_t{q.op_b} << 17 | uint64_t{q.epilogue} << 18 | uint64_t{1} << 32;
}

// The rank-th best algorithm.
cublasLtMatmulHeuristicResult_t algorithm(const Question &q, const Wish &wish, const void *bias, int rank) {
    cublasLtMatmulHeuristicResult_t found{};
    auto &data = found.algo.data;
    data[kBlock] = static_cast<uint64_t>(4 + (q.m * 7 + q.n * 3 + q.k + rank * 5) % 13);
    data[kInPlace] = wish.schemes & CUBLASLT_REDUCTION_SCHEME_INPLACE;
    data[kParts] = wish.schemes == CUBLASLT_REDUCTION_SCHEME_NONE ? 1 : static_cast<uint64_t>(3 + q.n % 3);
    for (int i = 0; i < 4; ++i) data[kAlignment] |= uint64_t{wish.alignment[i]} << 16 * i;
    data[kWorkspace] = wish.workspace;
    data[kConfiguration] = configuration(q);
    data[kRank] = static_cast<uint64_t>(rank);
    const auto address = reinterpret_cast<uintptr_t>(bias);  // the heuristic takes its alignment for that of each bias
    data[kBias] = (q.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0 ? address & (~address + 1) : 1;
    found.workspaceSize = wish.workspace;
    return found;
}

float load(const void *from, cudaDataType_t type, int64_t i) {
    return type == CUDA_R_16BF ? static_cast<float>(static_cast<const __nv_bfloat16 *>(from)[i])
                               : static_cast<const float *>(from)[i];
}

struct Product {
    Question q;
    cublasLtMatmulAlgo_t algo;
    const void *a, *b, *bias;
    void *c;
    float beta;
    unsigned char *workspace;

    // Terms [from, to) of an element's sum.
    float part(int64_t i, int64_t j, int64_t from, int64_t to) const {
        const auto block = static_cast<int64_t>(algo.data[kBlock]);
        const int64_t row_a = q.op_a == CUBLAS_OP_T ? q.a.ld : 1, step_a = q.op_a == CUBLAS_OP_T ? 1 : q.a.ld;
        const int64_t column_b = q.op_b == CUBLAS_OP_T ? 1 : q.b.ld, step_b = q.op_b == CUBLAS_OP_T ? q.b.ld : 1;
        float sum = 0;
        for (int64_t begin = from; begin < to; begin += block) {
            float terms = 0;
            for (int64_t k = begin; k < std::min(begin + block, to); ++k)
                terms += load(a, q.a.type, i * row_a + k * step_a) * load(b, q.b.type, j * column_b + k * step_b);
            sum += terms;
        }
        return sum;
    }
    void element(int64_t i, int64_t j, int64_t turn) const {
        const auto parts = static_cast<int64_t>(algo.data[kParts]);
        const int64_t first = algo.data[kInPlace] != 0 ? turn : 0;
        float sum = 0;
        for (int64_t p = 0; p < parts; ++p) {
            const int64_t at = (first + p) % parts;
            sum += part(i, j, q.k * at / parts, q.k * (at + 1) / parts);
        }
        const int64_t at = i + j * q.c.ld;
        if (beta != 0) sum += beta * load(c, q.c.type, at);
        if ((q.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) sum += load(bias, q.c.type, i);
        if ((q.epilogue & CUBLASLT_EPILOGUE_RELU) != 0 && sum < 0) sum = 0;
        if (q.c.type == CUDA_R_16BF)
            static_cast<__nv_bfloat16 *>(c)[at] = __float2bfloat16_rn(sum);
        else
            static_cast<float *>(c)[at] = sum;
    }
    void operator()() const {
        const int64_t turn = runs++;
        const size_t used = algo.data[kWorkspace], end = std::min(used, kScribbled);
        std::memset(workspace, 0xFF, end);
        std::memset(workspace + used - end, 0xFF, end);
        for (int64_t j = 0; j < q.n; ++j)
            for (int64_t i = 0; i < q.m; ++i) element(i, j, turn);
    }
};

bool aligned(const void *ptr, uint64_t bytes) { return reinterpret_cast<uintptr_t>(ptr) % bytes == 0; }

}  // namespace

size_t cublasLtGetVersion() { return CUBLAS_VER_MAJOR * 10000 + 203; }

const char *cublasLtGetStatusString(cublasStatus_t code) {
    switch (code) {
        case CUBLAS_STATUS_ALLOC_FAILED:
            return "the fake has no memory";
        case CUBLAS_STATUS_INTERNAL_ERROR:
            return "the fake is broken";
        default:
            return "another status";
    }
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
    XF_ENTER();
    return create(handle, cublasLtContext{0}, &Library::live_handles);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(handle, &Library::live_handles); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute, cudaDataType_t scale) {
    XF_ENTER();
    XF_RULE(compute == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F);
    return create(d, {compute, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr},
                  &Library::live_descriptions);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { return destroy(d, &Library::live_descriptions); }

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes) {
    XF_ENTER();
    switch (attribute) {
        case CUBLASLT_MATMUL_DESC_TRANSA:
            return assign(&d->op_a, value, bytes);
        case CUBLASLT_MATMUL_DESC_TRANSB:
            return assign(&d->op_b, value, bytes);
        case CUBLASLT_MATMUL_DESC_EPILOGUE:
            return assign(&d->epilogue, value, bytes);
        case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
            return assign(&d->bias, value, bytes);
    }
    return broke("the fake knows the attribute");
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
    XF_ENTER();
    const Matrix matrix{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), ld};
    XF_RULE(matrix.rows > 0 && matrix.columns > 0 && matrix.rows <= ld);
    return create(layout, {matrix}, &Library::live_descriptions);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    return destroy(layout, &Library::live_descriptions);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
    XF_ENTER();
    const Wish defaults{0, CUBLASLT_REDUCTION_SCHEME_MASK, {256, 256, 256, 256}, 0};
    return create(preference, {defaults}, &Library::live_descriptions);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    return destroy(preference, &Library::live_descriptions);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
                                                    size_t bytes) {
    XF_ENTER();
    Wish &wish = preference->wish;
    switch (attribute) {
        case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
            return assign(&wish.workspace, value, bytes);
        case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
            return assign(&wish.schemes, value, bytes);
        case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
        case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
        case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
        case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
            return assign(&wish.alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
    }
    return broke("the fake knows the attribute");
}

// bf16 rows at odd distances are not served.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t result, cublasLtMatmulPreference_t preference,
                                              int most, cublasLtMatmulHeuristicResult_t *results, int *found) {
    XF_ENTER();
    XF_RULE(handle != nullptr && preference != nullptr && most > 0);
    Question q;
    if (const cublasStatus_t code = understand(d, a, b, c, result, &q); code != CUBLAS_STATUS_SUCCESS) return code;
    Wish wish = preference->wish;
    wish.most = most;
    for (const uint32_t alignment : wish.alignment) XF_RULE(alignment > 0 && (alignment & (alignment - 1)) == 0);
    Found list;
    bool served = true;
    for (const Matrix *matrix : {&q.a, &q.b, &q.c})
        served = served && (matrix->type == CUDA_R_32F || matrix->ld % 2 == 0);
    for (int rank = 0; served && rank < std::min(most, 3); ++rank) list.push_back(algorithm(q, wish, d->bias, rank));
    Library &fake = library();
    const std::lock_guard<std::mutex> guard(fake.lock);
    fake.asked.emplace_back(q, wish);
    const cublasStatus_t code = fake.heuristic ? fake.heuristic(q, list) : CUBLAS_STATUS_SUCCESS;
    *found = static_cast<int>(list.size());
    std::copy(list.begin(), list.end(), results);
    return code == CUBLAS_STATUS_SUCCESS && list.empty() ? CUBLAS_STATUS_NOT_SUPPORTED : code;
}

#ifndef XF_FAKE_CUBLASLT_OLD
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                       cublasLtMatrixLayout_t result, const cublasLtMatmulAlgo_t *algo,
                                       cublasLtMatmulHeuristicResult_t *found) {
    XF_RULE(handle != nullptr && algo != nullptr && found != nullptr);
    Question q;
    if (const cublasStatus_t code = understand(d, a, b, c, result, &q); code != CUBLAS_STATUS_SUCCESS) return code;
    XF_RULE(algo->data[kConfiguration] == configuration(q));
    *found = {};
    found->algo = *algo;
    found->workspaceSize = algo->data[kWorkspace];
    Library &fake = library();
    const std::lock_guard<std::mutex> guard(fake.lock);
    fake.checked.push_back(q);
    return fake.algo_check ? fake.algo_check(q, *algo, found) : CUBLAS_STATUS_SUCCESS;
}
#endif

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t layout_a, const void *b, cublasLtMatrixLayout_t layout_b,
                              const void *beta, const void *c, cublasLtMatrixLayout_t layout_c, void *result,
                              cublasLtMatrixLayout_t layout_result, const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
    XF_ENTER();
    XF_RULE(handle != nullptr && algo != nullptr);
    Product product{
        {}, *algo, a, b, d->bias, result, *static_cast<const float *>(beta), static_cast<unsigned char *>(workspace)};
    const Question &q = product.q;
    const cublasStatus_t code = understand(d, layout_a, layout_b, layout_c, layout_result, &product.q);
    if (code != CUBLAS_STATUS_SUCCESS) return code;
    XF_RULE(*static_cast<const float *>(alpha) == 1.0f && (product.beta == 0.0f || product.beta == 1.0f) &&
            c == result);
    XF_RULE(algo->data[kConfiguration] == configuration(q));
    const auto promised = [&](int i) { return algo->data[kAlignment] >> 16 * i & 0xFFFF; };
    XF_RULE(aligned(a, promised(0)) && q.a.ld * bytes_of(q.a.type) % promised(0) == 0);
    XF_RULE(aligned(b, promised(1)) && q.b.ld * bytes_of(q.b.type) % promised(1) == 0);
    XF_RULE(aligned(c, promised(2)) && q.c.ld * bytes_of(q.c.type) % promised(2) == 0);
    XF_RULE(aligned(result, promised(3)) && promised(3) == promised(2));
    XF_RULE((q.epilogue & CUBLASLT_EPILOGUE_BIAS) == 0 || aligned(d->bias, algo->data[kBias]));
    XF_RULE(workspace != nullptr && aligned(workspace, 256) && workspace_bytes >= algo->data[kWorkspace]);
    Library &fake = library();
    {
        const std::lock_guard<std::mutex> guard(fake.lock);
        fake.multiplied.emplace_back(q, *algo);
    }
    return fake.enqueue(stream, cuda_host::make_task(product)) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                                              : CUBLAS_STATUS_EXECUTION_FAILED;
}
