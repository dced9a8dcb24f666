// libxformer_mpi.so: a communicator for ranks that MPI has started.
//
// MPI only sees memory of this plugin. After a timeout a message may still be in transit, which MPI can neither
// complete nor cancel, and the caller's memory must not change then. Messages are therefore copied through slots in
// pieces, two at a time for each rank and direction. The slots of a failed communicator are kept until the process
// ends.
//
// All memory is allocated before the ranks connect, for as many parts as the library sends at once, so that no single
// rank fails afterwards. A rank that aborts sends the reason with a special tag to the others, which they probe for
// while they wait.
//
// A rank that computes, loads, or saves makes no call. A thread of each communicator therefore sends signs of life, a
// byte with another tag, to all other ranks. A rank is lost if neither a piece nor a sign of life arrives for
// context.comm_timeout: a stopped process sends none. The thread needs MPI_THREAD_MULTIPLE; if a host initialized MPI
// with less, there are no signs of life.
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
#include <condition_variable>
#include <csignal>
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

Clock::duration duration_of(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

constexpr int kAbortTag = 1, kAliveTag = 2;  // messages have tag 0

std::atomic<bool> rank_lost{false};        // MPI must not be finalized
std::atomic<double> finalize_timeout{60};  // seconds

// Sends signs of life to the other ranks at regular intervals, on its own thread.
class Heartbeat {
public:
    // Throws if the thread cannot be created.
    Heartbeat(MPI_Comm comm, int rank, int size, Clock::duration interval)
        : comm_(comm), rank_(rank), requests_(size, MPI_REQUEST_NULL), interval_(interval) {
        sigset_t all, before;  // signals are handled by the threads of the program
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            thread_ = std::thread([this] { run(); });
        } catch (...) {
            pthread_sigmask(SIG_SETMASK, &before, nullptr);
            throw;
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    // No MPI call is in progress afterwards.
    ~Heartbeat() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        thread_.join();
        for (MPI_Request &request : requests_)
            if (request != MPI_REQUEST_NULL && !rank_lost) MPI_Request_free(&request);  // its byte is static
    }
    Heartbeat(const Heartbeat &) = delete;
    Heartbeat &operator=(const Heartbeat &) = delete;

private:
    void run() {
        static const char alive = 0;
        std::unique_lock lock(mutex_);
        while (!stopping_ && !rank_lost) {
            lock.unlock();
            for (int peer = 0; peer < std::ssize(requests_); ++peer) {
                int sent = 1;
                if (peer == rank_ || MPI_Test(&requests_[peer], &sent, MPI_STATUS_IGNORE) != MPI_SUCCESS) continue;
                if (sent != 0) MPI_Isend(&alive, 1, MPI_BYTE, peer, kAliveTag, comm_, &requests_[peer]);
            }
            lock.lock();
            changed_.wait_for(lock, interval_, [&] { return stopping_; });
        }
    }

    MPI_Comm comm_;
    int rank_;
    std::vector<MPI_Request> requests_;  // [size]
    Clock::duration interval_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    std::thread thread_;
};

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
    MpiCommunicator(int rank, int size, const xf_comm_limits &limits)
        : rank_(rank), limits_(limits), heard_(size), interval_(duration_of(limits.comm_timeout / kBeats)) {
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
        int level = MPI_THREAD_SINGLE;
        MPI_Query_thread(&level);
        if (level >= MPI_THREAD_MULTIPLE && std::ssize(heard_) > 1)
            heartbeat_ = std::make_unique<Heartbeat>(comm, rank_, std::ssize(heard_), interval_);
    }
    // Ends the thread.
    void stop() { heartbeat_.reset(); }

    // Informs the other ranks. Waits for nothing; the memory is kept, as always after a failure.
    void abort(const char *reason) noexcept {
        rank_lost = true;
        std::snprintf(abort_message_, sizeof abort_message_, "%s", reason);
        for (int peer = 0; peer < std::ssize(abort_requests_); ++peer)
            if (peer != rank_)
                MPI_Isend(abort_message_, sizeof abort_message_, MPI_BYTE, peer, kAbortTag, comm_,
                          &abort_requests_[peer]);
    }

    int32_t exchange(const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives, size_t receive_count,
                     double timeout, xf_error *err) {
        const auto began = Clock::now();
        const auto silence = duration_of(timeout), work = duration_of(limits_.comm_work_timeout);
        auto moved = began;  // when the last piece of this exchange was transferred
        if (began >= drained_ + interval_) receive_signs(began);
        std::fill(heard_.begin(), heard_.end(), began);
        for (auto *channels : {&sends_, &receives_})
            for (Channel &channel : *channels) channel.clear();
        for (size_t i = 0; i < send_count; ++i) sends_[sends[i].rank].add(sends[i]);
        for (size_t i = 0; i < receive_count; ++i) receives_[receives[i].rank].add(receives[i]);
        for (;;) {
            bool done = true;
            const auto time = Clock::now();
            int64_t pending_peer = -1, silent_peer = -1;
            for (auto *channels : {&receives_, &sends_})
                for (size_t peer = 0; peer < channels->size(); ++peer) {
                    Channel &channel = (*channels)[peer];
                    if (channel.done()) continue;
                    bool advances = false;
                    if (!channel.advance(&advances)) {
                        rank_lost = true;
                        if (receive_abort(err)) return XF_ERROR_PEER;
                        return set_error(XF_ERROR_PEER, err, "MPI could not exchange messages with rank %zu", peer);
                    }
                    if (advances) heard_[peer] = moved = time;
                    if (channel.done()) continue;
                    done = false, pending_peer = peer;
                    if (time >= heard_[peer] + silence) silent_peer = peer;
                }
            if (done) return XF_OK;
            // By time and not by count: on a busy machine, each round may lose the processor for milliseconds.
            if (time < moved + kSpin) continue;
            if (receive_abort(err)) return XF_ERROR_PEER;
            // A silent rank is silent only if no sign of life has arrived in the meantime.
            if (time >= drained_ + interval_ || silent_peer >= 0) receive_signs(time);
            if (silent_peer >= 0 && time >= heard_[silent_peer] + silence) {
                rank_lost = true;
                return set_error(XF_ERROR_PEER, err,
                                 "rank %" PRId64 " did not respond for context.comm_timeout, %" PRId64 " ms",
                                 silent_peer, milliseconds(timeout));
            }
            if (time >= moved + work) {
                rank_lost = true;
                return set_error(XF_ERROR_PEER, err,
                                 "rank %" PRId64
                                 " is alive but did not make this call for context.comm_work_timeout, "
                                 "%" PRId64 " ms",
                                 pending_peer, milliseconds(limits_.comm_work_timeout));
            }
            std::this_thread::sleep_for(kSleep);
        }
    }

private:
    // Receives the reason of a rank that has aborted, if there is one.
    bool receive_abort(xf_error *err) {
        int found = 0, count = 0;
        MPI_Status status;
        if (MPI_Iprobe(MPI_ANY_SOURCE, kAbortTag, comm_, &found, &status) != MPI_SUCCESS || found == 0) return false;
        rank_lost = true;
        char reason[XF_ERROR_MESSAGE_SIZE] = "";
        const int from = status.MPI_SOURCE;
        if (MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS && count == int{sizeof reason})
            MPI_Recv(reason, sizeof reason, MPI_BYTE, from, kAbortTag, comm_, MPI_STATUS_IGNORE);
        reason[sizeof reason - 1] = 0;
        if (reason[0] != 0)
            set_error(XF_ERROR_PEER, err, "%s", reason);
        else
            set_error(XF_ERROR_PEER, err, "rank %d aborted", from);
        return true;
    }

    // Receives all signs of life that have arrived.
    void receive_signs(Clock::time_point time) {
        drained_ = time;
        for (int found = 1; found != 0;) {
            MPI_Status status;
            char alive = 0;
            if (MPI_Iprobe(MPI_ANY_SOURCE, kAliveTag, comm_, &found, &status) != MPI_SUCCESS || found == 0) return;
            const int from = status.MPI_SOURCE;
            if (MPI_Recv(&alive, 1, MPI_BYTE, from, kAliveTag, comm_, &status) != MPI_SUCCESS) return;
            heard_[from] = time;
        }
    }

    static constexpr int kBeats = 8;  // signs of life in context.comm_timeout
    static constexpr std::chrono::microseconds kSpin{100}, kSleep{20};
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_;
    xf_comm_limits limits_;
    std::vector<Channel> sends_, receives_;  // [size]
    std::vector<Clock::time_point> heard_;   // [size]: of the last piece or sign of life of this exchange
    Clock::duration interval_;               // between signs of life
    Clock::time_point drained_{};            // when signs of life were last received
    char abort_message_[XF_ERROR_MESSAGE_SIZE] = "";
    std::vector<MPI_Request> abort_requests_;  // [size]
    std::unique_ptr<Heartbeat> heartbeat_;     // null: none can be sent
};

std::mutex mutex;
std::vector<MpiCommunicator *> open_communicators;

// Ends all threads when MPI_Finalize() begins, in the plugin or in the host: it deletes this attribute first.
int32_t stop_at_finalize(xf_error *err) {
    static int key = MPI_KEYVAL_INVALID;
    if (key != MPI_KEYVAL_INVALID) return XF_OK;
    const auto stop = [](MPI_Comm, int, void *, void *) -> int {
        const std::lock_guard lock(mutex);
        for (MpiCommunicator *const communicator : open_communicators) communicator->stop();
        return MPI_SUCCESS;
    };
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, stop, &key, nullptr) == MPI_SUCCESS &&
        MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS)
        return XF_OK;
    return set_error(XF_ERROR_BACKEND, err, "MPI_Comm_set_attr() failed");
}

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
                             "MPI_Init_thread() did not return within %" PRId64 " ms (context.comm_start_timeout)",
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

// Returns xf_comm::ranks_per_machine, or 0 if machines have different numbers of ranks or ranks that are not
// consecutive. Collective.
int find_ranks_per_machine(MPI_Comm comm) {
    MPI_Comm machine = MPI_COMM_NULL;
    int rank = 0, size = 0, place = 0, count = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) == MPI_SUCCESS) {
        MPI_Comm_rank(machine, &place);  // in the order of the ranks
        MPI_Comm_size(machine, &count);
        MPI_Comm_free(&machine);
    }
    // If the place of every rank is the remainder of its number, the machines have consecutive ranks.
    if (count < 1 || size % count != 0 || rank % count != place) count = 0;
    int bounds[] = {count, -count}, least[] = {0, 0};
    if (MPI_Allreduce(bounds, least, 2, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS || least[0] != -least[1]) return 0;
    return least[0];
}

// Communicators of freed contexts, for reuse: MPI has few of them, and MPI_Comm_free() is collective.
std::vector<MPI_Comm> idle_comms;
size_t comm_count = 0;
int ranks_per_machine = 0;

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
    auto per_machine = std::make_shared<int>(0);
    if (!finishes_within(timeout, [comm, status, per_machine] {
            *status = MPI_Comm_dup(MPI_COMM_WORLD, comm.get());
            if (*status == MPI_SUCCESS) *status = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
            if (*status == MPI_SUCCESS) *per_machine = find_ranks_per_machine(*comm);
        })) {
        rank_lost = true;
        return set_error(XF_ERROR_PEER, err,
                         "MPI did not connect the ranks within %" PRId64 " ms (context.comm_start_timeout)",
                         milliseconds(timeout));
    }
    if (*status != MPI_SUCCESS)
        return set_error(XF_ERROR_BACKEND, err, "MPI_Comm_dup() returned %d, expected MPI_SUCCESS", *status);
    *out = *comm;
    ranks_per_machine = *per_machine;
    ++comm_count;
    return XF_OK;
}

MpiCommunicator &communicator_of(void *user) { return *static_cast<MpiCommunicator *>(user); }

int32_t open_comm(const xf_comm_limits &limits, xf_comm *out, xf_error *err) {
    const std::lock_guard lock(mutex);
    finalize_timeout = limits.comm_timeout;
    if (rank_lost) return set_error(XF_ERROR_PEER, err, "this process has lost another rank: restart all ranks");
    if (const int32_t status = initialize_mpi(limits.comm_start_timeout, err); status != XF_OK) return status;
    xf_comm table = XF_COMM_INIT;
    MPI_Comm_rank(MPI_COMM_WORLD, &table.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &table.size);
    if (const int32_t status = stop_at_finalize(err); status != XF_OK) return status;
    auto communicator = std::make_unique<MpiCommunicator>(table.rank, table.size, limits);
    open_communicators.reserve(open_communicators.size() + 1);
    MPI_Comm comm = MPI_COMM_NULL;
    if (const int32_t status = take_comm(limits.comm_start_timeout, &comm, err); status != XF_OK) return status;
    table.ranks_per_machine = ranks_per_machine;
    communicator->set_comm(comm);
    open_communicators.push_back(communicator.get());
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
    table.abort = [](void *user, const char *reason) { communicator_of(user).abort(reason); };
    table.close = [](void *user) {
        const std::lock_guard lock_of_idle(mutex);
        std::erase(open_communicators, &communicator_of(user));
        if (rank_lost) return;  // MPI may still write to its memory, and the thread ends by itself
        communicator_of(user).stop();
        const std::unique_ptr<MpiCommunicator> closed(&communicator_of(user));
        idle_comms.push_back(closed->comm());
    };
    *out = table;
    return XF_OK;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int32_t xf_comm_plugin_open(uint32_t abi,
                                                                              const xf_comm_limits *limits,
                                                                              xf_comm *out, xf_error *err) {
    if (abi != XF_COMM_PLUGIN_ABI)
        return set_error(XF_ERROR_VERSION, err, "the plugin has version %u, expected %u: install matching packages",
                         XF_COMM_PLUGIN_ABI, abi);
    try {
        return open_comm(*limits, out, err);
    } catch (const std::exception &error) {
        return set_error(XF_ERROR_NO_MEMORY, err, "%s", error.what());
    }
}
