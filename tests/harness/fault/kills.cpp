// A training process that saves after each step, killed at random times and restarted from its last checkpoint, with
// another number of threads: the final file is equal to that of an uninterrupted run that saves once, and no restart
// loses a save that had returned.
//
//     fault_kills [COUNT [SEED]]    300 kills, 60 under a sanitizer or in an emulator
//
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include <random>

#include "support/sanitized.h"
#include "support/small_model.h"
#include "train/training.hpp"

namespace {

using namespace xf_test;

// Shared by the processes.
struct Shared {
    std::atomic<int64_t> saved;    // step of the last save that returned
    std::atomic<int64_t> resumed;  // of the last start
};

const Settings kSmall = {XF_TEST_SMALL_MODEL, {"model.vocab_size", "40"}};

// Trains from the checkpoint, or from the start, to step `last`, saving after each step or at the end.
void train(const std::string &path, int64_t last, bool each, int threads, Shared *shared) {
    const auto context = any_device(threads);
    const auto trainer = std::filesystem::exists(path) ? resume(context, path) : make_trainer(context, kSmall);
    shared->resumed = trainer->steps_done();
    while (trainer->steps_done() < last) {
        train_to(trainer.get(), Task(), trainer->steps_done() + 1);
        if (!each && trainer->steps_done() < last) continue;
        save(trainer.get(), path);
        shared->saved = trainer->steps_done();
    }
}

// Runs in a separate process, of which this one, which has no threads, keeps only the id.
pid_t start(const std::string &path, int64_t last, bool each, int threads, Shared *shared) {
    const pid_t child = fork();
    if (child != 0) return child;
    try {
        train(path, last, each, threads, shared);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        _exit(1);
    }
    _exit(0);
}

int end_of(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}

int fail_at(int trial, const char *what) {
    std::printf("FAILED: kill %d: %s\n", trial, what);
    return 1;
}

}  // namespace

int main(int argc, char **argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : XF_TEST_SANITIZED || XF_TEST_EMULATED ? 60 : 300;
    const unsigned seed = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 4711;
    const TempFolder folder;
    const std::string path = folder / "run.ckpt", unbroken = folder / "unbroken.ckpt";
    void *const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return fail_at(0, "no memory");
    auto *const shared = new (memory) Shared{};
    // How long a start with one step and its save takes here: kills come within some of these.
    int64_t once = 0;
    for (int i = 0; i < 3; ++i) {
        const auto began = std::chrono::steady_clock::now();
        if (end_of(start(folder / std::to_string(i), 1, true, 1, shared)) != 0) return fail_at(0, "it does not begin");
        once = std::max<int64_t>(once, (std::chrono::steady_clock::now() - began).count());
    }
    once = std::min<int64_t>(once, XF_TEST_EMULATED ? 500'000'000 : 100'000'000);
    shared->saved = 0;
    std::mt19937 chance(seed);
    int before_the_start = 0;
    for (int trial = 1; trial <= count; ++trial) {
        const int64_t saved = shared->saved;
        shared->resumed = -1;
        const pid_t child = start(path, INT64_MAX, true, 1 + trial % 3, shared);
        // Half of the time it has just begun.
        const int64_t most = once * (chance() % 2 == 0 ? 2 : 8);
        const int64_t later = static_cast<int64_t>(chance()) % most;
        const timespec pause = {later / 1'000'000'000, later % 1'000'000'000};
        nanosleep(&pause, nullptr);
        kill(child, SIGKILL);
        const int status = end_of(child);
        if (!WIFSIGNALED(status)) return fail_at(trial, "it had ended by itself");
        if (shared->resumed < 0)
            ++before_the_start;
        else if (shared->resumed != saved && shared->resumed != saved + 1)  // a save may be done and not yet told
            return fail_at(trial, "it did not continue from the last save");
        if (shared->resumed == saved + 1 && shared->saved == saved) shared->saved = saved + 1;
    }
    const int64_t last = shared->saved + 3;
    if (end_of(start(path, last, true, 2, shared)) != 0) return fail_at(count, "it does not continue");
    if (end_of(start(unbroken, last, false, 1, shared)) != 0) return fail_at(count, "no run without kills");
    if (bytes_of(path) != bytes_of(unbroken)) return fail_at(count, "the files differ");
    std::printf("%d kills, %d of them before the start, %lld steps: the same file\n", count, before_the_start,
                static_cast<long long>(last));
    // So many that it has proved something.
    return last >= count / 10 && before_the_start < count / 4 * 3 ? 0 : fail_at(count, "too few steps, or starts");
}
