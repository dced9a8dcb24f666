// One rank of a job whose ranks are connected by TCP: the seconds of each step. scaling.py starts it in namespaces of a
// network whose rate is known.
//
//     rank_times RANK DELAY STEPS MODEL ADDRESS...      MODEL: tiny or small; one address for each rank
//
// A step has four shards of one batch. DELAY: seconds that each message waits before it
// goes. Rank 0 prints "parameters N" and "step S" for each but the first two, which are warm-up.
//
// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <chrono>

#include "comm/sockets.hpp"
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

void work(int rank, double delay, int64_t steps, const std::string &model, const std::vector<const char *> &addresses) {
    Sockets sockets(connect_all(rank, addresses), rank);
    sockets.delay = delay;
    const xf_comm comm = sockets.table();
    xf_host host = XF_HOST_INIT;
    host.comm = &comm;
    const auto context =
        std::make_shared<xf::Context>(options_of({{"context.device", "cpu"}, {"context.threads", "1"}}), &host);
    constexpr int64_t shards = 4;
    const auto ranks = static_cast<int64_t>(addresses.size());
    const auto trainer = make_trainer(context, settings_of(model, shards));
    const Task task = model == "tiny" ? Task{21, 12, 1, 8, 40} : Task{21, 2, 12, 12, 12000};
    const Batch batch = task.batch(0);
    const std::vector<xf_batch> views(static_cast<size_t>(shards / ranks), batch.view());
    if (rank == 0) std::printf("parameters %lld\n", static_cast<long long>(trainer->model()->table().total));
    for (int64_t i = -2; i < steps; ++i) {
        const auto began = std::chrono::steady_clock::now();
        trainer->step(views.data(), views.size());
        if (rank == 0 && i >= 0)
            std::printf("step %.6f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    }
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 6) return 2;
    try {
        work(std::atoi(argv[1]), std::atof(argv[2]), std::atol(argv[3]), argv[4],
             std::vector<const char *>(argv + 5, argv + argc));
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
