// What the plugin's parts share: the device, the stream with its scratch memory, and the table of operations that
// each instruction set fills.
//
// The trap: this header is compiled once per instruction set. Anything inline here that is not "static" or in an
// anonymous namespace could be emitted with AVX-512 code and picked by the linker for an old CPU (one definition
// for all), so there are only plain structs and declarations, and no standard library beyond <stdint.h>.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef XF_NUM_UNTYPED
#define XF_NUM_UNTYPED
#endif
#include "backend/plugin_abi.h"

namespace xf::openblas {

// The optional operations that these kernels have.
#define XF_FOR_EACH_OWN_OPTIONAL_OP(X) X(to_bf16, xf_to_bf16) X(pack_int8, xf_pack_int8) X(unpack_int8, xf_unpack_int8)

// One implementation of every operation, for one instruction set and one type of numbers.
struct Ops {
    XF_FOR_EACH_REQUIRED_OP(XF_OP_MEMBER)
    XF_FOR_EACH_OWN_OPTIONAL_OP(XF_OP_MEMBER)
};

// One per compiled instruction set; the x86 ones return NULL elsewhere.
struct IsaOps {
    const char *isa;
    const Ops *fp32, *bf16;
};
const IsaOps *ops_base();
const IsaOps *ops_avx2();
const IsaOps *ops_avx512();

// Grow-only memory of a stream: a steady state allocates nothing.
struct Block {
    void *ptr;
    size_t bytes;
};

// What a kernel needs of xf_dropout, worked out once per call.
struct Dropout {
    uint32_t threshold; /* 0: off */
    float scale;
    uint32_t key0, key1;
    uint32_t site, step, high; /* high: xor-ed into the upper half of the block number */
};
Dropout make_dropout(const xf_dropout &args);

// Makes block at least bytes large (its content is lost when it grows). XF_OK or XF_ERROR_NO_MEMORY.
int32_t reserve(xf_stream *stream, Block *block, size_t bytes, xf_error *err);
int32_t fail(xf_error *err, int32_t status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

}  // namespace xf::openblas

struct xf_device {
    const xf_host_v1 *host;
    const xf::openblas::IsaOps *ops;
    bool use_blas; /* training products in fp32 go to OpenBLAS */
    bool vnni;     /* AVX-512's products of 8-bit integers */
    bool pairs;    /* AVX-512's products of bf16 */
    char info[192];
    char isa[128];
};

struct xf_stream {
    xf_device *device;
    const xf::openblas::Ops *ops; /* of the stream's type */
    int32_t workers;
    xf::openblas::Block shared; /* packed operands, chunks of logits, partial sums: seen by all workers */
    xf::openblas::Block local;  /* workers equal parts */
};
