// One rank of a job, from start to the end of its training, with the points at which it may be killed. For kills.cpp.
//
// A rank resumes from the file if it exists, trains, saves every other step, and exits. It records its state in memory
// that it shares with the parent process, so that the state can be read after the rank was killed.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/ranks.hpp"
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

// Thrown to end a thread.
struct Dead {};

class Life {
public:
    static constexpr int64_t kShards = 12;

    // The owner of the table must outlive this object.
    Life(const xf_comm &table, Diary *diary, int64_t steps)
        : diary_(diary),
          wrapped_(table, [this](const Wrapped &, const Exchange &exchange) { return pass(exchange); }),
          steps_(steps) {
        wrapped_.abort = [this, pass_on = wrapped_.abort] {
            if (diary_->died == 0) pass_on();
        };
    }

    // death is called at the nth point of a phase, inside or outside an exchange.
    Phase phase = kPhases;
    int nth = 0;
    std::function<void()> death;

    // A point at which the rank may die. An exception must not leave an exchange.
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
        int32_t status = XF_ERROR_BACKEND;
        try {
            point();
            status = wrapped_.pass(exchange);
        } catch (const Dead &) {
        }
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

}  // namespace xf_test
