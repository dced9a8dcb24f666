// libxformer_mpi.so: ranks that MPI started.
//
// What MPI is given is memory of its own, never the caller's: after a timeout a message may be under way, which MPI can
// neither finish nor take back, and the caller's memory must not change then. So parts go through slots in pieces, two
// of them under way for each rank and direction. A comm that failed keeps its slots until the process ends.
//
// Memory is there before the ranks come together, so that no rank fails behind that, and for as many parts as the
// library has under way. A rank that gives up says so in messages of a tag of its own, for which the others look while
// they wait.
//
// MPI can be started once in a process and ended once. It is ended when the process exits; not where a rank was lost,
// because that would wait for it. A host that has started MPI itself ends it itself.
//
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/plugin.h"
#include "comm/plugin_support.h"

using xf::ends_in;
using xf::say;

namespace {

using Clock = std::chrono::steady_clock;

// For messages: %g would follow the locale.
long long milliseconds(double seconds) { return static_cast<long long>(seconds * 1e3); }

std::atomic<bool> lost{false};     // a rank: MPI must not be ended
std::atomic<double> patience{60};  // seconds for MPI's end, which waits for ranks that still have something to do

// The parts that go to one rank, or come from one, cut into pieces that go through two slots.
class Lane {
public:
    static constexpr size_t kSlots = 2;

    Lane(int peer, bool sends, size_t piece) : peer_(peer), sends_(sends), piece_(piece) {
        for (Slot &slot : slots_) slot.bytes.reset(new char[piece]);
        parts_.reserve(2);  // a head and a message
    }

    void use(MPI_Comm comm) { comm_ = comm; }

    void begin() { parts_.clear(), part_ = 0, at_ = 0, begun_ = ended_ = 0; }
    void add(const xf_comm_part &part) { parts_.push_back(part); }
    bool done() const { return begun_ == ended_ && part_ == parts_.size(); }

    // Moves on what can be. False when MPI reports an error or a message of another size.
    bool move(bool *moved) {
        while (begun_ < ended_ + kSlots && part_ < parts_.size()) {
            if (!start()) return false;
            *moved = true;
        }
        while (ended_ < begun_) {
            Slot &slot = slots_[ended_ % kSlots];
            int complete = 0, count = 0;
            MPI_Status status;
            if (MPI_Test(&slot.request, &complete, &status) != MPI_SUCCESS) return false;
            if (complete == 0) return true;
            if (!sends_) {
                if (MPI_Get_count(&status, MPI_BYTE, &count) != MPI_SUCCESS || static_cast<size_t>(count) != slot.size)
                    return false;
                std::memcpy(slot.to, slot.bytes.get(), slot.size);
            }
            ++ended_;
            *moved = true;
        }
        return true;
    }

private:
    struct Slot {
        std::unique_ptr<char[]> bytes;
        size_t size = 0;
        char *to = nullptr;
        MPI_Request request = MPI_REQUEST_NULL;
    };

    bool start() {
        const xf_comm_part &part = parts_[part_];
        Slot &slot = slots_[begun_ % kSlots];
        slot.size = std::min(piece_, part.size - at_);
        slot.to = static_cast<char *>(part.data) + at_;
        at_ += slot.size;
        if (at_ == part.size) ++part_, at_ = 0;
        ++begun_;
        const int count = static_cast<int>(slot.size);
        if (!sends_) return MPI_Irecv(slot.bytes.get(), count, MPI_BYTE, peer_, 0, comm_, &slot.request) == MPI_SUCCESS;
        std::memcpy(slot.bytes.get(), slot.to, slot.size);
        return MPI_Isend(slot.bytes.get(), count, MPI_BYTE, peer_, 0, comm_, &slot.request) == MPI_SUCCESS;
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    int peer_;
    bool sends_;
    size_t piece_;
    Slot slots_[kSlots];
    std::vector<xf_comm_part> parts_;
    size_t part_ = 0, at_ = 0;      // the next piece
    size_t begun_ = 0, ended_ = 0;  // pieces of this call
};

class Ranks {
public:
    explicit Ranks(int size) {
        // 16 MiB for all of them, in pieces that a network likes.
        const size_t piece = std::clamp<size_t>((size_t{4} << 20) / static_cast<size_t>(std::max(size, 1)),
                                                size_t{16} << 10, size_t{1} << 20);
        for (auto *lanes : {&sends_, &receives_}) lanes->reserve(static_cast<size_t>(size));
        for (int peer = 0; peer < size; ++peer) {
            sends_.emplace_back(peer, true, piece);
            receives_.emplace_back(peer, false, piece);
        }
        farewells_.resize(static_cast<size_t>(size), MPI_REQUEST_NULL);
    }

    MPI_Comm comm() const { return comm_; }
    void use(MPI_Comm comm) {
        comm_ = comm;
        for (auto *lanes : {&sends_, &receives_})
            for (Lane &lane : *lanes) lane.use(comm);
    }

    // Tells the others, who wait for this rank. Nothing is waited for; the memory stays, as all of a lost rank's.
    void abort(int rank) noexcept {
        lost = true;
        for (int peer = 0; peer < static_cast<int>(farewells_.size()); ++peer)
            if (peer != rank)
                MPI_Isend(&farewell_, 1, MPI_BYTE, peer, kFarewell, comm_, &farewells_[static_cast<size_t>(peer)]);
    }

    int32_t exchange(const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives, size_t receive_count,
                     double timeout, xf_error *err) {
        const auto end =
            Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
        for (auto *lanes : {&sends_, &receives_})
            for (Lane &lane : *lanes) lane.begin();
        for (size_t i = 0; i < send_count; ++i) sends_[static_cast<size_t>(sends[i].rank)].add(sends[i]);
        for (size_t i = 0; i < receive_count; ++i) receives_[static_cast<size_t>(receives[i].rank)].add(receives[i]);
        for (int idle = 0;;) {
            bool moved = false, all = true;
            size_t waits_for = 0;
            for (auto *lanes : {&receives_, &sends_})
                for (size_t peer = 0; peer < lanes->size(); ++peer) {
                    Lane &lane = (*lanes)[peer];
                    if (lane.done()) continue;
                    if (!lane.move(&moved)) {
                        lost = true;
                        return say(XF_ERROR_PEER, err, "MPI could not exchange messages with rank %zu", peer);
                    }
                    if (lane.done()) continue;
                    all = false, waits_for = peer;
                }
            if (all) return XF_OK;
            idle = moved ? 0 : idle + 1;
            if (idle < kSpins) continue;
            if (Clock::now() >= end) {
                lost = true;
                return say(XF_ERROR_PEER, err, "rank %zu was silent for %lld ms", waits_for, milliseconds(timeout));
            }
            int there = 0;
            MPI_Status who;
            if (MPI_Iprobe(MPI_ANY_SOURCE, kFarewell, comm_, &there, &who) == MPI_SUCCESS && there != 0) {
                lost = true;
                return say(XF_ERROR_PEER, err, "rank %d gave up", who.MPI_SOURCE);
            }
            usleep(kNap);
        }
    }

private:
    static constexpr int kSpins = 200, kFarewell = 1;  // a tag: messages have 0
    static constexpr useconds_t kNap = 20;
    MPI_Comm comm_ = MPI_COMM_NULL;
    std::vector<Lane> sends_, receives_;  // [size]
    char farewell_ = 0;
    std::vector<MPI_Request> farewells_;  // [size]
};

// MPI, started for as long as the process lives.
int32_t start_mpi(double timeout, xf_error *err) {
    int is_there = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&is_there);
    if (is_there != 0) {
        MPI_Query_thread(&level);
    } else {
        static std::atomic<int> provided{MPI_THREAD_SINGLE};
        // Open MPI finds its own plugins by names that must be visible to all.
        Dl_info info{};
        if (dladdr(reinterpret_cast<void *>(&MPI_Init_thread), &info) != 0 && info.dli_fname != nullptr)
            dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
        if (!ends_in(timeout, [] {
                int got = MPI_THREAD_SINGLE;
                MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &got);
                provided = got;
            })) {
            lost = true;
            return say(XF_ERROR_PEER, err, "MPI did not start within %lld ms", milliseconds(timeout));
        }
        level = provided;
        std::atexit([] {
            int over = 0;
            MPI_Finalized(&over);
            if (over == 0 && !lost) ends_in(patience, [] { MPI_Finalize(); });
        });
    }
    if (level < MPI_THREAD_SERIALIZED)
        return say(XF_ERROR_UNSUPPORTED, err,
                   "MPI was started with thread level %d, expected MPI_THREAD_SERIALIZED, %d", level,
                   MPI_THREAD_SERIALIZED);
    return XF_OK;
}

std::mutex opening;
// Communicators whose contexts are gone, to be used again: MPI has few of them, and freeing one needs all ranks.
std::vector<MPI_Comm> idle;
size_t made = 0;  // communicators

// Messages of its own, and errors that come back. Every rank makes this call. What needs memory comes before the thread
// that talks to the others.
int32_t take_comm(double timeout, MPI_Comm *out, xf_error *err) {
    if (!idle.empty()) {
        *out = idle.back();
        idle.pop_back();
        return XF_OK;
    }
    idle.reserve(made + 1);  // so that closing allocates nothing
    auto comm = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
    auto status = std::make_shared<int>(MPI_ERR_OTHER);
    if (!ends_in(timeout, [comm, status] {
            *status = MPI_Comm_dup(MPI_COMM_WORLD, comm.get());
            if (*status == MPI_SUCCESS) *status = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
        })) {
        lost = true;
        return say(XF_ERROR_PEER, err, "the ranks of MPI did not come together within %lld ms", milliseconds(timeout));
    }
    if (*status != MPI_SUCCESS) return say(XF_ERROR_BACKEND, err, "MPI_Comm_dup() failed: %d", *status);
    *out = *comm;
    ++made;
    return XF_OK;
}

int32_t open_comm(double timeout, xf_comm *out, xf_error *err) {
    const std::lock_guard lock(opening);
    patience = timeout;
    if (lost) return say(XF_ERROR_PEER, err, "this process lost another rank before");
    if (const int32_t status = start_mpi(timeout, err); status != XF_OK) return status;
    xf_comm table = XF_COMM_INIT;
    MPI_Comm_rank(MPI_COMM_WORLD, &table.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &table.size);
    auto joining = std::make_unique<Ranks>(table.size);
    MPI_Comm comm = MPI_COMM_NULL;
    if (const int32_t status = take_comm(timeout, &comm, err); status != XF_OK) return status;
    joining->use(comm);
    table.user = joining.release();
    table.exchange = [](void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                        size_t receive_count, double seconds, xf_error *error) -> int32_t {
        try {
            return static_cast<Ranks *>(user)->exchange(sends, send_count, receives, receive_count, seconds, error);
        } catch (const std::exception &failure) {  // more parts than the library sends; it gives up then
            lost = true;
            return say(XF_ERROR_PEER, error, "%s", failure.what());
        }
    };
    table.abort = [](void *user) {
        int rank = 0;
        MPI_Comm_rank(static_cast<Ranks *>(user)->comm(), &rank);
        static_cast<Ranks *>(user)->abort(rank);
    };
    table.close = [](void *user) {
        if (lost) return;  // MPI may still write there
        auto *const ranks = static_cast<Ranks *>(user);
        const std::lock_guard lock_of_idle(opening);
        idle.push_back(ranks->comm());
        delete ranks;
    };
    *out = table;
    return XF_OK;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int32_t xf_comm_plugin_open(uint32_t abi, double timeout,
                                                                              xf_comm *out, xf_error *err) {
    if (abi != XF_COMM_PLUGIN_ABI)
        return say(XF_ERROR_VERSION, err, "it is of plugin version %u, expected %u", XF_COMM_PLUGIN_ABI, abi);
    try {
        return open_comm(timeout, out, err);
    } catch (const std::exception &error) {
        return say(XF_ERROR_NO_MEMORY, err, "%s", error.what());
    }
}
