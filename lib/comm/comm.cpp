// See comm.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/comm.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/hash.h"

namespace xf {
namespace {

constexpr uint64_t kMagic = 0x31306D6D6F436658u;  // "XfComm01"

}  // namespace

Range share(int64_t count, int64_t i, int64_t n) { return {count * i / n, count * (i + 1) / n}; }

// The comm for one call.
class Comm::Turn {
public:
    explicit Turn(Comm *comm) : comm_(comm) {
        XF_CHECK(!comm->busy_.exchange(true), XF_ERROR_BUSY, "another call uses the ranks of this context");
    }
    ~Turn() { comm_->busy_ = false; }
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

private:
    Comm *comm_;
};

Comm::Comm(const xf_comm &table, double timeout) : table_(table), timeout_(timeout) {
    check_table();
    const auto ranks = static_cast<size_t>(table.size);
    sent_.resize(ranks), received_.resize(ranks);
    send_heads_.resize(ranks), receive_heads_.resize(ranks);
    send_parts_.reserve(2 * ranks), receive_parts_.reserve(2 * ranks);
    sends_.reserve(ranks), receives_.reserve(ranks);
    parts_.reserve(ranks);
    letters_.resize(ranks);
}

Comm::~Comm() {
    if (owned_ && table_.close != nullptr) table_.close(table_.user);
}

void Comm::check_table() const {
    constexpr int32_t kMost = 1 << 16;
    XF_CHECK(table_.size >= 1 && table_.size <= kMost, XF_ERROR_OUT_OF_RANGE, "comm->size is %d, expected 1 to %d",
             table_.size, kMost);
    XF_CHECK(table_.rank >= 0 && table_.rank < table_.size, XF_ERROR_OUT_OF_RANGE, "comm->rank is %d, expected 0 to %d",
             table_.rank, table_.size - 1);
    XF_CHECK(table_.exchange != nullptr || table_.size == 1, XF_ERROR_INVALID_ARGUMENT, "comm->exchange is NULL");
}

void Comm::check_whole() const {
    XF_CHECK(broken_[0] == 0, XF_ERROR_PEER, "the ranks lost each other before: %s", broken_);
}

void Comm::lose_v(const char *why, va_list args) noexcept {
    if (broken_[0] != 0) return;
    std::vsnprintf(broken_, sizeof broken_, why, args);
    if (table_.abort != nullptr) table_.abort(table_.user);
}

void Comm::lose(const char *why, ...) noexcept {
    va_list args;
    va_start(args, why);
    lose_v(why, args);
    va_end(args);
}

void Comm::give_up(const char *why, ...) {
    va_list args;
    va_start(args, why);
    lose_v(why, args);
    va_end(args);
    fail(XF_ERROR_PEER, "%s", broken_);
}

void Comm::check_head(const Head &head, const Message &message) {
    const auto from = static_cast<size_t>(message.rank);
    const auto expect = [&](const char *what, uint64_t found, uint64_t expected) {
        if (found == expected) return;
        give_up(
            "a message of rank %d has %s %llu, expected %llu: the ranks don't make the same calls, or what carries "
            "their messages is at fault",
            message.rank, what, static_cast<unsigned long long>(found), static_cast<unsigned long long>(expected));
    };
    if (head.magic != kMagic || head.from != message.rank || head.to != rank())
        give_up("what came from rank %d is no message of it to rank %d", message.rank, rank());
    expect("number", head.number, received_[from]);
    expect("size", head.size, message.size);
    if (head.hash != hash64(message.data, message.size, head.number))
        give_up("a message of rank %d came changed: %zu bytes whose hash is another", message.rank, message.size);
    ++received_[from];
}

void Comm::exchange(std::span<const Message> sends, std::span<const Message> receives) {
    const Turn turn(this);
    pass(sends, receives);
}

void Comm::pass(std::span<const Message> sends, std::span<const Message> receives) {
    check_whole();
    send_parts_.clear(), receive_parts_.clear();
    for (const Message &message : sends) {
        Head &head = send_heads_[static_cast<size_t>(message.rank)];
        const uint64_t number = sent_[static_cast<size_t>(message.rank)]++;
        head = {kMagic, number, message.size, hash64(message.data, message.size, number), rank(), message.rank};
        send_parts_.push_back({message.rank, 0, &head, sizeof head});
        if (message.size > 0) send_parts_.push_back({message.rank, 0, message.data, message.size});
    }
    for (const Message &message : receives) {
        Head &head = receive_heads_[static_cast<size_t>(message.rank)];
        head = {};
        receive_parts_.push_back({message.rank, 0, &head, sizeof head});
        if (message.size > 0) receive_parts_.push_back({message.rank, 0, message.data, message.size});
    }
    xf_error error{};
    const int32_t status = table_.exchange(table_.user, send_parts_.data(), send_parts_.size(), receive_parts_.data(),
                                           receive_parts_.size(), timeout_, &error);
    error.message[sizeof error.message - 1] = 0;
    if (status != XF_OK && error.message[0] != 0) give_up("%s", error.message);
    if (status != XF_OK) give_up("messages could not be exchanged: status %d", status);
    for (const Message &message : receives) check_head(receive_heads_[static_cast<size_t>(message.rank)], message);
}

void Comm::all_gather(void *values, size_t bytes) {
    const Turn turn(this);
    const auto each = static_cast<int64_t>(bytes);
    parts_.clear();
    for (int64_t r = 0; r < size(); ++r) parts_.push_back({each * r, each * (r + 1)});
    pass_parts(values, parts_);
}

void Comm::all_gather(void *block, const std::vector<Range> &parts) {
    const Turn turn(this);
    pass_parts(block, parts);
}

void Comm::pass_parts(void *block, const std::vector<Range> &parts) {
    sends_.clear(), receives_.clear();
    const auto part = [&](int r) {
        const Range &range = parts[static_cast<size_t>(r)];
        return Message{r, static_cast<char *>(block) + range.begin, static_cast<size_t>(range.count())};
    };
    // Each begins with the next rank, so that not all send to rank 0 first.
    for (int i = 1; i < size(); ++i) {
        const int to = (rank() + i) % size(), from = (rank() + size() - i) % size();
        Message own = part(rank());
        own.rank = to;
        sends_.push_back(own);
        receives_.push_back(part(from));
    }
    if (size() > 1) pass(sends_, receives_);
}

void Comm::gather(int to, const void *own, void *block, const std::vector<Range> &parts) {
    const Turn turn(this);
    sends_.clear(), receives_.clear();
    for (int r = 0; r < size(); ++r) {
        const Range &range = parts[static_cast<size_t>(r)];
        const auto bytes = static_cast<size_t>(range.count());
        if (rank() == r && r != to) sends_.push_back({to, const_cast<void *>(own), bytes});
        if (rank() != to) continue;
        char *const at = static_cast<char *>(block) + range.begin;
        if (r != to)
            receives_.push_back({r, at, bytes});
        else if (at != own)
            std::copy_n(static_cast<const char *>(own), bytes, at);
    }
    if (size() > 1) pass(sends_, receives_);
}

void Comm::hear(void *letters, size_t bytes) {
    all_gather(letters, bytes);
    const auto word_of = [&](int r) {
        Word word;
        std::memcpy(&word, static_cast<const char *>(letters) + bytes * static_cast<size_t>(r), sizeof word);
        return word;
    };
    if (word_of(rank()).status != XF_OK) return;
    for (int r = 0; r < size(); ++r)
        if (const Word word = word_of(r); word.status != XF_OK)
            fail(XF_ERROR_PEER, "rank %d: %.*s", r, static_cast<int>(sizeof word.message - 1), word.message);
}

void Comm::hear(const Word &own, int64_t value, int64_t *values) {
    letters_[static_cast<size_t>(rank())] = {own, value};
    hear(letters_.data(), sizeof(Letter));
    for (size_t r = 0; r < letters_.size() && values != nullptr; ++r) values[r] = letters_[r].value;
}

}  // namespace xf
