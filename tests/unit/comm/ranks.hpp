// Ranks as threads: each runs a function with its own comm, and its exception is recorded.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

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

// One exchange of a comm.
struct Exchange {
    std::vector<xf_comm_part> sends, receives;
    double timeout;
    xf_error *err;
};

// A comm whose calls are passed on to another comm by functions that may change or drop them.
class Wrapped {
public:
    using Body = std::function<int32_t(const Wrapped &, const Exchange &)>;
    Wrapped(const xf_comm &to, Body body) : inner(to), body_(std::move(body)) {}

    int32_t pass(const Exchange &e) const {
        return inner.exchange(inner.user, e.sends.data(), e.sends.size(), e.receives.data(), e.receives.size(),
                              e.timeout, e.err);
    }
    xf_comm table() {
        xf_comm comm = inner;
        comm.user = this;
        comm.exchange = [](void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                           size_t receive_count, double timeout, xf_error *err) -> int32_t {
            const auto &own = *static_cast<Wrapped *>(user);
            return own.body_(own, {{sends, sends + send_count}, {receives, receives + receive_count}, timeout, err});
        };
        comm.abort = [](void *user, const char *reason) { static_cast<Wrapped *>(user)->abort(reason); };
        comm.close = [](void *user) {
            const auto &own = *static_cast<Wrapped *>(user);
            own.inner.close(own.inner.user);
        };
        return comm;
    }

    const xf_comm inner;
    std::function<void(const char *reason)> abort = [this](const char *reason) {
        if (inner.abort != nullptr) inner.abort(inner.user, reason);
    };

private:
    Body body_;
};

// Calls a function before each exchange. If it returns false, the exchange fails. The other ranks are not notified of
// an abort.
class Tapped : public Wrapped {
public:
    Tapped(const xf_comm &to, const std::function<bool(const Exchange &)> &tap)
        : Wrapped(to, [tap](const Wrapped &own, const Exchange &exchange) -> int32_t {
              return tap(exchange) ? own.pass(exchange) : XF_ERROR_BACKEND;
          }) {
        abort = [](const char *) {};
    }
};

inline size_t bytes_in(const std::vector<xf_comm_part> &parts) {
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

// Runs body(comm) on ranks, which must all end with this status.
inline std::vector<Ended> check_ranks(int size, xf_status status, const std::function<void(const xf_comm &)> &body) {
    const auto ended = on_ranks(size, body);
    check_all(ended, status);
    return ended;
}

}  // namespace xf_test
