/*
 * pairs.h - reads pairs of a sentence and its tree, encodes them, and packs them into batches.
 *
 * The source of a pair is the sentence, encoded with a tokenizer that was trained only on sentences. The target is the
 * tree, whose ids follow those of the tokenizer (alphabet.h).
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
    bool *deleted;    /* for each word, whether EVALB deletes it */
    struct tree tree; /* empty for a sentence without one */
    int32_t *source;  /* ids including the end token; NULL before pairs_encode() */
    int32_t source_length;
};

struct pairs {
    struct pair *list;
    size_t count, capacity;
};

/* Adds a sentence without a tree, with blanks collapsed. Returns false if it has no words. */
bool pairs_add(struct pairs *pairs, const char *text, size_t length);

/* Adds a line, "sentence TAB tree". Returns NULL, or an error text; in that case the pair may have been added. */
const char *pairs_add_line(struct pairs *pairs, struct labels *labels, bool grow, const char *text, size_t length);

/*
 * Reads a file of "sentence TAB tree" lines. Each tree must be well-formed and have one leaf for each word. If grow is
 * set, new labels are added to the table. Returns false after printing a message with file and line number.
 */
bool pairs_read(struct pairs *pairs, struct labels *labels, bool grow, const char *path);
void pairs_free(struct pairs *pairs);

/* Keeps the first `count` pairs and the last pair. */
void pairs_keep_last(struct pairs *pairs, size_t count);

/* Returns the cost of an encoded pair in a batch: the tokens of its longer side. */
int64_t pair_tokens(const struct pair *pair);

/* Deletes the pairs at index `first` or later that cost more than `tokens`. */
void pairs_drop_long(struct pairs *pairs, size_t first, int64_t tokens);

/* Keeps the first `limit` pairs (all when limit is 0). */
void pairs_limit(struct pairs *pairs, int64_t limit);

/* Trains a tokenizer on the sentences. */
xf_status pairs_tokenizer(const struct pairs *pairs, xf_context *context, const xf_config *config, xf_tokenizer **out,
                          xf_error *err);

/* Sets source and source_length of all pairs. */
xf_status pairs_encode(struct pairs *pairs, const xf_tokenizer *tokenizer, xf_error *err);

/* A batch that owns its arrays. Initialize it with zeros; it can be filled repeatedly. */
struct own_batch {
    xf_batch batch;
    int32_t *ids;
    int64_t *offsets;
    size_t id_capacity, offset_capacity;
};

/* Fills a batch with the pairs list[index[0]] to list[index[count - 1]]. If alphabet is NULL, it has no targets. */
void own_batch_fill(struct own_batch *own, const struct pairs *pairs, const size_t *index, size_t count,
                    const struct alphabet *alphabet);
void own_batch_free(struct own_batch *own);

/*
 * The order of training: which pairs are in batch b of epoch e. Pairs are sorted by cost (pair_tokens()); pairs of
 * equal cost are shuffled. Batches of at most batch_tokens are filled in this order, then shuffled. All epochs have the
 * same number of batches, so the step number determines the batch.
 */
struct plan {
    const struct pairs *pairs;
    int64_t batch_tokens;
    uint64_t seed;
    int64_t epoch;            /* the epoch of the fields below; -1: none */
    size_t *order;            /* [pairs->count] */
    size_t *begins, *batches; /* start of each batch in `order`, [count + 1]; order of batches, [count] */
    size_t count;
};

/* Returns false after printing a message if a pair is longer than batch_tokens. */
bool plan_open(struct plan *plan, const struct pairs *pairs, int64_t batch_tokens, uint64_t seed);
/* Returns the pairs of the batch of a step; steps count from 0. */
const size_t *plan_batch(struct plan *plan, int64_t step, size_t *count);
void plan_free(struct plan *plan);

/* Returns the next number of the SplitMix64 generator with state *state. */
uint64_t next_random(uint64_t *state);

#endif
