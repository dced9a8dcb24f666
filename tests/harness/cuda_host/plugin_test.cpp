// The plugin that nvcc made, on whatever machine this is: it loads, refuses another ABI, and where there is no GPU says
// why. On a machine with one, tests/gpu.sh does the rest.
//
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include "backend/plugin_abi.h"
#include "support/test.hpp"

namespace {

XF_TEST(the_plugin_loads_and_reports_the_device) {
    void *const library = dlopen(XF_TEST_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
    CHECK(library != nullptr);
    if (library == nullptr) return;
    const auto init = reinterpret_cast<xf_plugin_init_fn>(dlsym(library, XF_PLUGIN_INIT_NAME));
    CHECK(init != nullptr);
    if (init == nullptr) return;
    xf_error err{};
    CHECK(init(XF_PLUGIN_ABI + 1, &err) == nullptr);
    CHECK_EQ(err.status, int32_t{XF_ERROR_VERSION});
    err = {};
    const xf_backend_v1 *const table = init(XF_PLUGIN_ABI, &err);
    CHECK(table != nullptr);
    if (table == nullptr) return;
    CHECK(std::strcmp(table->kind, "cuda") == 0);
    CHECK_EQ(table->dtypes, (1u << XF_FP32) | (1u << XF_BF16));
    const int32_t devices = table->device_count(&err);
    std::printf("%d devices: %s\n", devices, devices > 0 ? table->device_name(0) : err.message);
    CHECK(devices > 0 || (devices == 0 && std::strlen(err.message) > 10));
    CHECK(table->device_name(0) != nullptr);
}

}  // namespace
