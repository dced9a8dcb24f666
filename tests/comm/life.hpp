// The life of a rank, from nothing to the end of its training, and where in it death may come. For kills.cpp.
//
// A rank resumes from the file if there is one, trains, saves every other step, and goes. What it says of itself is in
// memory that it shares with whoever watches, as a dead one tells nothing.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>

#include "comm/comm.h"
#include "train/training.hpp"

namespace xf_test {

enum Phase { kStart, kCompute, kExchange, kSave, kLeave, kPhases };
inline constexpr const char *kPhaseNames[kPhases] = {"start", "compute", "exchange", "save", "end"};

inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What a rank says.
struct Diary {
    std::atomic<int> phase{kStart};
    std::atomic<double> called{0}, died{0}, left{0};  // when: its last call of the trainer, and its ends; 0: not yet
    std::atomic<int> status{-1};                      // of its end; -1: none
    char message[160] = "";
};

// Thrown where a thread dies.
struct Dead {};

class Life {
public:
    static constexpr int64_t kShards = 12;

    // The table's owner outlives this.
    Life(const xf_comm &table, Diary *diary, int64_t steps) : diary_(diary), inner_(table), steps_(steps) {}

    // Death: called at the nth point of a phase, within the carrier or outside of it.
    Phase phase = kPhases;
    int nth = 0;
    std::function<void()> death;

    // A point where death may come. Within a call of the carrier nothing may be thrown.
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
                                                      {"context.comm_buckets", comm.size % 2 == 0 ? "3" : "1"},
                                                      {"context.comm_timeout", std::to_string(deadline)}}),
                                          &host);
        context->comm()->own();
        Settings settings = kTraining;
        settings["train.shards"] = std::to_string(kShards);
        enter(kStart);
        const auto trainer = std::filesystem::exists(path) ? resume(context, path) : make_trainer(context, settings);
        enter(kStart);
        const xf::Range own = xf::share(kShards, comm.rank, comm.size);
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
