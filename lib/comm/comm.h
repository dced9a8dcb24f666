// A rank among ranks: whole messages over an xf_comm, or an error.
//
// An xf_comm only moves bytes, and is a host's, a plugin's or a network's. So each message goes with a head: its
// number, its size and a hash of it. What does not agree breaks the comm: it is never used again, as nobody knows what
// else is under way. The same holds after a timeout.
//
// Collective calls: every rank makes the same ones in the same order. One thread at a time: a call that finds another
// there is XF_ERROR_BUSY.
//
// Nothing here needs memory once the comm is made: a rank that has none left tells the others so, or gives them up.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/word.h"
#include "core/error.h"
#include "xformer/comm.h"

namespace xf {

// Numbers begin .. end - 1 of something.
struct Range {
    int64_t begin = 0, end = 0;
    int64_t count() const { return end - begin; }
    bool operator==(const Range &) const = default;
};

// Part i of n, as even as can be.
Range share(int64_t count, int64_t i, int64_t n);

class Comm {
public:
    // timeout: seconds, for each exchange.
    Comm(const xf_comm &table, double timeout);
    ~Comm();
    Comm(const Comm &) = delete;
    Comm &operator=(const Comm &) = delete;

    // From now on the table is closed at the end.
    void own() { owned_ = true; }

    int rank() const { return table_.rank; }
    int size() const { return table_.size; }

    struct Message {
        int rank;
        void *data;  // of a send: read only
        size_t size;
    };
    // Messages to and from others, at most one each way with each rank. XF_ERROR_PEER, and then for ever.
    void exchange(std::span<const Message> sends, std::span<const Message> receives);

    // Gives the others up for a reason found elsewhere: XF_ERROR_PEER, now and for ever.
    [[noreturn]] void give_up(const char *why, ...) __attribute__((format(printf, 2, 3)));
    // The same where nothing may be thrown. The first reason stays.
    void lose(const char *why, ...) noexcept __attribute__((format(printf, 2, 3)));

    // values: [size()][bytes], this rank's set; fills the others'.
    void all_gather(void *values, size_t bytes);
    // block: this rank has set the bytes of its part, parts[rank()]; fills the others'.
    void all_gather(void *block, const std::vector<Range> &parts);
    // The same for one rank alone; the others give.
    void gather(int to, const void *own, void *block, const std::vector<Range> &parts);

    // letters: [size()][bytes], each of which begins with a Word; this rank has set its own. What another rank could
    // not do is XF_ERROR_PEER, "rank 2: ...", where this one could.
    void hear(void *letters, size_t bytes);
    // The same with a number of each rank. values: [size()], or null where the word is an error.
    void hear(const Word &own, int64_t value, int64_t *values);

private:
    struct Head {
        uint64_t magic, number, size, hash;
        int32_t from, to;
    };
    class Turn;

    void lose_v(const char *why, va_list args) noexcept;
    void pass(std::span<const Message> sends, std::span<const Message> receives);
    void pass_parts(void *block, const std::vector<Range> &parts);
    void check_table() const;
    void check_whole() const;
    void check_head(const Head &head, const Message &message);

    xf_comm table_;
    double timeout_;
    bool owned_ = false;
    std::atomic<bool> busy_{false};
    char broken_[sizeof(xf_error::message)] = "";  // why; empty: whole
    std::vector<uint64_t> sent_, received_;        // [size()]: messages so far
    std::vector<Head> send_heads_, receive_heads_;
    std::vector<xf_comm_part> send_parts_, receive_parts_;
    std::vector<Message> sends_, receives_;  // of the collective calls
    std::vector<Range> parts_;
    struct Letter {
        Word word;
        int64_t value;
    };
    std::vector<Letter> letters_;  // [size()]
};

}  // namespace xf
