// Shared by the tests of the plugin's devices: the plugin with its controls, a counting host, and a session on a
// device.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "backend/plugin_abi.h"
#include "support/test.hpp"

namespace xf_test {

struct Plugin {
    const xf_backend_v1 *table;
    int64_t (*get)(const char *);
    void (*set)(const char *, int64_t);
};

inline const Plugin &plugin() {
    static const Plugin loaded = [] {
        void *file = dlopen(XF_TEST_CUDA_HOST, RTLD_NOW | RTLD_LOCAL);
        XF_CHECK(file != nullptr, XF_ERROR_NOT_FOUND, "%s", dlerror());
        const auto init = reinterpret_cast<xf_plugin_init_fn>(dlsym(file, XF_PLUGIN_INIT_NAME));
        Plugin result{};
        result.get = reinterpret_cast<decltype(result.get)>(dlsym(file, "xf_cuda_host_get"));
        result.set = reinterpret_cast<decltype(result.set)>(dlsym(file, "xf_cuda_host_set"));
        XF_CHECK(init && result.get && result.set, XF_ERROR_BACKEND, "the emulated plugin lacks an export");
        xf_error err{};
        XF_CHECK(init(XF_PLUGIN_ABI - 1, &err) == nullptr && err.status == XF_ERROR_VERSION, XF_ERROR_BACKEND,
                 "the plugin serves another ABI");
        result.table = init(XF_PLUGIN_ABI, &err);
        XF_CHECK(result.table != nullptr, XF_ERROR_BACKEND, "%s", err.message);
        return result;
    }();
    return loaded;
}
inline const xf_backend_v1 &table() { return *plugin().table; }
inline int64_t get(const char *name) { return plugin().get(name); }

// A control that is put back at the end of the test.
struct Control {
    Control(const char *name, int64_t value, int64_t after) : name_(name), after_(after) { plugin().set(name, value); }
    ~Control() { plugin().set(name_, after_); }
    const char *name_;
    int64_t after_;
};

// A host that knows what it gave, and can refuse.
struct Host {
    Host() {
        table.size = sizeof table;
        table.abi = XF_PLUGIN_ABI;
        table.user = this;
        table.parallel = [](void *, int64_t tasks, void (*body)(void *, int64_t, int32_t), void *arg) {
            for (int64_t i = 0; i < tasks; ++i) body(arg, i, 0);
        };
        table.workers = [](void *) -> int32_t { return 1; };
        table.alloc = [](void *user, size_t bytes) -> void * {
            Host &host = *static_cast<Host *>(user);
            const std::lock_guard<std::mutex> guard(host.lock);
            if (host.allocs_left == 0) return nullptr;
            if (host.allocs_left > 0) --host.allocs_left;
            void *ptr = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
            host.live[ptr] = bytes;
            return ptr;
        };
        table.free = [](void *user, void *ptr, size_t bytes) {
            Host &host = *static_cast<Host *>(user);
            const std::lock_guard<std::mutex> guard(host.lock);
            host.wrong = host.wrong || host.live.count(ptr) == 0 || host.live[ptr] != bytes;
            host.live.erase(ptr);
            std::free(ptr);
        };
        table.account = [](void *user, int64_t bytes) -> int32_t {
            Host &host = *static_cast<Host *>(user);
            const std::lock_guard<std::mutex> guard(host.lock);
            if (bytes > 0 && (host.accounts_left == 0 || host.held + bytes > host.budget)) return 0;
            if (bytes > 0 && host.accounts_left > 0) --host.accounts_left;
            host.held += bytes;
            return 1;
        };
        table.log = [](void *, int32_t, const char *, const char *) {};
        table.isa = "auto";
    }
    // All memory was freed with the right sizes, and the GPU has no allocations.
    void check_empty() {
        CHECK(live.empty());
        CHECK(!wrong);
        CHECK_EQ(held, 0);
        for (const char *name : {"live_bytes", "live_allocations", "live_pinned", "live_streams", "live_graphs"})
            CHECK_EQ(std::string(name) + ' ' + std::to_string(get(name)), std::string(name) + " 0");
    }

    xf_host_v1 table{};
    std::mutex lock;
    std::map<void *, size_t> live;
    bool wrong = false;
    int64_t allocs_left = -1, accounts_left = -1, held = 0, budget = INT64_MAX;
};

struct Session {
    explicit Session(Host &host, uint32_t dtype = XF_FP32, int32_t index = 0) {
        xf_error err{};
        XF_CHECK(table().device_open(&host.table, index, &device, &err) == XF_OK, XF_ERROR_BACKEND, "%s", err.message);
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
