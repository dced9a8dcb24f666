// Threads of the host and of the library.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace xf {

// Blocks all signals on this thread until the destructor runs. A new thread inherits the mask, so the host's handlers
// run only on the host's threads.
class SignalsBlocked {
public:
    SignalsBlocked();
    ~SignalsBlocked();
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
    alignas(16) unsigned char saved_[128];
};

// Defers pthread_cancel() until the destructor runs.
//
// Reading, writing, and waiting are cancellation points. A thread that is cancelled at one of them unwinds through
// noexcept code, which ends the process. With this class it ends at the host's next cancellation point after the call.
class CancelState {
public:
    CancelState() noexcept;
    ~CancelState();
    CancelState(const CancelState &) = delete;
    CancelState &operator=(const CancelState &) = delete;

private:
    int saved_;
};

// Prepares the calling thread for exceptions. Returns false if there is no memory: then nothing may be thrown on this
// thread yet. Later calls on the same thread cost one lookup.
//
// The C++ runtime keeps the state of exceptions in thread-local storage. If the runtime was loaded by dlopen(), as it
// is for bindings and plugins, the C library allocates that storage when a thread first throws or catches, and ends the
// process if it cannot ("cannot allocate memory for thread-local data: ABORT"). The first std::bad_alloc of a thread
// would end the host. So each thread calls this function before its first work.
bool thread_ready() noexcept;

}  // namespace xf
