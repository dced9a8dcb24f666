// cuBLASLt, opened at run time: the functions that gemm_cublaslt.cu calls, with the types of <cublasLt.h>.
//
// The library is 500 MB and may be missing, so the plugin is not linked with it and machines without a GPU need no CUDA
// libraries. The major version of the headers used at compile time is preferred; without it, CUDA 12 and 13 replace
// each other. A version is searched for like any library by the dynamic linker, which also finds one that the process
// has loaded already, then in the toolkit's default folder. It is never closed.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>

#include <cstddef>

namespace xf::cuda {

struct CublasLt {
#define XF_CUBLASLT_FUNCTIONS(f)                                                                                 \
    f(GetVersion) f(GetStatusString) f(Create) f(Destroy) f(Matmul) f(MatmulAlgoGetHeuristic) f(MatmulAlgoCheck) \
        f(MatmulDescCreate) f(MatmulDescDestroy) f(MatmulDescSetAttribute) f(MatrixLayoutCreate)                 \
            f(MatrixLayoutDestroy) f(MatmulPreferenceCreate) f(MatmulPreferenceDestroy)                          \
                f(MatmulPreferenceSetAttribute)
#define XF_CUBLASLT_MEMBER(name) decltype(&cublasLt##name) name;
    XF_CUBLASLT_FUNCTIONS(XF_CUBLASLT_MEMBER)
#undef XF_CUBLASLT_MEMBER

    char version[32];   // "cuBLASLt 13.1"
    char missing[240];  // why it is unavailable; empty if it is available
};

// The first call opens the library.
const CublasLt &cublaslt();

}  // namespace xf::cuda
