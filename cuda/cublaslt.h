// cuBLASLt, opened at run time: the functions that gemm_cublaslt.cu calls, by the types of <cublasLt.h>.
//
// The library is 500 MB and may be missing, so the plugin isn't linked with it: who has no GPU needs no file of CUDA.
// Its major version is that of the headers the plugin was compiled with. It is searched for as the dynamic linker does,
// which also finds one that the process has loaded already, then in the toolkit's usual folder. It stays loaded.
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
    char missing[200];  // why it can't serve; empty when it can
};

// Opened by the first call.
const CublasLt &cublaslt();

}  // namespace xf::cuda
