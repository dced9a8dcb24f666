// A hub that all ranks share. A part that is sent is posted where its receiver finds it, and stays the sender's memory:
// the receiver copies, and tells. See loopback.h.
//
// The trap is a call that ends early: a part of its memory may be in somebody's copying hands. So the end takes back
// what nobody has begun to copy and waits for the rest, which takes no longer than a copy.
//
// Letters have their memory from the start, as many as a rank of this library has under way.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/loopback.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/error.h"

namespace xf {
namespace {

using Clock = std::chrono::steady_clock;

struct Letter {
    const xf_comm_part *part = nullptr;
    Letter *next = nullptr;  // in its box
    bool taken = false, copied = false;
};

// Letters from one rank to another, in their order.
class Box {
public:
    bool empty() const { return first_ == nullptr; }
    void clear() { first_ = last_ = nullptr; }
    void push(Letter *letter) {
        (empty() ? first_ : last_->next) = letter;
        last_ = letter;
    }
    Letter *pop() {
        Letter *const letter = first_;
        first_ = letter->next;
        return letter;
    }

private:
    Letter *first_ = nullptr, *last_ = nullptr;
};

class Hub {
public:
    explicit Hub(int32_t size)
        : size_(size),
          boxes_(static_cast<size_t>(size) * static_cast<size_t>(size)),
          letters_(static_cast<size_t>(size)),
          gone_(static_cast<size_t>(size)) {
        for (auto &letters : letters_) letters.reserve(2 * static_cast<size_t>(size));  // a head and a message for each
    }

    xf_status exchange(int32_t rank, std::span<const xf_comm_part> sends, std::span<const xf_comm_part> receives,
                       double timeout, xf_error *err) {
        std::vector<Letter> &letters = letters_[static_cast<size_t>(rank)];
        const auto wanted = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
        const auto end = Clock::now() + wanted;
        std::unique_lock lock(mutex_);
        try {
            letters.assign(sends.size(), Letter());
            pass(rank, sends, receives, end, &letters, &lock);
        } catch (const std::exception &) {  // more letters than any rank of this library sends
            fail_all("rank %d: out of memory", rank);
        }
        if (!is_broken()) return XF_OK;
        take_back(rank, &letters, &lock);
        return say(XF_ERROR_PEER, broken_, err);
    }

    void abort(int32_t rank) noexcept {
        const std::lock_guard lock(mutex_);
        fail_all("rank %d gave up", rank);
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

    Box &box(int32_t from, int32_t to) {
        return boxes_[static_cast<size_t>(from) * static_cast<size_t>(size_) + static_cast<size_t>(to)];
    }

    bool is_broken() const { return broken_[0] != 0; }

    // What was first stays the reason.
    void fail_all(const char *why, ...) noexcept __attribute__((format(printf, 2, 3))) {
        va_list args;
        va_start(args, why);
        if (!is_broken()) std::vsnprintf(broken_, sizeof broken_, why, args);
        va_end(args);
        changed_.notify_all();
    }

    void pass(int32_t rank, std::span<const xf_comm_part> sends, std::span<const xf_comm_part> receives,
              Clock::time_point end, std::vector<Letter> *letters, std::unique_lock<std::mutex> *lock) {
        if (is_broken()) return;
        for (size_t i = 0; i < sends.size(); ++i) {
            (*letters)[i].part = &sends[i];
            box(rank, sends[i].rank).push(&(*letters)[i]);
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
        changed_.wait_until(*lock, end, [&] { return done() || is_broken() || is_gone(); });
        if (is_broken()) return false;
        if (done()) return true;
        fail_all("rank %d %s%s", whom, is_gone() ? "is gone" : what, is_gone() ? "" : " in time");
        return false;
    }

    bool receive(int32_t rank, const xf_comm_part &part, Clock::time_point end, std::unique_lock<std::mutex> *lock) {
        Box &from = box(part.rank, rank);
        if (!wait(part.rank, "sent nothing", end, lock, [&] { return !from.empty(); })) return false;
        Letter *const letter = from.pop();
        if (letter->part->size != part.size) {
            fail_all("rank %d sent %zu bytes where rank %d expected %zu", part.rank, letter->part->size, rank,
                     part.size);
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
    std::vector<Box> boxes_;                       // [from][to]
    std::vector<std::vector<Letter>> letters_;     // [size]: of the exchange that a rank is in
    char broken_[sizeof(xf_error::message)] = "";  // why; empty: whole
    std::vector<bool> gone_;                       // [size]: closed
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
            return own->hub->exchange(own->rank, {sends, send_count}, {receives, receive_count}, timeout, err);
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
