// The plugin's own row-invariant products for gpu_products, which has no plugin: a device and a stream of the little
// that they look at, and the errors that they call. Compiled by nvcc, or for the emulation by tests/harness/cuda_host.
//
// SPDX-License-Identifier: Apache-2.0
#include "gpu_own_rows.h"

#include "common.cuh"
#include "gemm_rows.h"

namespace xf::cuda {

int32_t fail(xf_error *, int32_t status, const char *, ...) { return status; }
int32_t check(xf_device *, cudaError_t code, const char *, xf_error *) {
    return code == cudaSuccess ? XF_OK : XF_ERROR_BACKEND;
}

}  // namespace xf::cuda

namespace products {
namespace {

struct Here {
    xf_device device{};
    Here() {
        cudaDeviceProp properties{};
        if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return;
        device.multiprocessors = properties.multiProcessorCount;
        device.capability = 10 * properties.major + properties.minor;
        device.shared_per_block = static_cast<int32_t>(properties.sharedMemPerBlockOptin);
    }
};

xf_device *here() {
    static Here found;
    return &found.device;
}

}  // namespace

bool own_rows_serve(const xf::cuda::Gemm &product) { return xf::cuda::rows_are_own(here(), product, 2); }

bool own_rows(cudaStream_t queue, const xf::cuda::Gemm &product) {
    xf_stream stream{};
    stream.device = here();
    stream.stream = queue;
    return xf::cuda::gemm_rows(&stream, product, nullptr) == XF_OK;
}

}  // namespace products
