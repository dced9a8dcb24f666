// The host of a plugin in tests: it counts what it gave and can refuse.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/plugin_abi.h"
#include "support/test.hpp"

namespace xf_test {

struct CountingHost {
    CountingHost() {
        callbacks.size = sizeof callbacks;
        callbacks.abi = XF_PLUGIN_ABI;
        callbacks.user = this;
        callbacks.parallel = [](void *, int64_t tasks, void (*body)(void *, int64_t, int32_t), void *arg) {
            for (int64_t i = 0; i < tasks; ++i) body(arg, i, 0);
        };
        callbacks.workers = [](void *) -> int32_t { return 1; };
        callbacks.alloc = [](void *user, size_t bytes) -> void * {
            auto &host = *static_cast<CountingHost *>(user);
            const std::lock_guard<std::mutex> guard(host.lock);
            if (host.allocs_left == 0) return nullptr;
            if (host.allocs_left > 0) --host.allocs_left;
            void *ptr = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
            host.live[ptr] = bytes;
            return ptr;
        };
        callbacks.free = [](void *user, void *ptr, size_t bytes) {
            auto &host = *static_cast<CountingHost *>(user);
            const std::lock_guard<std::mutex> guard(host.lock);
            host.wrong = host.wrong || host.live.count(ptr) == 0 || host.live[ptr] != bytes;
            host.live.erase(ptr);
            std::free(ptr);
        };
        callbacks.account = [](void *user, int64_t bytes) -> int32_t {
            auto &host = *static_cast<CountingHost *>(user);
            const std::lock_guard<std::mutex> guard(host.lock);
            if (bytes > 0 && (host.accounts_left == 0 || host.held + bytes > host.budget)) return 0;
            if (bytes > 0 && host.accounts_left > 0) --host.accounts_left;
            host.held += bytes;
            return 1;
        };
        callbacks.log = [](void *user, int32_t how, const char *, const char *text) {
            auto &host = *static_cast<CountingHost *>(user);
            const std::lock_guard<std::mutex> guard(host.lock);
            ++host.logged;
            host.level = how;
            host.said = text;
        };
        callbacks.isa = "auto";
    }
    // All memory was freed with the right sizes.
    void check_given_back() const {
        CHECK(live.empty());
        CHECK(!wrong);
        CHECK_EQ(held, 0);
    }

    xf_host_v1 callbacks{};
    std::mutex lock;
    std::map<void *, size_t> live;
    bool wrong = false;
    int64_t allocs_left = -1, accounts_left = -1, held = 0, budget = INT64_MAX;
    int logged = 0;
    int32_t level = 0;  // of the last message
    std::string said;
};

}  // namespace xf_test
