// The plugin's exported function and everything except the kernels: choice of the instruction set, devices, streams,
// and memory.
//
// There is one device, the CPU. host->isa selects the kernels (base, avx2, avx512, neon); requesting an instruction set
// that the CPU lacks is an error and never falls back silently. This file is compiled for the baseline architecture, so
// that it runs on every CPU.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "backend/plugin_abi.h"
#include "blas.h"
#include "core/os/plugin.h"
#include "core/philox.h"
#include "device.h"

namespace xf::openblas {

int32_t fail(xf_error *err, int32_t status, const char *fmt, ...) {
    if (err) {
        std::memset(err, 0, sizeof *err);
        err->status = status;
        va_list list;
        va_start(list, fmt);
        std::vsnprintf(err->message, sizeof err->message, fmt, list);
        va_end(list);
    }
    return status;
}

int32_t reserve(xf_stream *stream, Block *block, uint64_t bytes, xf_error *err) {
    if (bytes <= block->bytes) return XF_OK;
    const xf_host_v1 *host = stream->device->host;
    if (block->ptr) host->free(host->user, block->ptr, block->bytes);
    block->ptr = nullptr;
    block->bytes = 0;
    const size_t rounded = static_cast<size_t>((bytes + 4095) & ~uint64_t{4095});
    block->ptr = rounded < bytes ? nullptr : host->alloc(host->user, rounded);
    if (!block->ptr)
        return fail(err, XF_ERROR_NO_MEMORY, "out of memory: a stream needs %llu bytes of scratch space",
                    static_cast<unsigned long long>(bytes));
    block->bytes = rounded;
    return XF_OK;
}

Dropout make_dropout(const xf_dropout &args) {
    Dropout d{};
    d.threshold = args.rate > 0.0f ? dropout_threshold(args.rate) : 0;
    d.scale = dropout_scale(d.threshold);
    d.key0 = static_cast<uint32_t>(args.seed);
    d.key1 = static_cast<uint32_t>(args.seed >> 32);
    d.site = args.site;
    if (d.threshold == 0) return d;  // args.when may be NULL
    d.step = args.when[0];
    d.high = args.when[1] << 16;
    return d;
}

namespace {

char name_text[96];
char version_text[192];

// Writes the processor name, for example "AMD EPYC 9554", which cpuid reports on x86.
void cpu_brand(char *text, size_t size) {
    std::snprintf(text, size, "CPU");
#if defined(__x86_64__)
    unsigned int words[12];
    for (unsigned int i = 0; i < 3; ++i)
        __asm__("cpuid"
                : "=a"(words[4 * i]), "=b"(words[4 * i + 1]), "=c"(words[4 * i + 2]), "=d"(words[4 * i + 3])
                : "a"(0x80000002u + i), "c"(0));
    char brand[49] = {};
    std::memcpy(brand, words, 48);
    size_t end = std::strlen(brand);
    while (end > 0 && brand[end - 1] == ' ') brand[--end] = 0;
    if (brand[0]) std::snprintf(text, size, "%s", brand);
#endif
}

bool write_texts() {
    cpu_brand(name_text, sizeof name_text);
    std::snprintf(version_text, sizeof version_text, XF_PLUGIN_VERSION ", %s", blas_info());
    return true;
}

// Written while the plugin is being loaded, before any thread reads them. A static variable of a function would need
// the C++ library. OpenBLAS is ready, because its constructor has a higher priority.
[[maybe_unused]] const bool texts_written = write_texts();

// An instruction set that context.isa can name.
struct Isa {
    const char *name;
    bool present;
    const IsaOps *ops;
    bool vnni, bf16_dot, dot, i8mm;  // see xf_device; results do not depend on them
};

// Finds the requested instruction set. "auto" selects the last one that this CPU has, with all its additional
// instructions.
bool find_isa(const char *requested, Isa *found, xf_error *err) {
    const bool any = !requested || !*requested || !std::strcmp(requested, "auto");
    const CpuFeatures cpu = cpu_features();
    const bool bf16_dot = any && cpu.avx512_bf16;
    const Isa list[] = {
        {"base", true, ops_base(), false, false, false, false},
        {"avx2", cpu.avx2, ops_avx2(), false, false, false, false},
        {"avx512", cpu.avx512, ops_avx512(), false, bf16_dot, false, false},
        {"avx512vnni", cpu.avx512_vnni, ops_avx512(), true, bf16_dot, false, false},
        {"neon", ops_neon() != nullptr, ops_neon(), false, false, false, false},
        {"neon-dot", cpu.sdot, ops_neon(), false, false, true, false},
        {"neon-i8mm", cpu.smmla, ops_neon(), false, false, true, true},
    };
    char present[96] = "";
    bool known = false;
    *found = {};
    for (const Isa &isa : list) {
        const bool named = !any && !std::strcmp(requested, isa.name);
        known = known || named;
        if (!isa.present) continue;
        if (any || named) *found = isa;
        const size_t used = std::strlen(present);
        std::snprintf(present + used, sizeof present - used, ", %s", isa.name);
    }
    if (found->ops) return true;
    fail(err, XF_ERROR_UNSUPPORTED, "instruction set \"%.20s\" is %s; this CPU can run auto%s", requested,
         known ? "not in this CPU" : "unknown", present);
    return false;
}

int32_t device_count(xf_error *) { return 1; }

const char *device_name(int32_t) { return name_text; }

int32_t device_open(const xf_host_v1 *host, int32_t index, xf_device **device, xf_error *err) {
    if (index != 0) return fail(err, XF_ERROR_NOT_FOUND, "CPU device %d does not exist, expected device 0", index);
    Isa isa;
    if (!find_isa(host->isa, &isa, err)) return XF_ERROR_UNSUPPORTED;
    const IsaOps *ops = isa.ops;
    const bool use_blas = ops == ops_base() && has_blas();
    if (use_blas && !blas_reserve(host->workers(host->user)))
        return fail(err, XF_ERROR_NO_MEMORY, "out of address space for the work buffer of OpenBLAS");
    xf_device *result = static_cast<xf_device *>(host->alloc(host->user, sizeof(xf_device)));
    if (!result) return fail(err, XF_ERROR_NO_MEMORY, "out of memory for a CPU device");
    std::memset(result, 0, sizeof *result);
    result->host = host;
    result->ops = ops;
    result->use_blas = use_blas;
    result->vnni = isa.vnni;
    result->bf16_dot = isa.bf16_dot;
    result->dot = isa.dot;
    result->i8mm = isa.i8mm;
    char brand[64];
    cpu_brand(brand, sizeof brand);
    std::snprintf(result->info, sizeof result->info, "%s, %s%s%s%s%s, %s", brand, ops->isa, isa.vnni ? " vnni" : "",
                  isa.bf16_dot ? " bf16" : "", isa.dot ? " dot" : "", isa.i8mm ? " i8mm" : "",
                  result->use_blas ? blas_info() : "own kernels only");
    // AVX2, AVX-512, and NEON give the same bits (simd.inl), so they have one name.
    std::snprintf(result->isa, sizeof result->isa, "%s%s%s", ops == ops_base() ? ops->isa : "fma",
                  result->use_blas ? ", " : "", result->use_blas ? blas_info() : "");
    *device = result;
    return XF_OK;
}

void device_close(xf_device *device) {
    if (device) device->host->free(device->host->user, device, sizeof *device);
}

const char *device_info(xf_device *device) { return device->info; }

const char *device_isa(xf_device *device) { return device->isa; }

int32_t stream_create(xf_device *device, uint32_t dtype, xf_stream **stream, xf_error *err) {
    if (dtype != XF_FP32 && dtype != XF_BF16)
        return fail(err, XF_ERROR_UNSUPPORTED, "number type %u, expected fp32 or bf16", static_cast<unsigned>(dtype));
    const xf_host_v1 *host = device->host;
    xf_stream *result = static_cast<xf_stream *>(host->alloc(host->user, sizeof(xf_stream)));
    if (!result) return fail(err, XF_ERROR_NO_MEMORY, "out of memory for a stream");
    std::memset(result, 0, sizeof *result);
    result->device = device;
    result->ops = dtype == XF_BF16 ? device->ops->bf16 : device->ops->fp32;
    result->workers = host->workers(host->user);
    if (result->workers < 1) result->workers = 1;
    *stream = result;
    return XF_OK;
}

void stream_free(xf_stream *stream) {
    if (!stream) return;
    const xf_host_v1 *host = stream->device->host;
    if (stream->shared.ptr) host->free(host->user, stream->shared.ptr, stream->shared.bytes);
    if (stream->local.ptr) host->free(host->user, stream->local.ptr, stream->local.bytes);
    host->free(host->user, stream, sizeof *stream);
}

int32_t stream_sync(xf_stream *, xf_error *) { return XF_OK; }

int32_t mem_alloc(xf_device *device, size_t bytes, void **ptr, xf_error *err) {
    *ptr = device->host->alloc(device->host->user, bytes ? bytes : 1);
    return *ptr ? XF_OK : fail(err, XF_ERROR_NO_MEMORY, "out of memory: a tensor needs %zu bytes", bytes);
}

void mem_free(xf_device *device, void *ptr, size_t bytes) {
    if (ptr) device->host->free(device->host->user, ptr, bytes ? bytes : 1);
}

int32_t mem_copy(xf_stream *, void *dst, const void *src, size_t bytes, xf_error *) {
    if (bytes) std::memmove(dst, src, bytes);
    return XF_OK;
}

int32_t mem_zero(xf_stream *, void *dst, size_t bytes, xf_error *) {
    if (bytes) std::memset(dst, 0, bytes);
    return XF_OK;
}

// Each operation of the table calls the kernel that was chosen for the stream.
#define XF_FORWARD(name, type) \
    int32_t name(xf_stream *stream, const type *args, xf_error *err) { return stream->ops->name(stream, args, err); }
XF_FOR_EACH_REQUIRED_OP(XF_FORWARD)
XF_FOR_EACH_OWN_OPTIONAL_OP(XF_FORWARD)
#undef XF_FORWARD

// clang-format off
const xf_backend_v1 kBackend = {
    .size = sizeof(xf_backend_v1),
    .abi = XF_PLUGIN_ABI,
    .name = "openblas",
    .version = version_text,
    .kind = "cpu",
    .score = 100,
    .dtypes = 1u << XF_FP32 | 1u << XF_BF16,
    .weight_types = 1u << XF_WEIGHTS_NUM | 1u << XF_WEIGHTS_BF16 | 1u << XF_WEIGHTS_FP16 | 1u << XF_WEIGHTS_INT8,
    .device_count = device_count,
    .device_name = device_name,
    .device_open = device_open,
    .device_close = device_close,
    .device_info = device_info,
    .device_isa = device_isa,
    .stream_create = stream_create,
    .stream_free = stream_free,
    .stream_sync = stream_sync,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .mem_upload = mem_copy,
    .mem_download = mem_copy,
    .mem_copy = mem_copy,
    .mem_zero = mem_zero,
    XF_FOR_EACH_REQUIRED_OP(XF_OP_SET)
    XF_FOR_EACH_OWN_OPTIONAL_OP(XF_OP_SET)
};
// clang-format on

}  // namespace
}  // namespace xf::openblas

extern "C" const xf_backend_v1 *xf_openblas_backend(void) { return &xf::openblas::kBackend; }

#if !defined(XF_BUILTIN_OPENBLAS)
extern "C" __attribute__((visibility("default"))) const xf_backend_v1 *xf_plugin_init(uint32_t host_abi,
                                                                                      xf_error *err) {
    if (host_abi == XF_PLUGIN_ABI) return xf_openblas_backend();
    xf::openblas::fail(
        err, XF_ERROR_VERSION,
        "the openblas plugin has plugin ABI %u, expected %u as in the library; install both from one release",
        XF_PLUGIN_ABI, host_abi);
    return nullptr;
}
#endif
