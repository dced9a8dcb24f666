/*
 * plugin_abi.h - the C interface between the core and a backend. Plugins use nothing else of the library, except
 * core/philox.h.
 *
 * A backend is a shared object with one exported function, xf_plugin_init, which receives the version of the core and
 * returns the backend table. Each device receives the host table when it is opened. Both tables begin with their size
 * in bytes and grow only at the end. No C++ type, exception, or FILE crosses the interface. The reference backend
 * (cpu/ref) implements the same table and is linked into the core; tests compare every other backend with it.
 *
 * The operations are coarse, so that each backend can fuse as needed. Tensors are row-major and packed: a batch is
 * [tokens, columns] plus sequence offsets, without padding. Pointers named src, dst, weights, and so on, and integer
 * arrays, are device memory from mem_alloc of the same device. A mem_alloc result is aligned to 64 bytes; the start of
 * a row may have any alignment.
 *
 * A stream has a number type, XF_FP32 or XF_BF16, which is the type of every tensor declared as xf_num. Tensors
 * declared as float are fp32 on every stream: the optimizer's parameters, their gradients, statistics, and losses. Sums
 * are fp32 or better on every stream. A bf16 result is rounded once, to nearest even, when it is stored.
 *
 * Letters: B sentences; S and T source and target tokens; M rows, N output columns, and K input columns of a linear
 * layer; D d_model; F inner columns of a feed-forward layer; H heads; V vocabulary.
 *
 * Determinism: every backend must compute the result of an operation as a function of its arguments only, independent
 * of the number of workers, timing, and memory addresses. In operations that are marked "row-invariant", the bits of a
 * row also do not depend on the other rows of the call and on the position of the row.
 *
 * Errors: an operation returns an enum xf_status and fills err. The core has checked the arguments; a backend checks
 * only what the core cannot know (memory, the device). Every operation accepts zero rows.
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

/* Must be equal on both sides while the version is 0.x. From 1.0 on, tables only grow, as their size member tells. */
#define XF_PLUGIN_ABI 11u

/* The number types of streams. The dtypes mask of a backend has bit 1u << type for each type that it supports. */
enum { XF_FP32 = 0, XF_BF16 = 1 };

/* A number of the stream's type. Code that supports several types defines XF_NUM_UNTYPED before it includes this file;
 * the compiler then rejects uses of such a pointer without a check of the type. */
#ifdef XF_NUM_UNTYPED
typedef void xf_num;
#else
typedef float xf_num;
#endif

/* The storage of a weight matrix [N, K], one row per output column. Types other than XF_WEIGHTS_NUM are for decoding on
 * XF_FP32 streams: embed_fwd, linear_fwd with XF_LINEAR_ROW_INVARIANT, top_k, and loss without gradients accept them if
 * the backend's weight_types has their bit (1u << type). Otherwise the members are 0.
 *
 * XF_WEIGHTS_BF16, XF_WEIGHTS_FP16: dense, 16 bits. The result has the same bits as the call with the widened matrix.
 *
 * XF_WEIGHTS_INT8: w[n][k] = q[n][k] * scales[n], with q in -127 .. 127 in the order of pack_int8; K <= 2^17.
 * The product also quantizes its source, each row independently:
 *     a = max |src[m][k]|, or 0 if it is below 2^-100,
 *     p[k] = src[m][k] * (127 / a), rounded to the nearest integer, ties to even; all 0 if a is 0,
 *     sum = the exact integer sum of p[k] q[n][k],  dst = float(sum) * ((a / 127) * scales[n]),  then bias, then ReLU.
 * Every operation is fp32 and rounds separately, so every machine produces the same bits. A row with a NaN or an
 * infinity gives NaN. embed_fwd uses float(q) * scales[n] as the weight. */
enum { XF_WEIGHTS_NUM = 0, XF_WEIGHTS_BF16 = 1, XF_WEIGHTS_FP16 = 2, XF_WEIGHTS_INT8 = 3 };

typedef struct xf_device xf_device; /* an open device of a backend; owns its memory */
typedef struct xf_stream xf_stream; /* a sequence of operations with its scratch memory; one per trainer or decoder */
typedef struct xf_graph xf_graph;   /* recorded operations of a stream that can be run again */

/* The host table, which device_open receives. It outlives the device. */
typedef struct xf_host_v1 {
    uint32_t size; /* sizeof(xf_host_v1) of the core */
    uint32_t abi;  /* XF_PLUGIN_ABI of the core */
    void *user;    /* passed back to each function below */

    /* Runs body(arg, task, worker) for task = 0 .. tasks-1, each once, on up to workers() threads at a time, and
     * returns when all are done. 0 <= worker < workers(); tasks that run at the same time have different workers. The
     * assignment of tasks to workers varies, so results must not depend on it. Calls must not be nested. Tasks must not
     * fail or throw. Callable from any thread: a second concurrent caller runs its tasks itself. */
    void (*parallel)(void *user, int64_t tasks, void (*body)(void *arg, int64_t task, int32_t worker), void *arg);
    int32_t (*workers)(void *user);

    /* Host memory from the context's allocator, within its budget, aligned to 64 bytes (large blocks to 2 MiB, on huge
     * pages). alloc returns NULL if there is none. free requires the same number of bytes. */
    void *(*alloc)(void *user, size_t bytes);
    void (*free)(void *user, void *ptr, size_t bytes);

    /* Counts memory that the host does not provide, such as a GPU's, in the context's account and budget; negative
     * bytes return it. Returns 0, and counts nothing, if the budget would be exceeded; otherwise a positive number.
     * Returning memory never fails. */
    int32_t (*account)(void *user, int64_t bytes);

    /* level: 0 error, 1 warning, 2 info, 3 debug. */
    void (*log)(void *user, int32_t level, const char *component, const char *message);

    /* The requested instruction set ("auto", "base", "avx2", "avx512", "avx512vnni"), for CPU backends. */
    const char *isa;
} xf_host_v1;

/* Dropout (paper s. 5.4). The same elements of a tensor are zeroed on every backend.
 *
 * Element i (a 64-bit index that each operation below defines) is kept if
 *     u16(i) >= threshold,  threshold = round(rate * 65536),
 * and multiplied by 65536 / (65536 - threshold). u16(i) is half-word (i % 8) of Philox4x32-10 with key
 * {lo32(seed), hi32(seed)} and counter {lo32(i / 8), hi32(i / 8) ^ (batch << 16), site, step}: half-word 2j is the
 * low half of output word j, 2j+1 the high half. rate == 0 disables dropout and draws nothing.
 * step and batch are read when the operation runs, not when it is recorded. The code is in lib/core/philox.h. */
typedef struct xf_dropout {
    float rate;    /* 0 <= rate < 1 */
    uint32_t site; /* the number of this dropout in the model */
    uint64_t seed;
    const uint32_t *when; /* device memory, {step of the optimizer, batch within the step}; may be NULL at rate 0 */
} xf_dropout;

/* dst[t] = dropout(scale * weights[ids[t]] + positions[pos[t]])             (paper s. 3.4, 3.5)
 * Dropout index: t * D + d. Row-invariant without dropout. */
typedef struct xf_embed_fwd {
    int64_t rows, D;
    const int32_t *ids;     /* [rows], each in [0, V) */
    const int32_t *pos;     /* [rows], each in [0, P) */
    const xf_num *weights;  /* [V, D] */
    const float *positions; /* [P, D] */
    float scale;
    xf_num *dst; /* [rows, D] */
    xf_dropout dropout;
    uint32_t weights_type; /* XF_WEIGHTS_...: the type of weights */
    int64_t V;             /* rows of weights; used only with XF_WEIGHTS_INT8 */
    const float *scales;   /* [V], with XF_WEIGHTS_INT8 */
} xf_embed_fwd;

/* diff_weights[id] += scale * sum over the tokens t with ids[t] == id, in ascending t, of mask(t) * diff_dst[t].
 * Also used for the position table, with scale 1. The tokens are grouped: group g contains the tokens
 * order[starts[g]] .. order[starts[g + 1] - 1], ascending, and adds to row group_ids[g]. group_ids are distinct. */
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
 * weights is [N, K], one row per output column, so matrices with the same input can be stacked for one call. */
enum { XF_LINEAR_RELU = 1u, XF_LINEAR_ROW_INVARIANT = 2u };
typedef struct xf_linear_fwd {
    int64_t M, N, K;
    const xf_num *src; /* [M, K], rows ld_src apart */
    int64_t ld_src;
    const xf_num *weights; /* [N, K], dense */
    const xf_num *bias;    /* [N] or NULL */
    xf_num *dst;           /* [M, N], rows ld_dst apart; must not overlap src */
    int64_t ld_dst;
    uint32_t flags; /* XF_LINEAR_ROW_INVARIANT: requires row invariance; should be fast for small M (decoding) */
    uint32_t weights_type;
    const float *scales; /* [N], with XF_WEIGHTS_INT8 */
} xf_linear_fwd;

/* diff_src = diff_dst weights, or += if accumulate is set. With relu_dst, elements with relu_dst <= 0 then become 0
 * (the gradient of a ReLU whose output was the input of this layer; never with accumulate). diff_relu_bias, if not
 * NULL, += column sums of diff_src as stored: the gradient of the bias of the layer before that ReLU. */
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
 *     gelu(x) = x * Phi(x), Phi the normal distribution, by erf, not tanh       (Hendrycks & Gimpel 2016)
 *     swish(x) = x / (1 + e^-x)                                                 (Ramachandran et al. 2017)
 * gated: the variants of GLU (Shazeer 2020). act(NaN) is NaN and act(-infinity) is 0, on every device.
 * Dropout index: m * F + f. Row-invariant without dropout. */
enum { XF_ACTIVATION_RELU = 0, XF_ACTIVATION_GELU = 1, XF_ACTIVATION_SWISH = 2 };
typedef struct xf_activation_fwd {
    int64_t M, F;
    const xf_num *src; /* [M, F], [M, 2F] when gated; dense */
    uint32_t kind;     /* XF_ACTIVATION_... */
    uint32_t gated;    /* 0 or 1 */
    xf_num *dst;       /* [M, F], dense; may be the same memory as src if not gated, otherwise must not overlap it */
    xf_dropout dropout;
} xf_activation_fwd;

/* The gradient of the above, with d = mask * diff_dst, x = src[m][f], and, if gated, y = src[m][F + f]:
 *     gated:      diff_src[m][f] = d * act'(x) * y,  diff_src[m][F + f] = d * act(x)
 *     not gated:  diff_src[m][f] = d * act'(x)
 * relu'(0) is 0 and relu'(NaN) is 1. diff_bias, if not NULL, += column sums of diff_src as stored: the gradient of the
 * bias of the layer whose output is src. diff_src must not overlap src and diff_dst. */
typedef struct xf_activation_bwd {
    int64_t M, F;
    const xf_num *src;      /* as in the forward pass */
    uint32_t kind, gated;   /* as in the forward pass */
    const xf_num *diff_dst; /* [M, F], dense */
    xf_num *diff_src;       /* [M, F], [M, 2F] when gated; dense */
    float *diff_bias;       /* [F], [2F] when gated; or NULL */
    xf_dropout dropout;
} xf_activation_bwd;

/* Scaled dot-product attention over packed sequences, per sentence b and head h (paper eq. 1):
 *     dst = dropout(softmax(scale * q k^T + mask)) v
 * The queries of sentence b are rows q_begin[b] .. q_begin[b] + q_len[b] - 1 of q and dst; its keys are the same range
 * of k_begin and k_len in k and v. Query i attends to key j (both relative to their sentence) iff (causal == 0 or
 * j <= i) and (window == 0 or |i - j| <= window / 2). Every query attends to at least one key, except that a sentence
 * with k_len 0 gives zeros. Head h uses columns h*dk .. of q and k, and h*dv .. of v and dst.
 * Dropout index: (query row * H + h) * drop_stride + j, drop_stride a multiple of 8 and >= the longest k_len.
 * lse [M, H]: log-sum-exp of each query's scaled, masked scores, for the backward pass; may be NULL; undefined for a
 * sentence without keys. A row of q belongs to one sentence of the call; rows of k and v may belong to several.
 * Row-invariant without dropout, whose index contains the row. Nothing of size S x T is stored for the batch. */
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

/* The gradients of the above. diff_q, diff_k, and diff_v are written (=) for every row that belongs to a sentence.
 * fwd contains the arguments of the forward call with its results. */
typedef struct xf_attention_bwd {
    xf_attention fwd;
    const xf_num *diff_dst;
    int64_t ld_diff_dst;
    xf_num *diff_q, *diff_k, *diff_v;
    int64_t ld_diff_q, ld_diff_k, ld_diff_v;
} xf_attention_bwd;

/* sum = residual + dropout(src);  dst = LayerNorm(sum) = weights * (sum - mean) * rstd + bias      (paper s. 3.1)
 * with the mean and the biased variance over D, rstd = 1 / sqrt(variance + eps), stats[m] = {mean, rstd}.
 * rms: RMSNorm (Zhang & Sennrich 2019): the mean is taken as 0 in the variance, in dst, and in stats.
 * src NULL: sum = residual. sum may be the same memory as src or residual, or NULL if it is not needed (decoding);
 * stats may be NULL. Dropout index: m * D + d. Row-invariant without dropout. */
typedef struct xf_add_norm_fwd {
    int64_t M, D;
    const xf_num *residual; /* [M, D] */
    const xf_num *src;      /* [M, D] or NULL */
    const float *weights;   /* [D] */
    const float *bias;      /* [D], or NULL for zeros */
    float eps;
    xf_num *sum;  /* [M, D] or NULL */
    xf_num *dst;  /* [M, D] */
    float *stats; /* [M, 2] or NULL */
    xf_dropout dropout;
    uint32_t rms; /* 0 or 1 */
} xf_add_norm_fwd;

/* diff_residual = LayerNorm backward of diff_dst, plus diff_sum if it is not NULL. diff_src = mask * diff_residual.
 * diff_weights += and diff_bias += their gradients. rms: as in the forward pass. diff_src_bias += column sums of
 * diff_src as stored: the gradient of the bias of the layer whose output is src. Outputs that are NULL are not
 * computed. diff_residual may be the same memory as diff_dst or diff_sum; diff_src must not overlap any other tensor.
 */
typedef struct xf_add_norm_bwd {
    int64_t M, D;
    const xf_num *diff_dst; /* [M, D] */
    const xf_num *diff_sum; /* [M, D] or NULL: gradient of the sum through the residual path (pre-LN) */
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
 *     uniform == 1: smoothing / V added to every id (Marian, Sockeye).
 * loss[m] = - sum q log p (no constant subtracted); nll[m] = - log p(targets[m]). Both in nats. With diff_src: diff_src
 * = diff_logits weights, diff_weights += diff_logits^T src, and diff_bias, if not NULL, += column sums of diff_logits.
 * diff_logits = p - q (the gradient of the SUM over rows), which a backend may round to the stream's type. If diff_src,
 * diff_weights, and diff_bias are NULL: only loss and nll, row-invariant. The logits of all rows never exist at the
 * same time. A row with a negative target does not belong to the batch: its loss, nll, and diff_src are 0, and it adds
 * nothing to diff_weights and diff_bias; its src is finite. */
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
 *     ema += ema_rate * (param - ema), if ema is not NULL, with the new param
 * and grad = 0 afterwards (the form of s. 2, Kingma & Ba; decoupled decay as in Loshchilov & Hutter 2019). With decay 0
 * and without ema the bits are those of plain Adam. alpha = lr * sqrt(1 - beta2^t) / (1 - beta1^t), which the core
 * computes in double. eps_hat is the epsilon of this form. */
typedef struct xf_adam {
    int64_t n;
    float *params, *grads, *m, *v;
    void *params_bf16; /* [n] receives the new params rounded to bf16, or NULL; only if dtypes has XF_BF16 */
    float *ema;        /* [n] the moving average of params, or NULL */
    float alpha, beta1, beta2, eps_hat, grad_scale, decay, ema_rate;
    const double *gate; /* dst of xf_gate, or NULL; only if the backend has gate. gate[2] replaces grad_scale; if
                           gate[1] is 0, nothing changes */
} xf_adam;

/* dst = src rounded to bf16, to nearest even: the parameters for products on a bf16 stream. */
typedef struct xf_to_bf16 {
    int64_t n;
    const float *src;
    void *dst;
} xf_to_bf16;

/* dst[0] = sum of squares of src in double, in a fixed order; not finite if an element is not. dst is host memory. */
typedef struct xf_sum_squares {
    int64_t n;
    const float *src;
    double *dst;
} xf_sum_squares;

/* Sums of a batch's losses in double, in a fixed order: sums[0] = sum of loss, sums[1] = sum of nll. sums[2] and
 * sums[3] are set to the same values, or += if accumulate is set. Optional: a backend has both this and gate, or
 * neither. */
typedef struct xf_sum_losses {
    int64_t rows;
    const float *loss, *nll; /* [rows] */
    double *sums;            /* [4] device memory */
    uint32_t accumulate;
} xf_sum_losses;

/* Decides on the device whether adam updates the parameters, so that the host does not have to wait for the norm:
 *     dst[0] = sum of squares of grads, as in sum_squares
 *     dst[1] = 1 if sums[2] is finite and dst[0] * scale * scale < most, else 0
 *     norm = sqrt(dst[0]) * scale;  dst[2] = scale, times clip_norm / norm if 0 < clip_norm < norm
 * in double. Each operation rounds separately, so the host computes the same numbers. */
typedef struct xf_gate {
    int64_t n;
    const float *grads; /* [n] */
    const double *sums; /* [4] of sum_losses */
    double scale, most, clip_norm;
    double *dst; /* [3] device memory */
} xf_gate;

/* add, from_bf16, chunk_squares, and fingerprint add the gradients of ranks in device memory. A backend whose device
 * memory is host memory does not have them, because the core does this itself. Every other backend has all four and
 * to_bf16.
 *
 * dst[i] += src[i], one addition in fp32. round_bf16: both operands are first rounded to bf16, to nearest even. */
typedef struct xf_add {
    int64_t n;
    float *dst;
    const float *src;
    uint32_t round_bf16;
} xf_add;

/* dst = src, where src is bf16. */
typedef struct xf_from_bf16 {
    int64_t n;
    const void *src;
    float *dst;
} xf_from_bf16;

/* dst[c] = sum of squares of elements c * chunk .. (c + 1) * chunk - 1 of src; the last chunk may be shorter. Computed
 * in double in a fixed order, so that it is the same on every backend: partial sum j of eight adds elements j, j + 8,
 * ... of the chunk in sequence; then the eight partial sums are added in sequence. */
typedef struct xf_chunk_squares {
    int64_t n, chunk;
    const float *src;
    double *dst; /* [(n + chunk - 1) / chunk] device memory */
} xf_chunk_squares;

/* dst[0] += the sum over all 4-byte words of mix((word i + (i << 32)) ^ seed), modulo 2^64; the last word is padded
 * with zeros. mix(x) is
 *     x += 0x9E3779B97F4A7C15    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9
 *     x = (x ^ x >> 27) * 0x94D049BB133111EB    x ^= x >> 31
 * which is one-to-one, so a changed word changes the sum. The order of addition does not matter. bytes < 2^33. */
typedef struct xf_fingerprint {
    int64_t bytes;
    const void *src; /* 4-byte aligned */
    uint64_t seed;
    uint64_t *dst; /* device memory */
} xf_fingerprint;

/* One decoding step of self-attention over a cache of cells (one query per live hypothesis).
 * The cache of a layer is [cells, H*dk] for keys and [cells, H*dv] for values. Row r is the hypothesis in slot
 * slot_of_row[r], at step t = steps[r]. Its key and value of step u < t are in cell cells[slot * ld_cells + u]. Those
 * of step t are row r of k and v; this call stores them in cell cells[slot * ld_cells + t], which no other row stores.
 * dst = softmax(scale q k^T) v over steps 0..t (at most the last window/2 + 1 of them if window > 0). Row-invariant.
 *
 * If multi_step is 0, no row reads a cell that another row of the call stores. If it is 1, rows may: consecutive rows
 * can be consecutive steps of one hypothesis, each with a separate slot. The results have the same bits as one call
 * for each step, in ascending order. */
typedef struct xf_attention_step {
    int64_t rows, H, dk, dv;
    int64_t max_step;           /* steps[r] <= max_step */
    const int32_t *steps;       /* [rows] */
    const int32_t *slot_of_row; /* [rows], distinct */
    const int32_t *cells;       /* [slots, ld_cells], ld_cells > max_step */
    int64_t ld_cells;
    const xf_num *q, *k, *v; /* [rows, H*dk], [rows, H*dk], [rows, H*dv] */
    int64_t ld_q, ld_k, ld_v;
    xf_num *k_cache, *v_cache;
    float scale;
    int64_t window;
    xf_num *dst; /* [rows, H*dv], rows ld_dst apart */
    int64_t ld_dst;
    uint32_t multi_step; /* 0 or 1 */
} xf_attention_step;

/* For each row: log-softmax of src weights^T + bias over V, and its k largest values in descending order, ties in
 * ascending order of ids. Ties are equal returned values. A NaN counts as minus infinity. k <= V. Banned ids (may be
 * none) and ids whose bit in the row's allowed is 0 cannot be selected but remain in the normalization. If fewer than k
 * ids remain, the row ends with {-inf, -1}. Row-invariant. values and ids are HOST memory, complete on return, or
 * device memory if on_device is set. all_values, if not NULL, receives the value of each id, -inf for those that cannot
 * be selected; HOST memory, not with on_device. */
typedef struct xf_top_k {
    int64_t rows, V, D, k;
    const xf_num *src;     /* [rows, D] */
    const xf_num *weights; /* [V, D] */
    int64_t banned_count;
    const int32_t *banned;   /* host memory, [banned_count] */
    const uint32_t *allowed; /* [rows, (V + 31) / 32], bit v % 32 of word v / 32 is id v; NULL allows all */
    float *values;           /* [rows, k] natural-log probabilities */
    int32_t *ids;            /* [rows, k] */
    uint32_t on_device;
    uint32_t weights_type;
    const float *scales; /* [V], with XF_WEIGHTS_INT8 */
    const float *bias;   /* [V] added to the logits, or NULL */
    float *all_values;   /* [rows, V], or NULL */
} xf_top_k;

/* One step of beam search for many sentences on the device: selects the surviving hypotheses after top_k, with the same
 * algorithm and bits as lib/decode/beam.cpp, which explains it. Optional: without it the core selects them on the host.
 * Each sentence has its own options and its own step, so sentences may begin and end at any step of the others.
 *
 * Sentence s owns the slots s * beam .. s * beam + beam - 1; its i-th live hypothesis is in slot s * beam + i. Sentence
 * active[a] uses the rows from a * beam on. Rows of a finished sentence, rows beyond its live hypotheses, and rows of a
 * negative active[a] are idle: they are computed, but their results are never used. All pointers are device memory. For
 * each row the call reads values and ids of top_k and writes the input of the next step: tokens, and steps, which is
 * the new length. Idle rows get token 0 and, if their sentence is done or -1, step 0.
 *
 * cells is that of xf_attention_step. A hypothesis that continues gets the cells of its parent, and the i-th one uses
 * cell first_cell + t * beam + i for step t.
 *
 * For each active sentence that is not done, the candidates are logp of the hypothesis + values[row, j], in double, for
 * values above -inf; while length < min_length, except the end token, which the call then removes from values and ids.
 * The 2 * beam best candidates (1 if beam is 1), with ties ordered by hypothesis and then by j, are processed from the
 * best on. A candidate with the end token enters finished if fewer than n_best have finished or its score is above the
 * worst of them, after equal ones. Any other candidate survives while fewer than beam have survived. score = logp /
 * penalty[s, length], where length is the number of tokens so far, end token included. The sentence is done if length
 * == limit, or if n_best have finished and the best logp of a survivor / penalty[s, limit] < the worst of them, or if
 * no candidate survived. In the last case length does not grow, live remains unchanged, and, if nothing has finished,
 * logp of the live hypotheses becomes -inf.
 *
 * history[s, step, i] is the token that hypothesis i received at this step, its value, and the index of the hypothesis
 * that it extends. Written for the survivors at step = length before the call. A finished hypothesis is {step, parent,
 * logp, score, end_logp}: the first step tokens of hypothesis parent, followed by the end token with value end_logp. */
typedef struct xf_beam_sentence {
    /* Input. */
    int32_t limit;      /* maximum length, at most ld_cells */
    int32_t min_length; /* without the end token */
    int32_t n_best;     /* at most beam */
    int32_t first_cell;
    /* Updated by the call. At the beginning of a sentence 0, 1, 0, 0. */
    int32_t length, live, done, finished;
} xf_beam_sentence;

typedef struct xf_beam_token {
    int32_t token, parent;
    float value; /* log-probability of the token */
} xf_beam_token;

typedef struct xf_beam_live {
    double logp; /* not read at length 0, where it is 0 */
    xf_beam_token last;
    int32_t reserved;
} xf_beam_live;

typedef struct xf_beam_finished {
    int32_t step, parent;
    double logp, score;
    float end_logp;
    int32_t reserved; /* 0 */
} xf_beam_finished;

typedef struct xf_beam_step {
    int64_t active_count, beam, k;
    int32_t end_token;
    int64_t ld_cells;            /* maximum number of steps */
    const int32_t *active;       /* [active_count] sentence, or -1; distinct */
    float *values;               /* [active_count * beam, k] */
    int32_t *ids;                /* [active_count * beam, k] */
    const double *penalty;       /* [sentences, ld_cells + 1] */
    xf_beam_sentence *sentences; /* [sentences] */
    xf_beam_live *live;          /* [sentences, beam] */
    xf_beam_finished *finished;  /* [sentences, beam], best first */
    xf_beam_token *history;      /* [sentences, ld_cells, beam] */
    int32_t *cells;              /* [sentences * beam, ld_cells] */
    int32_t *tokens, *steps;     /* [active_count * beam]: the rows of the next step */
} xf_beam_step;

/* The size of an XF_WEIGHTS_INT8 matrix in bytes: at least N * K, padded for an order that fills registers. */
static inline int64_t xf_int8_bytes(int64_t N, int64_t K) { return ((N + 15) / 16 * 16) * ((K + 3) / 4 * 4); }

/* Converts q, dense [N, K] at the start of weights, in place to the order that the backend uses. weights has
 * xf_int8_bytes(N, K) bytes. */
typedef struct xf_pack_int8 {
    int64_t N, K;
    int8_t *weights;
} xf_pack_int8;

/* The inverse for rows first .. first + count - 1. dst is host memory, dense [count, K]. */
typedef struct xf_unpack_int8 {
    int64_t N, K, first, count;
    const int8_t *weights;
    int8_t *dst;
} xf_unpack_int8;

/* All operations in the order of the table: X(name, type of the arguments). Each has its own type. Every other list of
 * operations is generated from these two lists. Every backend has the operations of the first list. Those of the second
 * may be NULL: beam_step in any backend; to_bf16 without XF_BF16 in dtypes; pack_int8 and unpack_int8 without
 * XF_WEIGHTS_INT8 in weight_types; sum_losses and gate, both or neither; add, from_bf16, chunk_squares, and fingerprint
 * if device memory is host memory.
 *
 * A new operation needs its type above and its line here. The operations are the end of the table, so a line at the end
 * of the second list moves no other member. A new required operation moves the second list and increments
 * XF_PLUGIN_ABI. */
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

/* A table in C++ does not list the optional members that it leaves out, as in C. */
#ifdef __cplusplus
#define XF_ABSENT = NULL
#else
#define XF_ABSENT
#endif

/* A member of the table, the declaration of a function, and the initializer of a member with the function of its name.
 * For example, XF_FOR_EACH_OP(XF_OP_DECLARE) contains
 *     int32_t top_k(xf_stream *stream, const xf_top_k *args, xf_error *err); */
#define XF_OP_MEMBER(name, type) int32_t (*name)(xf_stream *, const type *, xf_error *);
#define XF_OP_OPTIONAL_MEMBER(name, type) int32_t (*name)(xf_stream *, const type *, xf_error *) XF_ABSENT;
#define XF_OP_DECLARE(name, type) int32_t name(xf_stream *stream, const type *args, xf_error *err);
#define XF_OP_SET(name, type) .name = name,

/* The backend table. Every pointer is set, except those marked optional. An operation runs on the device of its stream,
 * in the order of the stream's calls, and may still be running when the call returns. */
typedef struct xf_backend_v1 {
    uint32_t size;         /* sizeof(xf_backend_v1) of the plugin */
    uint32_t abi;          /* XF_PLUGIN_ABI of the plugin */
    const char *name;      /* "ref", "openblas", "cuda" */
    const char *version;   /* of the plugin and its dependencies, for messages */
    const char *kind;      /* "cpu" or "cuda": the first part of a device name */
    int32_t score;         /* device=auto selects the highest score that opens */
    uint32_t dtypes;       /* bit 1u << XF_FP32 is always set */
    uint32_t weight_types; /* bit 1u << XF_WEIGHTS_NUM is always set */

    /* The number of devices of this kind in this machine; 0, with a reason in err->message, if there are none. */
    int32_t (*device_count)(xf_error *err);
    /* One line for messages: "AMD EPYC, avx512". Owned by the plugin. */
    const char *(*device_name)(int32_t index);
    int32_t (*device_open)(const xf_host_v1 *host, int32_t index, xf_device **device, xf_error *err);
    void (*device_close)(xf_device *device);
    /* One line about the selected kernels, for logs and benchmarks: "avx512, own GEMM". Owned by the device. */
    const char *(*device_info)(xf_device *device);
    /* The name of the property on which results depend, in addition to the backend and the number type: "fma", "sm_90".
     * Devices of one backend with the same name give the same bits. Stored in checkpoints. Owned by the device. */
    const char *(*device_isa)(xf_device *device);

    int32_t (*stream_create)(xf_device *device, uint32_t dtype, xf_stream **stream, xf_error *err);
    void (*stream_free)(xf_stream *stream);
    int32_t (*stream_sync)(xf_stream *stream, xf_error *err);

    int32_t (*mem_alloc)(xf_device *device, size_t bytes, void **ptr, xf_error *err);
    void (*mem_free)(xf_device *device, void *ptr, size_t bytes);
    /* Copies between host and device memory. The host memory can be reused on return. */
    int32_t (*mem_upload)(xf_stream *stream, void *dst, const void *src, size_t bytes, xf_error *err);
    int32_t (*mem_download)(xf_stream *stream, void *dst, const void *src, size_t bytes, xf_error *err);
    int32_t (*mem_copy)(xf_stream *stream, void *dst, const void *src, size_t bytes, xf_error *err);
    int32_t (*mem_zero)(xf_stream *stream, void *dst, size_t bytes, xf_error *err);

    /* Optional, all four or none. Operations between begin and end are recorded and not run; run repeats them with the
     * same arguments on the same memory. Operations, mem_copy, and mem_zero can be recorded. The same calls must have
     * been made on this stream without recording before, so that nothing has to be allocated. After an error the
     * recording has ended and *graph is NULL. A graph must not outlive its stream. */
    int32_t (*graph_begin)(xf_stream *stream, xf_error *err) XF_ABSENT;
    int32_t (*graph_end)(xf_stream *stream, xf_graph **graph, xf_error *err) XF_ABSENT;
    int32_t (*graph_run)(xf_stream *stream, xf_graph *graph, xf_error *err) XF_ABSENT;
    void (*graph_free)(xf_stream *stream, xf_graph *graph) XF_ABSENT;

    /* Optional. Later operations of stream begin after all current operations of other, a stream of the same device,
     * have completed. The caller does not wait. Neither stream may be recording. Useful only if streams run
     * concurrently; NULL means that early uploads gain nothing. */
    int32_t (*stream_wait)(xf_stream *stream, xf_stream *other, xf_error *err) XF_ABSENT;

    /* Optional, both or none, for other libraries that put work into a stream, such as transports between ranks.
     * stream_lend: calls work() on this thread while the stream's device is current, and returns its result. native is
     * the cudaStream_t of the stream. Not while recording.
     * stream_query: sets *done to 1 if all operations have completed, else 0. Never waits. */
    int32_t (*stream_lend)(xf_stream *stream, int32_t (*work)(void *arg, void *native, xf_error *err), void *arg,
                           xf_error *err) XF_ABSENT;
    int32_t (*stream_query)(xf_stream *stream, int32_t *done, xf_error *err) XF_ABSENT;

    XF_FOR_EACH_REQUIRED_OP(XF_OP_MEMBER)
    XF_FOR_EACH_OPTIONAL_OP(XF_OP_OPTIONAL_MEMBER)
} xf_backend_v1;

/* The only export of a plugin. Returns NULL, with the reason in err, if it does not support this core. */
typedef const xf_backend_v1 *(*xf_plugin_init_fn)(uint32_t host_abi, xf_error *err);
#define XF_PLUGIN_INIT_NAME "xf_plugin_init"

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_PLUGIN_ABI_H */
