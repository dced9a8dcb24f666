// One rank of a job, for mpi.py: trains some steps and saves.
//
//     rank_program FILE STEPS SHARDS TIMEOUT [END RANK STEP]
//
// END is the action of rank RANK in step STEP: kill, stop, exit, abort, which aborts the job and exits three seconds
// later, or busy, which computes for two and a half timeouts; "late" is the same, but with a limit of one second for
// such work, and "load" is busy before its trainer is created. For kill and stop, STEP may also be a time such as
// 0.25s, or "end", which is after the last save. Prints the phase in which the rank ended. After an error, prints "rank
// N: XF_ERROR_PEER after S s" and exits with status 3. Rank 0 prints how many ranks a machine has.
//
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include "train/training.hpp"

namespace {

using namespace xf_test;
using Clock = std::chrono::steady_clock;

std::atomic<const char *> phase{"start"};

void die(const std::string &end) {
    std::printf("a rank: %s in %s\n", end.c_str(), phase.load());
    std::fflush(stdout);
    raise(end == "kill" ? SIGKILL : SIGSTOP);
}

// Reads the rank from the environment, because MPI may not be initialized yet.
void die_at(const std::string &end, int rank, double seconds) {
    const char *const own = std::getenv("OMPI_COMM_WORLD_RANK");
    if (own == nullptr || std::atoi(own) != rank) return;
    std::thread([=] {
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        die(end);
    }).detach();
}

int work(int argc, char **argv) {
    const std::string path = argv[1], shards = argv[3], end = argc > 7 ? argv[5] : "";
    const int64_t steps = std::atol(argv[2]);
    const std::string when = argc > 7 ? argv[7] : "";
    const int64_t end_step = when.find_first_not_of("0123456789") == when.npos ? std::atol(when.c_str()) : -1;
    const int end_rank = argc > 7 ? std::atoi(argv[6]) : -1;
    auto began = Clock::now();
    int rank = -1;
    if (when.find('s') != when.npos) die_at(end, end_rank, std::atof(when.c_str()));
    try {
        const auto context =
            std::make_shared<xf::Context>(options_of({{"context.device", "cpu"},
                                                      {"context.threads", "1"},
                                                      {"context.comm", "mpi"},
                                                      {"context.comm_start_timeout", "10"},
                                                      {"context.comm_work_timeout", end == "late" ? "1" : "60"},
                                                      {"context.comm_timeout", argv[4]}}),
                                          nullptr);
        phase = "training";
        const int ranks = context->communicator().size();
        rank = context->communicator().rank();
        if (rank == 0) std::printf("ranks per machine: %d\n", context->communicator().ranks_per_machine());
        const auto be_busy = [&] {
            std::this_thread::sleep_for(std::chrono::duration<double>(2.5 * std::atof(argv[4])));
        };
        if (rank == end_rank && end == "load") be_busy();
        const Settings settings = with(kTraining, {{"train.shards", shards}});
        const auto trainer = std::filesystem::exists(path) ? resume(context, path) : make_trainer(context, settings);
        const int64_t all = std::atol(shards.c_str());
        const xf::Range own = xf::even_chunk(all, rank, ranks);
        while (trainer->steps_done() < steps) {
            const std::vector<Batch> batches = Task().batches(trainer->steps_done() * all + own.begin, own.count());
            if (rank == end_rank && trainer->steps_done() == end_step) {
                if (end == "exit") return 0;
                if (end == "abort") {
                    context->communicator().abort("%s", "the test \xFF\n requested it");
                    std::this_thread::sleep_for(std::chrono::seconds(3));
                    return 0;
                }
                if (end == "busy" || end == "late") be_busy();
                if (end == "kill" || end == "stop") die(end);
            }
            began = Clock::now();
            step(trainer.get(), batches);
            if (trainer->steps_done() % 5 == 0) save(trainer.get(), path);
        }
        began = Clock::now();
        save(trainer.get(), path);
        phase = "end";
        if (rank == end_rank && when == "end") die(end);
    } catch (const xf::Error &error) {
        std::printf("rank %d: %s after %.1f s: %s\n", rank, xf_status_name(error.status()),
                    std::chrono::duration<double>(Clock::now() - began).count(), error.what());
        std::fflush(stdout);
        return 3;
    }
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    return work(argc, argv);
}
