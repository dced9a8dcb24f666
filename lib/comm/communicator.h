// Checked messages between ranks over an xf_comm.
//
// An xf_comm only moves bytes and belongs to a host, a plugin, or a network. Each message therefore has a header with
// its sequence number, its size, and a hash of its bytes. A mismatch or a timeout aborts the communicator permanently,
// because messages of unknown state may still be in transit.
//
// Every rank makes the same collective calls in the same order. A call that finds another one in progress throws
// XF_ERROR_BUSY. No call allocates memory, so a rank that is out of memory can still report it or abort. A rank that is
// the only one exchanges nothing: each call returns its own values.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/rank_status.h"
#include "core/error.h"
#include "xformer/experimental.h"

namespace xf {

// The half-open interval [begin, end).
struct Range {
    int64_t begin = 0, end = 0;
    int64_t count() const { return end - begin; }
    bool operator==(const Range &) const = default;
};

// The ranks first, first + stride, and so on.
struct RankSet {
    int first = 0, count = 1, stride = 1;
    int operator[](int i) const { return first + i * stride; }
};

// Returns chunk `index` of `chunks` almost equal chunks of [0, count).
Range even_chunk(int64_t count, int64_t index, int64_t chunks);

class Communicator {
public:
    // timeout: how long an exchange waits in silence, in seconds.
    Communicator(const xf_comm &table, double timeout);
    ~Communicator();
    Communicator(const Communicator &) = delete;
    Communicator &operator=(const Communicator &) = delete;

    // The destructor closes the table only after this call.
    void take_ownership() { owned_ = true; }

    int rank() const { return table_.rank; }
    int size() const { return table_.size; }

    // The number of ranks of a machine, which are consecutive; 1 if it is not known, or if one machine has all ranks.
    int ranks_per_machine() const { return ranks_per_machine_; }
    int machines() const { return size() / ranks_per_machine_; }
    // The ranks of a machine.
    RankSet machine(int index) const { return {index * ranks_per_machine_, ranks_per_machine_, 1}; }
    RankSet own_machine() const { return machine(rank() / ranks_per_machine_); }
    // The ranks with the same place on all machines as this one.
    RankSet counterparts() const { return {rank() % ranks_per_machine_, machines(), ranks_per_machine_}; }

    struct Message {
        int rank;
        void *data;  // read only if it is sent
        size_t size;
    };
    // Sends and receives at most one message per rank. Throws XF_ERROR_PEER on failure; every later call then throws
    // it too.
    void exchange(std::span<const Message> sends, std::span<const Message> receives);

    // Aborts permanently: the other ranks receive the reason, "rank 2: ...", if the table can send it, and every later
    // call throws XF_ERROR_PEER with the first reason.
    void abort(const char *reason, ...) noexcept __attribute__((format(printf, 2, 3)));
    // Aborts and throws XF_ERROR_PEER.
    [[noreturn]] void abort_and_throw(const char *reason, ...) __attribute__((format(printf, 2, 3)));

    // values: [size()][bytes]. This rank has set its own element; receives the others.
    void all_gather(void *values, size_t bytes);
    // block: this rank has set the bytes ranges[rank()]; receives those of the other ranks.
    void all_gather(void *block, const std::vector<Range> &ranges) { all_gather(block, ranges, {0, size(), 1}); }
    // The same between some of the ranks, of which this one must be one.
    void all_gather(void *block, const std::vector<Range> &ranges, const RankSet &ranks);
    // Like all_gather, but only rank `to` receives.
    void gather(int to, void *block, const std::vector<Range> &ranges);

    // records: [size()][bytes], each of which begins with a RankStatus; this rank has set its own. An error of another
    // rank is thrown as XF_ERROR_PEER, "rank 2: ...", unless this rank has an error too, which the caller throws.
    void exchange_status(void *records, size_t bytes);
    // Also exchanges one number per rank. values: [size()], or null if own is an error.
    void exchange_status(const RankStatus &own, int64_t value, int64_t *values);

private:
    struct Header {
        uint64_t magic, number, size, hash;
        int32_t from, to;
    };
    struct StatusAndValue {
        RankStatus status;
        int64_t value;
    };
    class ExclusiveUse;

    void abort_v(const char *reason, va_list args) noexcept;
    void abort_as(const char *reason) noexcept;
    void exchange_locked(std::span<const Message> sends, std::span<const Message> receives);
    void all_gather_locked(void *block, const std::vector<Range> &ranges, const RankSet &ranks);
    void check_table() const;
    void check_header(const Header &header, const Message &message);

    xf_comm table_;
    double timeout_;
    int ranks_per_machine_ = 1;
    bool owned_ = false;
    std::atomic<bool> busy_{false};
    char abort_reason_[sizeof(xf_error::message)] = "";  // empty: not aborted
    std::vector<uint64_t> sent_, received_;              // [size()], numbers of messages
    std::vector<Header> send_headers_, receive_headers_;
    std::vector<xf_comm_part> send_parts_, receive_parts_;
    std::vector<Message> sends_, receives_;  // of collective calls
    std::vector<Range> ranges_;
    std::vector<StatusAndValue> statuses_;  // [size()]
};

}  // namespace xf
