/*
 * Shared by the scenarios of fault injection: a bench with one object of each kind on one device, and the macros with
 * which a scenario calls the library.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_FAULT_INJECTED_H
#define XF_TEST_FAULT_INJECTED_H

#include "../../support/fnv.h"
#include "interpose.h"

#define DO(call)       \
    do {               \
        fault_enter(); \
        call;          \
        fault_leave(); \
    } while (0)
#define XF_FREEING(call) DO(call)
#include "../../support/api.h"
#include "support.h"

/* Where a bench computes. */
struct place {
    const char *name, *device, *isa;
};

/* Objects that scenarios use without changing them permanently. */
struct bench {
    const struct place *place;
    xf_config *config;
    xf_context *context, *ref; /* ref: another one, on cpu:ref */
    xf_corpus *corpus;
    xf_tokenizer *tokenizer;
    xf_batcher *batcher;
    xf_model *model;
    xf_trainer *trainer; /* of which the model is */
    xf_decoder *decoder;
    xf_trainer *resumed; /* what train_scenarios' resets make anew */
    xf_batcher *moved;
    xf_batch batch; /* owns its arrays */
    char *model_bytes;
    size_t model_size;
};
bool bench_open(struct bench *bench, const struct place *place);
void bench_close(struct bench *bench);
/* The bench's options for another object, on its device; to be freed. */
xf_config *bench_config(const struct place *place);
/* A host that receives every line of the log. */
xf_host listening_host(void);

/* Names in the scratch folder. */
#define MODEL_FILE scratch_path("model")
#define NARROW_FILE scratch_path("narrow")
#define CHECKPOINT_FILE scratch_path("checkpoint")
#define TOKENIZER_FILE scratch_path("tokenizer")
#define CORPUS_FILE scratch_path("corpus")
/* The output of a scenario: a name so long that a string must allocate. */
#define SAVED_FILE scratch_path("saved by one of the scenarios")
#define CORPUS_FOLDER scratch_path("folder.d")

/* The checksum of the results of an undisturbed run (FNV-1a). */
typedef uint64_t digest;
void add_bytes(digest *d, const void *bytes, size_t size);
void add_text(digest *d, const char *text);
void add_number(digest *d, double value);
void add_file(digest *d, const char *path);
void add_model(digest *d, const xf_model *model);
void add_answers(digest *d, const xf_hypotheses *answers);

struct scenario {
    const char *name;
    bool everywhere; /* on each device; otherwise only on the first */
    /* Brings the bench to the state that act needs, without injected failures. May be NULL. */
    void (*reset)(struct bench *bench);
    /* Calls the library by TRY, keeps new objects as OWNED, and adds the results to the checksum. After an error it may
     * be called again without a reset, and must then have the same results. */
    xf_status (*act)(struct bench *bench, digest *d, xf_error *error);
    /* Or both ways are right: of several ranks each may be the one that fails. */
    bool may_be_peer;
    /* It replaces SAVED_FILE, which remains after an error. */
    bool saves;
};

extern const struct scenario object_scenarios[], data_scenarios[], text_scenarios[], model_scenarios[],
    train_scenarios[], decode_scenarios[], rank_scenarios[];

/* Shared with the processes that work. */
struct progress {
    long point, resume_behind; /* of this place, counted from 1 */
    char what[96];             /* the point */
    bool absent;               /* the place has no device */
    bool finished;
    long scenarios, points, failed, coped, complaints, complaints_here;
    long calls[FAULT_KINDS], blocks;
    digest expected;
    struct fault_seen seen;
};
extern struct progress *progress;
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns whether a call may return this status for the injected failure. */
void check_refused(const struct scenario *s, enum fault_kind kind, xf_status status, const xf_error *err);

/* Fails each point of the first use of a device, each in a separate process that has not loaded the plugin before.
 * most: the approximate number of points of a kind. The files of a bench must exist. */
void first_use(const struct place *place, long most);

/* In act, where something may fail. On an error act returns. */
#define TRY(call)                      \
    do {                               \
        xf_status tried_;              \
        DO(tried_ = (call));           \
        if (tried_ < 0) return tried_; \
    } while (0)

#endif
