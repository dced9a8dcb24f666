// One step of beam search for many sentences: selects the hypotheses that continue (s. 6.1; Wu et al. 2016, eq. 14).
//
//     candidates  live_logp[b] + values[b, j]        the 2 * beam best (1 if beam is 1), ties by b, then by j
//     score       logp / penalty[length]             for those that end; the others continue until the beam is full
//
// The result has the bits of lib/decode/beam.cpp, which explains the algorithm. Sums and quotients are fp64 and there
// are no products, so the compiler cannot contract anything.
//
// One block per active sentence. Each candidate computes its rank independently: it counts the candidates before it by
// a binary search in the list of every other hypothesis (a decreasing list stays decreasing when a constant is added).
// One thread then processes the few winners; the block writes the continuing hypotheses and reorders the rows of
// `cells` in place, some columns at a time through shared memory.
//
// Lower bound: latency. A sentence reads beam * k candidates and moves beam * length cell numbers of 4 bytes.
//
// SPDX-License-Identifier: Apache-2.0
#include "common.cuh"
#include "dependent.cuh"
#include "ops.h"

namespace xf::cuda {
namespace {

// Words of shared memory for the lists of values, if they fit, and then for columns of cells, which are stored as
// the bits of floats.
constexpr int kStaged = 4096;

constexpr int32_t kNoBeam = -1;  // beam of an empty entry; all later entries are empty, too

struct Winner {
    double logp;
    int32_t beam, token;
    float value;  // log-probability of the token
};

__host__ __device__ inline int64_t looked_at(const xf_beam_step &a) { return a.beam == 1 ? 1 : 2 * a.beam; }

// The number of elements among the first `most` of a decreasing list that, added to logp, are greater than x (or equal
// to x if `equal`).
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

// Stores each candidate whose rank is below looked_at() at its rank in winners.
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

// Inserts a finished hypothesis of sentence s into its list, after those with the same score, unless n_best are at
// least as good.
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

// Runs on one thread: separates the winners into finished and continuing hypotheses and moves the latter to the front.
// Returns their number.
__device__ int32_t split_winners(const xf_beam_step &a, int64_t s, int32_t step, Winner *winners) {
    int32_t continuing = 0;
    for (int64_t i = 0; i < looked_at(a) && winners[i].beam != kNoBeam; ++i) {
        const Winner w = winners[i];
        if (w.token == a.end_token)
            finish(a, s, step, w);
        else if (continuing < a.beam)
            winners[continuing++] = w;
    }
    bool done = continuing == 0;
    if (continuing > 0) {
        const int32_t length = step + 1, limit = a.limit[s], count = a.finished_count[s];
        a.length[s] = length;
        a.live[s] = continuing;
        done = length >= limit ||
               (count >= a.n_best && winners[0].logp / a.penalty[limit] < a.finished[s * a.n_best + count - 1].score);
    }
    a.done[s] = done ? 1 : 0;
    return continuing;
}

// Copies to each hypothesis the cells of its parent and appends a new cell. Idle hypotheses get the cells of the best
// one, because any existing cells are valid for them.
__device__ void inherit(const xf_beam_step &a, int64_t s, int32_t step, const Winner *winners, int32_t continuing,
                        float *staged) {
    const auto parent = [&](int64_t i) { return winners[i < continuing ? i : 0].beam; };
    int32_t *const lines = a.cells + s * a.beam * a.ld_cells;
    const int64_t most = max(int64_t{1}, kStaged / a.beam);
    for (int64_t begin = 0; begin <= step; begin += most) {
        const int64_t columns = min(most, step + 1 - begin), count = a.beam * columns;
        for (int64_t at = threadIdx.x; at < count; at += blockDim.x)
            staged[at] = __int_as_float(lines[at / columns * a.ld_cells + begin + at % columns]);
        __syncthreads();
        for (int64_t at = threadIdx.x; at < count; at += blockDim.x) {
            const int64_t i = at / columns, u = at % columns, from = parent(i);
            if (from != i) lines[i * a.ld_cells + begin + u] = __float_as_int(staged[from * columns + u]);
        }
        __syncthreads();
    }
    for (int64_t i = threadIdx.x; i < a.beam; i += blockDim.x)
        lines[i * a.ld_cells + step + 1] = static_cast<int32_t>(a.first_cell[s] + (step + 1) * a.beam + i);
}

__global__ void beam_step_kernel(const xf_beam_step a) {
    begin_after_previous();
    __shared__ int32_t continuing, done;
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
        for (int64_t i = threadIdx.x; i < looked_at(a); i += blockDim.x) winners[i].beam = kNoBeam;
        __syncthreads();
        rank_candidates(a, lists, a.ids + row * a.k, logp, live, winners);
        __syncthreads();
        if (threadIdx.x == 0) {
            continuing = split_winners(a, s, step, winners);
            done = a.done[s];
        }
        __syncthreads();
        for (int64_t i = threadIdx.x; i < continuing; i += blockDim.x) {
            const int64_t at = step * a.sentences * a.beam + slot + i;
            a.live_logp[slot + i] = winners[i].logp;
            a.history_token[at] = winners[i].token;
            a.history_parent[at] = winners[i].beam;
            a.history_logp[at] = winners[i].value;
        }
        if (continuing == 0 && a.finished_count[s] == 0)
            for (int64_t i = threadIdx.x; i < live; i += blockDim.x) a.live_logp[slot + i] = -INFINITY;
        if (!done) inherit(a, s, step, winners, continuing, staged);
    }
    const bool active = searched && done == 0;
    for (int64_t i = threadIdx.x; i < a.beam; i += blockDim.x) {
        a.tokens[row + i] = active && i < continuing ? winners[i].token : 0;
        a.steps[row + i] = active ? step + 1 : 0;
    }
    if (gridDim.x == 1 && threadIdx.x == 0) *a.remaining = active ? 1 : 0;
}

constexpr int kCountThreads = 256;

// Counts the unfinished sentences; used unless there is exactly one active sentence.
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
