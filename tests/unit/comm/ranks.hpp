// Ranks as threads: each runs a function with its own comm, and its exception is recorded.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <span>

#include "comm/communicator.h"
#include "comm/loopback.h"
#include "support/test.hpp"

namespace xf_test {

// How a rank ended.
struct Ended {
    xf_status status = XF_OK;
    std::string message;
};

// Runs body(rank) on a thread for each rank.
inline std::vector<Ended> on_threads(int size, const std::function<void(int)> &body) {
    std::vector<Ended> ended(static_cast<size_t>(size));
    std::vector<std::thread> threads;
    for (int r = 0; r < size; ++r)
        threads.emplace_back([&, r] {
            Ended &own = ended[static_cast<size_t>(r)];
            try {
                body(r);
            } catch (const xf::Error &error) {
                own = {error.status(), error.what()};
            } catch (const std::exception &error) {
                own = {XF_ERROR_INTERNAL, error.what()};
            }
        });
    for (std::thread &thread : threads) thread.join();
    return ended;
}

// Runs body(comm) on a thread for each rank, with loopback comms.
inline std::vector<Ended> on_ranks(int size, const std::function<void(const xf_comm &)> &body) {
    std::vector<xf_comm> comms(static_cast<size_t>(size));
    xf::make_loopback(comms.data(), size);
    return on_threads(size, [&](int r) { body(comms[static_cast<size_t>(r)]); });
}

// A comm that calls a function before each exchange. If the function returns false, the exchange fails. It has no
// abort, so the other ranks are not notified.
class Tapped {
public:
    using Hear = std::function<bool(std::span<const xf_comm_part> sends, double timeout)>;
    Tapped(const xf_comm &inner, Hear hear) : inner_(inner), hear_(std::move(hear)) {}
    xf_comm table() {
        xf_comm comm = inner_;
        comm.user = this;
        comm.exchange = [](void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                           size_t receive_count, double timeout, xf_error *err) -> int32_t {
            auto &own = *static_cast<Tapped *>(user);
            if (!own.hear_({sends, send_count}, timeout)) return XF_ERROR_BACKEND;
            return own.inner_.exchange(own.inner_.user, sends, send_count, receives, receive_count, timeout, err);
        };
        comm.abort = nullptr;
        comm.close = [](void *user) {
            const xf_comm &inner = static_cast<Tapped *>(user)->inner_;
            inner.close(inner.user);
        };
        return comm;
    }

private:
    xf_comm inner_;
    Hear hear_;
};

inline size_t bytes_in(std::span<const xf_comm_part> parts) {
    size_t bytes = 0;
    for (const xf_comm_part &part : parts) bytes += part.size;
    return bytes;
}

inline void check_all(const std::vector<Ended> &ended, xf_status status, int except = -1) {
    for (size_t r = 0; r < ended.size(); ++r) {
        if (static_cast<int>(r) == except) continue;
        if (ended[r].status != status)
            record(__FILE__, __LINE__,
                   xf::format("rank %zu: %s: %s", r, xf_status_name(ended[r].status), ended[r].message.c_str()));
    }
}

}  // namespace xf_test
