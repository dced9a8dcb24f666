// A run that was killed and resumed, also with a different number of threads, writes the same file as an uninterrupted
// run. harness/fault/kills.cpp kills many runs at any time, also while they save.
//
// Child processes do all computation. This process creates no context, so that it can fork, and only compares files.
//
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/wait.h>

#include "train/training.hpp"

namespace {

using namespace xf_test;

constexpr int kNoDevice = 77, kFailed = 1;

// Runs body in a child process, which exits with the value that body returns.
template <class Body>
pid_t start(Body body) {
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    int status = kFailed;
    try {
        status = body();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "in a child: %s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(status);
}

// Returns the exit status, or minus the number of the signal that ended the process.
int wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Starts the run or resumes it from path, saves every save_every steps, and returns after saving step `last`.
int run(const DeviceName &device, int threads, const std::string &path, int64_t save_every, int64_t last) {
    const auto context = open_device(device, threads);
    if (context == nullptr) return kNoDevice;
    const auto trainer = std::filesystem::exists(path) ? resume(context, path) : make_trainer(context, kTraining);
    while (trainer->steps_done() < last) {
        train_to(trainer.get(), Task(), std::min(last, (trainer->steps_done() / save_every + 1) * save_every));
        save(trainer.get(), path);
    }
    return 0;
}

int64_t step_in(const std::string &path) {
    return std::filesystem::exists(path) ? std::stoll(xf::ModelFile(path).require("step")) : 0;
}

XF_TEST(a_resumed_run_equals_an_uninterrupted_run) {
    Draw draw(31);
    for (const DeviceName &device : kDevices) {
        if (!wanted(device)) continue;
        const int64_t half = device.cuda() ? 8 : 100;  // the GPU may be emulated
        const TempFolder folder;
        const std::string straight = folder / "straight", broken = folder / "broken";
        const int opened = wait_for(start([&] { return run(device, 2, straight, 2 * half, 2 * half); }));
        if (opened == kNoDevice) continue;
        CHECK_EQ(opened, 0);
        const pid_t pid = start([&] { return run(device, 1, broken, half, 1000000); });
        while (step_in(broken) < half && waitpid(pid, nullptr, WNOHANG) == 0) usleep(1000);
        usleep(static_cast<useconds_t>(draw.between(0, 20000)));  // within the next steps
        kill(pid, SIGKILL);
        CHECK_EQ(wait_for(pid), -SIGKILL);
        const int64_t saved = step_in(broken);
        CHECK(saved >= half && saved % half == 0);
        if (saved > half) continue;  // a fast machine has already saved again: nothing to compare
        CHECK_EQ(wait_for(start([&] { return run(device, 3, broken, 1000, 2 * half); })), 0);
        if (bytes_of(broken) != bytes_of(straight)) record(__FILE__, __LINE__, device.text() + ": the files differ");
        CHECK_EQ(step_in(broken), 2 * half);
    }
}

// A checkpoint contains the whole state: saving and resuming at any step does not change the result.
XF_TEST(the_number_of_saves_does_not_affect_a_run) {
    const DeviceName device = {"cpu", "auto", true};
    if (!wanted(device)) return;
    const TempFolder folder;
    CHECK_EQ(wait_for(start([&] { return run(device, 2, folder / "once", 60, 60); })), 0);
    CHECK_EQ(wait_for(start([&] { return run(device, 2, folder / "often", 1, 60); })), 0);
    CHECK(bytes_of(folder / "once") == bytes_of(folder / "often"));
    CHECK_EQ(step_in(folder / "often.prev"), 59);
    for (int64_t last = 5; last <= 60; last += 5)
        CHECK_EQ(wait_for(start(
                     [&] { return run(device, static_cast<int>(last / 5 % 3) + 1, folder / "pieces", 60, last); })),
                 0);
    CHECK(bytes_of(folder / "once") == bytes_of(folder / "pieces"));
}

}  // namespace
