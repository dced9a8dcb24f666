// The status of a rank, and how an error on one rank becomes an error on all ranks.
//
// A collective call has local parts that can fail on one rank only: an allocation, a file, an argument. DeferredError
// runs such a part and stores what it throws. The next exchange of the call carries the RankStatus of every rank; then
// either all ranks continue, or none does. The memory for that exchange is allocated in advance, so a rank that is out
// of memory can still report it.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>

#include "core/error.h"

namespace xf {

// Replaces what must not be printed in a text from another rank: invalid UTF-8, control characters, and marks that
// change the direction of text. Ends it with 0 within `size` bytes, and not within a character.
void sanitize(char *text, size_t size) noexcept;

// Sent as it is in memory.
struct RankStatus {
    int32_t status = XF_OK;
    char message[172] = "";
};

class DeferredError {
public:
    // Runs work and stores what it throws. Does nothing if an earlier part has failed.
    template <class Work>
    void run(const Work &work) noexcept {
        if (failed()) return;
        try {
            work();
        } catch (...) {
            capture();
        }
    }

    // Stores the current exception. Called in a handler.
    void capture() noexcept {
        exception_ = std::current_exception();
        try {
            throw;
        } catch (const Error &error) {
            set_status(error.status(), error.what());
        } catch (const std::bad_alloc &) {
            set_status(XF_ERROR_NO_MEMORY, "out of memory");
        } catch (const std::exception &error) {
            set_status(XF_ERROR_INTERNAL, error.what());
        } catch (...) {
            set_status(XF_ERROR_INTERNAL, "an unknown exception");
        }
    }

    bool failed() const { return exception_ != nullptr; }
    const RankStatus &status() const { return status_; }
    // Throws the stored exception, if there is one.
    void rethrow() const {
        if (failed()) std::rethrow_exception(exception_);
    }

private:
    void set_status(xf_status status, const char *message) noexcept {
        status_.status = status;
        std::snprintf(status_.message, sizeof status_.message, "%s", message);
        sanitize(status_.message, sizeof status_.message);
    }

    RankStatus status_;
    std::exception_ptr exception_;
};

}  // namespace xf
