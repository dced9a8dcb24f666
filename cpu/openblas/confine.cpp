// Replacements for functions of the C library that OpenBLAS calls, so that it cannot end the host's process, print, or
// read its environment.
//
// The linker redirects the references of the static archive to the functions of this file (--wrap, see CMakeLists.txt),
// so the plugin imports none of the original names. In version 0.3.21 the callers are:
//     exit               gotoblas_dynamic_init(), if the chosen kernels have no initialization function; later versions
//                        also if no work buffer can be mapped
//     getenv             OPENBLAS_CORETYPE would choose other kernels, and so other bits; OPENBLAS_VERBOSE would print;
//                        OPENBLAS_NUM_THREADS and similar variables have no meaning in the serial build
//     printf, puts,      messages about arguments (xerbla_), memory, and processors
//     perror, fputs, ...
// OpenBLAS does not depend on the output of these functions: after printing a message it returns to its caller. It
// cannot continue after exit(), so the replacement of exit() jumps back to the point where OpenBLAS was entered, and
// the plugin continues without it.
//
// SPDX-License-Identifier: Apache-2.0
#include "confine.h"

#include <cstdarg>
#include <cstddef>

extern "C" {
// Weak, because an OpenBLAS built for a single processor type neither defines nor calls it.
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

// __builtin_setjmp needs five words and no function of the C library. clang supports it only on x86. Elsewhere exit()
// cannot be left, and calling it traps.
#if defined(__x86_64__) || !defined(__clang__)
#define XF_CAN_LEAVE 1
#endif

void *frame[5];
bool inside = false, initialized = true;

[[noreturn]] void leave_openblas() {
#if defined(XF_CAN_LEAVE)
    if (inside) __builtin_longjmp(frame, 1);
#endif
    // sgemm_() never calls exit(); all other functions of OpenBLAS are called through call_confined().
    __builtin_trap();
}

void initialize(void *) { __real_gotoblas_dynamic_init(); }

}  // namespace

// Not inlined, because the jump must return to a frame that still exists. After the jump only `inside` is read or
// written.
[[gnu::noinline]] bool call_confined(void (*function)(void *), void *argument) {
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

bool blas_initialized() { return initialized; }

}  // namespace xf::openblas

// OpenBLAS's constructor calls this function while the plugin is being loaded, before any constructor of the plugin.
void __wrap_gotoblas_dynamic_init(void) {
    if (!xf::openblas::call_confined(xf::openblas::initialize, nullptr)) xf::openblas::initialized = false;
}

void __wrap_exit(int) { xf::openblas::leave_openblas(); }
void __wrap_abort(void) { xf::openblas::leave_openblas(); }

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
