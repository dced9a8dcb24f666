// Shared by the tests of the matrix products: the fake cuBLASLt as the plugin finds it, a counting device, and a
// product with its operands and its reference result.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <random>

#include "counting_host.hpp"
#include "device_buffer.hpp"
#include "fake_cublaslt_control.h"
#include "gemm.h"
#include "plugin.h"

extern "C" const xf_backend_v1 *xf_plugin_init(uint32_t host_abi, xf_error *err);

using Bytes = std::vector<unsigned char>;

inline fake_cublaslt::Library &fake() {
    static fake_cublaslt::Library *const library = [] {
        void *file = dlopen("libcublasLt.so.9901", RTLD_NOW | RTLD_LOCAL);
        XF_CHECK(file != nullptr, XF_ERROR_NOT_FOUND, "%s", dlerror());
        const auto get = reinterpret_cast<decltype(&xf_fake_cublaslt)>(dlsym(file, "xf_fake_cublaslt"));
        XF_CHECK(get != nullptr, XF_ERROR_NOT_FOUND, "%s", dlerror());
        get()->enqueue = cuda_host::enqueue;
        return get();
    }();
    return *library;
}

inline const xf_backend_v1 &table() { return *xf_plugin_init(XF_PLUGIN_ABI, nullptr); }

// A device on a host that counts. At the end everything must have been given back and no rule broken.
struct Device : xf_test::CountingHost {
    Device() { fake().forget(); }
    ~Device() {
        table().device_close(device);
        check_given_back();
        CHECK(logged == 0 || level == wanted_level);
        CHECK_EQ(fake().broken, std::string());
        CHECK_EQ(fake().live_handles, 0);
        CHECK_EQ(fake().live_descriptions, 0);
        fake().forget();
    }
    int32_t open(xf_error *err) { return table().device_open(&callbacks, 0, &device, err); }

    xf_device *device = nullptr;
    int32_t wanted_level = 2;  // of what is to be logged
};

struct Session : Device {
    Session() {
        xf_error err{};
        XF_CHECK(open(&err) == XF_OK, XF_ERROR_BACKEND, "%s", err.message);
        stream = another();
    }
    ~Session() { table().stream_free(stream); }
    xf_stream *another() {
        xf_stream *made = nullptr;
        xf_error err{};
        XF_CHECK(table().stream_create(device, XF_FP32, &made, &err) == XF_OK, XF_ERROR_BACKEND, "%s", err.message);
        return made;
    }
    xf_stream *stream = nullptr;
};

inline size_t size_of(uint32_t type) { return type == XF_BF16 ? 2 : 4; }

// Rows `ld` apart with NaNs between, the first one `shift` numbers after an aligned address.
struct Tensor {
    Tensor(uint32_t type_, int64_t rows_, int64_t columns_, int64_t ld_, int64_t shift_, uint32_t seed)
        : type(type_), rows(rows_), columns(columns_), ld(ld_), shift(shift_), bytes(draw(seed)), device(bytes) {}
    Bytes draw(uint32_t seed) const {
        std::mt19937 random(seed);
        Bytes to(static_cast<size_t>(shift + (rows - 1) * ld + columns) * size_of(type), 0xFF);
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) {
                const float x = static_cast<float>(random() % 20001) / 10000.0f - 1.0f;
                const xf::cuda::bf16 narrow = x;
                std::memcpy(&to[at(i, j)], type == XF_BF16 ? static_cast<const void *>(&narrow) : &x, size_of(type));
            }
        return to;
    }
    size_t at(int64_t i, int64_t j) const { return static_cast<size_t>(shift + i * ld + j) * size_of(type); }
    float get(const Bytes &from, int64_t i, int64_t j) const {
        xf::cuda::bf16 narrow;
        float x;
        std::memcpy(type == XF_BF16 ? static_cast<void *>(&narrow) : &x, &from[at(i, j)], size_of(type));
        return type == XF_BF16 ? static_cast<float>(narrow) : x;
    }
    void *ptr(int64_t row = 0) const { return device.ptr + at(row, 0); }

    uint32_t type;
    int64_t rows, columns, ld, shift;
    Bytes bytes;
    Buffer<unsigned char> device;
};

struct Shape {
    int64_t M, N, K;
    bool a_transposed = false, b_transposed = false;
    uint32_t operands = XF_FP32, result = XF_FP32;
    float beta = 0;
    bool bias = false, relu = false, row_invariant = false;
    int64_t step = 8;   // row distances are multiples of it, and of no higher power of two unless it is 8
    int64_t shift = 0;  // numbers that each first row lies off an aligned address
};

inline int64_t distance(int64_t columns, int64_t step) {
    int64_t ld = columns + 1;
    while (ld % step != 0 || (step < 8 && ld % (2 * step) == 0)) ++ld;
    return ld;
}

struct Product {
    explicit Product(const Shape &shape)
        : s(shape),
          a(s.operands, s.a_transposed ? s.K : s.M, s.a_transposed ? s.M : s.K,
            distance(s.a_transposed ? s.M : s.K, s.step), s.shift, 1),
          b(s.operands, s.b_transposed ? s.N : s.K, s.b_transposed ? s.K : s.N,
            distance(s.b_transposed ? s.K : s.N, s.step), s.shift, 2),
          c(s.result, s.M, s.N, distance(s.N, s.step), s.shift, 3),
          bias(s.result, 1, s.N, s.N, s.shift, 4),
          args{s.M,
               s.N,
               s.K,
               a.ptr(),
               a.ld,
               s.a_transposed,
               b.ptr(),
               b.ld,
               s.b_transposed,
               c.ptr(),
               c.ld,
               s.operands,
               s.result,
               s.beta,
               s.bias ? bias.ptr() : nullptr,
               s.relu,
               s.row_invariant} {}
    // c after a run on what it was at first.
    int32_t run(xf_stream *stream, Bytes *got = nullptr, xf_error *err = nullptr) const {
        CHECK_EQ(cudaMemcpyAsync(c.device.ptr, c.bytes.data(), c.bytes.size(), cudaMemcpyHostToDevice, stream->stream),
                 cudaSuccess);
        const int32_t status = xf::cuda::gemm(stream, args, err);
        if (got != nullptr) *got = read(stream);
        return status;
    }
    Bytes read(xf_stream *stream) const {
        Bytes got(c.bytes.size());
        cudaMemcpyAsync(got.data(), c.device.ptr, got.size(), cudaMemcpyDeviceToHost, stream->stream);
        return got;
    }
    // Against sums in double; between the rows nothing may have been written.
    void check(const Bytes &got) const {
        Bytes gaps = got;
        for (int64_t i = 0; i < s.M; ++i)
            for (int64_t j = 0; j < s.N; ++j) {
                double want = s.beta * double{c.get(c.bytes, i, j)} + (s.bias ? bias.get(bias.bytes, 0, j) : 0);
                for (int64_t k = 0; k < s.K; ++k)
                    want += double{s.a_transposed ? a.get(a.bytes, k, i) : a.get(a.bytes, i, k)} *
                            double{s.b_transposed ? b.get(b.bytes, j, k) : b.get(b.bytes, k, j)};
                if (s.relu && want < 0) want = 0;
                const double rounding = s.result == XF_BF16 ? std::fabs(want) / 256 : 0;
                CHECK_NEAR(c.get(got, i, j), want, 2e-5 + rounding);
                std::memcpy(&gaps[c.at(i, j)], &c.bytes[c.at(i, j)], size_of(s.result));
            }
        CHECK(gaps == c.bytes);
    }
    void run_and_check(xf_stream *stream) const {
        Bytes got;
        xf_error err{};
        const int32_t status = run(stream, &got, &err);
        CHECK_EQ(status == XF_OK ? "" : std::string(err.message), "");
        if (status == XF_OK) check(got);
    }

    Shape s;
    Tensor a, b, c, bias;
    xf::cuda::Gemm args;
};
