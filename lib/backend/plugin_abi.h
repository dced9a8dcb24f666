/*
 * plugin_abi.h - the C table between the core and a backend: everything cpu/ and cuda/ may know of the library.
 *
 * A backend is a shared object with one exported function, xf_plugin_init. It receives a host table and returns a
 * backend table. Both begin with their size in bytes and grow only at their end; no C++ type, exception or FILE
 * crosses. The reference backend (cpu/ref) fills the same table and is linked into the core: it is the oracle that
 * tests compare every other backend with.
 *
 * The operations are coarse, so that each backend may fuse as it likes. Tensors are row-major and packed: a batch is
 * [tokens, columns] plus sequence offsets, without padding. Pointers named src, dst, weights ... are device memory
 * from mem_alloc of the same device; 16-byte alignment of a row start can't be assumed, 64 bytes of a mem_alloc result
 * can. Integer arrays are device memory as well.
 *
 * A stream has a number type, XF_FP32 or XF_BF16: that of every tensor declared xf_num. What is declared float is fp32
 * on every stream: parameters as the optimizer sees them, their gradients, statistics, losses. Sums are fp32 or
 * better on every stream; a bf16 result is rounded once, to nearest even, when it is stored.
 *
 * Letters: B sentences, S and T source and target tokens, M rows, N columns out, K columns in of a linear map;
 * D d_model, F columns between the maps of a feed-forward, H heads, V vocabulary.
 *
 * Determinism, a promise each backend keeps: the result of an operation is a function of its arguments alone,
 * never of the number of workers, of timing, or of memory addresses. Operations marked "row-invariant" give a row
 * the same bits whatever other rows are in the call and wherever the row stands.
 *
 * Errors: an operation returns an enum xf_status and fills err. Arguments were checked by the core: a backend need
 * not check shapes, only what it alone can know (memory, the device). Each operation accepts zero rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_PLUGIN_ABI_H
#define XFORMER_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Must be equal on both sides while the version is 0.x; from 1.0 on tables grow by their size member alone. */
#define XF_PLUGIN_ABI 8u

/* The number types a stream can have. A device says in its dtypes mask (1u << type) which it serves. */
enum { XF_FP32 = 0, XF_BF16 = 1 };

/* A number of the stream's type. Whoever serves or uses several types defines XF_NUM_UNTYPED before the include: then
 * the compiler stops every use of such a pointer that has not asked for the type. */
#ifdef XF_NUM_UNTYPED
typedef void xf_num;
#else
typedef float xf_num;
#endif

/* How the matrix of a map lies in memory; rows are output columns, [N, K]. Types other than XF_WEIGHTS_NUM are for
 * decoding on streams of XF_FP32: embed_fwd, linear_fwd with XF_LINEAR_ROW_INVARIANT, top_k, and loss without gradients
 * take them where the backend's weight_types has their bit (1u << type); elsewhere the members are 0.
 *
 * XF_WEIGHTS_BF16, XF_WEIGHTS_FP16: dense, 16 bits; the result has the bits of the same call on the widened matrix.
 *
 * XF_WEIGHTS_INT8: w[n][k] = q[n][k] * scales[n], q in -127 .. 127, in the order that pack_int8 gives it; K <= 2^17.
 * The product with it rounds its source too, each row by that row alone:
 *     a = max |src[m][k]|, 0 when it is below 2^-100,
 *     p[k] = src[m][k] * (127 / a) to the nearest integer, ties to even; all 0 when a is,
 *     sum = the exact integer sum of p[k] q[n][k],  dst = float(sum) * ((a / 127) * scales[n])  then bias, then ReLU,
 * every operation in fp32, rounded by itself: the same bits on every machine. A row with a NaN or an infinity gives
 * NaN. embed_fwd takes float(q) * scales[n] as the weight. */
enum { XF_WEIGHTS_NUM = 0, XF_WEIGHTS_BF16 = 1, XF_WEIGHTS_FP16 = 2, XF_WEIGHTS_INT8 = 3 };

typedef struct xf_device xf_device; /* one opened device of a backend: owns its memory, knows the host context */
typedef struct xf_stream xf_stream; /* an order of operations with its scratch memory; one per trainer or decoder */
typedef struct xf_graph xf_graph;   /* operations of a stream, recorded to be run again */

/* What the core gives to a device it opens. The pointers outlive the device. */
typedef struct xf_host_v1 {
    uint32_t size; /* sizeof(xf_host_v1) of the core */
    uint32_t abi;  /* XF_PLUGIN_ABI of the core */
    void *user;    /* passed back to each function below */

    /* Runs body(arg, task, worker) for task = 0 .. tasks-1, each once, on up to workers() threads at a time, and
     * returns when all are done. 0 <= worker < workers(); two tasks running at once have different workers. Which
     * task runs where is not fixed, so a body may not let its result depend on it. Not nested. Tasks may not fail
     * and may not throw. Callable from any thread: a second caller at the same time runs its tasks itself. */
    void (*parallel)(void *user, int64_t tasks, void (*body)(void *arg, int64_t task, int32_t worker), void *arg);
    int32_t (*workers)(void *user);

    /* Host memory under the context's allocator and budget, 64-byte aligned (2 MiB and huge pages when it is
     * large). NULL when there is none. free takes the same bytes. */
    void *(*alloc)(void *user, size_t bytes);
    void (*free)(void *user, void *ptr, size_t bytes);

    /* Counts bytes of memory that the host doesn't provide (a GPU's) in the context's account and budget; negative
     * bytes give back. 0: refused, nothing counted; a positive result: counted. Giving back is never refused. */
    int32_t (*account)(void *user, int64_t bytes);

    /* level: 0 error, 1 warning, 2 info, 3 debug. */
    void (*log)(void *user, int32_t level, const char *component, const char *message);

    /* The caller's wish for an instruction set ("auto", "base", "avx2", "avx512"), for CPU backends. */
    const char *isa;
} xf_host_v1;

/* Dropout (paper s. 5.4): which elements of a tensor are zeroed. Identical on every backend.
 *
 * Element i (a 64-bit index fixed by each operation below) is kept when
 *     u16(i) >= threshold,  threshold = round(rate * 65536),
 * and multiplied by 65536 / (65536 - threshold). u16(i) is half-word (i % 8) of Philox4x32-10 with key
 * {lo32(seed), hi32(seed)} and counter {lo32(i / 8), hi32(i / 8) ^ (batch << 16), site, step}: half-word 2j is the
 * low half of output word j, 2j+1 the high half. rate == 0 switches dropout off and nothing is drawn.
 * step and batch are read when the operation runs, not when it is recorded. lib/core/philox.h has the code. */
typedef struct xf_dropout {
    float rate;    /* 0 <= rate < 1 */
    uint32_t site; /* which dropout of the model */
    uint64_t seed;
    const uint32_t *when; /* device memory, {step of the optimizer, batch within the step}; may be NULL at rate 0 */
} xf_dropout;

/* dst[t] = dropout(scale * weights[ids[t]] + positions[pos[t]])             (paper s. 3.4, 3.5)
 * Dropout index: t * D + d. Row-invariant when dropout is off. */
typedef struct xf_embed_fwd {
    int64_t rows, D;
    const int32_t *ids;     /* [rows], each in [0, V) */
    const int32_t *pos;     /* [rows], each in [0, P) */
    const xf_num *weights;  /* [V, D] */
    const float *positions; /* [P, D] */
    float scale;
    xf_num *dst; /* [rows, D] */
    xf_dropout dropout;
    uint32_t weights_type; /* XF_WEIGHTS_...: what weights really is */
    int64_t V;             /* rows of weights; looked at with XF_WEIGHTS_INT8 */
    const float *scales;   /* [V], with XF_WEIGHTS_INT8 */
} xf_embed_fwd;

/* diff_weights[id] += scale * sum over the tokens t with ids[t] == id, in rising t, of mask(t) * diff_dst[t].
 * Used for the position table too, with scale 1. The tokens come grouped: group g holds the tokens
 * order[starts[g]] .. order[starts[g + 1] - 1], rising, and adds to row group_ids[g]; ids are distinct. */
typedef struct xf_embed_bwd {
    int64_t groups, D;
    const int32_t *group_ids; /* [groups] */
    const int32_t *starts;    /* [groups + 1] */
    const int32_t *order;     /* [rows] */
    const xf_num *diff_dst;   /* [rows, D] */
    float scale;
    float *diff_weights; /* [V, D] */
    xf_dropout dropout;
} xf_embed_bwd;

/* dst = act(src weights^T + bias)                                          (paper s. 3.2.2, eq. 2)
 * weights is [N, K]: a row per output column, so that matrices applied to the same input stack to one call. */
enum { XF_LINEAR_RELU = 1u, XF_LINEAR_ROW_INVARIANT = 2u };
typedef struct xf_linear_fwd {
    int64_t M, N, K;
    const xf_num *src; /* [M, K], rows ld_src apart */
    int64_t ld_src;
    const xf_num *weights; /* [N, K], dense */
    const xf_num *bias;    /* [N] or NULL */
    xf_num *dst;           /* [M, N], rows ld_dst apart; not overlapping src */
    int64_t ld_dst;
    uint32_t flags; /* XF_LINEAR_ROW_INVARIANT: must be row-invariant, and fast for small M (decoding) */
    uint32_t weights_type;
    const float *scales; /* [N], with XF_WEIGHTS_INT8 */
} xf_linear_fwd;

/* diff_src (=, or += when accumulate) diff_dst weights; then, if relu_dst is given, elements with
 * relu_dst <= 0 become 0 (the gradient of the ReLU whose output was this map's input; never with accumulate), and
 * diff_relu_bias, if given, += column sums of diff_src as it is stored: the gradient of the bias of the map before that
 * ReLU. */
typedef struct xf_linear_bwd_data {
    int64_t M, N, K;
    const xf_num *diff_dst; /* [M, N], rows ld_diff_dst apart */
    int64_t ld_diff_dst;
    const xf_num *weights;  /* [N, K], dense */
    const xf_num *relu_dst; /* [M, K], dense, or NULL */
    xf_num *diff_src;       /* [M, K], rows ld_diff_src apart */
    int64_t ld_diff_src;
    uint32_t accumulate;
    float *diff_relu_bias; /* [K] or NULL; only with relu_dst */
} xf_linear_bwd_data;

/* diff_weights += diff_dst^T src;  diff_bias += column sums of diff_dst. */
typedef struct xf_linear_bwd_weights {
    int64_t M, N, K;
    const xf_num *diff_dst; /* [M, N], rows ld_diff_dst apart */
    int64_t ld_diff_dst;
    const xf_num *src; /* [M, K], rows ld_src apart */
    int64_t ld_src;
    float *diff_weights; /* [N, K], dense */
    float *diff_bias;    /* [N] or NULL */
} xf_linear_bwd_weights;

/* dst[m][f] = dropout(act(src[m][f]) * (gated ? src[m][F + f] : 1))
 *     relu(x) = max(x, 0)
 *     gelu(x) = x * Phi(x), Phi the normal distribution: by erf, not by tanh    (Hendrycks & Gimpel 2016)
 *     swish(x) = x / (1 + e^-x)                                                 (Ramachandran et al. 2017)
 * gated: the variants of GLU (Shazeer 2020). act(NaN) is NaN and act of minus infinity 0, on every device.
 * Dropout index: m * F + f. Row-invariant when dropout is off. */
enum { XF_ACTIVATION_RELU = 0, XF_ACTIVATION_GELU = 1, XF_ACTIVATION_SWISH = 2 };
typedef struct xf_activation_fwd {
    int64_t M, F;
    const xf_num *src; /* [M, F], [M, 2F] when gated; dense */
    uint32_t kind;     /* XF_ACTIVATION_... */
    uint32_t gated;    /* 0 or 1 */
    xf_num *dst;       /* [M, F], dense; may be the same memory as src when not gated, else apart from it */
    xf_dropout dropout;
} xf_activation_fwd;

/* diff_src = the gradient of the above; with d = mask * diff_dst, x = src[m][f] and, where gated, y = src[m][F + f]
 *     diff_src[m][f] = d * act'(x) * y,  diff_src[m][F + f] = d * act(x);  not gated: y is 1, and there is no other
 * relu'(0) is 0, relu'(NaN) 1. diff_bias, if given, += column sums of diff_src as it is stored: the gradient of the
 * bias of the map whose output src was. diff_src is apart from src and diff_dst. */
typedef struct xf_activation_bwd {
    int64_t M, F;
    const xf_num *src;      /* that of the forward pass */
    uint32_t kind, gated;   /* likewise */
    const xf_num *diff_dst; /* [M, F], dense */
    xf_num *diff_src;       /* [M, F], [M, 2F] when gated; dense */
    float *diff_bias;       /* [F], [2F] when gated; or NULL */
    xf_dropout dropout;
} xf_activation_bwd;

/* Scaled dot-product attention over packed sequences, per sentence b and head h (paper eq. 1):
 *     dst = dropout(softmax(scale * q k^T + mask)) v
 * Queries of sentence b are rows q_begin[b] .. q_begin[b] + q_len[b] - 1 of q and dst, keys likewise of k and v.
 * Query i (counted within its sentence) sees key j iff (no causal or j <= i) and (window == 0 or
 * |i - j| <= window / 2). Every query sees at least one key, except that a sentence with k_len 0 gives zeros.
 * Head h uses columns h*dk .. of q and k, h*dv .. of v and dst.
 * Dropout index: (query row * H + h) * drop_stride + j, drop_stride a multiple of 8 and >= the longest k_len.
 * lse [M, H]: log-sum-exp of each query's scaled, masked scores, kept for the backward pass; may be NULL; undefined for
 * a sentence without keys. A row of q belongs to one sentence of the call; rows of k and v may serve several.
 * Row-invariant when dropout is off (its index contains the row). Nothing of size S x T is stored for the batch. */
typedef struct xf_attention {
    int64_t B, H, dk, dv;
    int64_t max_q_len, max_k_len;
    const int32_t *q_begin, *q_len, *k_begin, *k_len; /* [B] */
    const xf_num *q, *k, *v;
    int64_t ld_q, ld_k, ld_v;
    float scale;
    uint32_t causal;
    int64_t window;
    int64_t drop_stride;
    xf_dropout dropout;
    xf_num *dst;
    int64_t ld_dst;
    float *lse; /* [M, H], M rows of q */
} xf_attention;

/* Gradients of the above; diff_q, diff_k, diff_v are written (=) for every row that belongs to a sentence.
 * fwd holds the arguments of the forward call with its results. */
typedef struct xf_attention_bwd {
    xf_attention fwd;
    const xf_num *diff_dst;
    int64_t ld_diff_dst;
    xf_num *diff_q, *diff_k, *diff_v;
    int64_t ld_diff_q, ld_diff_k, ld_diff_v;
} xf_attention_bwd;

/* sum = residual + dropout(src);  dst = LayerNorm(sum) = weights * (sum - mean) * rstd + bias      (paper s. 3.1)
 * mean and biased variance over D, rstd = 1 / sqrt(variance + eps); stats[m] = {mean, rstd}.
 * rms: RMSNorm (Zhang & Sennrich 2019): the mean counts as 0, in the variance, in dst and in stats.
 * src NULL: sum = residual. sum may be the same memory as src or residual, or NULL when it isn't wanted (decoding);
 * stats may be NULL. Dropout index: m * D + d. Row-invariant when dropout is off. */
typedef struct xf_add_norm_fwd {
    int64_t M, D;
    const xf_num *residual; /* [M, D] */
    const xf_num *src;      /* [M, D] or NULL */
    const float *weights;   /* [D] */
    const float *bias;      /* [D] or NULL: zeros */
    float eps;
    xf_num *sum;  /* [M, D] or NULL */
    xf_num *dst;  /* [M, D] */
    float *stats; /* [M, 2] or NULL */
    xf_dropout dropout;
    uint32_t rms; /* 0 or 1 */
} xf_add_norm_fwd;

/* diff_residual = LayerNorm backward of diff_dst (+ diff_sum, when given);
 * diff_src = mask * diff_residual, when given; diff_weights +=; diff_bias +=, when given. rms: as forward.
 * diff_src_bias += column sums of diff_src as it is stored, when given: the gradient of the bias of the map whose
 * output src was. diff_residual may be the same memory as diff_dst or diff_sum; diff_src is apart from all. */
typedef struct xf_add_norm_bwd {
    int64_t M, D;
    const xf_num *diff_dst; /* [M, D] */
    const xf_num *diff_sum; /* [M, D] or NULL: gradient that reaches the sum by the residual path (pre-LN) */
    const xf_num *sum;      /* [M, D] */
    const float *stats;     /* [M, 2] */
    const float *weights;   /* [D] */
    xf_num *diff_residual;  /* [M, D] */
    xf_num *diff_src;       /* [M, D] or NULL */
    float *diff_weights;    /* [D] */
    float *diff_bias;       /* [D] or NULL */
    float *diff_src_bias;   /* [D] or NULL; only with diff_src */
    xf_dropout dropout;
    uint32_t rms; /* 0 or 1 */
} xf_add_norm_bwd;

/* Tied projection and smoothed cross-entropy in row chunks: logits = src weights^T + bias, p = softmax(logits).
 * Target distribution q of row m: 1 - smoothing on targets[m], and
 *     uniform == 0: smoothing / (V - 1) on every other id (tensor2tensor);
 *     uniform == 1: smoothing / V added on every id (Marian, Sockeye).
 * loss[m] = - sum q log p (no constant subtracted); nll[m] = - log p(targets[m]). Both in nats.
 * With diff_src: diff_src = diff_logits weights, diff_weights += diff_logits^T src, diff_bias += column sums of
 * diff_logits, if given; diff_logits = p - q (the gradient of the SUM over rows), which a backend may round to the
 * stream's type. Without (diff_src, diff_weights and diff_bias NULL): loss and nll only, row-invariant.
 * The logits of all rows are never held at once. A row whose target is negative is no row of the batch: loss, nll and
 * its diff_src are 0, and it adds nothing to diff_weights and diff_bias; src is finite there. */
typedef struct xf_loss {
    int64_t M, V, D;
    const xf_num *src;      /* [M, D] */
    const xf_num *weights;  /* [V, D] */
    const int32_t *targets; /* [M] */
    float smoothing;
    uint32_t uniform;
    float *loss;         /* [M] */
    float *nll;          /* [M] */
    xf_num *diff_src;    /* [M, D] or NULL */
    float *diff_weights; /* [V, D] or NULL */
    uint32_t weights_type;
    const float *scales; /* [V], with XF_WEIGHTS_INT8 */
    const float *bias;   /* [V] added to the logits, or NULL */
    float *diff_bias;    /* [V] or NULL; only with diff_src */
} xf_loss;

/* Adam (paper s. 5.3), one pass over n numbers; g = grad_scale * grad:
 *     m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
 *     param -= decay * param + lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)
 *     ema += ema_rate * (param - ema), where there is one, with the new param
 * (the form of s. 2, Kingma & Ba; decoupled decay as Loshchilov & Hutter 2019) and grad = 0 afterwards. With decay 0
 * and no ema the bits are those of plain Adam. alpha is lr * sqrt(1 - beta2^t) / (1 - beta1^t), computed by the core in
 * double; eps_hat: that form's epsilon, applied as written. */
typedef struct xf_adam {
    int64_t n;
    float *params, *grads, *m, *v;
    void *params_bf16; /* [n] gets the new params rounded to bf16, or NULL; only where dtypes has XF_BF16 */
    float *ema;        /* [n] the moving average of params, or NULL */
    float alpha, beta1, beta2, eps_hat, grad_scale, decay, ema_rate;
    const double *gate; /* xf_gate's dst: gate[2] in place of grad_scale, and nothing is done where gate[1] is 0. NULL:
                           none; only where the backend has gate */
} xf_adam;

/* dst = src rounded to bf16, to nearest even: the copy of the parameters that a bf16 stream multiplies with. */
typedef struct xf_to_bf16 {
    int64_t n;
    const float *src;
    void *dst;
} xf_to_bf16;

/* dst[0] = sum of squares of src in double, in a fixed order; NaN or Inf when any element is. dst: host memory. */
typedef struct xf_sum_squares {
    int64_t n;
    const float *src;
    double *dst;
} xf_sum_squares;

/* Sums of a batch's losses in double, in a fixed order: sums[0] = sum of loss, sums[1] = sum of nll; sums[2] and
 * sums[3] become the same, or get it added when accumulate. Optional, as gate is: both or none. */
typedef struct xf_sum_losses {
    int64_t rows;
    const float *loss, *nll; /* [rows] */
    double *sums;            /* [4] device memory */
    uint32_t accumulate;
} xf_sum_losses;

/* Decides on the device whether adam makes a step, so that the host waits once and not for the norm as well:
 *     dst[0] = sum of squares of grads, as sum_squares
 *     dst[1] = 1 when sums[2] is finite and dst[0] * scale * scale < most, else 0
 *     norm = sqrt(dst[0]) * scale;  dst[2] = scale, times clip_norm / norm when 0 < clip_norm < norm
 * in double, each operation rounded by itself: the host finds the same numbers. */
typedef struct xf_gate {
    int64_t n;
    const float *grads; /* [n] */
    const double *sums; /* [4] of sum_losses */
    double scale, most, clip_norm;
    double *dst; /* [3] device memory */
} xf_gate;

/* What ranks need to add up gradients in memory that is not the host's: add, from_bf16, chunk_squares and fingerprint.
 * A backend whose memory is the host's leaves them out, the core does it there; any other has all four, and to_bf16.
 *
 * dst[i] += src[i]: one addition in fp32. narrow: both are rounded to bf16 before, to nearest even. */
typedef struct xf_add {
    int64_t n;
    float *dst;
    const float *src;
    uint32_t narrow;
} xf_add;

/* dst = src, which is bf16. */
typedef struct xf_from_bf16 {
    int64_t n;
    const void *src;
    float *dst;
} xf_from_bf16;

/* dst[c] = sum of squares of numbers c * chunk .. (c + 1) * chunk - 1 of src, the last chunk may be shorter. In double
 * and in this order: sum j of eight is that of numbers j, j + 8, ... of the chunk, one behind the other; then the eight
 * from the first. So it is the same on every backend. */
typedef struct xf_chunk_squares {
    int64_t n, chunk;
    const float *src;
    double *dst; /* [(n + chunk - 1) / chunk] device memory */
} xf_chunk_squares;

/* dst[0] += the sum over all words of mix((word i + (i << 32)) ^ seed), modulo 2^64; zeros fill the last word of 4
 * bytes. mix(x) is
 *     x += 0x9E3779B97F4A7C15    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9
 *     x = (x ^ x >> 27) * 0x94D049BB133111EB    x ^= x >> 31
 * which no two x share: a word that changed changes the sum. Any order of addition gives the same. bytes < 2^33. */
typedef struct xf_fingerprint {
    int64_t bytes;
    const void *src; /* 4-byte aligned */
    uint64_t seed;
    uint64_t *dst; /* device memory */
} xf_fingerprint;

/* One decoding step of self-attention over a cache with an ancestor index (one query per live hypothesis).
 * The cache of a layer is [steps, slots, H*dk] for keys and [steps, slots, H*dv] for values, step-major. Row r is
 * the hypothesis in slot slot_of_row[r], at step t = steps[r]. Its key at step u < t stands in slot
 * ancestors[slot * ld_ancestors + u] of step u; the key and value of step t itself come in k and v (row r) and are
 * stored into the row's slot of step t by this call. dst = softmax(scale q k^T) v over steps 0..t (at most the last
 * window/2 + 1 of them when window > 0). Row-invariant. */
typedef struct xf_attention_step {
    int64_t rows, H, dk, dv;
    int64_t slots;
    int64_t max_step;           /* steps[r] <= max_step */
    const int32_t *steps;       /* [rows] */
    const int32_t *slot_of_row; /* [rows], distinct */
    const int32_t *ancestors;   /* [slots, ld_ancestors], ld_ancestors >= max_step */
    int64_t ld_ancestors;
    const xf_num *q, *k, *v; /* [rows, H*dk], [rows, H*dk], [rows, H*dv] */
    int64_t ld_q, ld_k, ld_v;
    xf_num *k_cache, *v_cache;
    float scale;
    int64_t window;
    xf_num *dst; /* [rows, H*dv], rows ld_dst apart */
    int64_t ld_dst;
} xf_attention_step;

/* For each row: log-softmax of src weights^T + bias over V, and its k largest values in falling order, ties by rising
 * id. A NaN counts as minus infinity. k <= V. banned ids (may be none) are left out of the choice, not of the
 * normalisation, and so are the ids of a row whose bit in allowed is 0. When fewer than k are left, the row ends in
 * {-inf, -1}. Ties are those of the values given back. Row-invariant. values and ids are HOST memory, complete on
 * return, or device memory when on_device. */
typedef struct xf_top_k {
    int64_t rows, V, D, k;
    const xf_num *src;     /* [rows, D] */
    const xf_num *weights; /* [V, D] */
    int64_t banned_count;
    const int32_t *banned;   /* host memory, [banned_count] */
    const uint32_t *allowed; /* [rows, (V + 31) / 32], bit v % 32 of word v / 32 is id v; NULL: all are allowed */
    float *values;           /* [rows, k] natural-log probabilities */
    int32_t *ids;            /* [rows, k] */
    uint32_t on_device;
    uint32_t weights_type;
    const float *scales; /* [V], with XF_WEIGHTS_INT8 */
    const float *bias;   /* [V] added to the logits, or NULL */
} xf_top_k;

/* Beam search of many sentences on the device: after top_k, chooses what lives on, as lib/decode/beam.cpp does and with
 * the same bits (its file says what and why). Optional: a backend without it leaves the choice to the core.
 *
 * Sentence s owns the slots s * beam .. s * beam + beam - 1; its i-th live hypothesis stands in slot s * beam + i.
 * Sentence active[a] works on the rows a * beam ..; rows of a sentence that is done, rows beyond live[s] and rows of a
 * negative active[a] are idle: they are computed, and what they hold is never looked at. All pointers are device
 * memory. Per row the call reads top_k's values and ids and writes what the next step reads: tokens, and steps, the
 * new length. Idle rows get token 0 and, where their sentence is done or -1, step 0.
 *
 * For each active, not done sentence: the candidates are live_logp[slot] + values[row, j], for values above -inf, in
 * double. The 2 * beam best (1 when beam is 1), ties by the older beam, then by j, are looked at, best first: an end
 * symbol enters finished (when its score is above the worst or fewer than n_best are there; behind equal ones); any
 * other lives on while fewer than beam do. score = logp / penalty[length], length the tokens chosen by then, the end
 * symbol counted. done when length == limit[s], or n_best are finished and live_logp[0] / penalty[limit[s]] <
 * the worst of them, or no candidate lived on; in that last case the length is not counted, live stays as it was, and
 * where nothing finished live_logp becomes -inf.
 *
 * history_token, history_logp and history_parent of [step, slot]: the token that the hypothesis in slot got at step,
 * its value, and the index in its sentence of the one it continued. Written for those that live on, at step = length
 * before the call. A finished hypothesis is {step, parent, logp, score, end_logp}: the tokens that hypothesis parent
 * of the sentence had when step tokens were chosen, then the end symbol, whose value is end_logp. */
typedef struct xf_beam_finished {
    int32_t step, parent;
    double logp, score;
    float end_logp;
    int32_t reserved; /* 0 */
} xf_beam_finished;

typedef struct xf_beam_step {
    int64_t active_count, sentences, beam, n_best, k;
    int32_t end_token;
    int64_t ld_ancestors;                    /* most steps */
    const int32_t *active;                   /* [active_count] sentence, or -1 */
    const float *values;                     /* [active_count * beam, k] */
    const int32_t *ids;                      /* [active_count * beam, k] */
    const double *penalty;                   /* [ld_ancestors + 1] */
    const int32_t *limit;                    /* [sentences] most tokens, at most ld_ancestors */
    int32_t *length, *live, *done;           /* [sentences] */
    double *live_logp;                       /* [sentences * beam] */
    int32_t *ancestors;                      /* [sentences * beam, ld_ancestors] */
    int32_t *history_token, *history_parent; /* [ld_ancestors, sentences * beam] */
    float *history_logp;                     /* [ld_ancestors, sentences * beam] */
    xf_beam_finished *finished;              /* [sentences, n_best], best first */
    int32_t *finished_count;                 /* [sentences] */
    int32_t *tokens, *steps;                 /* [active_count * beam]: the rows of the next step */
    int32_t *remaining;                      /* [1]: how many active sentences are not done after this call */
} xf_beam_step;

/* The bytes of a matrix of XF_WEIGHTS_INT8: more than N * K, for an order that fills registers. */
static inline int64_t xf_int8_bytes(int64_t N, int64_t K) { return ((N + 15) / 16 * 16) * ((K + 3) / 4 * 4); }

/* Brings q, dense [N, K] from the first byte of weights on, into the order that the backend multiplies with, in place.
 * weights: xf_int8_bytes(N, K) bytes. */
typedef struct xf_pack_int8 {
    int64_t N, K;
    int8_t *weights;
} xf_pack_int8;

/* The other way, for rows first .. first + count - 1: dst is host memory, dense [count, K]. */
typedef struct xf_unpack_int8 {
    int64_t N, K, first, count;
    const int8_t *weights;
    int8_t *dst;
} xf_unpack_int8;

/* Every operation, in the order of the table: X(name, type of its arguments). No two share a type. Whatever lists the
 * operations is made from here, by the macros below or by one of its own. Those of the first list every backend
 * has. Those of the second may be NULL: to_bf16 without XF_BF16 in dtypes, beam_step anywhere, pack_int8 and
 * unpack_int8 without XF_WEIGHTS_INT8 in weight_types, sum_losses and gate together; add, from_bf16, chunk_squares and
 * fingerprint where memory is the host's.
 *
 * A new operation is its type above and its line here. Nothing follows the operations in the table: one at the end of
 * the second list moves no other; a new required one moves the second list, so XF_PLUGIN_ABI goes up by one. */
#define XF_FOR_EACH_REQUIRED_OP(X)               \
    X(embed_fwd, xf_embed_fwd)                   \
    X(embed_bwd, xf_embed_bwd)                   \
    X(linear_fwd, xf_linear_fwd)                 \
    X(linear_bwd_data, xf_linear_bwd_data)       \
    X(linear_bwd_weights, xf_linear_bwd_weights) \
    X(activation_fwd, xf_activation_fwd)         \
    X(activation_bwd, xf_activation_bwd)         \
    X(attention_fwd, xf_attention)               \
    X(attention_bwd, xf_attention_bwd)           \
    X(add_norm_fwd, xf_add_norm_fwd)             \
    X(add_norm_bwd, xf_add_norm_bwd)             \
    X(loss, xf_loss)                             \
    X(adam, xf_adam)                             \
    X(sum_squares, xf_sum_squares)               \
    X(attention_step, xf_attention_step)         \
    X(top_k, xf_top_k)

#define XF_FOR_EACH_OPTIONAL_OP(X)     \
    X(to_bf16, xf_to_bf16)             \
    X(beam_step, xf_beam_step)         \
    X(pack_int8, xf_pack_int8)         \
    X(unpack_int8, xf_unpack_int8)     \
    X(sum_losses, xf_sum_losses)       \
    X(gate, xf_gate)                   \
    X(add, xf_add)                     \
    X(from_bf16, xf_from_bf16)         \
    X(chunk_squares, xf_chunk_squares) \
    X(fingerprint, xf_fingerprint)

#define XF_FOR_EACH_OP(X)      \
    XF_FOR_EACH_REQUIRED_OP(X) \
    XF_FOR_EACH_OPTIONAL_OP(X)

/* A member of a table, a function's declaration, and the initialiser of a member: by the function of its name, or by
 * none. So XF_FOR_EACH_OP(XF_OP_MEMBER) has among others
 *     int32_t (*top_k)(xf_stream *, const xf_top_k *, xf_error *); */
#define XF_OP_MEMBER(name, type) int32_t (*name)(xf_stream *, const type *, xf_error *);
#define XF_OP_DECLARE(name, type) int32_t name(xf_stream *stream, const type *args, xf_error *err);
#define XF_OP_SET(name, type) .name = name,
#define XF_OP_NONE(name, type) .name = NULL,

/* What a backend is and does. Every pointer is set but for those marked optional; an operation works on the device of
 * its stream, in the order of the stream's calls, and may still be running when the call returns. */
typedef struct xf_backend_v1 {
    uint32_t size;         /* sizeof(xf_backend_v1) of the plugin */
    uint32_t abi;          /* XF_PLUGIN_ABI of the plugin */
    const char *name;      /* "ref", "openblas", "cuda" */
    const char *version;   /* of the plugin and what it stands on, for people */
    const char *kind;      /* "cpu" or "cuda": the first part of a device name */
    int32_t score;         /* device=auto takes the highest score that opens */
    uint32_t dtypes;       /* bit 1u << XF_FP32 is always set */
    uint32_t weight_types; /* bit 1u << XF_WEIGHTS_NUM is always set */

    /* Devices of this kind in this machine; 0 with a sentence in err->message when there are none. */
    int32_t (*device_count)(xf_error *err);
    /* One line for people: "AMD EPYC, avx512". Static text or owned by the plugin. */
    const char *(*device_name)(int32_t index);
    int32_t (*device_open)(const xf_host_v1 *host, int32_t index, xf_device **device, xf_error *err);
    void (*device_close)(xf_device *device);
    /* One line about what was chosen, for logs and benchmarks: "avx512, own GEMM". Owned by the device. */
    const char *(*device_info)(xf_device *device);
    /* What results depend on beside the backend and the number type, in a word: "fma", "sm_90". Devices of one backend
     * that say the same give the same bits. Checkpoints keep it. Owned by the device. */
    const char *(*device_isa)(xf_device *device);

    int32_t (*stream_create)(xf_device *device, uint32_t dtype, xf_stream **stream, xf_error *err);
    void (*stream_free)(xf_stream *stream);
    int32_t (*stream_sync)(xf_stream *stream, xf_error *err);

    int32_t (*mem_alloc)(xf_device *device, size_t bytes, void **ptr, xf_error *err);
    void (*mem_free)(xf_device *device, void *ptr, size_t bytes);
    /* Between host and device memory; the host side is free for reuse on return. */
    int32_t (*mem_upload)(xf_stream *stream, void *dst, const void *src, size_t bytes, xf_error *err);
    int32_t (*mem_download)(xf_stream *stream, void *dst, const void *src, size_t bytes, xf_error *err);
    int32_t (*mem_copy)(xf_stream *stream, void *dst, const void *src, size_t bytes, xf_error *err);
    int32_t (*mem_zero)(xf_stream *stream, void *dst, size_t bytes, xf_error *err);

    /* Optional, all four or none: operations between begin and end are recorded and not run; run repeats them with the
     * same arguments, reading and writing the same memory. Recorded may be operations, mem_copy and mem_zero. The same
     * calls must have been made unrecorded on this stream before, so that nothing has to be allocated. After an error
     * the recording is over and *graph is NULL. A graph dies with its stream at the latest. */
    int32_t (*graph_begin)(xf_stream *stream, xf_error *err);
    int32_t (*graph_end)(xf_stream *stream, xf_graph **graph, xf_error *err);
    int32_t (*graph_run)(xf_stream *stream, xf_graph *graph, xf_error *err);
    void (*graph_free)(xf_stream *stream, xf_graph *graph);

    /* Optional: what is called on stream from now on begins after all that was called on other so far, another stream
     * of the same device. The caller doesn't wait. Neither stream may be recording. Only of use where streams run
     * beside each other; NULL says that uploads ahead of time gain nothing. */
    int32_t (*stream_wait)(xf_stream *stream, xf_stream *other, xf_error *err);

    /* Optional, both or none: for what else puts work into a stream, such as a library that moves memory between ranks.
     * stream_lend: gives what work() returns, which is called on this thread while the stream's device is current;
     * native is the stream as CUDA knows it, a cudaStream_t. Not while recording.
     * stream_query: *done becomes 1 when all that was called is over, else 0. Never waits. */
    int32_t (*stream_lend)(xf_stream *stream, int32_t (*work)(void *arg, void *native, xf_error *err), void *arg,
                           xf_error *err);
    int32_t (*stream_query)(xf_stream *stream, int32_t *done, xf_error *err);

    XF_FOR_EACH_OP(XF_OP_MEMBER)
} xf_backend_v1;

/* The plugin's one export. Returns NULL when it can't serve this core (and says why in err). */
typedef const xf_backend_v1 *(*xf_plugin_init_fn)(uint32_t host_abi, xf_error *err);
#define XF_PLUGIN_INIT_NAME "xf_plugin_init"

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_PLUGIN_ABI_H */
