// A hub that all ranks share. A part that is sent is posted where its receiver finds it, and stays the sender's memory:
// the receiver copies, and tells. See loopback.h.
//
// The trap is a call that ends early: a part of its memory may be in somebody's copying hands. So the end takes back
// what nobody has begun to copy and waits for the rest, which takes no longer than a copy.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/loopback.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"

namespace xf {
namespace {

using Clock = std::chrono::steady_clock;

struct Letter {
    const xf_comm_part *part;
    bool taken = false, copied = false;
};

class Hub {
public:
    explicit Hub(int32_t size)
        : size_(size),
          boxes_(static_cast<size_t>(size) * static_cast<size_t>(size)),
          gone_(static_cast<size_t>(size)) {}

    xf_status exchange(int32_t rank, std::span<const xf_comm_part> sends, std::span<const xf_comm_part> receives,
                       double timeout, xf_error *err) {
        std::vector<Letter> letters(sends.size());
        const auto wanted = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
        const auto end = Clock::now() + wanted;
        std::unique_lock lock(mutex_);
        try {
            pass(rank, sends, receives, end, &letters, &lock);
        } catch (const std::exception &error) {
            fail_all(format("rank %d: %s", rank, error.what()));
        }
        if (broken_.empty()) return XF_OK;
        take_back(rank, &letters, &lock);
        return say(XF_ERROR_PEER, broken_.c_str(), err);
    }

    void abort(int32_t rank) noexcept {
        const std::lock_guard lock(mutex_);
        fail_all(format("rank %d gave up", rank));
    }

    // True for the last one.
    bool close(int32_t rank) noexcept {
        const std::lock_guard lock(mutex_);
        gone_[static_cast<size_t>(rank)] = true;
        changed_.notify_all();
        return std::all_of(gone_.begin(), gone_.end(), [](bool gone) { return gone; });
    }

private:
    static xf_status say(xf_status status, const char *why, xf_error *err) {
        if (err != nullptr) {
            err->status = status;
            std::snprintf(err->message, sizeof err->message, "%s", why);
        }
        return status;
    }

    std::deque<Letter *> &box(int32_t from, int32_t to) {
        return boxes_[static_cast<size_t>(from) * static_cast<size_t>(size_) + static_cast<size_t>(to)];
    }

    // What was first stays the reason.
    void fail_all(std::string why) noexcept {
        if (broken_.empty()) broken_ = std::move(why);
        changed_.notify_all();
    }

    void pass(int32_t rank, std::span<const xf_comm_part> sends, std::span<const xf_comm_part> receives,
              Clock::time_point end, std::vector<Letter> *letters, std::unique_lock<std::mutex> *lock) {
        if (!broken_.empty()) return;
        for (size_t i = 0; i < sends.size(); ++i) {
            (*letters)[i].part = &sends[i];
            box(rank, sends[i].rank).push_back(&(*letters)[i]);
        }
        changed_.notify_all();
        for (const xf_comm_part &part : receives)
            if (!receive(rank, part, end, lock)) return;
        for (const Letter &letter : *letters)
            if (!wait(letter.part->rank, "took nothing", end, lock, [&] { return letter.copied; })) return;
    }

    // Waits for something that rank `whom` has to do. False, with the reason in broken_, when that won't be.
    template <class Done>
    bool wait(int32_t whom, const char *what, Clock::time_point end, std::unique_lock<std::mutex> *lock,
              const Done &done) {
        const auto is_gone = [&] { return static_cast<bool>(gone_[static_cast<size_t>(whom)]); };
        changed_.wait_until(*lock, end, [&] { return done() || !broken_.empty() || is_gone(); });
        if (!broken_.empty()) return false;
        if (done()) return true;
        fail_all(is_gone() ? format("rank %d is gone", whom) : format("rank %d %s in time", whom, what));
        return false;
    }

    bool receive(int32_t rank, const xf_comm_part &part, Clock::time_point end, std::unique_lock<std::mutex> *lock) {
        auto &from = box(part.rank, rank);
        if (!wait(part.rank, "sent nothing", end, lock, [&] { return !from.empty(); })) return false;
        Letter *const letter = from.front();
        from.pop_front();
        if (letter->part->size != part.size) {
            fail_all(format("rank %d sent %zu bytes where rank %d expected %zu", part.rank, letter->part->size, rank,
                            part.size));
            letter->copied = true;
            return false;
        }
        letter->taken = true;
        lock->unlock();
        std::memcpy(part.data, letter->part->data, part.size);
        lock->lock();
        letter->copied = true;
        changed_.notify_all();
        return true;
    }

    void take_back(int32_t rank, std::vector<Letter> *letters, std::unique_lock<std::mutex> *lock) {
        for (int32_t to = 0; to < size_; ++to) box(rank, to).clear();
        for (Letter &letter : *letters) changed_.wait(*lock, [&] { return !letter.taken || letter.copied; });
    }

    const int32_t size_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::deque<Letter *>> boxes_;  // [from][to]
    std::string broken_;                       // why; empty: whole
    std::vector<bool> gone_;                   // [size]: closed
};

struct Rank {
    Hub *hub;
    int32_t rank;
};

Rank *rank_of(void *user) { return static_cast<Rank *>(user); }

}  // namespace

void make_loopback(xf_comm *comms, int32_t size) {
    XF_CHECK(size >= 1 && size <= 1024, XF_ERROR_OUT_OF_RANGE, "size is %d, expected 1 to 1024", size);
    std::vector<std::unique_ptr<Rank>> ranks(static_cast<size_t>(size));
    auto hub = std::make_unique<Hub>(size);
    for (int32_t r = 0; r < size; ++r) ranks[static_cast<size_t>(r)].reset(new Rank{hub.get(), r});
    static_cast<void>(hub.release());  // the last rank's
    for (int32_t r = 0; r < size; ++r) {
        xf_comm comm = XF_COMM_INIT;
        comm.user = ranks[static_cast<size_t>(r)].release();
        comm.rank = r, comm.size = size;
        comm.exchange = [](void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                           size_t receive_count, double timeout, xf_error *err) -> int32_t {
            Rank *const own = rank_of(user);
            try {
                return own->hub->exchange(own->rank, {sends, send_count}, {receives, receive_count}, timeout, err);
            } catch (const std::exception &) {  // no memory for a list of letters
                own->hub->abort(own->rank);
                return XF_ERROR_PEER;
            }
        };
        comm.abort = [](void *user) { rank_of(user)->hub->abort(rank_of(user)->rank); };
        comm.close = [](void *user) {
            const std::unique_ptr<Rank> own(rank_of(user));
            if (own->hub->close(own->rank)) delete own->hub;
        };
        comms[r] = comm;
    }
}

}  // namespace xf
