// libxformer_nccl.so: memory of NVIDIA GPUs goes from rank to rank by NCCL's sends and receives.
//
// The communicator is a non-blocking one: no call waits for a peer, what is begun goes on by itself, and poll() asks
// how far it is. NCCL's reductions are not used, since their order would be a part of the result.
//
// Whatever ends, ends by ncclCommAbort: it waits for no other rank, and nothing is under way where a lane is closed in
// peace. It is known to hang at times after a failure, so it runs on a thread of its own, which is left behind then.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <exception>
#include <new>

#include "comm/nccl/nccl_library.h"
#include "comm/plugin.h"
#include "comm/plugin_support.h"

using xf::ends_in;
using xf::say;
using xf::nccl::Library;
using xf::nccl::open_library;

struct xf_lane {
    ncclComm_t comm;
};

namespace {

static_assert(sizeof(ncclUniqueId) == XF_LANE_ID_BYTES);

const Library *library = nullptr;  // set before the table is given out

// What begins in the background is no error.
int32_t settle(ncclResult_t result, ncclComm_t comm, const char *what, xf_error *err) {
    if (result == ncclSuccess || result == ncclInProgress) return XF_OK;
    const char *const more = library->ncclGetLastError(comm);
    const int32_t status =
        say(XF_ERROR_BACKEND, err, "%s: %s: %s%s%.120s", library->version, what, library->ncclGetErrorString(result),
            more != nullptr && *more != 0 ? ": " : "", more != nullptr ? more : "");
    if (err != nullptr) err->native_code = static_cast<int32_t>(result);
    return status;
}

int32_t make_id(char *id, xf_error *err) {
    ncclUniqueId made;
    const int32_t status = settle(library->ncclGetUniqueId(&made), nullptr, "making an id", err);
    if (status == XF_OK) std::memcpy(id, &made, sizeof made);
    return status;
}

int32_t open(const char *id, int32_t rank, int32_t ranks, xf_lane **lane, xf_error *err) {
    ncclUniqueId shared;
    std::memcpy(&shared, id, sizeof shared);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    const int32_t status = settle(library->ncclCommInitRankConfig(&comm, ranks, shared, rank, &config), nullptr,
                                  "bringing the ranks together", err);
    if (comm == nullptr) return status;
    *lane = new (std::nothrow) xf_lane{comm};
    if (*lane != nullptr) return status;
    library->ncclCommAbort(comm);  // the others have hardly begun to join
    return say(XF_ERROR_NO_MEMORY, err, "no memory for a communicator of NCCL");
}

int32_t poll(xf_lane *lane, xf_error *err) {
    ncclResult_t state = ncclSuccess;
    const int32_t status = settle(library->ncclCommGetAsyncError(lane->comm, &state), lane->comm, "asking", err);
    if (status != XF_OK) return status;
    if (state == ncclInProgress) return XF_LANE_BUSY;
    return settle(state, lane->comm, "an exchange", err);
}

int32_t exchange(xf_lane *lane, void *native_stream, const xf_comm_part *sends, size_t send_count,
                 const xf_comm_part *receives, size_t receive_count, xf_error *err) {
    auto *const stream = static_cast<cudaStream_t>(native_stream);
    int32_t status = settle(library->ncclGroupStart(), lane->comm, "beginning a group", err);
    if (status != XF_OK) return status;
    for (size_t i = 0; i < send_count && status == XF_OK; ++i)
        status = settle(library->ncclSend(sends[i].data, sends[i].size, ncclUint8, sends[i].rank, lane->comm, stream),
                        lane->comm, "a send", err);
    for (size_t i = 0; i < receive_count && status == XF_OK; ++i)
        status = settle(
            library->ncclRecv(receives[i].data, receives[i].size, ncclUint8, receives[i].rank, lane->comm, stream),
            lane->comm, "a receive", err);
    const ncclResult_t end = library->ncclGroupEnd();  // in any case: a group is the thread's
    return status == XF_OK ? settle(end, lane->comm, "ending a group", err) : status;
}

int32_t close(xf_lane *lane, double seconds) {
    const ncclComm_t comm = lane->comm;
    delete lane;
    try {
        return ends_in(seconds, [comm] { library->ncclCommAbort(comm); }) ? 1 : 0;
    } catch (const std::exception &) {  // no thread, no memory: to abort here might never end
        return 0;
    }
}

const xf_lane_plugin *table() {
    static const xf_lane_plugin plugin = {
        sizeof(xf_lane_plugin), XF_LANE_PLUGIN_ABI, "cuda", library->version, make_id, open, poll, exchange, close};
    return &plugin;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const xf_lane_plugin *xf_lane_plugin_open(uint32_t abi,
                                                                                            xf_error *err) {
    if (abi != XF_LANE_PLUGIN_ABI) {
        say(XF_ERROR_VERSION, err, "it is of plugin version %u, expected %u", XF_LANE_PLUGIN_ABI, abi);
        return nullptr;
    }
    const Library *const found = open_library(err);
    if (found == nullptr) return nullptr;
    library = found;
    return table();
}
