// A fiber: a stack and a place in the code. switch_to() is a plain call of a few nanoseconds on x86-64, ucontext
// elsewhere, and tells ASan which stack is in use.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace cuda_host {

struct Fiber {
#ifdef __x86_64__
    void *stack_pointer;
#else
    ucontext_t context;
#endif
    const void *bottom;  // of its stack; for ASan, which tells it for the host's
    size_t bytes;
    void *fake_stack;  // ASan's
};

// Makes fiber start with entry(), which never returns, at its next switch. The stack's top differs by colour, so that
// the frames of many fibers don't fall on the same lines of the cache.
void prepare_fiber(Fiber &fiber, void *stack, size_t bytes, size_t colour, void (*entry)());
// Runs `to` until something switches back to `from`.
void switch_to(Fiber &from, Fiber &to);
// Must be the first call of an entry function.
void fiber_entered();

}  // namespace cuda_host
