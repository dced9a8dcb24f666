/*
 * Fault injection: the first use of a device, for which its plugin is loaded; and what is said of a point. See
 * injected.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "injected.h"

#include <errno.h>
#include <execinfo.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 60, MOST_COMPLAINTS = 12 };

void complain(const char *format, ...) {
    ++progress->complaints;
    if (++progress->complaints_here > MOST_COMPLAINTS) return;
    va_list list;
    va_start(list, format);
    printf("%s: ", progress->what);
    vprintf(format, list);
    va_end(list);
    const struct fault_seen *seen = &progress->seen;
    printf(" [%s: %s]\n", seen->function != NULL ? seen->function : "nothing failed",
           seen->error < 0 ? "short" : strerror(seen->error));
    fflush(stdout);
    if (getenv("XF_FAULT_FRAMES") != NULL) backtrace_symbols_fd(seen->frames, seen->frame_count, 1);
}

/* Returns whether a call may return this status for the injected failure. */
void check_refused(const struct scenario *s, enum fault_kind kind, xf_status status, const xf_error *err) {
    const struct fault_seen *seen = &progress->seen;
    bool right = false;
    if (kind == FAULT_MEMORY || (kind == FAULT_CALLS && seen->error == ENOMEM))
        right = status == XF_ERROR_NO_MEMORY;
    else if (kind == FAULT_CALLS && seen->error == SHORT_TO_NOTHING)
        right = status == XF_ERROR_CORRUPT || status == XF_ERROR_IO;
    else if (kind == FAULT_CALLS)
        right = err->native_code == seen->error &&
                (status == XF_ERROR_IO || (status == XF_ERROR_NOT_FOUND && seen->error == ENOENT));
    /* A folder that can't be looked into has no plugin. */
    if (kind == FAULT_CALLS && strcmp(seen->function, "access") == 0 && status == XF_ERROR_NOT_FOUND) right = true;
    if (s->may_be_peer && status == XF_ERROR_PEER) right = true;
    if (!right) complain("%s, native code %d: %.200s", xf_status_name(status), err->native_code, err->message);
    if (err->status != (int32_t)status || err->message[0] == 0) complain("no sentence, or of another status");
}

/* From nothing to an answer. */
static xf_status act_first_use(struct bench *b, digest *d, xf_error *error) {
    static const char *const texts[] = {"one two three"};
    OWNED(context) *context = NULL;
    OWNED(model) *model = NULL;
    OWNED(decoder) *decoder = NULL;
    OWNED(hypotheses) *answers = NULL;
    TRY(xf_context_create(b->config, NULL, &context, error));
    DO(fault_spare("libxformer_cuda.so"));
    TRY(load_model(context, MODEL_FILE, &model, error));
    TRY(xf_decoder_create(model, NULL, b->config, &decoder, error));
    TRY(xf_translate(decoder, texts, NULL, 1, NULL, NULL, &answers, error));
    add_answers(d, answers);
    const char *const device = device_of(context);
    add_bytes(d, device, strcspn(device, ","));
    return XF_OK;
}
static const struct scenario scenario = {.name = "first_use", .act = act_first_use};

static xf_status call(struct bench *b, xf_error *err) {
    digest found = XF_TEST_FNV_INIT;
    memset(err, 0, sizeof *err);
    const xf_status status = act_first_use(b, &found, err);
    if (status == XF_OK && progress->expected == 0) progress->expected = found;
    if (status == XF_OK && found != progress->expected) complain("another answer than undisturbed");
    return status;
}

/* In a new process: once with the fault, once without, as often as the undisturbed process calls. */
static void work(const struct place *place, const struct fault_plan *plan) {
    struct bench b = {.place = place, .config = bench_config(place)};
    xf_error err;
    alarm(SECONDS);
    fault_arm(plan);
    const xf_status status = call(&b, &err);
    progress->seen = fault_disarm();
    progress->calls[plan->kind] = progress->seen.calls;
    if (progress->seen.fired && status != XF_OK) check_refused(&scenario, plan->kind, status, &err);
    if (progress->seen.fired) ++*(status == XF_OK ? &progress->coped : &progress->failed);
    if (call(&b, &err) != XF_OK) complain("the next call: %.200s", err.message);
    xf_config_free(b.config);
    progress->blocks = fault_live_blocks();
    progress->finished = true;
}

static void run(const struct place *place, const struct fault_plan *plan) {
    snprintf(progress->what, sizeof progress->what, "first use of %s, kind %d, %ld %s, way %d", place->name,
             (int)plan->kind, plan->at, plan->for_ever ? "and on" : "once", plan->way);
    memset(&progress->seen, 0, sizeof progress->seen);
    progress->finished = false;
    const pid_t child = fork();
    if (child == 0) {
        work(place, plan);
        fflush(stdout);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!progress->finished) complain("the process ended, status %d", status);
}

void first_use(const struct place *place, long most) {
    long calls[FAULT_KINDS], blocks = 0;
    const long points = progress->points;
    progress->complaints_here = 0;
    progress->expected = 0;
    for (int kind = 0; kind < FAULT_KINDS; ++kind) {
        run(place, &(struct fault_plan){(enum fault_kind)kind, LONG_MAX, false, 0});
        calls[kind] = progress->calls[kind];
    }
    run(place,
        &(struct fault_plan){FAULT_MEMORY, 0, false, 0}); /* the C++ runtime keeps something at the first throw */
    blocks = progress->blocks;
    for (int kind = 0; kind < FAULT_KINDS; ++kind) {
        const long step = calls[kind] > most ? calls[kind] / most * 2 + 1 : 1; /* odd: once and from then on */
        for (long at = 0; at < 2 * calls[kind]; at += step) {
            struct fault_plan plan = {(enum fault_kind)kind, at / 2, at % 2 == 1, 0};
            do {
                run(place, &plan);
                if (!progress->seen.fired) break;
                ++progress->points;
                if (progress->blocks > blocks) complain("%ld blocks are left, else %ld", progress->blocks, blocks);
                plan.way += step > 1 ? 4 : 1;
            } while (plan.kind == FAULT_CALLS);
        }
    }
    ++progress->scenarios;
    printf("%-26s %-9s %6ld allocations, %2ld threads, %3ld system calls: %6ld points\n", "first_use", place->name,
           calls[FAULT_MEMORY], calls[FAULT_THREADS], calls[FAULT_CALLS], progress->points - points);
    fflush(stdout);
}
