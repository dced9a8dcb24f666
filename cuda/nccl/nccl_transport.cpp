// libxformer_nccl.so: moves memory of NVIDIA GPUs between ranks by NCCL's sends and receives.
//
// The communicator is non-blocking: no call waits for another rank, operations proceed in the background, and poll()
// reports their progress. NCCL's reductions are not used, because the result would depend on their order.
//
// Every communicator ends with ncclCommAbort(), which waits for no other rank; nothing is in progress when a transport
// is closed without an error. After a failure ncclCommAbort() sometimes hangs, so it runs on a separate thread, which
// is then left running.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <exception>
#include <new>

#include "comm/plugin.h"
#include "comm/plugin_support.h"
#include "nccl_library.h"

using xf::finishes_within;
using xf::set_error;
using xf::nccl::Library;
using xf::nccl::open_library;

struct xf_transport {
    ncclComm_t comm;
};

namespace {

static_assert(sizeof(ncclUniqueId) == XF_TRANSPORT_ID_BYTES);

const Library *library = nullptr;  // set before the table is returned

// Converts a result. An operation that is in progress is not an error.
int32_t check(ncclResult_t result, ncclComm_t comm, const char *what, xf_error *err) {
    if (result == ncclSuccess || result == ncclInProgress) return XF_OK;
    const char *const detail = library->ncclGetLastError(comm);
    const int32_t status = set_error(XF_ERROR_BACKEND, err, "%s: %s failed: %s%s%.120s", library->version, what,
                                     library->ncclGetErrorString(result), detail != nullptr && *detail != 0 ? ": " : "",
                                     detail != nullptr ? detail : "");
    if (err != nullptr) err->native_code = static_cast<int32_t>(result);
    return status;
}

int32_t make_id(char *id, xf_error *err) {
    ncclUniqueId unique;
    const int32_t status = check(library->ncclGetUniqueId(&unique), nullptr, "ncclGetUniqueId", err);
    if (status == XF_OK) std::memcpy(id, &unique, sizeof unique);
    return status;
}

int32_t open(const char *id, int32_t rank, int32_t ranks, xf_transport **transport, xf_error *err) {
    ncclUniqueId unique;
    std::memcpy(&unique, id, sizeof unique);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    const int32_t status = check(library->ncclCommInitRankConfig(&comm, ranks, unique, rank, &config), nullptr,
                                 "ncclCommInitRankConfig", err);
    if (comm == nullptr) return status;
    *transport = new (std::nothrow) xf_transport{comm};
    if (*transport != nullptr) return status;
    library->ncclCommAbort(comm);  // the other ranks have only begun to connect
    return set_error(XF_ERROR_NO_MEMORY, err, "no memory for a communicator of NCCL");
}

int32_t poll(xf_transport *transport, xf_error *err) {
    ncclResult_t state = ncclSuccess;
    const int32_t status =
        check(library->ncclCommGetAsyncError(transport->comm, &state), transport->comm, "ncclCommGetAsyncError", err);
    if (status != XF_OK) return status;
    if (state == ncclInProgress) return XF_TRANSPORT_BUSY;
    return check(state, transport->comm, "an exchange", err);
}

int32_t exchange(xf_transport *transport, void *native_stream, const xf_comm_part *sends, size_t send_count,
                 const xf_comm_part *receives, size_t receive_count, xf_error *err) {
    auto *const stream = static_cast<cudaStream_t>(native_stream);
    const ncclComm_t comm = transport->comm;
    int32_t status = check(library->ncclGroupStart(), comm, "ncclGroupStart", err);
    if (status != XF_OK) return status;
    for (size_t i = 0; i < send_count && status == XF_OK; ++i)
        status = check(library->ncclSend(sends[i].data, sends[i].size, ncclUint8, sends[i].rank, comm, stream), comm,
                       "ncclSend", err);
    for (size_t i = 0; i < receive_count && status == XF_OK; ++i)
        status = check(library->ncclRecv(receives[i].data, receives[i].size, ncclUint8, receives[i].rank, comm, stream),
                       comm, "ncclRecv", err);
    const ncclResult_t end = library->ncclGroupEnd();  // also after an error: the group belongs to the thread
    return status == XF_OK ? check(end, comm, "ncclGroupEnd", err) : status;
}

int32_t close(xf_transport *transport, double seconds) {
    const ncclComm_t comm = transport->comm;
    delete transport;
    try {
        return finishes_within(seconds, [comm] { library->ncclCommAbort(comm); }) ? 1 : 0;
    } catch (const std::exception &) {  // no thread; a call on this thread might never return
        return 0;
    }
}

const xf_transport_plugin *table() {
    static const xf_transport_plugin plugin = {sizeof(xf_transport_plugin),
                                               XF_TRANSPORT_PLUGIN_ABI,
                                               "cuda",
                                               library->version,
                                               make_id,
                                               open,
                                               poll,
                                               exchange,
                                               close};
    return &plugin;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const xf_transport_plugin *xf_transport_plugin_open(uint32_t abi,
                                                                                                      xf_error *err) {
    if (abi != XF_TRANSPORT_PLUGIN_ABI) {
        set_error(XF_ERROR_VERSION, err, "the plugin has version %u, expected %u: install matching packages",
                  XF_TRANSPORT_PLUGIN_ABI, abi);
        return nullptr;
    }
    const Library *const found = open_library(err);
    if (found == nullptr) return nullptr;
    library = found;
    return table();
}
