// See cublaslt.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "cublaslt.h"

#include <dlfcn.h>

#include <cstdio>

#include "gemm.h"

namespace xf::cuda {
namespace {

// CUDA 12 and 13 have the same declarations of everything that this plugin uses.
#ifndef XF_CUBLASLT_OTHER
#define XF_CUBLASLT_OTHER (CUBLAS_VER_MAJOR == 12 ? 13 : 12)
#endif
constexpr int kMajors[] = {CUBLAS_VER_MAJOR, XF_CUBLASLT_OTHER};
constexpr const char *kFolders[] = {"", "/usr/local/cuda/lib64/"};

// Opens the library of one major version. Returns false and fills `missing` if it cannot be used.
bool open_library(int major, CublasLt *lt) {
    char name[64];
    void *file = nullptr;
    for (const char *folder : kFolders) {
        std::snprintf(name, sizeof name, "%slibcublasLt.so.%d", folder, major);
        if (file == nullptr) file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (file == nullptr) {
        std::snprintf(
            lt->missing, sizeof lt->missing,
            "libcublasLt.so.%d (cuBLASLt of CUDA %d) cannot be loaded, and neither can that of CUDA %d; is its "
            "folder in LD_LIBRARY_PATH?",
            kMajors[0], kMajors[0], kMajors[1]);
        return false;
    }
    const char *lacking = nullptr;
#define XF_CUBLASLT_LOOK_UP(name)                                                   \
    lt->name = reinterpret_cast<decltype(lt->name)>(dlsym(file, "cublasLt" #name)); \
    if (lt->name == nullptr) lacking = "cublasLt" #name;
    XF_CUBLASLT_FUNCTIONS(XF_CUBLASLT_LOOK_UP)
#undef XF_CUBLASLT_LOOK_UP
    if (lacking != nullptr) {
        std::snprintf(lt->missing, sizeof lt->missing, "libcublasLt.so.%d has no function %s.", major, lacking);
        return false;
    }
    const size_t version = lt->GetVersion();
    std::snprintf(lt->version, sizeof lt->version, "cuBLASLt %zu.%zu", version / 10000, version % 10000 / 100);
    return true;
}

CublasLt open_any() {
    CublasLt first{}, second{};
    if (open_library(kMajors[0], &first)) return first;
    return open_library(kMajors[1], &second) ? second : first;
}

}  // namespace

const CublasLt &cublaslt() {
    static const CublasLt lt = open_any();
    return lt;
}

const char *gemm_version() { return cublaslt().missing[0] != 0 ? "no cuBLASLt" : cublaslt().version; }

}  // namespace xf::cuda
