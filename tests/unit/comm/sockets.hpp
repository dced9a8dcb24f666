// An xf_comm over stream sockets, one between any two ranks, on one machine (socketpair) or several (TCP).
//
// Parts are sent without framing: a stream preserves their order, and the library adds a header to each message. Sends
// and receives progress together; two ranks that both sent everything before receiving could block each other.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <deque>
#include <functional>
#include <vector>

#include "xformer/experimental.h"

namespace xf_test {

class Sockets {
public:
    // ends: [size] connected sockets, -1 for `rank` itself. This object closes them.
    Sockets(std::vector<int> ends, int rank) : ends_(std::move(ends)), rank_(rank) {
        out_.resize(ends_.size()), in_.resize(ends_.size());
        for (const int end : ends_)
            if (end >= 0) fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK);
    }
    ~Sockets() { hang_up(); }
    Sockets(const Sockets &) = delete;
    Sockets &operator=(const Sockets &) = delete;

    // Called after some bytes were sent or received. For tests that interrupt an exchange.
    std::function<void()> moved;

    // Valid while this object exists.
    xf_comm table() {
        xf_comm comm = XF_COMM_INIT;
        comm.user = this, comm.rank = rank_, comm.size = static_cast<int32_t>(ends_.size());
        comm.exchange = [](void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                           size_t receive_count, double timeout, xf_error *err) -> int32_t {
            auto *const own = static_cast<Sockets *>(user);
            for (auto *lanes : {&own->out_, &own->in_})
                for (auto &lane : *lanes) lane.clear();
            for (size_t i = 0; i < send_count; ++i) own->out_[at(sends[i].rank)].push_back(sends[i]);
            for (size_t i = 0; i < receive_count; ++i) own->in_[at(receives[i].rank)].push_back(receives[i]);
            return own->exchange(timeout, err);
        };
        comm.abort = [](void *user, const char *) { static_cast<Sockets *>(user)->hang_up(); };
        comm.close = [](void *user) { static_cast<Sockets *>(user)->hang_up(); };
        return comm;
    }

private:
    using Clock = std::chrono::steady_clock;
    using Lane = std::deque<xf_comm_part>;  // remaining parts; the first may be partly transferred

    static size_t at(int rank) { return static_cast<size_t>(rank); }

    static double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

    void hang_up() {
        for (int &end : ends_)
            if (end >= 0) close(end), end = -1;
    }

    static int32_t lost(xf_error *err, size_t peer, const char *how) {
        if (err != nullptr) {
            err->status = XF_ERROR_PEER;
            std::snprintf(err->message, sizeof err->message, "rank %zu %s", peer, how);
        }
        return XF_ERROR_PEER;
    }

    int32_t exchange(double timeout, xf_error *err) {
        progress_ = now();
        for (;;) {
            const double time = now();
            std::vector<pollfd> waits;
            std::vector<size_t> peers;
            for (size_t peer = 0; peer < ends_.size(); ++peer) {
                const int events = (out_[peer].empty() ? 0 : POLLOUT) | (in_[peer].empty() ? 0 : POLLIN);
                if (out_[peer].empty() && in_[peer].empty()) continue;
                if (ends_[peer] < 0) return lost(err, peer, "was given up");
                waits.push_back({ends_[peer], static_cast<short>(events), 0});
                peers.push_back(peer);
            }
            if (waits.empty()) return XF_OK;
            if (time >= progress_ + timeout) return lost(err, peers[0], "was silent");
            const double left = progress_ + timeout - time;
            const timespec pause = {static_cast<time_t>(left),
                                    static_cast<long>((left - static_cast<double>(static_cast<time_t>(left))) * 1e9)};
            if (ppoll(waits.data(), waits.size(), &pause, nullptr) < 0 && errno != EINTR)
                return lost(err, peers[0], "can't be waited for");
            for (size_t i = 0; i < waits.size(); ++i)
                if (waits[i].revents != 0 && !move(peers[i])) return lost(err, peers[i], "is gone");
        }
    }

    // Transfers as much as possible without blocking. Returns false if the peer has closed the connection.
    bool move(size_t peer) {
        while (!out_[peer].empty()) {
            const ssize_t sent = send(ends_[peer], out_[peer].front().data, out_[peer].front().size, MSG_NOSIGNAL);
            if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
            if (sent <= 0) break;
            advance(&out_[peer], sent);
        }
        while (!in_[peer].empty()) {
            const ssize_t got = recv(ends_[peer], in_[peer].front().data, in_[peer].front().size, 0);
            if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
            if (got < 0) break;
            advance(&in_[peer], got);
        }
        return true;
    }

    void advance(Lane *lane, ssize_t bytes) {
        xf_comm_part &part = lane->front();
        part.data = static_cast<char *>(part.data) + bytes;
        part.size -= static_cast<size_t>(bytes);
        if (part.size == 0) lane->pop_front();
        progress_ = now();
        if (moved) moved();
    }

    std::vector<int> ends_;
    int rank_;
    double progress_ = 0;         // time of the last transfer of this exchange
    std::vector<Lane> out_, in_;  // [size]
};

}  // namespace xf_test
