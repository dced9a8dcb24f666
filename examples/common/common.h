/*
 * common.h - what the example programs share: messages, the context, sentences, the clock.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_COMMON_H
#define EXAMPLE_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xformer/xformer.h>

/* Exit statuses of the program. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

/* What messages and --help call the program, which defines it. */
extern const char program_name[];

/* Prints "PROGRAM: ..." on stderr; first takes away a progress line that stands on the terminal. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void complain(const char *format, ...);

/* From now on messages name this rank, for several processes that share a terminal; warnings are rank 0's alone. */
void set_rank(int rank);

/* Tells complain() that an unfinished line stands on the terminal, or no longer does. */
void set_unfinished_line(bool unfinished);

/* Prints the sentence of an error; returns EXIT_FAILED, so that a command can `return fail(&err);`. */
int fail(const xf_error *err);

/*
 * Flushes stdout. Returns -1 when all was written; else the exit status: EXIT_OK without a word when the reader of
 * our output has gone (`| head`), which is nobody's mistake, and EXIT_FAILED after a message for all else.
 */
int check_output(void);

/* malloc() that ends the program when there is no memory: this is a program, not a library. */
void *allocate(size_t size);

/* A list with room for one more item: the list itself, or a larger one in its place. */
void *with_room(void *list, size_t count, size_t *capacity, size_t item_size);

/* Creates the context and sends its warnings to stderr. NULL after a message. */
xf_context *open_context(const xf_config *config);

/* Loads a model that has a tokenizer. NULL after a message. */
xf_model *open_model(xf_context *context, const char *path);

/* Prints how many lines of a corpus were kept, and why the others were not. */
void print_corpus(const char *name, const xf_corpus *corpus);

/* Sum of rows * columns over a model's tensors. */
int64_t parameter_count(const xf_model *model);

/* NUL-terminated sentences. */
struct sentences {
    char **texts;
    size_t *lengths;
    size_t count, capacity;
};

void sentences_add(struct sentences *list, const char *text, size_t length);
void sentences_clear(struct sentences *list); /* frees the texts, keeps the room */
void sentences_free(struct sentences *list);

/* Copies one side of the first `limit` pairs of a corpus (all when limit is 0). */
enum side { SIDE_SOURCE, SIDE_TARGET };
void sentences_of_corpus(struct sentences *list, const xf_corpus *corpus, enum side side, int64_t limit);

/*
 * Receives the answers to sentence `index` of `found`; or, when this one sentence can't be translated (not UTF-8, too
 * long), found is NULL and err says why.
 */
typedef void (*answer_fn)(void *user, size_t index, const xf_hypotheses *found, const xf_error *err);

/* Translates sentences and hands on the answers in their order. */
enum xf_status translate_each(xf_decoder *decoder, const struct sentences *list, answer_fn fn, void *user,
                              xf_error *err);

/* Seconds of a clock that never jumps. */
double now(void);

/* Writes "1:02" or "1:02:03" for a number of seconds. */
const char *clock_text(char text[24], double seconds);

#endif
