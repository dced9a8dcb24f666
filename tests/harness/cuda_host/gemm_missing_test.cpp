// The CUDA plugin where cuBLASLt is too old (CUBLAS_VER_MAJOR 9902) or not there at all (9903): it says so and serves.
//
// SPDX-License-Identifier: Apache-2.0
#include "fake_cublaslt_fixture.h"

namespace {

constexpr bool kOld = CUBLAS_VER_MAJOR == 9902;

bool says(const std::string &text, const char *word) { return text.find(word) != std::string::npos; }

struct Warned : Session {
    Warned() { wanted_level = 1; }
};

XF_TEST(a_warning_names_a_missing_library) {
    CHECK_EQ(table().device_count(nullptr), 1);
    Warned session;
    CHECK_EQ(session.logged, 1);
    CHECK(says(session.said, kOld ? "libcublasLt.so.9902 has no function cublasLtMatmulAlgoCheck"
                                  : "libcublasLt.so.9903 (cuBLASLt of CUDA 9903) cannot be loaded"));
    CHECK(kOld || says(session.said, "neither can that of CUDA 9905"));
    CHECK(kOld || says(session.said, "LD_LIBRARY_PATH"));
    CHECK(says(session.said, "Own kernels"));
    CHECK(says(table().device_info(session.device), "no cuBLASLt"));
}

XF_TEST(kernels_of_the_plugin_multiply) {
    Warned session;
    for (const uint32_t type : {XF_FP32, XF_BF16})
        for (int which = 0; which < 4; ++which) {
            Shape shape{70, 33, 50, (which & 1) != 0, (which & 2) != 0, type, type, 0, true, true};
            shape.row_invariant = !shape.a_transposed;
            Product(shape).run_and_check(session.stream);
            shape.beta = 1, shape.bias = shape.relu = false, shape.result = XF_FP32;
            Product(shape).run_and_check(session.stream);
        }
    CHECK_EQ(session.logged, 1);
    CHECK(fake().asked.empty() && fake().multiplied.empty());
}

XF_TEST(products_are_recorded) {
    Warned session;
    const Product product({20, 9, 70, false, true, XF_FP32, XF_FP32, 0, true});
    product.run_and_check(session.stream);
    xf_error err{};
    xf_graph *graph = nullptr;
    CHECK_EQ(table().graph_begin(session.stream, &err), int32_t{XF_OK});
    CHECK_EQ(xf::cuda::gemm(session.stream, product.args, &err), int32_t{XF_OK});
    CHECK_EQ(table().graph_end(session.stream, &graph, &err), int32_t{XF_OK});
    CHECK_EQ(cudaMemsetAsync(product.c.device.ptr, 0xFF, product.c.bytes.size(), session.stream->stream), cudaSuccess);
    CHECK_EQ(table().graph_run(session.stream, graph, &err), int32_t{XF_OK});
    const Bytes got = product.read(session.stream);
    for (int64_t i = 0; i < product.s.M; ++i)
        for (int64_t j = 0; j < product.s.N; ++j) CHECK(std::isfinite(product.c.get(got, i, j)));
    table().graph_free(session.stream, graph);
}

}  // namespace
