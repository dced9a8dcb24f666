// Exchange of device memory between ranks without a copy through host memory.
//
// The plugin (comm/plugin.h) only moves bytes in the order of a stream. Everything else uses the communicator: the
// ranks connect to each other, verify what was received, and report failures over it.
//
// A kernel that waits for a failed rank never finishes. The stream is therefore polled until context.comm_timeout,
// never synchronized. After a timeout the transport is closed, which should release the stream. If it does not, the
// device is abandoned: XF_ERROR_PEER must reach a caller that can end the process.
//
// Data is verified by fingerprints: for each rank and direction a 64-bit sum, which the device computes next to each
// exchange. check() compares those of all ranks on every rank, because a rank may have sent damaged data to another
// one; received data must not be used before.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "backend/device.h"
#include "comm/communicator.h"
#include "comm/plugin.h"

namespace xf {

class DeviceTransport {
public:
    // Allocates host memory; does not communicate.
    DeviceTransport(const xf_transport_plugin &plugin, Communicator &communicator, double timeout);
    ~DeviceTransport();
    DeviceTransport(const DeviceTransport &) = delete;
    DeviceTransport &operator=(const DeviceTransport &) = delete;

    // Connects the ranks. Collective. An error of one rank is XF_ERROR_PEER on the others; the call may be repeated.
    void connect(Stream &stream);
    // Exchanges messages in device memory, like Communicator::exchange(). Returns after they have arrived.
    void exchange(Stream &stream, std::span<const Communicator::Message> sends,
                  std::span<const Communicator::Message> receives);
    // Verifies all exchanges since the last call. Collective. Throws XF_ERROR_PEER if received data differs from what
    // was sent.
    void check(Stream &stream);

private:
    struct StatusAndId {
        RankStatus status;
        char id[XF_TRANSPORT_ID_BYTES];
    };
    template <class Work>
    void run_on_all_ranks(const Work &work);
    void open(Stream &stream);
    void wait_until_open(Stream &stream);
    bool close();
    [[noreturn]] void abort_and_throw(Stream &stream, const char *reason);
    void add_fingerprints(Stream &stream, std::span<const Communicator::Message> messages, bool received);

    const xf_transport_plugin &plugin_;
    Communicator &communicator_;
    double timeout_;
    xf_transport *transport_ = nullptr;  // null: closed
    std::vector<uint64_t>
        messages_;         // [2][ranks]: numbers of those sent to and received from each; part of the fingerprints
    Buffer fingerprints_;  // [2][ranks]: sent, received
    std::vector<uint64_t> all_fingerprints_;  // [ranks][2][ranks]: of each rank, in host memory
    std::vector<xf_comm_part> sends_, receives_;
    std::vector<StatusAndId> statuses_;  // [ranks]
};

}  // namespace xf
