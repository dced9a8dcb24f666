/*
 * common.h - helpers of the example programs: messages, the context, sentences, the clock.
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

/* Name of the program in messages and --help. Each program defines it. */
extern const char program_name[];

/* Prints "PROGRAM: ..." on stderr. If the terminal shows a progress line, erases it first. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void complain(const char *format, ...);

/* Makes later messages name this rank, for processes that share a terminal. Only rank 0 prints warnings. */
void set_rank(int rank);

/* Sets whether the terminal shows a progress line without a line end, which complain() erases. */
void set_unfinished_line(bool unfinished);

/* Prints the message of an error. Returns EXIT_FAILED, so that a command can `return fail(&err);`. */
int fail(const xf_error *err);

/*
 * Flushes stdout. Returns -1 if everything was written, or else the exit status: EXIT_OK without a message if the
 * reader of the output has exited (`| head`), which is not an error, and EXIT_FAILED after a message otherwise.
 */
int check_output(void);

/* Like malloc(), but exits the program if no memory is available. */
void *allocate(size_t size);

/* Returns a list with room for one more item: the same list, or a larger one that replaces it. */
void *with_room(void *list, size_t count, size_t *capacity, size_t item_size);

/* Creates the context and sends its warnings to stderr. NULL after a message. */
xf_context *open_context(const xf_config *config);

/* Describes the device of a context, such as "openblas on cpu:0, AMD EPYC, avx512, 2 threads, fp32". */
const char *device_of(const xf_context *context);

/* Loads a model, which must have a tokenizer; config selects "model.weights". NULL after a message. */
xf_model *open_model(xf_context *context, const char *path, const xf_config *config);

/* Reads an integer option. */
xf_status get_integer(const xf_config *config, const char *key, int64_t *value, xf_error *err);

/* Returns the number of ids of a tokenizer; 0 for a pair. */
int32_t vocabulary_size(const xf_tokenizer *tokenizer);

/* Prints how many lines of a corpus were kept, and why the others were skipped. */
void print_corpus(const char *name, const xf_corpus *corpus);

/* Returns whether the pairs of a corpus have text. Those of an encoded corpus have none. */
bool has_text(const xf_corpus *corpus);

/* Returns the number of elements of a parameter tensor. */
int64_t element_count(const xf_tensor_info *info);

/* Returns the number of parameters of a model. */
int64_t parameter_count(const xf_model *model);

/* NUL-terminated sentences. */
struct sentences {
    char **texts;
    size_t *lengths;
    size_t count, capacity;
};

void sentences_add(struct sentences *list, const char *text, size_t length);
void sentences_clear(struct sentences *list); /* frees the texts, keeps the capacity */
void sentences_free(struct sentences *list);

/* Copies one side of the first `limit` pairs of a corpus (all when limit is 0). */
enum side { SIDE_SOURCE, SIDE_TARGET };
void sentences_of_corpus(struct sentences *list, const xf_corpus *corpus, enum side side, int64_t limit);

/*
 * Receives the hypotheses of sentence `index` in `found`. If this sentence could not be translated (not UTF-8, too
 * long), found is NULL and err gives the reason.
 */
typedef void (*answer_fn)(void *user, size_t index, const xf_hypotheses *found, const xf_error *err);

/* Translates sentences and calls fn for each of them, in order. params may be NULL. */
xf_status translate_each(xf_decoder *decoder, const struct sentences *list, const xf_decode_params *params,
                         answer_fn fn, void *user, xf_error *err);

/* Returns the time of a monotonic clock, in seconds. */
double now(void);

/* Formats a number of seconds as "1:02" or "1:02:03". */
const char *clock_text(char text[24], double seconds);

#endif
