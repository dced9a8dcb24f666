// SPDX-License-Identifier: Apache-2.0
#include "ranks/device_transport.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace xf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kCloseSeconds = 0.4, kDrainSeconds = 0.3;  // after the timeout, before the error is reported

Clock::time_point after(double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Calls done() until it returns true. Returns false at the deadline.
template <class Done>
bool poll_until(Clock::time_point deadline, const Done &done) {
    constexpr int kSpins = 200;
    constexpr std::chrono::microseconds kSleep(20);
    for (int polls = 0; !done(); ++polls) {
        if (Clock::now() >= deadline) return false;
        if (polls >= kSpins) std::this_thread::sleep_for(kSleep);
    }
    return true;
}

}  // namespace

DeviceTransport::DeviceTransport(const xf_transport_plugin &plugin, Communicator &communicator, double timeout)
    : plugin_(plugin), communicator_(communicator), timeout_(timeout) {
    const size_t ranks = communicator.size();
    messages_.resize(2 * ranks), all_fingerprints_.resize(2 * ranks * ranks);
    sends_.reserve(ranks), receives_.reserve(ranks);
    statuses_.resize(ranks);
}

void DeviceTransport::connect(Stream &stream) {
    try {
        open(stream);
    } catch (...) {
        close();
        throw;
    }
}

DeviceTransport::~DeviceTransport() { close(); }

bool DeviceTransport::close() {
    xf_transport *const transport = transport_;
    transport_ = nullptr;
    return transport == nullptr || plugin_.close(transport, kCloseSeconds) != 0;
}

// Runs work on every rank; an error of one rank is an error on all.
template <class Work>
void DeviceTransport::run_on_all_ranks(const Work &work) {
    DeferredError own;
    own.run(work);
    statuses_[communicator_.rank()].status = own.status();
    communicator_.exchange_status(statuses_.data(), sizeof(StatusAndId));
    own.rethrow();
}

// Rank 0 creates the id and sends it to all ranks; then all ranks connect.
void DeviceTransport::open(Stream &stream) {
    std::fill(statuses_.begin(), statuses_.end(), StatusAndId{});
    std::fill(messages_.begin(), messages_.end(), 0);
    run_on_all_ranks([&] {
        fingerprints_ = Buffer(stream.device(), messages_.size() * sizeof(uint64_t));
        stream.zero(fingerprints_.data(), fingerprints_.bytes());
        if (communicator_.rank() != 0) return;
        xf_error error{};
        stream.device().check(plugin_.make_id(statuses_.front().id, &error), error);
    });
    const auto &id = statuses_.front().id;
    run_on_all_ranks([&] {
        stream.lend([&](void *, xf_error *error) {
            return plugin_.open(id, communicator_.rank(), communicator_.size(), &transport_, error);
        });
        wait_until_open(stream);
    });
}

// Waits for half of the timeout: a rank that failed at once is then still waiting to report it.
void DeviceTransport::wait_until_open(Stream &stream) {
    int32_t status = XF_TRANSPORT_BUSY;
    const bool opened = poll_until(after(timeout_ / 2), [&] {
        stream.lend([&](void *, xf_error *error) {
            status = plugin_.poll(transport_, error);
            return status == XF_TRANSPORT_BUSY ? int32_t{XF_OK} : status;
        });
        return status != XF_TRANSPORT_BUSY;
    });
    XF_CHECK(opened, XF_ERROR_PEER, "%s did not connect the ranks within %s s (half of context.comm_timeout)",
             plugin_.version, number(timeout_ / 2).c_str());
}

// An exchange in progress would block the stream, so it is ended before the other ranks are informed.
void DeviceTransport::abort_and_throw(Stream &stream, const char *reason) {
    bool released = close();
    try {
        released = released && poll_until(after(kDrainSeconds), [&] { return stream.is_done(); });
    } catch (const std::exception &) {  // the device has failed, so nothing is running
    }
    if (!released) stream.device().abandon();
    communicator_.abort_and_throw("%s", reason);
}

void DeviceTransport::add_fingerprints(Stream &stream, std::span<const Communicator::Message> messages, bool received) {
    const size_t first = received ? communicator_.size() : 0;
    for (const Communicator::Message &message : messages) {
        const size_t i = first + message.rank;
        const int64_t bytes = message.size;
        stream.run(xf_fingerprint{bytes, message.data, messages_[i]++, fingerprints_.as<uint64_t>() + i});
    }
}

void DeviceTransport::exchange(Stream &stream, std::span<const Communicator::Message> sends,
                               std::span<const Communicator::Message> receives) {
    XF_CHECK(transport_ != nullptr, XF_ERROR_PEER, "the device transport between the ranks was closed after an error");
    sends_.clear(), receives_.clear();
    for (const auto &message : sends) sends_.push_back({message.rank, 0, message.data, message.size});
    for (const auto &message : receives) receives_.push_back({message.rank, 0, message.data, message.size});
    const auto deadline = after(timeout_);
    bool started = false, enqueued = false;
    char reason[sizeof(xf_error::message)] = "";
    add_fingerprints(stream, sends, false);
    try {
        const bool finished = poll_until(deadline, [&] {
            int32_t status = XF_TRANSPORT_BUSY;
            stream.lend([&](void *native, xf_error *error) {
                if (!started) {
                    started = true;
                    status = plugin_.exchange(transport_, native, sends_.data(), sends_.size(), receives_.data(),
                                              receives_.size(), error);
                    if (status != XF_OK) return status;
                }
                status = plugin_.poll(transport_, error);
                return status == XF_TRANSPORT_BUSY ? int32_t{XF_OK} : status;
            });
            enqueued = enqueued || status == XF_OK;
            return enqueued && stream.is_done();
        });
        if (!finished)
            std::snprintf(reason, sizeof reason, "%s: no progress of a rank within context.comm_timeout, %s s",
                          plugin_.version, NumberText(timeout_).c_str());
    } catch (const std::exception &error) {
        std::snprintf(reason, sizeof reason, "%s", error.what());
    }
    if (reason[0] != 0) abort_and_throw(stream, reason);
    add_fingerprints(stream, receives, true);
}

void DeviceTransport::check(Stream &stream) {
    const int ranks = communicator_.size();
    const auto sums_of = [&](int rank) { return all_fingerprints_.data() + size_t{2} * ranks * rank; };
    stream.download(sums_of(communicator_.rank()), fingerprints_.data(), fingerprints_.bytes());
    stream.zero(fingerprints_.data(), fingerprints_.bytes());
    communicator_.all_gather(all_fingerprints_.data(), 2 * ranks * sizeof(uint64_t));
    for (int to = 0; to < ranks; ++to)
        for (int from = 0; from < ranks; ++from) {
            if (from == to || sums_of(from)[to] == sums_of(to)[ranks + from]) continue;
            char reason[sizeof(xf_error::message)];
            std::snprintf(reason, sizeof reason,
                          "%s: the data that rank %d received from rank %d differs from what it sent", plugin_.version,
                          to, from);
            abort_and_throw(stream, reason);
        }
}

}  // namespace xf
