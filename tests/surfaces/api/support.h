/*
 * Shared by the tests of the public API: a set of valid handles, wrong handles, and checks of refusals.
 *
 * REFUSED runs a call twice, with an error object and without, and checks the status, the sentence and that an output
 * kept its bytes. The call names its last argument `err`:
 *
 *     REFUSED(XF_ERROR_OUT_OF_RANGE, info, xf_model_get_tensor(world.model, 9999, &info, err));
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_API_SUPPORT_H
#define XF_TEST_API_SUPPORT_H

#include <stdio.h>

#include "../../support/c_test.h"
#include "../../support/sanitized.h"
#include "../../support/world.h"
#include "xformer/xformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The context computes with cpu:ref on two threads. */
extern struct world world;

enum kind { CONFIG, CONTEXT, CORPUS, TOKENIZER, BATCHER, MODEL, TRAINER, DECODER, HYPOTHESES, KINDS };

/* The handle of kind `which`, or from KINDS on: NULL, a block of zeros, a freed handle, some text. */
enum { WRONG_HANDLES = KINDS + 4 };
void *wrong_handle(int which);

/* For an output that a call does not have. */
extern char nothing;
/* A pointer that no call may follow, to see that an output handle was not written. */
#define SENTINEL ((void *)(uintptr_t)0x5E)

void check_refusal(xf_status expected, xf_status found, const xf_error *err, const char *file, int line);
void check_accepted(xf_status found, const xf_error *err, const char *file, int line);

#define REFUSED(expected, kept, call)                               \
    do {                                                            \
        unsigned char before_[sizeof(kept)];                        \
        memcpy(before_, &(kept), sizeof before_);                   \
        xf_error error_;                                            \
        memset(&error_, 0xA5, sizeof error_);                       \
        xf_error *err = &error_;                                    \
        check_refusal((expected), (call), err, __FILE__, __LINE__); \
        assert_memory_equal(before_, &(kept), sizeof before_);      \
        err = NULL;                                                 \
        check_refusal((expected), (call), err, __FILE__, __LINE__); \
        assert_memory_equal(before_, &(kept), sizeof before_);      \
    } while (0)

/* An output struct that shows whether it was written. */
#define PAINTED(type, name)            \
    type name;                         \
    memset(&name, 0x5A, sizeof(name)); \
    name.struct_size = sizeof(name)

/* Runs the statement with a copy of a struct in which one member has another value. */
#define CHANGED(type, copy, from, change, statement) \
    do {                                             \
        type copy = (from);                          \
        copy.change;                                 \
        statement;                                   \
    } while (0)

/* The message of the last REFUSED contains this text. */
#define SAYS(text) check_says(text, __FILE__, __LINE__)
void check_says(const char *text, const char *file, int line);

/* The call succeeds and does not change the error object. */
#define ACCEPTED(call)                                   \
    do {                                                 \
        xf_error error_;                                 \
        memset(&error_, 0xA5, sizeof error_);            \
        xf_error *err = &error_;                         \
        check_accepted((call), err, __FILE__, __LINE__); \
    } while (0)

/* Makes a handle that is freed at the end of the block: MAKE(model, copy, xf_model_copy(model, ..., &copy, err)); */
#define MAKE(kind, name, call) \
    OWNED(kind) *name = NULL;  \
    ACCEPTED(call)

/* The ids of the start and end symbol of a tokenizer that this library trained. */
enum { TOKEN_START = 0, TOKEN_END = 1 };

/* Group setup and teardown. */
int world_open(void **state);
int world_close(void **state);

/* A config for a model of a few thousand parameters, on a device. */
xf_config *small_config(const char *device);
/* The same with other values: "KEY=VALUE KEY=VALUE ...". */
xf_config *config_with(const char *device, const char *settings);
/* NULL, after a line on stdout, when the device is not there. */
xf_context *context_on(const char *device);
/* Runs the block for the index of each CPU device of this build. */
extern const char *const cpu_devices[2];
int opens(const char *device);
#define ON_EACH_DEVICE(index)                 \
    for (int index = 0; index < 2; ++(index)) \
        if (opens(cpu_devices[index]))
void set(xf_config *config, const char *key, const char *value);
void set_all(xf_config *config, const char *settings);
xf_corpus *small_corpus(xf_context *context);

/* Sources and targets {5, 6, end} and {7, 8, end}. */
extern const xf_batch two_pairs, one_pair;

/* A file name in a folder of this process; the folder goes with the process. */
const char *scratch_path(const char *name);
/* Drops the rights of root, so that permissions apply. Other users remain unchanged. */
void drop_rights(void);
void regain_rights(void);
void write_file(const char *path, const void *bytes, size_t size);
unsigned char *file_bytes(const char *path, size_t *size);
void assert_same_files(const char *a, const char *b);

/* The results of calls that must succeed. */
xf_option_info get_option(size_t index);
xf_memory_stats get_memory(const xf_context *context);
xf_batcher_stats get_batcher_stats(const xf_batcher *batcher);
xf_tensor_info get_tensor(const xf_model *model, size_t index);
size_t tensor_size(const xf_model *model, size_t index); /* in numbers */
xf_hypothesis get_hypothesis(const xf_hypotheses *hypotheses, size_t sentence, size_t index);

/* A batch with the same ids, from 2 to ids + 1, as source and target. Its arrays are valid until the next call. */
xf_batch make_batch(int sentences, int tokens, int32_t ids);

/* All parameters, concatenated. */
float *all_params(const xf_model *model, size_t *count);
/* The next batch that is not the end of an epoch. */
xf_batch next_batch(xf_batcher *batcher);

#define RUN(tests, setup, teardown) \
    _cmocka_run_group_tests(__FILE__, tests, sizeof(tests) / sizeof *(tests), setup, teardown)

#ifdef __cplusplus
}
#endif
#endif
