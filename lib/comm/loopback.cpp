// A hub that all ranks share. A sender posts a message, which stays in its own memory, to the queue of the receiver;
// the receiver copies the bytes and marks the message as copied. See loopback.h.
//
// A call that ends early must not return while another rank is copying from its memory. It therefore withdraws the
// messages that no receiver has begun to copy and waits for the others, which takes no longer than a copy.
//
// The messages of an exchange are allocated in advance, as many as a rank of this library has in one exchange.
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

struct Message {
    const xf_comm_part *part = nullptr;
    Message *next = nullptr;  // in its queue
    bool taken = false, copied = false;
};

// Messages from one rank to another, first in, first out.
class MessageQueue {
public:
    bool empty() const { return first_ == nullptr; }
    void clear() { first_ = last_ = nullptr; }
    void push(Message *message) {
        (empty() ? first_ : last_->next) = message;
        last_ = message;
    }
    Message *pop() {
        Message *const message = first_;
        first_ = message->next;
        return message;
    }

private:
    Message *first_ = nullptr, *last_ = nullptr;
};

class Hub {
public:
    explicit Hub(int32_t size)
        : size_(size), queues_(size_t(size) * size), messages_(size), progress_(size), closed_(size) {
        for (auto &messages : messages_) messages.reserve(size_t{2} * size);  // a header and a body per rank
    }

    xf_status exchange(int32_t rank, std::span<const xf_comm_part> sends, std::span<const xf_comm_part> receives,
                       double timeout, xf_error *err) {
        std::vector<Message> &messages = messages_[rank];
        const auto silence = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
        std::unique_lock lock(mutex_);
        try {
            messages.assign(sends.size(), Message());
            exchange_locked(rank, sends, receives, silence, &messages, &lock);
        } catch (const std::exception &) {  // more messages than any rank of this library sends
            abort_all("rank %d: out of memory", rank);
        }
        if (!aborted()) return XF_OK;
        withdraw(rank, &messages, &lock);
        return set_error(XF_ERROR_PEER, abort_reason_, err);
    }

    void abort(const char *reason) noexcept {
        const std::lock_guard lock(mutex_);
        abort_all("%s", reason);
    }

    // Returns true for the last rank.
    bool close(int32_t rank) noexcept {
        const std::lock_guard lock(mutex_);
        closed_[rank] = true;
        changed_.notify_all();
        return std::all_of(closed_.begin(), closed_.end(), [](bool closed) { return closed; });
    }

private:
    static xf_status set_error(xf_status status, const char *message, xf_error *err) {
        if (err != nullptr) {
            err->status = status;
            std::snprintf(err->message, sizeof err->message, "%s", message);
        }
        return status;
    }

    MessageQueue &queue(int32_t from, int32_t to) { return queues_[size_t(from) * size_ + to]; }

    bool aborted() const { return abort_reason_[0] != 0; }

    // The first reason is kept.
    void abort_all(const char *reason, ...) noexcept __attribute__((format(printf, 2, 3))) {
        va_list args;
        va_start(args, reason);
        if (!aborted()) std::vsnprintf(abort_reason_, sizeof abort_reason_, reason, args);
        va_end(args);
        changed_.notify_all();
    }

    void exchange_locked(int32_t rank, std::span<const xf_comm_part> sends, std::span<const xf_comm_part> receives,
                         Clock::duration silence, std::vector<Message> *messages, std::unique_lock<std::mutex> *lock) {
        if (aborted()) return;
        const auto time = progress_[rank] = Clock::now();
        for (size_t i = 0; i < sends.size(); ++i) {
            (*messages)[i].part = &sends[i];
            queue(rank, sends[i].rank).push(&(*messages)[i]);
            progress_[sends[i].rank] = time;
        }
        changed_.notify_all();
        for (const xf_comm_part &part : receives)
            if (!receive(rank, part, silence, lock)) return;
        for (const Message &message : *messages)
            if (!wait_for(rank, message.part->rank, "receive", silence, lock, [&] { return message.copied; })) return;
    }

    // Waits until done(), which depends on rank `peer`, as long as there is progress for this rank. Returns false, with
    // the abort reason set, if that fails.
    template <class Done>
    bool wait_for(int32_t rank, int32_t peer, const char *action, Clock::duration silence,
                  std::unique_lock<std::mutex> *lock, const Done &done) {
        const auto ended = [&] { return done() || aborted() || closed_[peer]; };
        for (auto deadline = progress_[rank] + silence; !changed_.wait_until(*lock, deadline, ended);) {
            if (deadline == progress_[rank] + silence) break;
            deadline = progress_[rank] + silence;
        }
        if (aborted()) return false;
        if (done()) return true;
        if (closed_[peer])
            abort_all("rank %d has freed its context", peer);
        else
            abort_all("rank %d did not %s within context.comm_timeout", peer, action);
        return false;
    }

    bool receive(int32_t rank, const xf_comm_part &part, Clock::duration silence, std::unique_lock<std::mutex> *lock) {
        MessageQueue &from = queue(part.rank, rank);
        if (!wait_for(rank, part.rank, "send", silence, lock, [&] { return !from.empty(); })) return false;
        Message *const message = from.pop();
        if (message->part->size != part.size) {
            abort_all("rank %d sent %zu bytes, rank %d expected %zu", part.rank, message->part->size, rank, part.size);
            message->copied = true;
            return false;
        }
        message->taken = true;
        lock->unlock();
        std::memcpy(part.data, message->part->data, part.size);
        lock->lock();
        message->copied = true;
        progress_[rank] = progress_[part.rank] = Clock::now();
        changed_.notify_all();
        return true;
    }

    void withdraw(int32_t rank, std::vector<Message> *messages, std::unique_lock<std::mutex> *lock) {
        for (int32_t to = 0; to < size_; ++to) queue(rank, to).clear();
        for (Message &message : *messages) changed_.wait(*lock, [&] { return !message.taken || message.copied; });
    }

    const int32_t size_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<MessageQueue> queues_;                   // [from][to]
    std::vector<std::vector<Message>> messages_;         // [size], of the current exchange of each rank
    std::vector<Clock::time_point> progress_;            // [size]: of the last message to or from a rank
    char abort_reason_[sizeof(xf_error::message)] = "";  // empty: not aborted
    std::vector<bool> closed_;                           // [size]
};

struct Rank {
    Hub *hub;
    int32_t rank;
};

Rank *rank_of(void *user) { return static_cast<Rank *>(user); }

}  // namespace

void make_loopback(xf_comm *comms, int32_t size) {
    XF_CHECK(size >= 1 && size <= 1024, XF_ERROR_OUT_OF_RANGE, "size is %d, expected 1 to 1024", size);
    std::vector<std::unique_ptr<Rank>> ranks(size);
    auto hub = std::make_unique<Hub>(size);
    for (int32_t r = 0; r < size; ++r) ranks[r].reset(new Rank{hub.get(), r});
    static_cast<void>(hub.release());  // deleted by the last rank that closes
    for (int32_t r = 0; r < size; ++r) {
        xf_comm comm = XF_COMM_INIT;
        comm.user = ranks[r].release();
        comm.rank = r, comm.size = size;
        comm.exchange = [](void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                           size_t receive_count, double timeout, xf_error *err) -> int32_t {
            Rank *const own = rank_of(user);
            return own->hub->exchange(own->rank, {sends, send_count}, {receives, receive_count}, timeout, err);
        };
        comm.abort = [](void *user, const char *reason) { rank_of(user)->hub->abort(reason); };
        comm.close = [](void *user) {
            const std::unique_ptr<Rank> own(rank_of(user));
            if (own->hub->close(own->rank)) delete own->hub;
        };
        comms[r] = comm;
    }
}

}  // namespace xf
