/*
 * pairs.h - sentences with their trees: reading them, turning them into ids, packing them into batches.
 *
 * The source of a pair is the sentence, in ids of a tokenizer that was learnt from the sentences alone. The target is
 * the tree, in ids of an alphabet above those.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_PAIRS_H
#define PARSE_PAIRS_H

#include <xformer/xformer.h>

#include "alphabet.h"

struct pair {
    char *text; /* the sentence: words separated by single blanks */
    size_t text_length;
    int64_t words;
    bool *deleted;    /* of each word: whether EVALB's rules delete it */
    struct tree tree; /* empty for a sentence without one */
    int32_t *source;  /* ids with the end symbol; NULL until pairs_encode() */
    int32_t source_length;
};

struct pairs {
    struct pair *list;
    size_t count, capacity;
};

/* Adds a sentence without a tree. Blanks are made single ones. False for one without a word. */
bool pairs_add(struct pairs *pairs, const char *text, size_t length);

/* Adds a line, "sentence TAB tree". Returns NULL, or what is wrong with it; the pair is then added or not. */
const char *pairs_add_line(struct pairs *pairs, struct labels *labels, bool grow, const char *text, size_t length);

/*
 * Reads a file of "sentence TAB tree" lines; each tree must be one and have as many leaves as the sentence has words.
 * With grow, new labels are added to the table. False after a message with file and line number.
 */
bool pairs_read(struct pairs *pairs, struct labels *labels, bool grow, const char *path);
void pairs_free(struct pairs *pairs);

/* Of the pairs behind the first `count` keeps the last alone. */
void pairs_keep_last(struct pairs *pairs, size_t count);

/* What a pair costs in a batch: the tokens of its longer side. Encoded pairs alone. */
int64_t pair_tokens(const struct pair *pair);

/* Deletes the pairs from `first` on that cost more than `tokens`. */
void pairs_drop_long(struct pairs *pairs, size_t first, int64_t tokens);

/* Keeps the first `limit` pairs (all when limit is 0). */
void pairs_limit(struct pairs *pairs, int64_t limit);

/* Learns a tokenizer from the sentences. */
enum xf_status pairs_tokenizer(const struct pairs *pairs, xf_context *context, const xf_config *config,
                               xf_tokenizer **out, xf_error *err);

/* Fills in source and source_length of all pairs. */
enum xf_status pairs_encode(struct pairs *pairs, const xf_tokenizer *tokenizer, xf_error *err);

/* A batch that owns its arrays. Zeroed it is empty and may be filled again and again. */
struct own_batch {
    xf_batch batch;
    int32_t *ids, *offsets;
    size_t id_capacity, offset_capacity;
};

/* Fills a batch with the pairs list[index[0]] to list[index[count - 1]]; without targets when alphabet is NULL. */
void own_batch_fill(struct own_batch *own, const struct pairs *pairs, const size_t *index, size_t count,
                    const struct alphabet *alphabet);
void own_batch_free(struct own_batch *own);

/*
 * The order of training: which pairs are in batch b of epoch e. A pair costs the tokens of its longer side; pairs of
 * equal cost are shuffled, and batches of at most batch_tokens are filled in the order of cost and shuffled in their
 * turn. The number of batches is the same in each epoch, so the number of a step alone says which batch it has.
 */
struct plan {
    const struct pairs *pairs;
    int64_t batch_tokens;
    uint64_t seed;
    int64_t epoch;            /* of what is below; -1: of none */
    size_t *order;            /* [pairs->count] */
    size_t *begins, *batches; /* where batch k begins in order, [count + 1]; the order of the batches, [count] */
    size_t count;
};

/* False after a message when a pair is longer than batch_tokens or there is none. */
bool plan_open(struct plan *plan, const struct pairs *pairs, int64_t batch_tokens, uint64_t seed);
/* The pairs of the batch of a step, from 0. */
const size_t *plan_batch(struct plan *plan, int64_t step, size_t *count);
void plan_free(struct plan *plan);

/* The next number of a generator (SplitMix64) whose state is *state. */
uint64_t next_random(uint64_t *state);

#endif
