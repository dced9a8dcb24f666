// See fiber.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "fiber.h"

#include <cstdint>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace cuda_host {

#ifdef __x86_64__
// Saves what a call must keep, and the stack pointer; loads the other's.
extern "C" void xf_cuda_host_switch(void **save, void *load);
asm(R"(
    .text
    .p2align 4
    .type xf_cuda_host_switch, @function
    .hidden xf_cuda_host_switch
    .globl xf_cuda_host_switch
xf_cuda_host_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size xf_cuda_host_switch, .-xf_cuda_host_switch
)");
#endif

void prepare_fiber(Fiber &fiber, void *stack, size_t bytes, size_t colour, void (*entry)()) {
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(stack, bytes);  // frames of an abandoned fiber
#endif
    fiber.bottom = stack;
    fiber.bytes = bytes;
    fiber.fake_stack = nullptr;
#ifdef __x86_64__
    // As a call would leave it: the entry's return address, none, and above it the address to "return" to.
    auto *top = reinterpret_cast<uintptr_t *>(static_cast<char *>(stack) + bytes - 64 * colour);
    *--top = 0;
    *--top = reinterpret_cast<uintptr_t>(entry);
    for (int i = 0; i < 6; ++i) *--top = 0;
    fiber.stack_pointer = top;
#else
    (void)colour;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stack;
    fiber.context.uc_stack.ss_size = bytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, entry, 0);
#endif
}

#ifdef __SANITIZE_ADDRESS__
namespace {
Fiber *switched_from;

void arrived(void *fake_stack) {
    __sanitizer_finish_switch_fiber(fake_stack, &switched_from->bottom, &switched_from->bytes);
}
}  // namespace
#endif

void switch_to(Fiber &from, Fiber &to) {
#ifdef __SANITIZE_ADDRESS__
    switched_from = &from;
    __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
#endif
#ifdef __x86_64__
    xf_cuda_host_switch(&from.stack_pointer, to.stack_pointer);
#else
    swapcontext(&from.context, &to.context);
#endif
#ifdef __SANITIZE_ADDRESS__
    arrived(from.fake_stack);
#endif
}

void fiber_entered() {
#ifdef __SANITIZE_ADDRESS__
    arrived(nullptr);
#endif
}

}  // namespace cuda_host
