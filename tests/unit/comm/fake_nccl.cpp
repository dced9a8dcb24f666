// A fake libnccl.so.2, compiled with the real header. Its ranks are threads of one process, and its GPUs are those of
// tests/harness/cuda_host. It implements the functions that cuda/nccl uses, and checks their use:
//
// - communicators are non-blocking: operations finish later, and a call before ncclCommGetAsyncError() has reported the
//   end of the previous one returns ncclInvalidUsage;
// - sends and receives must be in a group and use device memory; they run when both streams have reached them;
// - a stream is blocked until each of its sends and receives has a counterpart, or until ncclCommAbort().
//
// xf_fake_nccl_fault() selects a fault.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/fake_nccl.h"

#include <nccl.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#define XF_FAKE extern "C" __attribute__((visibility("default")))

namespace {

std::mutex mutex;
int32_t (*external)(void *, int32_t (*)(void *), void *);
int64_t bytes_sent;
uint64_t last_id;

struct Fault {
    std::string what;
    int rank = -1;
    int64_t after = 0;
} fault;

struct Transfer {
    char *data;
    size_t size;
    int peer;
    bool done = false;
};
struct Exchange {
    ncclComm *comm;
    std::vector<Transfer> sends, receives;
    bool reached = false;  // by its stream
    bool silent = false, flips = false;
};

struct World;

}  // namespace

struct ncclComm {
    World *world;
    int rank;
    int64_t exchanges = 0;
    int busy = 0;  // number of calls of ncclCommGetAsyncError() that still report ncclInProgress
    ncclResult_t error = ncclSuccess;
    bool aborted = false, stuck = false;
    std::deque<Exchange> queue{};
};

namespace {

struct World {
    size_t ranks = 0;
    std::map<int, std::unique_ptr<ncclComm>> comms{};
};
std::map<uint64_t, World> worlds;  // by id; never freed, because streams may refer to them

thread_local int depth;
thread_local Exchange group;
thread_local cudaStream_t group_stream;

bool has_fault(const char *what, int rank) { return fault.what == what && fault.rank == rank; }

// Returns the oldest send of a rank to another that was not received, or null if its stream has not reached it yet.
Transfer *find_send(ncclComm *from, int to) {
    for (Exchange &exchange : from->queue)
        for (Transfer &send : exchange.sends)
            if (send.peer == to && !send.done)
                return exchange.reached && !exchange.silent && !from->aborted ? &send : nullptr;
    return nullptr;
}

int32_t move(void *arg) {
    const std::lock_guard lock(mutex);
    Exchange &own = *static_cast<Exchange *>(arg);
    ncclComm *const comm = own.comm;
    own.reached = true;
    if (comm->stuck) return 0;
    if (comm->aborted) return 1;
    if (own.silent) return 0;
    bool all = true;
    for (Transfer &receive : own.receives) {
        if (receive.done) continue;
        const auto peer = comm->world->comms.find(receive.peer);
        Transfer *const send = peer != comm->world->comms.end() ? find_send(peer->second.get(), comm->rank) : nullptr;
        if (send == nullptr || send->size != receive.size) {  // a different size blocks permanently, as in real NCCL
            all = false;
            continue;
        }
        std::memcpy(receive.data, send->data, send->size);
        if (own.flips) receive.data[send->size / 2] ^= 4, own.flips = false;
        bytes_sent += static_cast<int64_t>(send->size);
        send->done = receive.done = true;
    }
    for (const Transfer &send : own.sends) all = all && send.done;
    return all ? 1 : 0;
}

ncclResult_t transfer(void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream,
                      bool sends) {
    const std::lock_guard lock(mutex);
    if (depth != 1 || comm->busy > 0 || comm->aborted || comm->error != ncclSuccess || type != ncclUint8 ||
        count == 0 || peer == comm->rank || peer < 0 || static_cast<size_t>(peer) >= comm->world->ranks ||
        (group.comm != nullptr && (group.comm != comm || group_stream != stream)))
        return ncclInvalidUsage;
    if (sends && has_fault("refuse", comm->rank) && comm->exchanges >= fault.after) return ncclSystemError;
    group.comm = comm, group_stream = stream;
    (sends ? group.sends : group.receives).push_back({static_cast<char *>(data), count, peer});
    return ncclSuccess;
}

}  // namespace

XF_FAKE void xf_fake_nccl_use(int32_t (*function)(void *, int32_t (*)(void *), void *)) { external = function; }

XF_FAKE void xf_fake_nccl_fault(const char *what, int32_t rank, int64_t after) {
    const std::lock_guard lock(mutex);
    fault = {what != nullptr ? what : "", rank, after};
}

XF_FAKE int64_t xf_fake_nccl_bytes(void) {
    const std::lock_guard lock(mutex);
    const int64_t sent = bytes_sent;
    bytes_sent = 0;
    return sent;
}

XF_FAKE ncclResult_t ncclGetVersion(int *version) {
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

XF_FAKE ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    const std::lock_guard lock(mutex);
    if (fault.what == "id") return ncclSystemError;
    *id = {};
    ++last_id;
    std::memcpy(id->internal + 8, &last_id, sizeof last_id);
    return ncclSuccess;
}

XF_FAKE ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                            ncclConfig_t *config) {
    const std::lock_guard lock(mutex);
    *comm = nullptr;
    uint64_t number = 0;
    std::memcpy(&number, id.internal + 8, sizeof number);
    if (config->blocking != 0 || number == 0 || number > last_id || rank < 0 || rank >= ranks)
        return ncclInvalidArgument;
    if (has_fault("usage", rank)) return ncclInvalidUsage;
    World &world = worlds[number];
    world.ranks = static_cast<size_t>(ranks);
    auto made = std::make_unique<ncclComm>(ncclComm{&world, rank});
    made->busy = 3;
    *comm = made.get();
    if (!world.comms.emplace(rank, std::move(made)).second) return ncclInvalidUsage;
    return ncclInProgress;
}

XF_FAKE ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
    const std::lock_guard lock(mutex);
    if (comm->aborted) return ncclInvalidArgument;
    const bool joined = comm->world->comms.size() == comm->world->ranks && !has_fault("init", comm->rank);
    if (joined && comm->busy > 0) --comm->busy;
    *error = comm->error != ncclSuccess ? comm->error : comm->busy > 0 ? ncclInProgress : ncclSuccess;
    return ncclSuccess;
}

XF_FAKE ncclResult_t ncclCommAbort(ncclComm_t comm) {
    std::unique_lock lock(mutex);
    if (comm->aborted) return ncclInvalidArgument;
    if (has_fault("stuck", comm->rank) && comm->exchanges > fault.after) {
        comm->stuck = true;
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::seconds(4));
        return ncclSuccess;
    }
    comm->aborted = true;
    return ncclSuccess;
}

XF_FAKE const char *ncclGetErrorString(ncclResult_t result) {
    return result == ncclSystemError    ? "unhandled system error"
           : result == ncclInvalidUsage ? "invalid usage"
           : result == ncclRemoteError  ? "remote process exited or there was a network error"
                                        : "another error";
}

XF_FAKE const char *ncclGetLastError(ncclComm_t) { return "what the fake was told to say"; }

XF_FAKE ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                              cudaStream_t stream) {
    return transfer(const_cast<void *>(data), count, type, peer, comm, stream, true);
}

XF_FAKE ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                              cudaStream_t stream) {
    return transfer(data, count, type, peer, comm, stream, false);
}

XF_FAKE ncclResult_t ncclGroupStart() {
    if (depth != 0) return ncclInvalidUsage;
    depth = 1;
    group = {};
    return ncclSuccess;
}

XF_FAKE ncclResult_t ncclGroupEnd() {
    if (depth != 1) return ncclInvalidUsage;
    depth = 0;
    ncclComm *const comm = group.comm;
    if (comm == nullptr) return ncclSuccess;
    Exchange *made = nullptr;
    {
        const std::lock_guard lock(mutex);
        const bool now = comm->exchanges >= fault.after;
        group.silent = now && (has_fault("silent", comm->rank) || has_fault("stuck", comm->rank) ||
                               has_fault("async", comm->rank));
        group.flips = comm->exchanges == fault.after && has_fault("flip", comm->rank);
        if (now && has_fault("async", comm->rank)) comm->error = ncclRemoteError;
        ++comm->exchanges;
        comm->busy = 2;
        comm->queue.push_back(group);
        made = &comm->queue.back();
    }
    return external(group_stream, move, made) == 0 ? ncclInProgress : ncclUnhandledCudaError;
}
