// See plugin.h. Compiled for the baseline architecture, so that it runs on every processor.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/os/plugin.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace xf {

#if defined(_WIN32)
int process_id() { return static_cast<int>(GetCurrentProcessId()); }

bool has_address_space(size_t bytes) {
    void *const range = VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS);
    return range != nullptr && VirtualFree(range, 0, MEM_RELEASE);
}
#else
int process_id() { return getpid(); }

bool has_address_space(size_t bytes) {
    void *const map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return map != MAP_FAILED && munmap(map, bytes) == 0;
}
#endif

#if defined(__aarch64__) && defined(__APPLE__)
static bool has(const char *name) {
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
#endif

CpuFeatures cpu_features() {
    CpuFeatures found{};
#if defined(__x86_64__)
    // Not __builtin_cpu_supports(), which reports nothing with the runtime library of zig.
    struct {
        unsigned a = 0, b = 0, c = 0, d = 0;
    } basic, more, last;
    __get_cpuid(1, &basic.a, &basic.b, &basic.c, &basic.d);
    __get_cpuid_count(7, 0, &more.a, &more.b, &more.c, &more.d);
    if (more.a > 0) __get_cpuid_count(7, 1, &last.a, &last.b, &last.c, &last.d);
    const auto has = [](unsigned bits, int bit) { return (bits >> bit & 1) != 0; };
    // The registers that the system saves: 256 bits are 1 and 2, 512 bits are also 5 to 7. macOS adds the latter when a
    // thread first uses them.
    unsigned saved = 0, high = 0;
    if (has(basic.c, 27)) __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
#if defined(__APPLE__)
    const unsigned wide = 0x06;
#else
    const unsigned wide = 0xe6;
#endif
    found.sha = has(basic.c, 9) && has(basic.c, 19) && has(more.b, 29);  // also SSSE3 and SSE4.1
    found.avx2 = (saved & 0x06) == 0x06 && has(basic.c, 12) && has(basic.c, 29) && has(more.b, 5);
    found.avx512 = found.avx2 && (saved & wide) == wide && has(more.b, 16) && has(more.b, 17) && has(more.b, 30) &&
                   has(more.b, 31);
    found.avx512_vnni = found.avx512 && has(more.c, 11);
    found.avx512_bf16 = found.avx512 && has(last.a, 5);
#elif defined(__aarch64__) && defined(__APPLE__)
    found.sdot = has("hw.optional.arm.FEAT_DotProd");
    found.smmla = found.sdot && has("hw.optional.arm.FEAT_I8MM");
#elif defined(__aarch64__)
    found.sdot = getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
    found.smmla = found.sdot && (getauxval(AT_HWCAP2) & HWCAP2_I8MM);
#endif
    return found;
}

}  // namespace xf
