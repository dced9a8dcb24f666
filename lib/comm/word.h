// What a rank says of its own part of a call, before the ranks go on with it.
//
// A call of all ranks has parts that one rank does for itself and that may fail there alone: memory, a file, an
// argument. Such a part is run by a Telling, which keeps what was thrown; the next exchange of the call carries the
// word of every rank, and behind it either all go on or none. So the memory for words and for the exchange is there
// from the start: a rank that has none left can still say so.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>

#include "core/error.h"

namespace xf {

// As it is sent.
struct Word {
    int32_t status = XF_OK;
    char message[172] = "";
};

class Telling {
public:
    // Does the next part, unless one has failed.
    template <class Work>
    void run(const Work &work) noexcept {
        if (failed()) return;
        try {
            work();
        } catch (...) {
            keep();
        }
    }

    // In a handler.
    void keep() noexcept {
        failure_ = std::current_exception();
        try {
            throw;
        } catch (const Error &error) {
            say(error.status(), error.what());
        } catch (const std::bad_alloc &) {
            say(XF_ERROR_NO_MEMORY, "out of memory");
        } catch (const std::exception &error) {
            say(XF_ERROR_INTERNAL, error.what());
        } catch (...) {
            say(XF_ERROR_INTERNAL, "an unknown exception");
        }
    }

    bool failed() const { return failure_ != nullptr; }
    const Word &word() const { return word_; }
    // What was kept, if anything.
    void rethrow() const {
        if (failed()) std::rethrow_exception(failure_);
    }

private:
    void say(xf_status status, const char *why) noexcept {
        word_.status = status;
        std::snprintf(word_.message, sizeof word_.message, "%s", why);
    }

    Word word_;
    std::exception_ptr failure_;
};

}  // namespace xf
