// One step of beam search for many sentences: selects the hypotheses that continue (s. 6.1; Wu et al. 2016, eq. 14).
//
//     candidates  live[b].logp + values[b, j]        the 2 * beam best (1 if beam is 1), ties by b, then by j
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
#ifndef XF_CUDA_BEAM_STAGED  // a test has fewer, so that it fills the buffer several times
#define XF_CUDA_BEAM_STAGED 4096
#endif
constexpr int kStaged = XF_CUDA_BEAM_STAGED;

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

// Removes the end token from the list of one hypothesis.
__device__ void remove_end(const xf_beam_step &a, float *values, int32_t *ids) {
    int64_t j = 0;
    while (j < a.k && ids[j] != a.end_token) ++j;
    if (j == a.k) return;
    for (; j + 1 < a.k; ++j) {
        values[j] = values[j + 1];
        ids[j] = ids[j + 1];
    }
    values[j] = -INFINITY;
    ids[j] = -1;
}

// The state of a sentence, and its rows of the arrays.
struct Sentence {
    xf_beam_sentence *state;
    const double *penalty;
    xf_beam_finished *finished;
    __device__ Sentence(const xf_beam_step &a, int64_t s)
        : state(a.sentences + s), penalty(a.penalty + s * (a.ld_cells + 1)), finished(a.finished + s * a.beam) {}
};

// Inserts a finished hypothesis into the list of its sentence, after those with the same score, unless n_best are at
// least as good.
__device__ void finish(const Sentence &s, int32_t step, const Winner &w) {
    xf_beam_finished *const list = s.finished;
    const double score = w.logp / s.penalty[step + 1];
    const int32_t count = s.state->finished;
    if (count == s.state->n_best && !(list[count - 1].score < score)) return;
    int32_t at = count < s.state->n_best ? count : count - 1;
    s.state->finished = at + 1;
    for (; at > 0 && list[at - 1].score < score; --at) list[at] = list[at - 1];
    list[at] = {step, w.beam, w.logp, score, w.value, 0};
}

// Runs on one thread: separates the winners into finished and continuing hypotheses and moves the latter to the front.
// Returns their number.
__device__ int32_t split_winners(const xf_beam_step &a, const Sentence &s, int32_t step, Winner *winners) {
    int32_t continuing = 0;
    for (int64_t i = 0; i < looked_at(a) && winners[i].beam != kNoBeam; ++i) {
        const Winner w = winners[i];
        if (w.token == a.end_token)
            finish(s, step, w);
        else if (continuing < a.beam)
            winners[continuing++] = w;
    }
    bool done = continuing == 0;
    if (continuing > 0) {
        const int32_t length = step + 1, limit = s.state->limit, count = s.state->finished;
        s.state->length = length;
        s.state->live = continuing;
        done = length >= limit ||
               (count >= s.state->n_best && winners[0].logp / s.penalty[limit] < s.finished[count - 1].score);
    }
    s.state->done = done ? 1 : 0;
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
        lines[i * a.ld_cells + step + 1] = static_cast<int32_t>(a.sentences[s].first_cell + (step + 1) * a.beam + i);
}

__global__ void beam_step_kernel(const xf_beam_step a) {
    begin_after_previous();
    __shared__ int32_t continuing, done;
    Winner *const winners = dynamic_shared<Winner>();
    double *const logp = reinterpret_cast<double *>(winners + looked_at(a));
    float *const staged = reinterpret_cast<float *>(logp + a.beam);
    const int64_t row = blockIdx.x * a.beam, s = a.active[blockIdx.x], slot = s * a.beam;
    const bool searched = s >= 0 && a.sentences[s].done == 0;
    int32_t step = 0;
    if (searched) {
        const Sentence sentence(a, s);
        const int64_t live = sentence.state->live, count = live * a.k;
        step = sentence.state->length;
        float *const values = a.values + row * a.k;
        if (step < sentence.state->min_length) {
            for (int64_t i = threadIdx.x; i < live; i += blockDim.x)
                remove_end(a, values + i * a.k, a.ids + (row + i) * a.k);
            __syncthreads();
        }
        const float *lists = values;
        if (count <= kStaged) {
            for (int64_t at = threadIdx.x; at < count; at += blockDim.x) staged[at] = lists[at];
            lists = staged;
        }
        for (int64_t i = threadIdx.x; i < live; i += blockDim.x) logp[i] = step == 0 ? 0.0 : a.live[slot + i].logp;
        for (int64_t i = threadIdx.x; i < looked_at(a); i += blockDim.x) winners[i].beam = kNoBeam;
        __syncthreads();
        rank_candidates(a, lists, a.ids + row * a.k, logp, live, winners);
        __syncthreads();
        if (threadIdx.x == 0) {
            continuing = split_winners(a, sentence, step, winners);
            done = sentence.state->done;
        }
        __syncthreads();
        for (int64_t i = threadIdx.x; i < continuing; i += blockDim.x) {
            const xf_beam_token last = {winners[i].token, winners[i].beam, winners[i].value};
            a.live[slot + i] = {winners[i].logp, last, 0};
            a.history[(s * a.ld_cells + step) * a.beam + i] = last;
        }
        if (continuing == 0 && sentence.state->finished == 0)
            for (int64_t i = threadIdx.x; i < live; i += blockDim.x) a.live[slot + i].logp = -INFINITY;
        if (!done) inherit(a, s, step, winners, continuing, staged);
    }
    const bool active = searched && done == 0;
    const int32_t count = active ? continuing : 0;
    for (int64_t i = threadIdx.x; i < a.beam; i += blockDim.x) {
        a.tokens[row + i] = i < count ? winners[i].token : 0;
        a.steps[row + i] = active ? step + 1 : 0;
    }
}

}  // namespace

int32_t beam_step(xf_stream *stream, const xf_beam_step *args, xf_error *err) {
    const xf_beam_step &a = *args;
    if (const int32_t status = enter(stream, err)) return status;
    const size_t shared = static_cast<size_t>(looked_at(a)) * sizeof(Winner) +
                          static_cast<size_t>(a.beam) * sizeof(double) + kStaged * sizeof(float);
    return launch_dependent(stream, err, "beam_step", beam_step_kernel, dim3(static_cast<unsigned>(a.active_count)),
                            dim3(a.beam <= 16 ? 128 : 512), shared, a);
}

}  // namespace xf::cuda
