// What a thread needs before it may throw.
//
// The C++ runtime keeps what it knows of exceptions in thread-local storage. Where the runtime was loaded with this
// library by dlopen(), as bindings and plugins load it, the C library makes that storage when a thread first throws or
// catches, and ends the process where it has no memory for it ("cannot allocate memory for thread-local data: ABORT"):
// the first std::bad_alloc of a thread would be the end of the host. So each thread makes it before its first work,
// after it has seen that there is memory.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace xf {

// False where there is no memory: nothing may be thrown on this thread yet. Costs a look at a thread's own word.
bool thread_ready() noexcept;

}  // namespace xf
