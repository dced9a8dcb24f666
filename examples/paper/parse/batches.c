/*
 * batches.c - packs pairs into batches and plans the order of training; see pairs.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "pairs.h"

static void *make_room(void *array, size_t *capacity, size_t count, size_t size) {
    if (count <= *capacity) return array;
    free(array);
    *capacity = 2 * count;
    return allocate(*capacity * size);
}

/* Writes the ids of a tree and the end token. Returns the position after them. */
static int32_t *put_tree(int32_t *ids, const struct tree *tree, const struct alphabet *alphabet) {
    int64_t leaves = 0;
    for (size_t i = 0; i < tree->length; ++i) {
        const int32_t symbol = tree->symbols[i];
        *ids++ = symbol == SYMBOL_LEAF ? id_of_leaf(alphabet, leaves++) : id_of_bracket(alphabet, symbol);
    }
    *ids++ = END_SYMBOL;
    return ids;
}

void own_batch_fill(struct own_batch *own, const struct pairs *pairs, const size_t *index, size_t count,
                    const struct alphabet *alphabet) {
    size_t sources = 0, targets = 0;
    for (size_t i = 0; i < count; ++i) {
        sources += (size_t)pairs->list[index[i]].source_length;
        targets += pairs->list[index[i]].tree.length + 1;
    }
    own->ids = make_room(own->ids, &own->id_capacity, sources + targets, sizeof *own->ids);
    own->offsets = make_room(own->offsets, &own->offset_capacity, 2 * (count + 1), sizeof *own->offsets);
    int32_t *source = own->ids, *target = own->ids + sources;
    int64_t *source_offsets = own->offsets, *target_offsets = own->offsets + count + 1;
    source_offsets[0] = target_offsets[0] = 0;
    for (size_t i = 0; i < count; ++i) {
        const struct pair *pair = &pairs->list[index[i]];
        memcpy(source, pair->source, (size_t)pair->source_length * sizeof *source);
        source += pair->source_length;
        source_offsets[i + 1] = source_offsets[i] + pair->source_length;
        if (alphabet != NULL) target = put_tree(target, &pair->tree, alphabet);
        target_offsets[i + 1] = target_offsets[i] + (int64_t)pair->tree.length + 1;
    }
    own->batch = (xf_batch){.struct_size = sizeof own->batch,
                            .sentences = (int64_t)count,
                            .src_ids = own->ids,
                            .src_offsets = source_offsets,
                            .tgt_ids = alphabet != NULL ? own->ids + sources : NULL,
                            .tgt_offsets = alphabet != NULL ? target_offsets : NULL};
}

void own_batch_free(struct own_batch *own) {
    free(own->ids);
    free(own->offsets);
    memset(own, 0, sizeof *own);
}

uint64_t next_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void shuffle(size_t *list, size_t count, uint64_t *state) {
    for (size_t i = count; i > 1; --i) {
        const size_t k = (size_t)(next_random(state) % i), other = list[k];
        list[k] = list[i - 1];
        list[i - 1] = other;
    }
}

/* Sorts plan->order by cost with a stable counting sort. */
static void sort_by_cost(struct plan *plan) {
    const size_t count = plan->pairs->count, costs = (size_t)plan->batch_tokens + 2;
    size_t *places = allocate(costs * sizeof *places), *sorted = allocate(count * sizeof *sorted);
    memset(places, 0, costs * sizeof *places);
    for (size_t i = 0; i < count; ++i) places[pair_tokens(&plan->pairs->list[i]) + 1]++;
    for (size_t i = 1; i < costs; ++i) places[i] += places[i - 1];
    for (size_t i = 0; i < count; ++i)
        sorted[places[pair_tokens(&plan->pairs->list[plan->order[i]])]++] = plan->order[i];
    memcpy(plan->order, sorted, count * sizeof *sorted);
    free(places);
    free(sorted);
}

static void make_epoch(struct plan *plan, int64_t epoch) {
    const size_t count = plan->pairs->count;
    uint64_t state = plan->seed;
    state = next_random(&state) + (uint64_t)epoch;
    for (size_t i = 0; i < count; ++i) plan->order[i] = i;
    shuffle(plan->order, count, &state);
    sort_by_cost(plan);
    plan->count = 0;
    int64_t tokens = plan->batch_tokens; /* starts as full, so that the first pair begins a batch */
    for (size_t i = 0; i < count; ++i) {
        const int64_t cost = pair_tokens(&plan->pairs->list[plan->order[i]]);
        if (tokens + cost > plan->batch_tokens) {
            plan->batches[plan->count] = plan->count;
            plan->begins[plan->count++] = i;
            tokens = 0;
        }
        tokens += cost;
    }
    plan->begins[plan->count] = count;
    shuffle(plan->batches, plan->count, &state);
    plan->epoch = epoch;
}

bool plan_open(struct plan *plan, const struct pairs *pairs, int64_t batch_tokens, uint64_t seed) {
    for (size_t i = 0; i < pairs->count; ++i) {
        if (pair_tokens(&pairs->list[i]) <= batch_tokens) continue;
        complain("pair %zu has %lld tokens, expected at most %lld (data.batch_tokens)", i + 1,
                 (long long)pair_tokens(&pairs->list[i]), (long long)batch_tokens);
        return false;
    }
    *plan = (struct plan){.pairs = pairs, .batch_tokens = batch_tokens, .seed = seed, .epoch = -1};
    plan->order = allocate(pairs->count * sizeof *plan->order);
    plan->begins = allocate((pairs->count + 1) * sizeof *plan->begins);
    plan->batches = allocate(pairs->count * sizeof *plan->batches);
    make_epoch(plan, 0);
    return true;
}

const size_t *plan_batch(struct plan *plan, int64_t step, size_t *count) {
    const int64_t epoch = step / (int64_t)plan->count;
    if (epoch != plan->epoch) make_epoch(plan, epoch);
    const size_t batch = plan->batches[step % (int64_t)plan->count];
    *count = plan->begins[batch + 1] - plan->begins[batch];
    return plan->order + plan->begins[batch];
}

void plan_free(struct plan *plan) {
    free(plan->order);
    free(plan->begins);
    free(plan->batches);
    memset(plan, 0, sizeof *plan);
}
