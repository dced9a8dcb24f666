/*
 * recombine.c - exchanges brackets of equal labels between pairs; see recombine.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recombine.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"

enum { MOST_EXCHANGES = 3, ATTEMPTS = 8 };

/* A bracket in a pair: symbols [begin, end), including the bracket symbols, and words [first, first + words). */
struct bracket {
    size_t pair, begin, end;
    int64_t first, words;
    int32_t label;
};

struct brackets {
    struct bracket *list;
    size_t count, capacity;
};

/* Finds all brackets of a pair except the root. */
static void find_brackets(struct brackets *found, const struct pairs *pairs, size_t number) {
    const struct tree *tree = &pairs->list[number].tree;
    size_t *open = allocate((tree->length + 1) * sizeof *open), depth = 0;
    int64_t words = 0;
    const size_t root = found->count;
    for (size_t i = 0; i < tree->length; ++i) {
        const int32_t symbol = tree->symbols[i];
        if (symbol == SYMBOL_LEAF) {
            ++words;
        } else if (is_opening(symbol)) {
            found->list = with_room(found->list, found->count, &found->capacity, sizeof *found->list);
            found->list[found->count] = (struct bracket){number, i, 0, words, 0, label_of(symbol)};
            open[depth++] = found->count++;
        } else {
            struct bracket *bracket = &found->list[open[--depth]];
            bracket->end = i + 1;
            bracket->words = words - bracket->first;
        }
    }
    free(open);
    --found->count; /* drops the root, which was found first */
    memmove(found->list + root, found->list + root + 1, (found->count - root) * sizeof *found->list);
}

/* The brackets of all pairs by label: places[begins[label]] to places[begins[label + 1] - 1]. */
struct index {
    struct brackets all;
    size_t *places, begins[MAX_LABELS + 1];
};

static void make_index(struct index *index, const struct pairs *pairs) {
    size_t counts[MAX_LABELS] = {0};
    for (size_t i = 0; i < pairs->count; ++i) find_brackets(&index->all, pairs, i);
    for (size_t i = 0; i < index->all.count; ++i) ++counts[index->all.list[i].label];
    index->begins[0] = 0;
    for (int32_t label = 0; label < MAX_LABELS; ++label)
        index->begins[label + 1] = index->begins[label] + counts[label];
    index->places = allocate((index->all.count + 1) * sizeof *index->places);
    for (size_t i = index->all.count; i-- > 0;) {
        const int32_t label = index->all.list[i].label;
        index->places[index->begins[label] + --counts[label]] = i;
    }
}

/* Finds the bytes of the words [first, first + words) in the text of a sentence. */
static const char *words_of(const struct pair *pair, int64_t first, int64_t words, size_t *length) {
    const char *begin = pair->text, *end;
    const char *const stop = pair->text + pair->text_length;
    for (; first > 0; --first) begin = (const char *)memchr(begin, ' ', (size_t)(stop - begin)) + 1;
    for (end = begin; words > 0; --words) {
        if (end > begin) ++end; /* the blank */
        const char *blank = memchr(end, ' ', (size_t)(stop - end));
        end = blank != NULL ? blank : stop;
    }
    *length = (size_t)(end - begin);
    return begin;
}

static char *put(char *at, const char *text, size_t length) {
    memcpy(at, text, length);
    return at + length;
}

/* Adds a copy of a pair in which the bracket `old` is replaced with `other`. */
static void add_exchanged(struct pairs *pairs, const struct bracket *old, const struct bracket *other) {
    const struct pair *to = &pairs->list[old->pair], *from = &pairs->list[other->pair];
    size_t gone, come;
    const char *out = words_of(to, old->first, old->words, &gone);
    const char *in = words_of(from, other->first, other->words, &come);
    char *text = allocate(to->text_length + come + 1), *end = text;
    end = put(end, to->text, (size_t)(out - to->text));
    end = put(end, in, come);
    end = put(end, out + gone, to->text_length - (size_t)(out - to->text) - gone);
    struct tree tree = {0};
    for (size_t i = 0; i < old->begin; ++i) tree_add(&tree, to->tree.symbols[i]);
    for (size_t i = other->begin; i < other->end; ++i) tree_add(&tree, from->tree.symbols[i]);
    for (size_t i = old->end; i < to->tree.length; ++i) tree_add(&tree, to->tree.symbols[i]);
    pairs_add(pairs, text, (size_t)(end - text)); /* may move the pairs that to and from point to */
    pairs->list[pairs->count - 1].tree = tree;
    free(text);
}

/* Replaces one bracket of a pair and appends the new pair. Returns false if no bracket fits. */
static bool exchange_one(struct pairs *pairs, size_t number, const struct index *index, int64_t longest,
                         struct brackets *own, uint64_t *random) {
    own->count = 0;
    find_brackets(own, pairs, number);
    for (int attempt = 0; own->count > 0 && attempt < ATTEMPTS; ++attempt) {
        const struct bracket *old = &own->list[next_random(random) % own->count];
        const size_t first = index->begins[old->label], count = index->begins[old->label + 1] - first;
        if (count == 0) continue;
        const struct bracket *other = &index->all.list[index->places[first + next_random(random) % count]];
        if (other->pair == number || (old->first == 0) != (other->first == 0)) continue;
        if (pairs->list[number].words - old->words + other->words > longest) continue;
        const struct bracket chosen = *old;
        add_exchanged(pairs, &chosen, other);
        return true;
    }
    return false;
}

void pairs_recombine(struct pairs *pairs, int64_t copies, int64_t longest, uint64_t seed) {
    struct index index = {0};
    struct brackets own = {0};
    const size_t count = pairs->count;
    uint64_t random = seed;
    if (copies > 0) make_index(&index, pairs);
    for (int64_t copy = 0; copy < copies; ++copy) {
        for (size_t i = 0; i < count; ++i) {
            const size_t before = pairs->count;
            size_t number = i;
            for (uint64_t left = 1 + next_random(&random) % MOST_EXCHANGES; left > 0; --left)
                if (exchange_one(pairs, number, &index, longest, &own, &random)) number = pairs->count - 1;
            pairs_keep_last(pairs, before);
        }
    }
    free(index.all.list);
    free(index.places);
    free(own.list);
}
