// See cublaslt.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "cublaslt.h"

#include <dlfcn.h>

#include <cstdio>

#include "gemm.h"

namespace xf::cuda {
namespace {

#define XF_TEXT_OF(x) #x
#define XF_TEXT(x) XF_TEXT_OF(x)
constexpr const char *kFiles[] = {"libcublasLt.so." XF_TEXT(CUBLAS_VER_MAJOR),
                                  "/usr/local/cuda/lib64/libcublasLt.so." XF_TEXT(CUBLAS_VER_MAJOR)};

CublasLt open_library() {
    CublasLt lt{};
    void *file = nullptr;
    for (const char *name : kFiles)
        if (file == nullptr) file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) {
        std::snprintf(lt.missing, sizeof lt.missing,
                      "%s (cuBLASLt of CUDA " XF_TEXT(CUBLAS_VER_MAJOR) ") cannot be loaded; is its folder in "
                      "LD_LIBRARY_PATH?", kFiles[0]);
        return lt;
    }
    const char *lacking = nullptr;
#define XF_CUBLASLT_LOOK_UP(name)                                                 \
    lt.name = reinterpret_cast<decltype(lt.name)>(dlsym(file, "cublasLt" #name)); \
    if (lt.name == nullptr) lacking = "cublasLt" #name;
    XF_CUBLASLT_FUNCTIONS(XF_CUBLASLT_LOOK_UP)
#undef XF_CUBLASLT_LOOK_UP
    if (lacking != nullptr) {
        std::snprintf(lt.missing, sizeof lt.missing, "%s has no function %s.", kFiles[0], lacking);
        return lt;
    }
    const size_t version = lt.GetVersion();
    std::snprintf(lt.version, sizeof lt.version, "cuBLASLt %zu.%zu", version / 10000, version % 10000 / 100);
    return lt;
}

}  // namespace

const CublasLt &cublaslt() {
    static const CublasLt lt = open_library();
    return lt;
}

const char *gemm_version() { return cublaslt().missing[0] != 0 ? "no cuBLASLt" : cublaslt().version; }

}  // namespace xf::cuda
