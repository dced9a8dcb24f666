// Lets tests/harness/bench/gpu_products.cpp run without a GPU: the fake of cuBLASLt, which the program opens itself,
// puts its products into the streams of the emulation.
//
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cstdio>

#include "fake_cublaslt_control.h"

__attribute__((constructor)) static void join_fake_and_emulation() {
    void *const file = dlopen("libcublasLt.so.9901", RTLD_NOW | RTLD_LOCAL);
    const auto get =
        file != nullptr ? reinterpret_cast<decltype(&xf_fake_cublaslt)>(dlsym(file, "xf_fake_cublaslt")) : nullptr;
    if (get == nullptr)
        std::fprintf(stderr, "products_host: %s\n", dlerror());
    else
        get()->enqueue = cuda_host::enqueue;
}
