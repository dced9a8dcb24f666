// Compares fake_cublaslt.h with the toolkit's header, where there is one: nothing here runs.
//
// SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>

#include <cstddef>
#include <type_traits>

#define XF_FAKE_CUBLASLT_LISTS_ONLY
#include "fake_cublaslt.h"

#define XF_SAME_VALUE(name, number) static_assert(name == number, "another value of " #name);
#define XF_SAME_ENUM(type, values)                            \
    static_assert(std::is_enum_v<type> && sizeof(type) == 4); \
    values
XF_FAKE_CUBLASLT_ENUMS(XF_SAME_ENUM, XF_SAME_VALUE)

#define XF_SAME_FUNCTION(result, name, parameters) \
    static_assert(std::is_same_v<decltype(&cublasLt##name), result(*) parameters>, "another type of cublasLt" #name);
XF_FAKE_CUBLASLT_FUNCTIONS(XF_SAME_FUNCTION)

static_assert(sizeof(cublasLtMatmulAlgo_t) == 64 && sizeof(cublasLtMatmulAlgo_t{}.data) == 64);
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 96 && offsetof(cublasLtMatmulHeuristicResult_t, algo) == 0 &&
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) == 64 &&
              offsetof(cublasLtMatmulHeuristicResult_t, state) == 72);
