// The device, the stream with its scratch memory, and the table of operations that each instruction set fills.
//
// This header is compiled once per instruction set. An inline function that is neither static nor in an anonymous
// namespace could be compiled with AVX-512 instructions and then chosen by the linker for an older CPU (one definition
// rule). The header therefore contains only plain structs and declarations, and includes nothing of the standard
// library except <stdint.h>.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef XF_NUM_UNTYPED
#define XF_NUM_UNTYPED
#endif
#include "backend/plugin_abi.h"

namespace xf::openblas {

// The optional operations that this plugin implements.
#define XF_FOR_EACH_OWN_OPTIONAL_OP(X) X(to_bf16, xf_to_bf16) X(pack_int8, xf_pack_int8) X(unpack_int8, xf_unpack_int8)

// One implementation of each operation, for one instruction set and one element type.
struct Ops {
    XF_FOR_EACH_REQUIRED_OP(XF_OP_MEMBER)
    XF_FOR_EACH_OWN_OPTIONAL_OP(XF_OP_MEMBER)
};

// One function per instruction set. Those of other machines return NULL.
struct IsaOps {
    const char *isa;
    const Ops *fp32, *bf16;
};
const IsaOps *ops_base();
const IsaOps *ops_avx2();
const IsaOps *ops_avx512();
const IsaOps *ops_neon();

// Scratch memory of a stream. It only grows, so the steady state allocates nothing.
struct Block {
    void *ptr;
    size_t bytes;
};

// xf_dropout in the form that kernels use, computed once per call.
struct Dropout {
    uint32_t threshold; /* 0: off */
    float scale;
    uint32_t key0, key1;
    uint32_t site, step, high; /* high: xor-ed into the upper half of the block number */
};
Dropout make_dropout(const xf_dropout &args);

// Grows block to at least `bytes`; its content is lost when it grows. Returns XF_OK or XF_ERROR_NO_MEMORY.
int32_t reserve(xf_stream *stream, Block *block, uint64_t bytes, xf_error *err);
int32_t fail(xf_error *err, int32_t status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

}  // namespace xf::openblas

struct xf_device {
    const xf_host_v1 *host;
    const xf::openblas::IsaOps *ops;
    bool use_blas; /* fp32 training products use OpenBLAS */
    bool vnni;     /* use AVX512_VNNI for int8 products */
    bool bf16_dot; /* use AVX512_BF16 for bf16 products */
    bool dot;      /* use SDOT for int8 products */
    bool i8mm;     /* use SMMLA for int8 products */
    char info[192];
    char isa[128];
};

struct xf_stream {
    xf_device *device;
    const xf::openblas::Ops *ops; /* for the stream's element type */
    int32_t workers;
    xf::openblas::Block shared; /* packed operands, chunks of logits, partial sums; shared by all workers */
    xf::openblas::Block local;  /* one equal part per worker */
};
