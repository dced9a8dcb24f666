// SPDX-License-Identifier: Apache-2.0
#include "comm/communicator.h"

#include <cstdio>
#include <cstring>

#include "core/hash.h"

namespace xf {
namespace {

constexpr uint64_t kMagic = 0x31306D6D6F436658u;  // "XfComm01"

Communicator::Message message_in(void *block, int peer, Range bytes) {
    const size_t size = bytes.count();
    return {peer, static_cast<char *>(block) + bytes.begin, size};
}

}  // namespace

Range even_chunk(int64_t count, int64_t index, int64_t chunks) {
    return {count * index / chunks, count * (index + 1) / chunks};
}

// Reserves the communicator for one call.
class Communicator::ExclusiveUse {
public:
    explicit ExclusiveUse(Communicator *communicator) : communicator_(communicator) {
        XF_CHECK(!communicator->busy_.exchange(true), XF_ERROR_BUSY,
                 "another call communicates with the ranks of this context, expected one call at a time");
    }
    ~ExclusiveUse() { communicator_->busy_ = false; }
    ExclusiveUse(const ExclusiveUse &) = delete;
    ExclusiveUse &operator=(const ExclusiveUse &) = delete;

private:
    Communicator *communicator_;
};

Communicator::Communicator(const xf_comm &table, double timeout) : table_(table), timeout_(timeout) {
    check_table();
    if (table.ranks_per_machine > 0 && table.ranks_per_machine < table.size)
        ranks_per_machine_ = table.ranks_per_machine;
    const size_t ranks = table.size;
    sent_.resize(ranks), received_.resize(ranks);
    send_headers_.resize(ranks), receive_headers_.resize(ranks);
    send_parts_.reserve(2 * ranks), receive_parts_.reserve(2 * ranks);
    sends_.reserve(ranks), receives_.reserve(ranks);
    ranges_.reserve(ranks);
    statuses_.resize(ranks);
}

Communicator::~Communicator() {
    if (owned_ && table_.close != nullptr) table_.close(table_.user);
}

void Communicator::check_table() const {
    constexpr int32_t kMaxRanks = 1 << 16;
    XF_CHECK(table_.size >= 1 && table_.size <= kMaxRanks, XF_ERROR_OUT_OF_RANGE, "comm->size is %d, expected 1 to %d",
             table_.size, kMaxRanks);
    XF_CHECK(table_.rank >= 0 && table_.rank < table_.size, XF_ERROR_OUT_OF_RANGE, "comm->rank is %d, expected 0 to %d",
             table_.rank, table_.size - 1);
    XF_CHECK(table_.exchange != nullptr || table_.size == 1, XF_ERROR_INVALID_ARGUMENT,
             "comm->exchange is NULL, expected a function");
    XF_CHECK(
        table_.ranks_per_machine == 0 || (table_.ranks_per_machine > 0 && table_.size % table_.ranks_per_machine == 0),
        XF_ERROR_OUT_OF_RANGE, "comm->ranks_per_machine is %d, expected 0 or a divisor of comm->size, %d",
        table_.ranks_per_machine, table_.size);
    XF_CHECK(table_.reserved == 0, XF_ERROR_UNSUPPORTED, "comm->reserved is %d, expected 0", table_.reserved);
}

void Communicator::abort_v(const char *reason, va_list args) noexcept {
    char text[sizeof abort_reason_];
    const int length = std::snprintf(text, sizeof text, "rank %d: ", rank());
    std::vsnprintf(text + length, sizeof text - length, reason, args);
    abort_as(text);
}

// The reason may come from another rank. It is passed on as it is, so every rank reports the first one.
void Communicator::abort_as(const char *reason) noexcept {
    if (abort_reason_[0] != 0) return;
    std::snprintf(abort_reason_, sizeof abort_reason_, "%s", reason);
    sanitize(abort_reason_, sizeof abort_reason_);
    if (table_.abort != nullptr) table_.abort(table_.user, abort_reason_);
}

void Communicator::abort(const char *reason, ...) noexcept {
    va_list args;
    va_start(args, reason);
    abort_v(reason, args);
    va_end(args);
}

void Communicator::abort_and_throw(const char *reason, ...) {
    va_list args;
    va_start(args, reason);
    abort_v(reason, args);
    va_end(args);
    fail(XF_ERROR_PEER, "%s", abort_reason_);
}

void Communicator::check_header(const Header &header, const Message &message) {
    const auto expect = [&](const char *what, uint64_t found, uint64_t expected) {
        if (found == expected) return;
        abort_and_throw("a message from rank %d has %s %" PRIu64 ", expected %" PRIu64
                        ": the ranks made different calls, or the transport is "
                        "faulty",
                        message.rank, what, found, expected);
    };
    if (header.magic != kMagic || header.from != message.rank || header.to != rank())
        abort_and_throw("the bytes received from rank %d are not a message to rank %d", message.rank, rank());
    expect("number", header.number, received_[message.rank]);
    expect("size", header.size, message.size);
    if (header.hash != hash64(message.data, message.size, header.number))
        abort_and_throw("a message of %zu bytes from rank %d is corrupt: its hash does not match", message.size,
                        message.rank);
    ++received_[message.rank];
}

void Communicator::exchange(std::span<const Message> sends, std::span<const Message> receives) {
    const ExclusiveUse use(this);
    exchange_locked(sends, receives);
}

void Communicator::exchange_locked(std::span<const Message> sends, std::span<const Message> receives) {
    XF_CHECK(abort_reason_[0] == 0, XF_ERROR_PEER, "communication between the ranks was aborted: %s", abort_reason_);
    send_parts_.clear(), receive_parts_.clear();
    for (const Message &message : sends) {
        Header &header = send_headers_[message.rank];
        const uint64_t number = sent_[message.rank]++;
        header = {kMagic, number, message.size, hash64(message.data, message.size, number), rank(), message.rank};
        send_parts_.push_back({message.rank, 0, &header, sizeof header});
        if (message.size > 0) send_parts_.push_back({message.rank, 0, message.data, message.size});
    }
    for (const Message &message : receives) {
        Header &header = receive_headers_[message.rank];
        header = {};
        receive_parts_.push_back({message.rank, 0, &header, sizeof header});
        if (message.size > 0) receive_parts_.push_back({message.rank, 0, message.data, message.size});
    }
    xf_error error{};
    const int32_t status = table_.exchange(table_.user, send_parts_.data(), send_parts_.size(), receive_parts_.data(),
                                           receive_parts_.size(), timeout_, &error);
    error.message[sizeof error.message - 1] = 0;
    if (status != XF_OK && error.message[0] != 0) {
        abort_as(error.message);
        fail(XF_ERROR_PEER, "%s", abort_reason_);
    }
    if (status != XF_OK) abort_and_throw("comm->exchange returned %d, expected XF_OK", status);
    for (const Message &message : receives) check_header(receive_headers_[message.rank], message);
}

void Communicator::all_gather(void *values, size_t bytes) {
    if (size() == 1) return;
    const ExclusiveUse use(this);
    const int64_t each = bytes;
    ranges_.clear();
    for (int r = 0; r < size(); ++r) ranges_.push_back({each * r, each * (r + 1)});
    all_gather_locked(values, ranges_, {0, size(), 1});
}

void Communicator::all_gather(void *block, const std::vector<Range> &ranges, const RankSet &ranks) {
    if (ranks.count == 1) return;
    const ExclusiveUse use(this);
    all_gather_locked(block, ranges, ranks);
}

void Communicator::all_gather_locked(void *block, const std::vector<Range> &ranges, const RankSet &ranks) {
    sends_.clear(), receives_.clear();
    const int own = (rank() - ranks.first) / ranks.stride;
    // Each rank begins with the next one, so that not all of them send to the first one first.
    for (int i = 1; i < ranks.count; ++i) {
        const int to = ranks[(own + i) % ranks.count], from = ranks[(own + ranks.count - i) % ranks.count];
        sends_.push_back(message_in(block, to, ranges[rank()]));
        receives_.push_back(message_in(block, from, ranges[from]));
    }
    exchange_locked(sends_, receives_);
}

void Communicator::gather(int to, void *block, const std::vector<Range> &ranges) {
    const ExclusiveUse use(this);
    sends_.clear(), receives_.clear();
    for (int r = 0; r < size(); ++r) {
        if (r == to) continue;
        if (rank() == to) receives_.push_back(message_in(block, r, ranges[r]));
        if (rank() == r) sends_.push_back(message_in(block, to, ranges[r]));
    }
    if (size() > 1) exchange_locked(sends_, receives_);
}

void Communicator::exchange_status(void *records, size_t bytes) {
    all_gather(records, bytes);
    const auto status_of = [&](int r) {
        RankStatus status;
        std::memcpy(&status, static_cast<const char *>(records) + bytes * r, sizeof status);
        sanitize(status.message, sizeof status.message);
        return status;
    };
    if (status_of(rank()).status != XF_OK) return;
    for (int r = 0; r < size(); ++r)
        if (const RankStatus status = status_of(r); status.status != XF_OK)
            fail(XF_ERROR_PEER, "rank %d: %s", r, status.message);
}

void Communicator::exchange_status(const RankStatus &own, int64_t value, int64_t *values) {
    if (size() == 1) {
        if (values != nullptr) *values = value;
        return;
    }
    statuses_[rank()] = {own, value};
    exchange_status(statuses_.data(), sizeof(StatusAndValue));
    for (size_t r = 0; r < statuses_.size() && values != nullptr; ++r) values[r] = statuses_[r].value;
}

}  // namespace xf
