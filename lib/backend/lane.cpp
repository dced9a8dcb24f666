// See lane.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/lane.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace xf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kCloseSeconds = 0.4, kDrainSeconds = 0.3;  // after the timeout, before the caller hears of it

Clock::time_point after(double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Calls is_over() until it is true; false at the end of the time.
template <class IsOver>
bool ask_until(Clock::time_point end, const IsOver &is_over) {
    constexpr int kSpins = 200;
    constexpr useconds_t kNap = 20;
    for (int asked = 0; !is_over(); ++asked) {
        if (Clock::now() >= end) return false;
        if (asked >= kSpins) usleep(kNap);
    }
    return true;
}

}  // namespace

Lane::Lane(const xf_lane_plugin &plugin, Comm &comm, double timeout) : plugin_(plugin), comm_(comm), timeout_(timeout) {
    const auto ranks = static_cast<size_t>(comm.size());
    noted_.resize(2 * ranks), told_.resize(ranks * ranks);
    sends_.reserve(ranks), receives_.reserve(ranks);
    letters_.resize(ranks);
}

void Lane::join(Stream &stream) {
    try {
        begin(stream);
    } catch (...) {
        close();
        throw;
    }
}

Lane::~Lane() { close(); }

bool Lane::close() {
    xf_lane *const lane = lane_;
    lane_ = nullptr;
    return lane == nullptr || plugin_.close(lane, kCloseSeconds) != 0;
}

// Each rank hears how its part ended on the others.
template <class Work>
void Lane::agree(const Work &work) {
    Telling own;
    own.run(work);
    letters_[static_cast<size_t>(comm_.rank())].word = own.word();
    comm_.hear(letters_.data(), sizeof(Letter));
    own.rethrow();
}

// Rank 0 makes the id and gives it to all; all begin to join.
void Lane::begin(Stream &stream) {
    std::fill(letters_.begin(), letters_.end(), Letter{});
    number_ = 0;
    agree([&] {
        sums_ = Buffer(stream.device(), noted_.size() * sizeof(uint64_t));
        stream.zero(sums_.data(), sums_.bytes());
        if (comm_.rank() != 0) return;
        xf_error error{};
        stream.device().check(plugin_.make_id(letters_.front().id, &error), error);
    });
    const auto &id = letters_.front().id;
    agree([&] {
        stream.lend(
            [&](void *, xf_error *error) { return plugin_.open(id, comm_.rank(), comm_.size(), &lane_, error); });
        // Half of the time: who failed at once is still there to hear it.
        const auto end = after(timeout_ / 2);
        int32_t status = XF_LANE_BUSY;
        const bool over = ask_until(end, [&] {
            stream.lend([&](void *, xf_error *error) {
                status = plugin_.poll(lane_, error);
                return status == XF_LANE_BUSY ? int32_t{XF_OK} : status;
            });
            return status != XF_LANE_BUSY;
        });
        XF_CHECK(over, XF_ERROR_PEER, "%s did not bring the ranks together within %s s", plugin_.version,
                 number(timeout_ / 2).c_str());
    });
}

// What is under way on the device would hold the stream for ever: first that is ended, then others are told.
void Lane::lose(Stream &stream, const char *why) {
    bool free = close();
    try {
        free = free && ask_until(after(kDrainSeconds), [&] { return stream.is_done(); });
    } catch (const std::exception &) {  // the device has a fault and waits for nothing
    }
    if (!free) stream.device().abandon();
    comm_.give_up("%s", why);
}

void Lane::note(Stream &stream, std::span<const Comm::Message> messages, size_t row) {
    auto *const sums = static_cast<uint64_t *>(sums_.data()) + row * static_cast<size_t>(comm_.size());
    for (const Comm::Message &message : messages)
        stream.run(xf_fingerprint{static_cast<int64_t>(message.size), message.data, number_, sums + message.rank});
}

void Lane::exchange(Stream &stream, std::span<const Comm::Message> sends, std::span<const Comm::Message> receives) {
    XF_CHECK(lane_ != nullptr, XF_ERROR_PEER, "the ranks lost each other before");
    sends_.clear(), receives_.clear();
    for (const Comm::Message &message : sends) sends_.push_back({message.rank, 0, message.data, message.size});
    for (const Comm::Message &message : receives) receives_.push_back({message.rank, 0, message.data, message.size});
    const auto end = after(timeout_);
    bool begun = false, in_stream = false;
    char failure[sizeof(xf_error::message)] = "";
    const auto failed = [&](const char *why) { std::snprintf(failure, sizeof failure, "%s", why); };
    note(stream, sends, 0);
    try {
        const bool over = ask_until(end, [&] {
            int32_t status = XF_LANE_BUSY;
            stream.lend([&](void *native, xf_error *error) {
                if (!begun) {
                    begun = true;
                    status = plugin_.exchange(lane_, native, sends_.data(), sends_.size(), receives_.data(),
                                              receives_.size(), error);
                    if (status != XF_OK) return status;
                }
                status = plugin_.poll(lane_, error);
                return status == XF_LANE_BUSY ? int32_t{XF_OK} : status;
            });
            in_stream = in_stream || status == XF_OK;
            return in_stream && stream.is_done();
        });
        if (!over)
            std::snprintf(failure, sizeof failure, "%s: a rank was silent for %s s", plugin_.version,
                          NumberText(timeout_).c_str());
    } catch (const std::exception &error) {
        failed(error.what());
    }
    if (failure[0] != 0) lose(stream, failure);
    note(stream, receives, 1);
    ++number_;
}

void Lane::check(Stream &stream) {
    const auto ranks = static_cast<size_t>(comm_.size()), own = static_cast<size_t>(comm_.rank());
    stream.download(noted_.data(), sums_.data(), sums_.bytes());
    stream.zero(sums_.data(), sums_.bytes());
    std::copy_n(noted_.begin(), ranks, told_.begin() + static_cast<std::ptrdiff_t>(own * ranks));
    comm_.all_gather(told_.data(), ranks * sizeof(uint64_t));
    for (size_t r = 0; r < ranks; ++r) {
        if (r == own || told_[r * ranks + own] == noted_[ranks + r]) continue;
        char why[sizeof(xf_error::message)];
        std::snprintf(why, sizeof why, "%s: what came from rank %zu is not what it sent", plugin_.version, r);
        lose(stream, why);
    }
}

}  // namespace xf
