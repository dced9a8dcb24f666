// One rank of a job, from start to the end of its training, with the points at which it may be killed. For kills.cpp.
//
// A rank resumes from the file if it exists, trains, saves every other step, and exits. It records its state in memory
// that it shares with the parent process, so that the state can be read after the rank was killed.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.h"
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
    Life(const xf_comm &table, Diary *diary, int64_t steps) : diary_(diary), inner_(table), steps_(steps) {}

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

    xf_comm wrapped() {
        xf_comm comm = inner_;
        comm.user = this;
        comm.exchange = [](void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                           size_t receive_count, double timeout, xf_error *err) -> int32_t {
            auto *const own = static_cast<Life *>(user);
            const int before = own->diary_->phase;
            if (before != kSave) own->diary_->phase = kExchange;
            const auto pass = [&]() -> int32_t {
                try {
                    own->point();
                    return own->inner_.exchange(own->inner_.user, sends, send_count, receives, receive_count, timeout,
                                                err);
                } catch (const Dead &) {
                    return XF_ERROR_BACKEND;
                }
            };
            const int32_t status = pass();
            if (status == XF_OK) own->diary_->phase = before;
            return status;
        };
        comm.abort = [](void *user) {
            auto *const own = static_cast<Life *>(user);
            if (own->diary_->died == 0 && own->inner_.abort != nullptr) own->inner_.abort(own->inner_.user);
        };
        comm.close = [](void *user) {
            auto *const own = static_cast<Life *>(user);
            own->inner_.close(own->inner_.user);
        };
        return comm;
    }

    void train(const std::string &path, double deadline) {
        enter(kStart);
        const xf_comm comm = wrapped();
        xf_host host = XF_HOST_INIT;
        host.comm = &comm;
        const auto context =
            std::make_shared<xf::Context>(options_of({{"context.device", "cpu"},
                                                      {"context.threads", "1"},
                                                      {"context.comm_timeout", std::to_string(deadline)}}),
                                          &host);
        context->take_ownership();
        Settings settings = with(kTraining, {{"train.shards", std::to_string(kShards)}});
        enter(kStart);
        const auto trainer = std::filesystem::exists(path) ? resume(context, path) : make_trainer(context, settings);
        enter(kStart);
        const xf::Range own = xf::even_chunk(kShards, comm.rank, comm.size);
        while (trainer->steps_done() < steps_) {
            std::vector<Batch> batches;
            std::vector<xf_batch> views;
            for (int64_t i = own.begin; i < own.end; ++i)
                batches.push_back(Task().batch(trainer->steps_done() * kShards + i));
            for (const Batch &batch : batches) views.push_back(batch.view());
            enter(kCompute);
            trainer->step(views.data(), views.size());
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
    xf_comm inner_;
    int64_t steps_;
};

}  // namespace xf_test
