// The row-invariant linear map as an operation: prepares the source (packs, quantizes, or widens it), splits rows and
// columns into tasks, and selects the kernel by the type of the weights.
//
// SPDX-License-Identifier: Apache-2.0

// Memory that a worker needs for dot_block(). With many rows a panel of 16-bit weights is widened once. With few rows
// it is widened in registers, because the time is that of reading it.
XF_INLINE int64_t wide_bytes(uint32_t type, int64_t rows) {
    const bool half = type == XF_WEIGHTS_BF16 || type == XF_WEIGHTS_FP16;
    return half && rows > 2 * kDotRows ? 2 * kDotPanel * kDotDepth * 4 : 0;
}

// Rows 0 .. M - 1 of a source in the form that the kernels use: quantized for XF_WEIGHTS_INT8, packed if packs_rows(),
// otherwise empty. memory: of prepared_bytes().
struct Prepared {
    Int8Rows quantized;
    PackedRows packed;
};
XF_INLINE int64_t prepared_bytes(const xf_stream *stream, uint32_t type, int64_t M, int64_t K) {
    return type == XF_WEIGHTS_INT8 ? int8_rows_bytes(stream, M, K) : packed_bytes(M, K);
}
static Prepared prepare(const xf_stream *stream, const xf_linear_fwd &a, int64_t M, void *memory) {
    Prepared rows{};
    if (a.weights_type == XF_WEIGHTS_INT8)
        rows.quantized = quantize_rows(stream, num<float>(a.src), a.ld_src, a.K, M, memory);
    else if (packs_rows(M))
        rows.packed = pack_source(stream, num<float>(a.src), a.ld_src, a.K, M, memory);
    return rows;
}

// dot_rows() for weights of any type. With XF_WEIGHTS_INT8, n0 must be a multiple of kGroup. m0 must be a multiple of
// kRowUnit unless there are at most kDotRows rows, which are read from the source itself. wide: wide_bytes() of memory,
// or NULL.
static void dot_block(const xf_stream *stream, const xf_linear_fwd &a, const Prepared &rows, int64_t m0, int64_t m1,
                      int64_t n0, int64_t n1, float *wide, float *dst, int64_t ld_dst) {
    switch (a.weights_type) {
        case XF_WEIGHTS_BF16:
            return dot_rows<Bf16>(a, rows.packed, m0, m1, n0, n1, wide, dst, ld_dst);
        case XF_WEIGHTS_FP16:
            return dot_rows<Fp16>(a, rows.packed, m0, m1, n0, n1, wide, dst, ld_dst);
        case XF_WEIGHTS_INT8:
            return int8_block(stream, a, rows.quantized, m0, m1, n0, n1, dst, ld_dst);
        default:
            return dot_rows<float>(a, rows.packed, m0, m1, n0, n1, nullptr, dst, ld_dst);
    }
}

// Widens bf16 rows to fp32, [count, K].
static void widen_rows(const xf_stream *stream, const Bf16 *src, int64_t ld_src, int64_t K, int64_t count, float *dst) {
    const int64_t tile = max64(1, 16384 / max64(1, K));
    parallel(stream, ceil_div(count, tile), [&](int64_t task, int32_t) {
        for (int64_t m = task * tile; m < min64(count, (task + 1) * tile); ++m)
            read_row(src + m * ld_src, K, dst + m * K);
    });
}

// fp32 rows [count, K]: the source itself, or bf16 rows widened into memory.
XF_INLINE const float *source_rows(const xf_stream *, const float *src, int64_t, int64_t, void *) { return src; }
XF_INLINE const float *source_rows(const xf_stream *stream, const Bf16 *src, int64_t K, int64_t count, void *memory) {
    float *rows = static_cast<float *>(memory);
    widen_rows(stream, src, K, K, count, rows);
    return rows;
}

// Converts the arguments of a bf16 stream to fp32 source and bias with bf16 weights; only dst remains bf16. Source and
// bias are widened into the stream's shared memory after the first `front` bytes.
static int32_t widen_source(xf_stream *stream, int64_t front, xf_linear_fwd *a, xf_error *err) {
    const int64_t src_at = padded(front), bias_at = src_at + padded(a->M * a->K * 4), all = bias_at + padded(a->N * 4);
    if (const int32_t rc = reserve(stream, &stream->shared, static_cast<uint64_t>(all), err)) return rc;
    float *src = shared(stream) + src_at / 4, *bias = shared(stream) + bias_at / 4;
    widen_rows(stream, num<Bf16>(a->src), a->ld_src, a->K, a->M, src);
    if (a->bias) read_row(num<Bf16>(a->bias), a->N, bias);
    a->src = src, a->ld_src = a->K;
    a->bias = a->bias ? bias : nullptr;
    a->weights_type = XF_WEIGHTS_BF16;
    return XF_OK;
}

// Rows packed at a time, in whole tasks. Their packed copy is as large as the source.
constexpr int64_t kRowTask = 192, kRowsAtOnce = 4 * kRowTask;

// A task takes about ten microseconds: about half a million multiply-adds, or 64 KiB of int8 weights. The columns are
// split into at most about a hundred tiles.
template <class T>
static int32_t dot_linear(xf_stream *stream, const xf_linear_fwd &args, xf_error *err) {
    xf_linear_fwd a = args;
    const bool int8 = a.weights_type == XF_WEIGHTS_INT8;
    const int64_t most = kPacksRows ? min64(a.M, kRowsAtOnce) : a.M, row_tiles = ceil_div(most, kRowTask);
    const int64_t height = ceil_div(most, row_tiles), rows = round_up(height, kRowUnit);
    const int64_t front = prepared_bytes(stream, a.weights_type, most, a.K);
    if constexpr (sizeof(T) == 2) {
        if (const int32_t rc = widen_source(stream, front, &a, err)) return rc;
    } else {
        if (const int32_t rc = reserve(stream, &stream->shared, static_cast<uint64_t>(front), err)) return rc;
    }
    const int64_t work = int8 ? max64(1, a.K) * max64(1, height / 8) : max64(1, height * a.K);
    const int64_t unit = int8 ? kGroup : 16, want = max64(a.N / 96, ceil_div(int64_t{1} << (int8 ? 16 : 19), work));
    const int64_t col_tile = min64(round_up(a.N, int8 ? kGroup : 8), max64(unit, round_up(want, unit)));
    const int64_t col_tiles = ceil_div(a.N, col_tile);
    const int64_t wide_size = wide_bytes(a.weights_type, height), results = sizeof(T) == 2 ? rows * col_tile * 4 : 0;
    if (const int32_t rc = reserve_local(stream, wide_size + results, err)) return rc;
    for (int64_t first = 0; first < args.M; first += most) {
        a.M = min64(most, args.M - first);
        const Prepared prepared = prepare(stream, a, a.M, stream->shared.ptr);
        parallel(stream, ceil_div(a.M, rows) * col_tiles, [&](int64_t task, int32_t worker) {
            float *const memory = local(stream, wide_size + results, worker);
            float *wide = wide_size > 0 ? memory + results / 4 : nullptr;
            const int64_t m0 = task / col_tiles * rows, m1 = min64(a.M, m0 + rows);
            const int64_t n0 = task % col_tiles * col_tile, n1 = min64(a.N, n0 + col_tile);
            T *dst = num<T>(a.dst) + m0 * a.ld_dst + n0;
            if constexpr (sizeof(T) == 2) {
                dot_block(stream, a, prepared, m0, m1, n0, n1, wide, memory, col_tile);
                for (int64_t m = 0; m < m1 - m0; ++m) write_row(dst + m * a.ld_dst, memory + m * col_tile, n1 - n0);
            } else {
                dot_block(stream, a, prepared, m0, m1, n0, n1, wide, dst, a.ld_dst);
            }
        });
        a.src = num<float>(a.src) + most * a.ld_src, a.dst = num<T>(a.dst) + most * a.ld_dst;
    }
    return XF_OK;
}
