// See gemm_choice.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "gemm_choice.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace xf::cuda {
namespace {

constexpr size_t kWindow = 8;  // a choice is stored within this many slots of its hash
constexpr int64_t kCanonicalRows = 256;
// Only trials with fewer than 2^31 elements are made: larger matrices may be rejected for other reasons, and no call is
// nearly as large.
constexpr int64_t kTrialNumbers = int64_t{1} << 31;
constexpr int kCandidates = 16, kOrdinaryCandidates = 4;  // number of algorithms requested

// Placeholder for the bias while an algorithm is chosen. Its data are not read, but its address determines an
// alignment, which must not be better than that of any bias.
const void *const kSomeBias = reinterpret_cast<const void *>(uintptr_t{kRowAlignment});

cudaDataType_t library_type(uint32_t type) { return type == XF_BF16 ? CUDA_R_16BF : CUDA_R_32F; }

// Rounds x up to five significant bits.
int64_t rounded_rows(int64_t x) {
    int64_t step = 1;
    while (x / step >= 32) step *= 2;
    return (x + step - 1) / step * step;
}

uint64_t hash(const Key &key) {
    unsigned char bytes[sizeof key];
    std::memcpy(bytes, &key, sizeof key);
    uint64_t h = 0xCBF29CE484222325u;  // FNV-1a
    for (const unsigned char byte : bytes) h = (h ^ byte) * 0x100000001B3u;
    return h ^ h >> 32;
}

}  // namespace

int32_t check_library(xf_stream *stream, cublasStatus_t code, const char *what, xf_error *err) {
    if (code == CUBLAS_STATUS_SUCCESS) return XF_OK;
    if (code == CUBLAS_STATUS_ALLOC_FAILED)
        return fail(err, XF_ERROR_NO_MEMORY, "cuBLASLt ran out of memory for %s", what);
    // The error may be a fault of an earlier kernel; synchronizing reports it with its own code.
    if (!stream->recording) {
        const int32_t status = check(stream->device, cudaStreamSynchronize(stream->stream), what, err);
        if (status != XF_OK) return status;
    }
    fail(err, XF_ERROR_BACKEND, "cuBLASLt, %s: %s", what, cublaslt().GetStatusString(code));
    if (err != nullptr) err->native_code = static_cast<int32_t>(code);
    return XF_ERROR_BACKEND;
}

size_t bytes_of(uint32_t type) { return type == XF_BF16 ? 2 : 4; }

size_t row_alignment(int64_t ld, uint32_t type) {
    const size_t step = static_cast<size_t>(ld) * bytes_of(type);
    return step % kRowAlignment == 0 ? kRowAlignment : step & (~step + 1);
}

// The row count that is rounded is M, or K if both operands are stored with one row per term. Neither is the length of
// a row, so the row distances remain valid for the rounded shape.
Key make_key(const Gemm &g, bool exact) {
    Key key;
    std::memset(&key, 0, sizeof key);  // compared and hashed as bytes
    key.M = g.row_invariant ? kCanonicalRows : exact || g.a_transposed ? g.M : rounded_rows(g.M);
    key.K = exact || !g.a_transposed || g.b_transposed ? g.K : rounded_rows(g.K);
    key.N = g.N;
    key.lda = g.lda, key.ldb = g.ldb, key.ldc = g.ldc;
    key.operand_type = g.operand_type, key.result_type = g.result_type;
    key.a_transposed = g.a_transposed, key.b_transposed = g.b_transposed;
    key.bias = g.bias != nullptr, key.relu = g.relu, key.beta = g.beta != 0.0f;
    key.row_invariant = g.row_invariant;
    return key;
}

Description::~Description() {
    const CublasLt &lt = cublaslt();
    for (cublasLtMatrixLayout_t layout : {first, second, result})
        if (layout != nullptr) lt.MatrixLayoutDestroy(layout);
    if (product != nullptr) lt.MatmulDescDestroy(product);
}

cublasStatus_t Description::make(const Key &key, int64_t M, int64_t K) {
    const CublasLt &lt = cublaslt();
    cublasStatus_t code = lt.MatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto &value) {
        if (code == CUBLAS_STATUS_SUCCESS) code = lt.MatmulDescSetAttribute(product, attribute, &value, sizeof value);
    };
    const cublasOperation_t op[2] = {CUBLAS_OP_N, CUBLAS_OP_T};
    set(CUBLASLT_MATMUL_DESC_TRANSA, op[key.b_transposed]);
    set(CUBLASLT_MATMUL_DESC_TRANSB, op[key.a_transposed]);
    const cublasLtEpilogue_t epilogues[2][2] = {{CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU},
                                                {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS}};
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogues[key.bias][key.relu]);
    if (key.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, kSomeBias);
    const auto lay_out = [&](cublasLtMatrixLayout_t *layout, uint32_t type, bool swapped, int64_t rows, int64_t columns,
                             int64_t ld) {
        if (code == CUBLAS_STATUS_SUCCESS)
            code = lt.MatrixLayoutCreate(layout, library_type(type), static_cast<uint64_t>(swapped ? columns : rows),
                                         static_cast<uint64_t>(swapped ? rows : columns), ld);
    };
    lay_out(&first, key.operand_type, key.b_transposed, key.N, K, key.ldb);
    lay_out(&second, key.operand_type, key.a_transposed, K, M, key.lda);
    lay_out(&result, key.result_type, false, key.N, M, key.ldc);
    return code;
}

cublasStatus_t check_algorithm(const GemmState &state, const Description &d, const cublasLtMatmulAlgo_t &algorithm) {
    cublasLtMatmulHeuristicResult_t found{};
    const cublasStatus_t code =
        cublaslt().MatmulAlgoCheck(state.handle, d.product, d.first, d.second, d.result, d.result, &algorithm, &found);
    if (code == CUBLAS_STATUS_ALLOC_FAILED) return code;
    const bool fits =
        code == CUBLAS_STATUS_SUCCESS && found.state == CUBLAS_STATUS_SUCCESS && found.workspaceSize <= state.workspace;
    return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

namespace {

cublasStatus_t ask(const GemmState &state, const Key &key, cublasLtMatmulHeuristicResult_t (&found)[kCandidates],
                   int *count) {
    const CublasLt &lt = cublaslt();
    Description d;
    cublasStatus_t code = d.make(key, key.M, key.K);
    cublasLtMatmulPreference_t preference = nullptr;
    if (code == CUBLAS_STATUS_SUCCESS) code = lt.MatmulPreferenceCreate(&preference);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto &value) {
        if (code == CUBLAS_STATUS_SUCCESS)
            code = lt.MatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value);
    };
    const uint32_t scheme = key.row_invariant ? CUBLASLT_REDUCTION_SCHEME_NONE : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const auto align_a = static_cast<uint32_t>(row_alignment(key.ldb, key.operand_type));
    const auto align_b = static_cast<uint32_t>(row_alignment(key.lda, key.operand_type));
    const auto align_c = static_cast<uint32_t>(row_alignment(key.ldc, key.result_type));
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, state.workspace);
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, scheme);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, align_a);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, align_b);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, align_c);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, align_c);
    *count = 0;
    if (code == CUBLAS_STATUS_SUCCESS) {
        code = lt.MatmulAlgoGetHeuristic(state.handle, d.product, d.first, d.second, d.result, d.result, preference,
                                         key.row_invariant ? kCandidates : kOrdinaryCandidates, found, count);
        // Each of these means that no algorithm exists for these types and row distances or on this GPU.
        if (code == CUBLAS_STATUS_NOT_SUPPORTED || code == CUBLAS_STATUS_INVALID_VALUE ||
            code == CUBLAS_STATUS_ARCH_MISMATCH)
            code = CUBLAS_STATUS_SUCCESS, *count = 0;
    }
    if (preference != nullptr) lt.MatmulPreferenceDestroy(preference);
    return code;
}

cublasStatus_t decide(const GemmState &state, Choice *choice) {
    cublasLtMatmulHeuristicResult_t found[kCandidates];
    int count = 0;
    const cublasStatus_t code = ask(state, choice->key, found, &count);
    choice->plain = true;
    for (int i = 0; code == CUBLAS_STATUS_SUCCESS && choice->plain && i < count; ++i) {
        if (found[i].state != CUBLAS_STATUS_SUCCESS || found[i].workspaceSize > state.workspace) continue;
        cublasStatus_t fits = CUBLAS_STATUS_SUCCESS;
        for (const int64_t rows : kTrialRows) {
            if (!choice->key.row_invariant || fits != CUBLAS_STATUS_SUCCESS) break;
            if (rows * std::max(choice->key.ldc, choice->key.lda) >= kTrialNumbers) break;
            Description d;
            const cublasStatus_t made = d.make(choice->key, rows, choice->key.K);
            if (made != CUBLAS_STATUS_SUCCESS) return made;
            fits = check_algorithm(state, d, found[i].algo);
        }
        // A temporary failure must not select another algorithm permanently.
        if (fits == CUBLAS_STATUS_ALLOC_FAILED) return fits;
        if (fits == CUBLAS_STATUS_SUCCESS) choice->plain = false, choice->algorithm = found[i].algo;
    }
    return code;
}

void log_missing(const xf_device *device, const Key &key) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "cuBLASLt has no algorithm for %s %lld x %lld x %lld; a slower kernel of the plugin computes it",
                  key.operand_type == XF_BF16 ? "bf16" : "fp32", static_cast<long long>(key.M),
                  static_cast<long long>(key.N), static_cast<long long>(key.K));
    device->host->log(device->host->user, 2, "cuda", text);
}

}  // namespace

// If the window is full, one choice is replaced; computing it again gives the same result.
int32_t choose(xf_stream *stream, const Key &key, Choice *choice, xf_error *err) {
    GemmState &state = *stream->device->gemm;
    const uint64_t at = hash(key);
    const std::lock_guard<std::mutex> guard(state.lock);
    Choice *place = nullptr;
    for (size_t i = 0; i < kWindow; ++i) {
        Choice &slot = state.table[(at + i) % kSlots];
        if (slot.known && std::memcmp(&slot.key, &key, sizeof key) == 0) {
            *choice = slot;
            return XF_OK;
        }
        if (!slot.known && place == nullptr) place = &slot;
    }
    std::memset(choice, 0, sizeof *choice);
    choice->key = key;
    const int32_t status = check_library(stream, decide(state, choice), "the choice of an algorithm", err);
    if (status != XF_OK) return status;
    choice->known = true;
    if (choice->plain) log_missing(stream->device, key);
    if (place == nullptr) place = &state.table[(at + (at >> 40) % kWindow) % kSlots];
    *place = *choice;
    return XF_OK;
}

}  // namespace xf::cuda
