// See plugin.h. Compiled for the baseline architecture, so that it runs on every processor.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/os/plugin.h"

#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace xf {

int process_id() { return getpid(); }

bool has_address_space(size_t bytes) {
    void *const map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return map != MAP_FAILED && munmap(map, bytes) == 0;
}

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
    __builtin_cpu_init();
    // Tested by their bits because clang 14 has no names for them.
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
    found.sha = __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29);
    found.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && f16c;
    found.avx512 = found.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    found.avx512_vnni = found.avx512 && __builtin_cpu_supports("avx512vnni");
    found.avx512_bf16 = found.avx512 && __builtin_cpu_supports("avx512bf16");
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
