// One rank of a job whose ranks are connected by TCP: the seconds of each step. scaling_measure.py starts it in
// namespaces of a network whose rate is known.
//
//     rank_times RANK DELAY STEPS MODEL MACHINE ORDER ADDRESS...
//
// MODEL: tiny or small. One address for each rank; ranks r * MACHINE to r * MACHINE + MACHINE - 1 share a machine, and
// probably an address. ORDER: flat, or grouped, where the library is told so (xf_comm::ranks_per_machine).
// DELAY: seconds that an exchange waits before it sends to another machine.
//
// A step has four shards: tiny, of the same batch; small, of other sentences of the same length in each shard and step.
// Each rank prints "parameters N", "exchanges E" and "bytes B" for one step (messages and their headers), "outside B"
// (those of them that go to another machine), "hash H" of the final parameters, and "step S" for each but the first
// two, which are warm-up.
//
// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <chrono>

#include "comm/sockets.hpp"
#include "core/hash.h"
#include "train/training.hpp"

namespace {

using namespace xf_test;

constexpr uint16_t kPort = 47100;

void must(bool good, const char *what) {
    if (!good) xf::fail(XF_ERROR_IO, "%s: error %d", what, errno);
}

sockaddr_in at(const char *address, int port) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<uint16_t>(kPort + port));
    must(inet_pton(AF_INET, address, &place.sin_addr) == 1, "inet_pton");
    return place;
}

// Rank r waits for those above it and calls those below.
std::vector<int> connect_all(int rank, const std::vector<const char *> &addresses) {
    std::vector<int> ends(addresses.size(), -1);
    const int one = 1, door = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    const sockaddr_in own = at(addresses[static_cast<size_t>(rank)], rank);
    must(bind(door, reinterpret_cast<const sockaddr *>(&own), sizeof own) == 0 && listen(door, 64) == 0, "listen");
    for (int32_t other = 0; other < rank; ++other) {
        const sockaddr_in place = at(addresses[static_cast<size_t>(other)], other);
        for (int tries = 0;; ++tries) {
            const int end = socket(AF_INET, SOCK_STREAM, 0);
            if (connect(end, reinterpret_cast<const sockaddr *>(&place), sizeof place) == 0) {
                const int32_t said = rank;
                must(write(end, &said, sizeof said) == sizeof said, "write");
                ends[static_cast<size_t>(other)] = end;
                break;
            }
            close(end);
            must(tries < 500, "connect");
            usleep(20000);
        }
    }
    for (size_t left = addresses.size() - 1 - static_cast<size_t>(rank); left > 0; --left) {
        const int end = accept(door, nullptr, nullptr);
        int32_t said = 0;
        must(end >= 0 && read(end, &said, sizeof said) == sizeof said, "accept");
        ends.at(static_cast<size_t>(said)) = end;
    }
    for (const int end : ends)
        if (end >= 0) setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    close(door);
    return ends;
}

// Counts exchanges and their bytes, and delays those to other machines.
struct Counted {
    xf_comm inner;
    double delay;
    int32_t machine;
    int64_t exchanges = 0, bytes = 0, outside = 0;

    static int32_t exchange(void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                            size_t receive_count, double timeout, xf_error *err) {
        auto *const own = static_cast<Counted *>(user);
        const int64_t before = own->outside;
        for (size_t i = 0; i < send_count; ++i) {
            const bool leaves = sends[i].rank / own->machine != own->inner.rank / own->machine;
            own->bytes += static_cast<int64_t>(sends[i].size);
            if (leaves) own->outside += static_cast<int64_t>(sends[i].size);
        }
        ++own->exchanges;
        if (own->delay > 0 && own->outside > before) usleep(static_cast<useconds_t>(own->delay * 1e6));
        return own->inner.exchange(own->inner.user, sends, send_count, receives, receive_count, timeout, err);
    }

    xf_comm table() {
        xf_comm comm = inner;
        comm.user = this, comm.exchange = exchange;
        comm.abort = [](void *user, const char *reason) {
            auto *const own = static_cast<Counted *>(user);
            own->inner.abort(own->inner.user, reason);
        };
        comm.close = [](void *user) {
            auto *const own = static_cast<Counted *>(user);
            own->inner.close(own->inner.user);
        };
        return comm;
    }
};

// A template, because a library without this member must compile too.
template <class Comm>
void set_machine(Comm *comm, int32_t ranks) {
    if constexpr (requires { comm->ranks_per_machine; })
        comm->ranks_per_machine = ranks;
    else
        xf::fail(XF_ERROR_INVALID_ARGUMENT, "this library has no xf_comm::ranks_per_machine");
}

Settings settings_of(const std::string &model, int64_t shards) {
    Settings settings = kTraining;
    if (model != "tiny")
        for (const auto &[key, value] : Settings{{"model.d_model", "256"},
                                                 {"model.d_ff", "1024"},
                                                 {"model.heads", "4"},
                                                 {"model.d_k", "64"},
                                                 {"model.d_v", "64"},
                                                 {"model.vocab_size", "12000"}})
            settings[key] = value;
    settings["train.shards"] = std::to_string(shards);
    return settings;
}

void work(int rank, double delay, int64_t steps, const std::string &model, int32_t machine, bool grouped,
          const std::vector<const char *> &addresses) {
    Sockets sockets(connect_all(rank, addresses), rank);
    Counted counted{sockets.table(), delay, machine};
    xf_comm comm = counted.table();
    if (grouped) set_machine(&comm, machine);
    xf_host host = XF_HOST_INIT;
    host.comm = &comm;
    const auto context =
        std::make_shared<xf::Context>(options_of({{"context.device", "cpu"}, {"context.threads", "1"}}), &host);
    constexpr int64_t shards = 4;
    const auto ranks = static_cast<int64_t>(addresses.size());
    const auto trainer = make_trainer(context, settings_of(model, shards));
    const bool tiny = model == "tiny";
    const Task task = tiny ? Task{21, 12, 1, 8, 40} : Task{21, 2, 12, 12, 12000};
    const int64_t own = shards / ranks;  // of this rank
    std::string times;
    for (int64_t i = -2; i < steps; ++i) {
        std::vector<Batch> batches;
        std::vector<xf_batch> views;
        for (int64_t k = 0; k < own; ++k) batches.push_back(task.batch(tiny ? 0 : (i + 2) * shards + rank * own + k));
        for (const Batch &batch : batches) views.push_back(batch.view());
        counted.exchanges = counted.bytes = counted.outside = 0;
        const auto began = std::chrono::steady_clock::now();
        trainer->step(views.data(), views.size());
        if (i >= 0)
            times += xf::format("step %.6f\n",
                                std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    }
    const std::vector<float> params = params_of(*trainer);
    std::printf("parameters %zu\nexchanges %lld\nbytes %lld\noutside %lld\nhash %016llx\n%s", params.size(),
                static_cast<long long>(counted.exchanges), static_cast<long long>(counted.bytes),
                static_cast<long long>(counted.outside),
                static_cast<unsigned long long>(xf::hash64(params.data(), params.size() * sizeof(float))),
                times.c_str());
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 8) return 2;
    try {
        work(std::atoi(argv[1]), std::atof(argv[2]), std::atol(argv[3]), argv[4], std::atoi(argv[5]),
             std::string(argv[6]) == "grouped", std::vector<const char *>(argv + 7, argv + argc));
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
