// Messages between ranks arrive unchanged; any fault in transit is an error on every rank within the timeout.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/communicator.h"

#include "comm/ranks.hpp"
#include "comm/sockets.hpp"
#include "core/utf8.h"

namespace {

using namespace xf_test;
using xf::Communicator;
using xf::Range;

constexpr double kTimeout = 0.3;

XF_TEST(every_rank_receives_the_numbers_of_all) {
    for (const int size : {1, 2, 3, 5, 8})
        check_ranks(size, XF_OK, [&](const xf_comm &table) {
            Communicator comm(table, 30);
            comm.take_ownership();
            for (int round = 0; round < 50; ++round) {
                std::vector<int> all(static_cast<size_t>(size) * 3);
                for (int i = 0; i < 3; ++i)
                    all[static_cast<size_t>(comm.rank() * 3 + i)] = 1000 * round + comm.rank() * 3 + i;
                comm.all_gather(all.data(), 3 * sizeof(int));
                for (int i = 0; i < size * 3; ++i) CHECK_EQ(all[static_cast<size_t>(i)], 1000 * round + i);
            }
        });
}

XF_TEST(slices_may_have_any_size_and_be_empty) {
    const std::vector<Range> parts = {{0, 7}, {7, 7}, {7, 100007}};
    check_ranks(3, XF_OK, [&](const xf_comm &table) {
        Communicator comm(table, 30);
        comm.take_ownership();
        std::vector<unsigned char> block(100007), expected(block.size());
        for (size_t i = 0; i < block.size(); ++i) expected[i] = static_cast<unsigned char>(i * 7 + 1);
        const Range own = parts[static_cast<size_t>(comm.rank())];
        std::copy(expected.begin() + own.begin, expected.begin() + own.end, block.begin() + own.begin);
        comm.all_gather(block.data(), parts);
        CHECK(block == expected);
        std::vector<unsigned char> gathered(block.size());
        std::copy(expected.begin() + own.begin, expected.begin() + own.end, gathered.begin() + own.begin);
        comm.gather(2, gathered.data(), parts);
        CHECK((gathered == expected) == (comm.rank() == 2));
    });
}

using Fault = std::function<int32_t(const Wrapped &, const Exchange &)>;

// Three good rounds among three ranks, then a fault on rank 1. All ranks fail with XF_ERROR_PEER within the timeout.
void check_fault(const char *what, const Fault &fault) {
    const auto began = std::chrono::steady_clock::now();
    const auto ended = check_ranks(3, XF_ERROR_PEER, [&](const xf_comm &table) {
        int round = 0;
        Wrapped faulty(table, [&](const Wrapped &own, const Exchange &exchange) {
            return round < 3 || own.inner.rank != 1 ? own.pass(exchange) : fault(own, exchange);
        });
        Communicator comm(faulty.table(), kTimeout);
        comm.take_ownership();
        for (; round < 5; ++round) {
            double values[3] = {};
            values[comm.rank()] = comm.rank() + 10 * round;
            comm.all_gather(values, sizeof(double));
            for (int r = 0; r < 3; ++r) CHECK_EQ(values[r], r + 10 * round);
            CHECK(round < 4);  // one rank may fail a round before the others
        }
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    CHECK(seconds < 20);
    std::printf("%s: %.2f s; %s\n", what, seconds, ended[0].message.c_str());
}

// Passes the exchange on and flips a bit of a received part.
Fault flipped(size_t part, size_t at) {
    return [=](const Wrapped &own, const Exchange &exchange) {
        const int32_t status = own.pass(exchange);
        static_cast<char *>(exchange.receives.at(part).data)[at] ^= 4;
        return status;
    };
}

XF_TEST(faults_of_the_transport_are_errors_on_every_rank) {
    check_fault("a message is silent", [](const Wrapped &, const Exchange &exchange) {
        std::this_thread::sleep_for(std::chrono::duration<double>(exchange.timeout * 2));
        return int32_t{XF_ERROR_PEER};
    });
    check_fault("its bytes are cut", [](const Wrapped &own, const Exchange &exchange) {
        const xf_comm_part &part = exchange.receives.at(1);
        std::vector<char> kept(part.size);
        std::memcpy(kept.data(), part.data, kept.size());
        const int32_t status = own.pass(exchange);
        std::memcpy(static_cast<char *>(part.data) + 4, kept.data() + 4, kept.size() - 4);
        return status;
    });
    check_fault("a bit is flipped", flipped(1, 3));
    check_fault("a head is flipped", flipped(0, 0));
    // Makes the whole exchange twice: the others receive each message again instead of the next one.
    check_fault("messages are doubled", [](const Wrapped &own, const Exchange &exchange) {
        own.pass(exchange);
        return own.pass(exchange);
    });
    check_fault("it fails", [](const Wrapped &, const Exchange &) { return int32_t{XF_ERROR_BACKEND}; });
}

XF_TEST(a_rank_that_ends_or_makes_another_call_is_an_error_on_the_others) {
    const auto ended = on_ranks(3, [](const xf_comm &table) {
        Communicator comm(table, kTimeout);
        comm.take_ownership();
        int values[3] = {};
        comm.all_gather(values, sizeof values[0]);
        if (comm.rank() == 2) return;
        comm.all_gather(values, sizeof values[0]);
    });
    check_all(ended, XF_ERROR_PEER, 2);
    check_ranks(2, XF_ERROR_PEER, [](const xf_comm &table) {
        Communicator comm(table, kTimeout);
        comm.take_ownership();
        int values[8] = {};
        comm.all_gather(values, comm.rank() == 0 ? 4 : 8);
    });
}

// Sockets transfer bytes and do not detect the end of a message.
XF_TEST(a_different_size_is_reported) {
    int ends[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const auto ended = on_threads(2, [&](int rank) {
        Sockets sockets(rank == 0 ? std::vector<int>{-1, ends[0]} : std::vector<int>{ends[1], -1}, rank);
        Communicator comm(sockets.table(), rank == 0 ? 30 : 2);
        int values[8] = {};
        comm.all_gather(values, rank == 0 ? 4 : 8);
    });
    check_all(ended, XF_ERROR_PEER);
    CHECK(ended[0].message.find("rank 0: a message from rank 1 has size 8, expected 4") == 0);
}

// The failed rank has not closed its comm, so without the message the others would wait 30 seconds.
XF_TEST(a_rank_that_aborts_notifies_the_others) {
    const auto began = std::chrono::steady_clock::now();
    std::atomic<int> left{3};
    const auto ended = check_ranks(3, XF_OK, [&](const xf_comm &table) {
        Wrapped faulty(table, [](const Wrapped &own, const Exchange &exchange) {
            return own.inner.rank == 1 ? flipped(1, 0)(own, exchange) : own.pass(exchange);
        });
        Communicator comm(faulty.table(), 30);
        comm.take_ownership();
        int values[3] = {};
        const auto calls = [&] {  // the first exchange of another rank may still succeed
            for (int i = comm.rank() == 1 ? 1 : 0; i < 2; ++i) comm.all_gather(values, sizeof values[0]);
        };
        CHECK_FAILS(calls(), XF_ERROR_PEER);
        --left;
        for (int i = 0; i < 20000 && left > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(15));
}

// Runs ranks of which rank r begins its exchange r * 0.4 s later. The last one is later than the timeout of 2 s.
std::vector<Ended> staggered(int size, const std::function<xf_comm(int)> &table_of) {
    return on_threads(size, [&](int rank) {
        Communicator comm(table_of(rank), 2);
        comm.take_ownership();
        std::vector<int> values(static_cast<size_t>(size));
        std::this_thread::sleep_for(std::chrono::milliseconds(400 * rank));
        comm.all_gather(values.data(), sizeof values[0]);
    });
}

XF_TEST(the_timeout_starts_again_with_each_message) {
    std::vector<xf_comm> comms(7);
    xf::make_loopback(comms.data(), 7);
    check_all(staggered(7, [&](int rank) { return comms[static_cast<size_t>(rank)]; }), XF_OK);
}

// All ranks, and later calls, report the same reason, which names the rank that failed first.
XF_TEST(the_reason_of_an_abort_reaches_every_rank) {
    constexpr std::string_view kAborted = "communication between the ranks was aborted: ";
    const std::string end = "..., a \xE2\x82\xAC \xFF\x1B[31m\n\xE2\x80\xAE, and ";
    for (const size_t length : {size_t{0}, size_t{100}, size_t{2000}}) {
        std::string hostile = "out of luck: " + std::string(length, 'x') + end;
        while (hostile.size() < 3 * length) hostile += "\xE2\x82\xAC";  // cut off within a character
        std::vector<std::string> first(3), later(3);
        check_ranks(3, XF_OK, [&](const xf_comm &table) {
            Communicator comm(table, 30);
            comm.take_ownership();
            int values[3] = {};
            if (comm.rank() == 1) comm.abort("%s", hostile.c_str());
            const auto r = static_cast<size_t>(comm.rank());
            first[r] = outcome_of([&] { comm.all_gather(values, sizeof values[0]); }).message;
            later[r] = outcome_of([&] { comm.all_gather(values, sizeof values[0]); }).message;
        });
        for (size_t r = 0; r < 3; ++r) {
            const std::string &message = first[r];
            CHECK(message.find("rank 1: out of luck: ") == (r == 1 ? kAborted.size() : 0));
            CHECK_EQ(later[r], std::string(kAborted) + message.substr(r == 1 ? kAborted.size() : 0));
            CHECK(message.size() < XF_ERROR_MESSAGE_SIZE + (r == 1 ? kAborted.size() : 0));
            CHECK(xf::find_invalid_utf8(message) == std::string::npos);
            for (const char c : message) CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
            CHECK(message.find("\xE2\x80\xAE") == std::string::npos);
            if (length < 2000) CHECK(message.find("a \xE2\x82\xAC ??[31m??, and") != std::string::npos);
        }
        CHECK_EQ(first[0], first[2]);
    }
}

XF_TEST(a_status_from_another_rank_is_printable) {
    check_ranks(2, XF_OK, [](const xf_comm &table) {
        Communicator comm(table, 30);
        comm.take_ownership();
        xf::RankStatus own;
        if (comm.rank() == 1) {
            own.status = XF_ERROR_IO;
            std::memset(own.message, '\xC3', sizeof own.message);  // without an end
            own.message[0] = 'a', own.message[1] = '\n';
        }
        const auto ended = outcome_of([&] { comm.exchange_status(own, 0, nullptr); });
        if (comm.rank() == 0) CHECK(ended.message.find("rank 1: a???") == 0);
    });
}

// Rank 0 of two.
constexpr xf_comm kOfTwo = {sizeof(xf_comm), nullptr, 0, 2, nullptr, nullptr, nullptr, 0, 0};

XF_TEST(a_failed_comm_is_not_used_again) {
    int calls = 0;
    Wrapped failing(kOfTwo, [&](auto &, auto &) -> int32_t { return ++calls == 1 ? XF_ERROR_BACKEND : XF_OK; });
    Communicator comm(failing.table(), 1);
    for (int i = 0; i < 3; ++i) CHECK_FAILS(comm.exchange({}, {}), XF_ERROR_PEER);
    CHECK_EQ(calls, 1);
}

XF_TEST(one_call_at_a_time) {
    std::atomic<bool> entered{false}, tried{false};
    Wrapped slow(kOfTwo, [&](auto &, auto &) -> int32_t {
        for (entered = true; !tried;) std::this_thread::yield();
        return XF_OK;
    });
    Communicator comm(slow.table(), 30);
    std::thread first([&] { comm.exchange({}, {}); });
    while (!entered) std::this_thread::yield();
    bool refused = false;
    std::thread second([&] {
        refused = outcome_of([&] { comm.exchange({}, {}); }).status == XF_ERROR_BUSY;
        tried = true;
    });
    for (int i = 0; i < 2000 && !tried; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    tried = true;  // otherwise the test hangs if both calls enter
    first.join(), second.join();
    CHECK(refused);
    comm.exchange({}, {});
}

}  // namespace
