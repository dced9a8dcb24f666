/*
 * Replaces every function of the library (LD_PRELOAD) and calls the original in an unusual floating-point state: flush
 * to zero, denormals are zero, rounding up, the x87 unit rounding down to 24 bits. After each call the state must be
 * unchanged, including its flags; otherwise the program ends. Running the tests of the API in this way proves this for
 * each function and each error, and that results do not depend on the state.
 *
 * The functions are those of STUBS, generated from lib/xformer.map. A stub puts its own return address in place of
 * the caller's, so that arguments on the stack stay where they are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xmmintrin.h>

static const char *const names[] = {
#define XF_NAME(number, name) #name,
#include "strange_names.h"
#undef XF_NAME
};
enum { NAMES = sizeof names / sizeof *names, DEEP = 64 };

/* Flush to zero, round up, all masked, denormals are zero; of the x87 unit: round down, 24 bits, all masked. */
enum { STRANGE_MXCSR = 0xDFC0, STRANGE_CONTROL = 0x047F };

static void *_Atomic functions[NAMES];
static __thread struct {
    uintptr_t back;
    unsigned mxcsr;
    unsigned short control, number;
} calls[DEEP];
static __thread volatile int depth; /* a signal handler may call within a call */
static _Atomic long count;

static unsigned short control_word(void) {
    unsigned short word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    return word;
}

static void set_control_word(unsigned short word) { __asm__ volatile("fldcw %0" : : "m"(word)); }

/* The x87 registers are empty, and not MMX's. */
static unsigned x87_tags(void) {
    struct {
        unsigned control, status, tags, rest[4];
    } state;
    __asm__ volatile("fnstenv %0\n\tfldenv %0" : "+m"(state));
    return state.tags & 0xFFFF;
}

static void say(const char *text) {
    const char *end = text;
    while (*end != 0) ++end;
    (void)!write(2, text, (size_t)(end - text));
}

void *strange_enter(unsigned number, uintptr_t *back, uintptr_t stub);
void *strange_enter(unsigned number, uintptr_t *back, uintptr_t stub) {
    const unsigned mxcsr = _mm_getcsr();
    void *function = functions[number];
    if (function == NULL) functions[number] = function = dlsym(RTLD_NEXT, names[number]);
    const int at = depth++;
    if (function == NULL || at >= DEEP) abort();
    calls[at].back = *back;
    calls[at].mxcsr = mxcsr;
    calls[at].control = control_word();
    calls[at].number = (unsigned short)number;
    *back = stub;
    set_control_word(STRANGE_CONTROL);
    _mm_setcsr(STRANGE_MXCSR);
    return function;
}

uintptr_t strange_leave(void);
uintptr_t strange_leave(void) {
    const unsigned mxcsr = _mm_getcsr();
    const unsigned short control = control_word();
    const int at = depth - 1;
    if (mxcsr != STRANGE_MXCSR || control != STRANGE_CONTROL || x87_tags() != 0xFFFF) {
        say(names[calls[at].number]);
        say(" changed the floating-point state\n");
        abort();
    }
    set_control_word(calls[at].control);
    _mm_setcsr(calls[at].mxcsr);
    ++count;
    depth = at;
    return calls[at].back;
}

__attribute__((destructor)) static void tell(void) {
    char text[96];
    int used = 0;
    for (int i = 0; i < NAMES; ++i) used += functions[i] != NULL;
    snprintf(text, sizeof text, "%ld calls of %d functions in a strange state\n", count, used);
    say(text);
}

#define XF_NAME(number, name)                                                                 \
    __asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n movl $" #number \
            ", %r11d\n jmp strange_call\n");
#include "strange_names.h"

/* Stack at strange_call: the return address. 8 registers and 8 of SSE are kept; rsp is then 16 times something. */
__asm__(
    ".text\n"
    "strange_call:\n"
    " push %rdi\n push %rsi\n push %rdx\n push %rcx\n push %r8\n push %r9\n push %rax\n"
    " sub $128, %rsp\n"
    " movups %xmm0, (%rsp)\n movups %xmm1, 16(%rsp)\n movups %xmm2, 32(%rsp)\n movups %xmm3, 48(%rsp)\n"
    " movups %xmm4, 64(%rsp)\n movups %xmm5, 80(%rsp)\n movups %xmm6, 96(%rsp)\n movups %xmm7, 112(%rsp)\n"
    " movl %r11d, %edi\n lea 184(%rsp), %rsi\n lea strange_back(%rip), %rdx\n"
    " call strange_enter@PLT\n"
    " movq %rax, %r11\n"
    " movups (%rsp), %xmm0\n movups 16(%rsp), %xmm1\n movups 32(%rsp), %xmm2\n movups 48(%rsp), %xmm3\n"
    " movups 64(%rsp), %xmm4\n movups 80(%rsp), %xmm5\n movups 96(%rsp), %xmm6\n movups 112(%rsp), %xmm7\n"
    " add $128, %rsp\n"
    " pop %rax\n pop %r9\n pop %r8\n pop %rcx\n pop %rdx\n pop %rsi\n pop %rdi\n"
    " jmp *%r11\n"
    "strange_back:\n" /* the return address has been taken: rsp is 16 times something */
    " sub $8, %rsp\n push %rax\n push %rdx\n sub $40, %rsp\n"
    " movups %xmm0, (%rsp)\n movups %xmm1, 16(%rsp)\n"
    " call strange_leave@PLT\n"
    " movq %rax, 56(%rsp)\n"
    " movups (%rsp), %xmm0\n movups 16(%rsp), %xmm1\n"
    " add $40, %rsp\n pop %rdx\n pop %rax\n ret\n");
