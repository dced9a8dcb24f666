// Shared by the tests of the plugin's devices: the plugin with its controls, a counting host, and a session on a
// device.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_host/counting_host.hpp"
#include "cuda_host/emulated.hpp"

namespace xf_test {

inline const xf_backend_v1 &table() {
    static const xf_backend_v1 *const loaded = [] {
        const auto init = control<xf_plugin_init_fn>(XF_PLUGIN_INIT_NAME);
        xf_error err{};
        XF_CHECK(init(XF_PLUGIN_ABI - 1, &err) == nullptr && err.status == XF_ERROR_VERSION, XF_ERROR_BACKEND,
                 "the plugin serves another ABI");
        const xf_backend_v1 *const made = init(XF_PLUGIN_ABI, &err);
        XF_CHECK(made != nullptr, XF_ERROR_BACKEND, "%s", err.message);
        return made;
    }();
    return *loaded;
}

// A control that is put back at the end of the test.
struct Control {
    Control(const char *name, int64_t value, int64_t after) : name_(name), after_(after) { set(name, value); }
    ~Control() { set(name_, after_); }
    const char *name_;
    int64_t after_;
};

struct Host : CountingHost {
    // Nor has the GPU any allocations.
    void check_empty() const {
        check_given_back();
        check_nothing_lives("at the end");
    }
};

struct Session {
    explicit Session(Host &host, uint32_t dtype = XF_FP32, int32_t index = 0) {
        xf_error err{};
        XF_CHECK(table().device_open(&host.callbacks, index, &device, &err) == XF_OK, XF_ERROR_BACKEND, "%s",
                 err.message);
        XF_CHECK(table().stream_create(device, dtype, &stream, &err) == XF_OK, XF_ERROR_BACKEND, "%s", err.message);
    }
    ~Session() {
        table().stream_free(stream);
        table().device_close(device);
    }
    void *alloc(size_t bytes) {
        void *ptr = nullptr;
        xf_error err{};
        CHECK_EQ(table().mem_alloc(device, bytes, &ptr, &err), int32_t{XF_OK});
        return ptr;
    }
    void free(void *ptr, size_t bytes) { table().mem_free(device, ptr, bytes); }
    std::vector<float> read(const void *ptr, size_t count) {
        std::vector<float> data(count, -1.0f);
        CHECK_EQ(table().mem_download(stream, data.data(), ptr, count * sizeof(float), nullptr), int32_t{XF_OK});
        return data;
    }
    void write(void *ptr, const std::vector<float> &data) {
        CHECK_EQ(table().mem_upload(stream, ptr, data.data(), data.size() * sizeof(float), nullptr), int32_t{XF_OK});
    }

    xf_device *device = nullptr;
    xf_stream *stream = nullptr;
};

// A session on a separate host, to which everything must be given back.
struct CheckedHost : Host {
    ~CheckedHost() { check_empty(); }
};
struct Alone : CheckedHost, Session {
    Alone() : Session(static_cast<Host &>(*this)) {}
};

// Device memory of a session with a copy of it on the host.
template <class T>
struct Array {
    Array(Session &s, const std::vector<T> &data) : host(data), bytes(data.size() * sizeof(T)), session_(s) {
        ptr = static_cast<T *>(s.alloc(bytes));
        upload();
    }
    Array(Session &s, size_t count, T value = T()) : Array(s, std::vector<T>(count, value)) {}
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;
    ~Array() { session_.free(ptr, bytes); }
    void upload() { CHECK_EQ(table().mem_upload(session_.stream, ptr, host.data(), bytes, nullptr), int32_t{XF_OK}); }
    const std::vector<T> &read() {
        CHECK_EQ(table().mem_download(session_.stream, host.data(), ptr, bytes, nullptr), int32_t{XF_OK});
        return host;
    }
    const T &operator[](int64_t i) const { return host[static_cast<size_t>(i)]; }

    std::vector<T> host;
    size_t bytes;
    T *ptr;

private:
    Session &session_;
};

constexpr int64_t kSize = 8;  // a map of kSize x kSize numbers

// The gradient of a bias needs scratch memory and a separate kernel.
inline xf_linear_bwd_weights weights_args(float *memory, int64_t rows) {
    xf_linear_bwd_weights a{};
    a.M = rows, a.N = a.K = kSize;
    a.diff_weights = memory, a.diff_bias = memory + kSize * kSize;
    a.diff_dst = a.src = memory + 2 * kSize * kSize;
    a.ld_diff_dst = a.ld_src = kSize;
    return a;
}
inline size_t weights_bytes(int64_t rows) {
    return static_cast<size_t>(2 * kSize * kSize + rows * kSize) * sizeof(float);
}

inline bool says(const std::string &text, const char *word) { return text.find(word) != std::string::npos; }

}  // namespace xf_test
