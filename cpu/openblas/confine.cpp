// What OpenBLAS calls in place of the C library, so that it neither ends the host's process, nor prints, nor reads its
// environment.
//
// The linker gives the references of the static archive to the functions of this file (--wrap, the list is in
// CMakeLists.txt), and the plugin imports none of these names. What called them in 0.3.21:
//   exit               gotoblas_dynamic_init(), when the plugin is loaded and the kernels chosen have no start; later
//                      versions also when no work buffer can be mapped
//   getenv             OPENBLAS_CORETYPE chose other kernels, and so other bits; OPENBLAS_VERBOSE made it print;
//                      OPENBLAS_NUM_THREADS and the like mean nothing to the serial build
//   printf, puts,      complaints of arguments (xerbla_), of memory, of processors
//   perror, fputs, ...
// None is the only way OpenBLAS has to say something: after a complaint it returns to its caller. After exit() it can't
// go on, so exit() jumps back to where OpenBLAS was entered, and the plugin does without it.
//
// SPDX-License-Identifier: Apache-2.0
#include "confine.h"

#include <cstdarg>
#include <cstddef>

extern "C" {
// Weak: an OpenBLAS for one processor alone has none, and calls none.
[[gnu::weak]] void __real_gotoblas_dynamic_init(void);
void __wrap_gotoblas_dynamic_init(void);
[[noreturn]] void __wrap_exit(int status);
[[noreturn]] void __wrap_abort(void);
char *__wrap_getenv(const char *name);
int __wrap_puts(const char *text);
int __wrap_putchar(int character);
int __wrap_printf(const char *format, ...);
int __wrap_fprintf(void *stream, const char *format, ...);
int __wrap_vprintf(const char *format, va_list values);
int __wrap_vfprintf(void *stream, const char *format, va_list values);
int __wrap___printf_chk(int flag, const char *format, ...);
int __wrap___fprintf_chk(void *stream, int flag, const char *format, ...);
int __wrap___vprintf_chk(int flag, const char *format, va_list values);
int __wrap___vfprintf_chk(void *stream, int flag, const char *format, va_list values);
int __wrap_fputs(const char *text, void *stream);
int __wrap_fputc(int character, void *stream);
int __wrap_putc(int character, void *stream);
std::size_t __wrap_fwrite(const void *bytes, std::size_t size, std::size_t count, void *stream);
int __wrap_fflush(void *stream);
void __wrap_perror(const char *text);
extern void *__wrap_stdout, *__wrap_stderr;
}

namespace xf::openblas {
namespace {

// The compiler's own jump, five words: setjmp() of the C library would be one more thing of the host's. clang has it on
// x86 alone; there is no other way out of exit() elsewhere, and it would be a trap.
#if defined(__x86_64__) || !defined(__clang__)
#define XF_CAN_LEAVE 1
#endif

void *frame[5];
bool inside = false, started = true;

[[noreturn]] void leave() {
#if defined(XF_CAN_LEAVE)
    if (inside) __builtin_longjmp(frame, 1);
#endif
    // sgemm_() has no call of exit(), and nothing else of OpenBLAS is called but through returns().
    __builtin_trap();
}

void start(void *) { __real_gotoblas_dynamic_init(); }

}  // namespace

// Not inlined: the jump comes back to a frame that is still there, and only "inside" is read or written after it.
[[gnu::noinline]] bool returns(void (*function)(void *), void *argument) {
#if defined(XF_CAN_LEAVE)
    if (__builtin_setjmp(frame) != 0) {
        inside = false;
        return false;
    }
    inside = true;
#endif
    function(argument);
    inside = false;
    return true;
}

bool blas_started() { return started; }

}  // namespace xf::openblas

// Called by OpenBLAS's constructor, while the plugin is being loaded; it calls no constructor of this plugin before.
void __wrap_gotoblas_dynamic_init(void) {
    if (!xf::openblas::returns(xf::openblas::start, nullptr)) xf::openblas::started = false;
}

void __wrap_exit(int) { xf::openblas::leave(); }
void __wrap_abort(void) { xf::openblas::leave(); }

char *__wrap_getenv(const char *) { return nullptr; }

int __wrap_puts(const char *) { return 0; }
int __wrap_putchar(int character) { return character; }
int __wrap_printf(const char *, ...) { return 0; }
int __wrap_fprintf(void *, const char *, ...) { return 0; }
int __wrap_vprintf(const char *, va_list) { return 0; }
int __wrap_vfprintf(void *, const char *, va_list) { return 0; }
int __wrap___printf_chk(int, const char *, ...) { return 0; }
int __wrap___fprintf_chk(void *, int, const char *, ...) { return 0; }
int __wrap___vprintf_chk(int, const char *, va_list) { return 0; }
int __wrap___vfprintf_chk(void *, int, const char *, va_list) { return 0; }
int __wrap_fputs(const char *, void *) { return 0; }
int __wrap_fputc(int character, void *) { return character; }
int __wrap_putc(int character, void *) { return character; }
std::size_t __wrap_fwrite(const void *, std::size_t, std::size_t count, void *) { return count; }
int __wrap_fflush(void *) { return 0; }
void __wrap_perror(const char *) {}
void *__wrap_stdout, *__wrap_stderr;
