// A job of ranks, processes connected by sockets, one of which may be killed. For kills.cpp.
//
// A rank resumes from the file if it exists, trains, saves every other step, and exits. It records its state in memory
// that it shares with the parent process, so that the state can be read after the rank was killed.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <array>
#include <new>

#include "comm/ranks.hpp"
#include "comm/sockets.hpp"
#include "train/training.hpp"

namespace xf_test {

enum Phase { kStart, kCompute, kExchange, kSave, kLeave, kPhases };
inline constexpr const char *kPhaseNames[kPhases] = {"start", "compute", "exchange", "save", "end"};

inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The recorded state of a rank.
struct Diary {
    std::atomic<int> phase{kStart};
    std::atomic<double> called{0}, died{0}, left{0};  // times of the last trainer call and of the end; 0: not yet
    std::atomic<int> status{-1};                      // of the run; -1: still running
    char message[160] = "";
};

class Life {
public:
    static constexpr int64_t kShards = 12;

    // The owner of the table must outlive this object.
    Life(const xf_comm &table, Diary *diary, int64_t steps)
        : diary_(diary),
          wrapped_(table, [this](const Wrapped &, const Exchange &exchange) { return pass(exchange); }),
          steps_(steps) {}

    // death is called at the nth point of a phase, inside or outside an exchange.
    Phase phase = kPhases;
    int nth = 0;
    std::function<void()> death;

    // A point at which the rank may die.
    void point() {
        if (death && diary_->phase == phase && nth-- == 0) {
            diary_->died = seconds_now();
            death();
        }
    }

    void live(const std::string &path, double deadline) {
        diary_->status = XF_OK;
        try {
            train(path, deadline);
        } catch (const xf::Error &error) {
            diary_->status = error.status();
            std::snprintf(diary_->message, sizeof diary_->message, "%s", error.what());
        }
    }

private:
    void enter(Phase next) {
        diary_->phase = next;
        diary_->called = seconds_now();
        point();
    }

    int32_t pass(const Exchange &exchange) {
        const int before = diary_->phase;
        if (before != kSave) diary_->phase = kExchange;
        point();
        const int32_t status = wrapped_.pass(exchange);
        if (status == XF_OK) diary_->phase = before;
        return status;
    }

    void train(const std::string &path, double deadline) {
        enter(kStart);
        const xf_comm comm = wrapped_.table();
        xf_host host = XF_HOST_INIT;
        host.comm = &comm;
        const auto context =
            std::make_shared<xf::Context>(options_of({{"context.device", "cpu"},
                                                      {"context.threads", "1"},
                                                      {"context.comm_timeout", std::to_string(deadline)}}),
                                          &host);
        context->take_ownership();
        const Settings settings = with(kTraining, {{"train.shards", std::to_string(kShards)}});
        enter(kStart);
        const auto trainer = std::filesystem::exists(path) ? resume(context, path) : make_trainer(context, settings);
        enter(kStart);
        const xf::Range own = xf::even_chunk(kShards, comm.rank, comm.size);
        while (trainer->steps_done() < steps_) {
            const std::vector<Batch> batches = Task().batches(trainer->steps_done() * kShards + own.begin, own.count());
            enter(kCompute);
            step(trainer.get(), batches);
            if (trainer->steps_done() % 2 == 0 && trainer->steps_done() < steps_) keep(trainer.get(), path);
        }
        keep(trainer.get(), path);
        enter(kLeave);
    }

    void keep(xf::Trainer *trainer, const std::string &path) {
        enter(kSave);
        save(trainer, path);
        point();
    }

    Diary *diary_;
    Wrapped wrapped_;
    int64_t steps_;
};

inline constexpr int kMost = 4;  // ranks
enum End { kKill, kStop, kExit, kEnds };
inline constexpr const char *kEndNames[kEnds] = {"kill", "stop", "exit"};

struct Fate {
    int rank = -1;
    End end = kKill;
    Phase phase = kPhases;  // kPhases: at the time `after`
    int nth = 0;
    double after = 0;
    std::string text() const {
        const std::string when =
            phase == kPhases ? xf::format("after %.6f s", after) : xf::format("at %s %d", kPhaseNames[phase], nth);
        return xf::format("%s of rank %d %s", kEndNames[end], rank, when.c_str());
    }
};

class Job {
public:
    static constexpr double kHung = 30;  // seconds

    explicit Job(int64_t steps) : steps_(steps) {
        void *const memory = mmap(nullptr, sizeof(Diaries), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) xf::fail(XF_ERROR_NO_MEMORY, "no shared memory");
        diaries_ = static_cast<Diaries *>(memory);
    }
    ~Job() { munmap(diaries_, sizeof(Diaries)); }
    Job(const Job &) = delete;
    Job &operator=(const Job &) = delete;

    const Diary &diary(int rank) const { return (*diaries_)[static_cast<size_t>(rank)]; }

    bool hung = false;  // a rank of any run, which was then killed

    // Runs processes until all have ended, except a stopped one, which is then killed. Returns the duration in seconds.
    double run(int ranks, const std::string &path, double deadline, const Fate &fate) {
        for (Diary &diary : *diaries_) new (&diary) Diary;
        std::vector<std::vector<int>> ends(static_cast<size_t>(ranks),
                                           std::vector<int>(static_cast<size_t>(ranks), -1));
        for (size_t a = 0; a < ends.size(); ++a)
            for (size_t b = 0; b < a; ++b) {
                int pair[2];
                if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) xf::fail(XF_ERROR_IO, "no sockets");
                const int few = 4096;  // so that a message requires several calls
                for (const int end : pair) setsockopt(end, SOL_SOCKET, SO_SNDBUF, &few, sizeof few);
                ends[a][b] = pair[0], ends[b][a] = pair[1];
            }
        const double began = seconds_now();
        std::fflush(nullptr);
        std::vector<pid_t> pids;
        for (int rank = 0; rank < ranks; ++rank) {
            const pid_t pid = fork();
            if (pid < 0) xf::fail(XF_ERROR_IO, "no process");
            if (pid == 0) be_process(rank, std::move(ends), path, deadline, fate);
            pids.push_back(pid);
        }
        for (const auto &row : ends)
            for (const int end : row) close(end);
        watch(&pids, fate, began);
        return seconds_now() - began;
    }

private:
    using Diaries = std::array<Diary, kMost>;

    [[noreturn]] void be_process(int rank, std::vector<std::vector<int>> ends, const std::string &path, double deadline,
                                 const Fate &fate) {
        for (int other = 0; other < static_cast<int>(ends.size()); ++other)
            for (const int end : ends[static_cast<size_t>(other)])
                if (other != rank) close(end);
        Diary &diary = (*diaries_)[static_cast<size_t>(rank)];
        {
            Sockets sockets(std::move(ends[static_cast<size_t>(rank)]), rank);
            Life life(sockets.table(), &diary, steps_);
            if (rank == fate.rank && fate.phase != kPhases) {
                life.phase = fate.phase, life.nth = fate.nth;
                life.death = [&] {
                    if (fate.end == kExit) std::exit(0);
                    raise(fate.end == kKill ? SIGKILL : SIGSTOP);
                };
                sockets.moved = [&] { life.point(); };
            }
            life.live(path, deadline);
            diary.left = seconds_now();
        }
        std::exit(0);
    }

    void watch(std::vector<pid_t> *pids, const Fate &fate, double began) {
        const auto sleep = [](double seconds) { usleep(static_cast<useconds_t>(seconds * 1e6)); };
        if (fate.rank >= 0 && fate.phase == kPhases) {
            sleep(fate.after);
            Diary &victim = (*diaries_)[static_cast<size_t>(fate.rank)];
            const double time = seconds_now();
            const pid_t pid = (*pids)[static_cast<size_t>(fate.rank)];
            // The process has not been reaped, so its id is still valid. A process that has already ended is not
            // killed.
            siginfo_t info{};
            if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) {
                victim.died = time;
                kill(pid, fate.end == kStop ? SIGSTOP : SIGKILL);
            }
        }
        for (;;) {
            int there = 0;
            for (size_t i = 0; i < pids->size(); ++i) {
                pid_t &pid = (*pids)[i];
                if (pid > 0 && waitpid(pid, nullptr, WNOHANG) == pid) pid = 0;
                const bool stopped = static_cast<int>(i) == fate.rank && (*diaries_)[i].died != 0 && fate.end == kStop;
                if (pid > 0 && !stopped) ++there;
            }
            if (there == 0) break;
            if (seconds_now() > began + fate.after + kHung) {
                hung = true;
                break;
            }
            sleep(0.0005);
        }
        for (const pid_t pid : *pids) {
            if (pid <= 0) continue;
            kill(pid, SIGKILL);
            waitpid(pid, nullptr, 0);
        }
    }

    const int64_t steps_;
    Diaries *diaries_ = nullptr;
};

}  // namespace xf_test
