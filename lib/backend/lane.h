// A lane beside a comm: memory of devices goes from rank to rank without passing a host.
//
// The plugin (comm/plugin.h) moves bytes in the order of a stream, and no more. All else goes over the comm, as it does
// without a lane: how the ranks find each other, whether what came is what was sent, and the end of it when it is not.
// A kernel that waits for a dead rank waits for ever, so nothing here waits for the stream but by asking it, until
// context.comm_timeout. Then the lane is closed, which should free the stream; where even that does not come to an end
// the device is abandoned: XF_ERROR_PEER must reach a caller that can end the process.
//
// What came is compared by fingerprints: one 64-bit sum for each rank and direction, made on the device beside each
// exchange, compared over the comm by check(). Until then nobody may rely on what came.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "backend/device.h"
#include "comm/comm.h"
#include "comm/plugin.h"

namespace xf {

class Lane {
public:
    // Has its memory, and talks to nobody yet.
    Lane(const xf_lane_plugin &plugin, Comm &comm, double timeout);
    ~Lane();
    Lane(const Lane &) = delete;
    Lane &operator=(const Lane &) = delete;

    // Every rank makes this call. What fails on one is its error, and XF_ERROR_PEER on the others; then it may be made
    // again.
    void join(Stream &stream);
    // Messages in device memory, as Comm::exchange(). They have come when this returns.
    void exchange(Stream &stream, std::span<const Comm::Message> sends, std::span<const Comm::Message> receives);
    // Every rank makes this call. XF_ERROR_PEER when something since the last one came otherwise than it was sent.
    void check(Stream &stream);

private:
    struct Letter {
        Word word;
        char id[XF_LANE_ID_BYTES];
    };
    template <class Work>
    void agree(const Work &work);
    void begin(Stream &stream);
    bool close();
    [[noreturn]] void lose(Stream &stream, const char *why);
    void note(Stream &stream, std::span<const Comm::Message> messages, size_t row);

    const xf_lane_plugin &plugin_;
    Comm &comm_;
    double timeout_;
    xf_lane *lane_ = nullptr;  // null: closed
    uint64_t number_ = 0;      // of the exchange
    Buffer sums_;              // [2][ranks]: sent, received
    std::vector<uint64_t> noted_, told_;
    std::vector<xf_comm_part> sends_, receives_;
    std::vector<Letter> letters_;  // [ranks]
};

}  // namespace xf
