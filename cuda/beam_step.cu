// Beam search of many sentences, one step: which continuations live on (paper s. 6.1; Wu et al. 2016, eq. 14).
//
//     candidates  live_logp[b] + values[b, j]        the 2 * beam best (1 when beam is 1), ties by b, then by j
//     score       logp / penalty[length]             of those that end; the others live on while there is room
//
// The same choice as lib/decode/beam.cpp, which says what and why, to the bit: sums and quotients in double, nothing
// multiplied, so that the compiler has nothing to contract.
//
// A block for each active sentence. No candidate waits for another: each counts those that come before it, by a binary
// search in every other beam's list (falling values stay falling when a constant is added), and its count is its rank.
// One thread then walks down the few winners; the block writes what lives on and reorders the lines of ancestors in
// place, some columns at a time through shared memory.
//
// Floor: latency. A sentence reads beam * k candidates and moves beam * length ancestors of 4 bytes.
//
// SPDX-License-Identifier: Apache-2.0
#include "common.cuh"
#include "dependent.cuh"
#include "ops.h"

namespace xf::cuda {
namespace {

// Words of shared memory: the lists of values when they fit, then columns of ancestors, which pass as bits of floats.
constexpr int kStaged = 4096;

constexpr int32_t kNobody = -1;  // beam of a place that no candidate took; those after it are empty too

struct Winner {
    double logp;
    int32_t beam, token;
    float value;  // of the token alone
};

__host__ __device__ inline int64_t looked_at(const xf_beam_step &a) { return a.beam == 1 ? 1 : 2 * a.beam; }

// How many of the falling list's first `most` numbers, each added to logp, are above x (or equal, when that comes
// first too).
__device__ inline int64_t before(const float *list, int64_t most, double logp, double x, bool equal) {
    int64_t low = 0;
    while (low < most) {
        const int64_t middle = (low + most) / 2;
        const double sum = logp + static_cast<double>(list[middle]);
        if (sum > x || (equal && sum == x))
            low = middle + 1;
        else
            most = middle;
    }
    return low;
}

// Puts each candidate that ranks among the looked-at into its place of winners.
__device__ void rank_candidates(const xf_beam_step &a, const float *lists, const int32_t *ids, const double *logp,
                                int64_t live, Winner *winners) {
    const int64_t places = looked_at(a);
    for (int64_t at = threadIdx.x; at < live * a.k; at += blockDim.x) {
        const int64_t b = at / a.k, j = at % a.k;
        if (!(lists[at] > -INFINITY)) continue;
        const double x = logp[b] + static_cast<double>(lists[at]);
        int64_t rank = j;
        for (int64_t other = 0; other < live && rank < places; ++other)
            if (other != b) rank += before(lists + other * a.k, min(a.k, places - rank), logp[other], x, other < b);
        if (rank < places) winners[rank] = {x, static_cast<int32_t>(b), ids[at], lists[at]};
    }
}

// An answer of sentence s: into its list, behind those of the same score, unless n_best are as good.
__device__ void finish(const xf_beam_step &a, int64_t s, int32_t step, const Winner &w) {
    xf_beam_finished *const list = a.finished + s * a.n_best;
    const double score = w.logp / a.penalty[step + 1];
    int64_t count = a.finished_count[s];
    if (count == a.n_best && !(list[count - 1].score < score)) return;
    int64_t at = count < a.n_best ? count : count - 1;
    a.finished_count[s] = static_cast<int32_t>(at + 1);
    for (; at > 0 && list[at - 1].score < score; --at) list[at] = list[at - 1];
    list[at] = {step, w.beam, w.logp, score, w.value, 0};
}

// One thread: sorts the winners into answers and those that live on, which come to stand first. Gives their number.
__device__ int32_t sift(const xf_beam_step &a, int64_t s, int32_t step, Winner *winners) {
    int32_t lives = 0;
    for (int64_t i = 0; i < looked_at(a) && winners[i].beam != kNobody; ++i) {
        const Winner w = winners[i];
        if (w.token == a.end_token)
            finish(a, s, step, w);
        else if (lives < a.beam)
            winners[lives++] = w;
    }
    bool over = lives == 0;
    if (lives > 0) {
        const int32_t length = step + 1, limit = a.limit[s], count = a.finished_count[s];
        a.length[s] = length;
        a.live[s] = lives;
        over = length >= limit ||
               (count >= a.n_best && winners[0].logp / a.penalty[limit] < a.finished[s * a.n_best + count - 1].score);
    }
    a.done[s] = over ? 1 : 0;
    return lives;
}

// Each hypothesis gets its parent's line of ancestors and the parent's own slot at its end. Idle ones get the line of
// the best hypothesis: any slots will do that exist.
__device__ void inherit(const xf_beam_step &a, int64_t s, int32_t step, const Winner *winners, int32_t lives,
                        float *staged) {
    const auto parent = [&](int64_t i) { return winners[i < lives ? i : 0].beam; };
    int32_t *const lines = a.ancestors + s * a.beam * a.ld_ancestors;
    const int64_t most = max(int64_t{1}, kStaged / a.beam);
    for (int64_t begin = 0; begin < step; begin += most) {
        const int64_t columns = min(most, step - begin), count = a.beam * columns;
        for (int64_t at = threadIdx.x; at < count; at += blockDim.x)
            staged[at] = __int_as_float(lines[at / columns * a.ld_ancestors + begin + at % columns]);
        __syncthreads();
        for (int64_t at = threadIdx.x; at < count; at += blockDim.x) {
            const int64_t i = at / columns, u = at % columns, from = parent(i);
            if (from != i) lines[i * a.ld_ancestors + begin + u] = __float_as_int(staged[from * columns + u]);
        }
        __syncthreads();
    }
    for (int64_t i = threadIdx.x; i < a.beam; i += blockDim.x)
        lines[i * a.ld_ancestors + step] = static_cast<int32_t>(s * a.beam + parent(i));
}

__global__ void beam_step_kernel(const xf_beam_step a) {
    begin_after_previous();
    __shared__ int32_t lives, over;
    Winner *const winners = dynamic_shared<Winner>();
    double *const logp = reinterpret_cast<double *>(winners + looked_at(a));
    float *const staged = reinterpret_cast<float *>(logp + a.beam);
    const int64_t row = blockIdx.x * a.beam, s = a.active[blockIdx.x], slot = s * a.beam;
    const bool searched = s >= 0 && a.done[s] == 0;
    int32_t step = 0;
    if (searched) {
        const int64_t live = a.live[s], count = live * a.k;
        step = a.length[s];
        const float *lists = a.values + row * a.k;
        if (count <= kStaged) {
            for (int64_t at = threadIdx.x; at < count; at += blockDim.x) staged[at] = lists[at];
            lists = staged;
        }
        for (int64_t i = threadIdx.x; i < live; i += blockDim.x) logp[i] = a.live_logp[slot + i];
        for (int64_t i = threadIdx.x; i < looked_at(a); i += blockDim.x) winners[i].beam = kNobody;
        __syncthreads();
        rank_candidates(a, lists, a.ids + row * a.k, logp, live, winners);
        __syncthreads();
        if (threadIdx.x == 0) {
            lives = sift(a, s, step, winners);
            over = a.done[s];
        }
        __syncthreads();
        for (int64_t i = threadIdx.x; i < lives; i += blockDim.x) {
            const int64_t at = step * a.sentences * a.beam + slot + i;
            a.live_logp[slot + i] = winners[i].logp;
            a.history_token[at] = winners[i].token;
            a.history_parent[at] = winners[i].beam;
            a.history_logp[at] = winners[i].value;
        }
        if (lives == 0 && a.finished_count[s] == 0)
            for (int64_t i = threadIdx.x; i < live; i += blockDim.x) a.live_logp[slot + i] = -INFINITY;
        if (!over) inherit(a, s, step, winners, lives, staged);
    }
    const bool goes_on = searched && over == 0;
    for (int64_t i = threadIdx.x; i < a.beam; i += blockDim.x) {
        a.tokens[row + i] = goes_on && i < lives ? winners[i].token : 0;
        a.steps[row + i] = goes_on ? step + 1 : 0;
    }
    if (gridDim.x == 1 && threadIdx.x == 0) *a.remaining = goes_on ? 1 : 0;
}

constexpr int kCountThreads = 256;

// One block, when the sentences had one each.
__global__ void __launch_bounds__(kCountThreads) count_remaining(const xf_beam_step a) {
    begin_after_previous();
    int32_t total = 0;
    for (int64_t begin = 0; begin < a.active_count; begin += kCountThreads) {
        const int64_t i = begin + threadIdx.x, s = i < a.active_count ? a.active[i] : -1;
        total += __syncthreads_count(s >= 0 && a.done[s] == 0);
    }
    if (threadIdx.x == 0) *a.remaining = total;
}

}  // namespace

int32_t beam_step(xf_stream *stream, const xf_beam_step *args, xf_error *err) {
    const xf_beam_step &a = *args;
    int32_t status = enter(stream, err);
    if (status != XF_OK) return status;
    const size_t shared = static_cast<size_t>(looked_at(a)) * sizeof(Winner) +
                          static_cast<size_t>(a.beam) * sizeof(double) + kStaged * sizeof(float);
    status = launch_dependent(stream, err, "beam_step", beam_step_kernel, dim3(static_cast<unsigned>(a.active_count)),
                              dim3(a.beam <= 16 ? 128 : 512), shared, a);
    if (status == XF_OK && a.active_count != 1)
        status = launch_dependent(stream, err, "beam_step", count_remaining, dim3(1), dim3(kCountThreads), 0, a);
    return status;
}

}  // namespace xf::cuda
