// libxformer_mpi.so: a communicator for ranks that MPI has started.
//
// MPI only sees memory of this plugin. After a timeout a message may still be in transit, which MPI can neither
// complete nor cancel, and the caller's memory must not change then. Messages are therefore copied through slots in
// pieces, two at a time for each rank and direction. The slots of a failed communicator are kept until the process
// ends.
//
// All memory is allocated before the ranks connect, for as many parts as the library sends at once, so that no single
// rank fails afterwards. A rank that aborts sends a message with a special tag to the others, which they probe for
// while they wait.
//
// MPI can be initialized only once per process and finalized only once. It is finalized when the process exits, unless
// a rank was lost, because MPI_Finalize() would wait for that rank. A host that has initialized MPI also finalizes it.
//
// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/plugin.h"
#include "comm/plugin_support.h"
#include "core/os/plugin.h"

using xf::finishes_within;
using xf::set_error;

namespace {

using Clock = std::chrono::steady_clock;

// For messages: %g would depend on the locale.
int64_t milliseconds(double seconds) { return seconds * 1e3; }

std::atomic<bool> rank_lost{false};        // MPI must not be finalized
std::atomic<double> finalize_timeout{60};  // seconds

// The parts that are sent to one rank, or received from it, in pieces that pass through two slots.
class Channel {
public:
    static constexpr size_t kSlots = 2;

    Channel(int peer, bool sends, size_t piece) : peer_(peer), sends_(sends), piece_(piece) {
        for (Slot &slot : slots_) slot.bytes.reset(new char[piece]);
        parts_.reserve(2);  // a header and a message
    }

    void set_comm(MPI_Comm comm) { comm_ = comm; }

    void clear() { parts_.clear(), part_ = 0, offset_ = 0, started_ = finished_ = 0; }
    void add(const xf_comm_part &part) { parts_.push_back(part); }
    bool done() const { return started_ == finished_ && part_ == parts_.size(); }

    // Starts and completes the pieces that it can. Returns false if MPI reports an error or a message has another size.
    bool advance(bool *advanced) {
        while (started_ < finished_ + kSlots && part_ < parts_.size()) {
            if (!start()) return false;
            *advanced = true;
        }
        while (finished_ < started_) {
            Slot &slot = slots_[finished_ % kSlots];
            int complete = 0, count = 0;
            MPI_Status status;
            if (MPI_Test(&slot.request, &complete, &status) != MPI_SUCCESS) return false;
            if (complete == 0) return true;
            if (!sends_) {
                if (MPI_Get_count(&status, MPI_BYTE, &count) != MPI_SUCCESS || count != slot.size) return false;
                std::memcpy(slot.to, slot.bytes.get(), slot.size);
            }
            ++finished_;
            *advanced = true;
        }
        return true;
    }

private:
    struct Slot {
        std::unique_ptr<char[]> bytes;
        int size = 0;
        char *to = nullptr;
        MPI_Request request = MPI_REQUEST_NULL;
    };

    bool start() {
        const xf_comm_part &part = parts_[part_];
        Slot &slot = slots_[started_ % kSlots];
        slot.size = std::min(piece_, part.size - offset_);
        slot.to = static_cast<char *>(part.data) + offset_;
        offset_ += slot.size;
        if (offset_ == part.size) ++part_, offset_ = 0;
        ++started_;
        if (!sends_)
            return MPI_Irecv(slot.bytes.get(), slot.size, MPI_BYTE, peer_, 0, comm_, &slot.request) == MPI_SUCCESS;
        std::memcpy(slot.bytes.get(), slot.to, slot.size);
        return MPI_Isend(slot.bytes.get(), slot.size, MPI_BYTE, peer_, 0, comm_, &slot.request) == MPI_SUCCESS;
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    int peer_;
    bool sends_;
    size_t piece_;
    Slot slots_[kSlots];
    std::vector<xf_comm_part> parts_;
    size_t part_ = 0, offset_ = 0;       // of the next piece
    size_t started_ = 0, finished_ = 0;  // pieces of this exchange
};

class MpiCommunicator {
public:
    explicit MpiCommunicator(int size) {
        // 16 MiB for all channels, in pieces of a size that suits networks.
        const size_t piece =
            std::clamp<size_t>((size_t{4} << 20) / std::max(size, 1), size_t{16} << 10, size_t{1} << 20);
        for (auto *channels : {&sends_, &receives_}) channels->reserve(size);
        for (int peer = 0; peer < size; ++peer) {
            sends_.emplace_back(peer, true, piece);
            receives_.emplace_back(peer, false, piece);
        }
        abort_requests_.resize(size, MPI_REQUEST_NULL);
    }

    MPI_Comm comm() const { return comm_; }
    void set_comm(MPI_Comm comm) {
        comm_ = comm;
        for (auto *channels : {&sends_, &receives_})
            for (Channel &channel : *channels) channel.set_comm(comm);
    }

    // Informs the other ranks. Waits for nothing; the memory is kept, as always after a failure.
    void abort(int rank) noexcept {
        rank_lost = true;
        for (int peer = 0; peer < std::ssize(abort_requests_); ++peer)
            if (peer != rank) MPI_Isend(&abort_message_, 1, MPI_BYTE, peer, kAbortTag, comm_, &abort_requests_[peer]);
    }

    int32_t exchange(const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives, size_t receive_count,
                     double timeout, xf_error *err) {
        const auto deadline =
            Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
        for (auto *channels : {&sends_, &receives_})
            for (Channel &channel : *channels) channel.clear();
        for (size_t i = 0; i < send_count; ++i) sends_[sends[i].rank].add(sends[i]);
        for (size_t i = 0; i < receive_count; ++i) receives_[receives[i].rank].add(receives[i]);
        for (int idle = 0;;) {
            bool advanced = false, done = true;
            size_t pending_peer = 0;
            for (auto *channels : {&receives_, &sends_})
                for (size_t peer = 0; peer < channels->size(); ++peer) {
                    Channel &channel = (*channels)[peer];
                    if (channel.done()) continue;
                    if (!channel.advance(&advanced)) {
                        rank_lost = true;
                        return set_error(XF_ERROR_PEER, err, "MPI could not exchange messages with rank %zu", peer);
                    }
                    if (channel.done()) continue;
                    done = false, pending_peer = peer;
                }
            if (done) return XF_OK;
            idle = advanced ? 0 : idle + 1;
            if (idle < kSpins) continue;
            if (Clock::now() >= deadline) {
                rank_lost = true;
                return set_error(XF_ERROR_PEER, err,
                                 "the exchange with rank %zu took longer than context.comm_timeout, %" PRId64 " ms",
                                 pending_peer, milliseconds(timeout));
            }
            int found = 0;
            MPI_Status status;
            if (MPI_Iprobe(MPI_ANY_SOURCE, kAbortTag, comm_, &found, &status) == MPI_SUCCESS && found != 0) {
                rank_lost = true;
                return set_error(XF_ERROR_PEER, err, "rank %d aborted", status.MPI_SOURCE);
            }
            std::this_thread::sleep_for(kSleep);
        }
    }

private:
    static constexpr int kSpins = 200, kAbortTag = 1;  // messages have tag 0
    static constexpr std::chrono::microseconds kSleep{20};
    MPI_Comm comm_ = MPI_COMM_NULL;
    std::vector<Channel> sends_, receives_;  // [size]
    char abort_message_ = 0;
    std::vector<MPI_Request> abort_requests_;  // [size]
};

// Initializes MPI, unless the host has, until the process exits.
int32_t initialize_mpi(double timeout, xf_error *err) {
    int initialized = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&initialized);
    if (initialized != 0) {
        MPI_Query_thread(&level);
    } else {
        static std::atomic<int> provided{MPI_THREAD_SINGLE};
        // The plugins of Open MPI need its symbols to be global.
        xf::make_symbols_global(reinterpret_cast<void *>(&MPI_Init_thread));
        if (!finishes_within(timeout, [] {
                int got = MPI_THREAD_SINGLE;
                MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &got);
                provided = got;
            })) {
            rank_lost = true;
            return set_error(XF_ERROR_PEER, err,
                             "MPI_Init_thread() did not return within %" PRId64 " ms (context.comm_timeout)",
                             milliseconds(timeout));
        }
        level = provided;
        std::atexit([] {
            int finalized = 0;
            MPI_Finalized(&finalized);
            if (finalized == 0 && !rank_lost) finishes_within(finalize_timeout, [] { MPI_Finalize(); });
        });
    }
    if (level < MPI_THREAD_SERIALIZED)
        return set_error(XF_ERROR_UNSUPPORTED, err,
                         "MPI was initialized with thread level %d, expected at least MPI_THREAD_SERIALIZED, %d", level,
                         MPI_THREAD_SERIALIZED);
    return XF_OK;
}

std::mutex mutex;
// Communicators of freed contexts, for reuse: MPI has few of them, and MPI_Comm_free() is collective.
std::vector<MPI_Comm> idle_comms;
size_t comm_count = 0;

// Returns a communicator that reports errors. Collective. Allocates memory before it communicates.
int32_t take_comm(double timeout, MPI_Comm *out, xf_error *err) {
    if (!idle_comms.empty()) {
        *out = idle_comms.back();
        idle_comms.pop_back();
        return XF_OK;
    }
    idle_comms.reserve(comm_count + 1);  // so that close() allocates nothing
    auto comm = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
    auto status = std::make_shared<int>(MPI_ERR_OTHER);
    if (!finishes_within(timeout, [comm, status] {
            *status = MPI_Comm_dup(MPI_COMM_WORLD, comm.get());
            if (*status == MPI_SUCCESS) *status = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
        })) {
        rank_lost = true;
        return set_error(XF_ERROR_PEER, err,
                         "MPI_Comm_dup() did not return within %" PRId64 " ms (context.comm_timeout)",
                         milliseconds(timeout));
    }
    if (*status != MPI_SUCCESS)
        return set_error(XF_ERROR_BACKEND, err, "MPI_Comm_dup() returned %d, expected MPI_SUCCESS", *status);
    *out = *comm;
    ++comm_count;
    return XF_OK;
}

MpiCommunicator &communicator_of(void *user) { return *static_cast<MpiCommunicator *>(user); }

int32_t open_comm(double timeout, xf_comm *out, xf_error *err) {
    const std::lock_guard lock(mutex);
    finalize_timeout = timeout;
    if (rank_lost) return set_error(XF_ERROR_PEER, err, "this process has lost another rank: restart all ranks");
    if (const int32_t status = initialize_mpi(timeout, err); status != XF_OK) return status;
    xf_comm table = XF_COMM_INIT;
    MPI_Comm_rank(MPI_COMM_WORLD, &table.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &table.size);
    auto communicator = std::make_unique<MpiCommunicator>(table.size);
    MPI_Comm comm = MPI_COMM_NULL;
    if (const int32_t status = take_comm(timeout, &comm, err); status != XF_OK) return status;
    communicator->set_comm(comm);
    table.user = communicator.release();
    table.exchange = [](void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                        size_t receive_count, double seconds, xf_error *error) -> int32_t {
        try {
            return communicator_of(user).exchange(sends, send_count, receives, receive_count, seconds, error);
        } catch (const std::exception &failure) {  // no memory: more parts than the library sends
            rank_lost = true;
            return set_error(XF_ERROR_PEER, error, "%s", failure.what());
        }
    };
    table.abort = [](void *user) {
        int rank = 0;
        MPI_Comm_rank(communicator_of(user).comm(), &rank);
        communicator_of(user).abort(rank);
    };
    table.close = [](void *user) {
        if (rank_lost) return;  // MPI may still write to its memory
        const std::unique_ptr<MpiCommunicator> closed(&communicator_of(user));
        const std::lock_guard lock_of_idle(mutex);
        idle_comms.push_back(closed->comm());
    };
    *out = table;
    return XF_OK;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int32_t xf_comm_plugin_open(uint32_t abi, double timeout,
                                                                              xf_comm *out, xf_error *err) {
    if (abi != XF_COMM_PLUGIN_ABI)
        return set_error(XF_ERROR_VERSION, err, "the plugin has version %u, expected %u: install matching packages",
                         XF_COMM_PLUGIN_ABI, abi);
    try {
        return open_comm(timeout, out, err);
    } catch (const std::exception &error) {
        return set_error(XF_ERROR_NO_MEMORY, err, "%s", error.what());
    }
}
