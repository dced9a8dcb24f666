/*
 * threads.c - four threads translate with one model, a host provides the executor, a thread cancels a long call, and a
 * child process creates its own context.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

/* [worker] */
struct work {
    const xf_model *model;
    xf_status status;
    xf_error err; /* one for each thread */
    char translation[64];
};

/* Each thread has its own decoder. All decoders share one model. */
static void *translate_thread(void *argument) {
    struct work *work = argument;
    const char *const text = "three two one";
    xf_decoder *decoder = NULL;
    xf_hypotheses *hypotheses = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    if ((work->status = xf_decoder_create(work->model, NULL, NULL, &decoder, &work->err)) == XF_OK &&
        (work->status = xf_translate(decoder, &text, NULL, 1, NULL, NULL, &hypotheses, &work->err)) == XF_OK &&
        (work->status = xf_hypotheses_get(hypotheses, 0, 0, &best, &work->err)) == XF_OK)
        snprintf(work->translation, sizeof work->translation, "%s", best.text);
    xf_hypotheses_free(hypotheses);
    xf_decoder_free(decoder);
    return NULL;
}
/* [worker] */

/* [run_here] */
/* Runs all tasks on the thread that made the call. */
static void run_here(void *user, const xf_job *job) {
    (void)user;
    for (int32_t i = 0; i < job->count; ++i) job->run(job->arg, i);
}
/* [run_here] */

/* [cancel] */
static void *cancel_thread(void *argument) {
    const struct timespec pause = {0, 50 * 1000 * 1000};
    nanosleep(&pause, NULL);
    *(volatile int32_t *)argument = 1; /* also allowed in a signal handler */
    return NULL;
}
/* [cancel] */

int main(void) {
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *hypotheses = NULL;

    /* [threads] */
    must(xf_config_create(&config, &err));
    must(xf_config_set(config, "context.threads", "1", &err)); /* the program has its own threads */
    must(xf_context_create(config, NULL, &context, &err));
    xf_source source = XF_SOURCE_PATH("numerals.xf");
    must(xf_model_load(context, &source, NULL, NULL, &model, &err));

    struct work work[4];
    pthread_t threads[4];
    memset(work, 0, sizeof work);
    for (int i = 0; i < 4; ++i) work[i].model = model;
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, translate_thread, &work[i]);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; ++i) puts(work[i].status == XF_OK ? work[i].translation : work[i].err.message);
    /* [threads] */

    /* [executor] */
    xf_host host = XF_HOST_INIT;
    xf_context *threadless = NULL;
    xf_model *same = NULL;
    host.parallel = run_here;
    must(xf_context_create(NULL, &host, &threadless, &err));
    must(xf_model_load(threadless, &source, NULL, NULL, &same, &err));
    work[0].model = same;
    translate_thread(&work[0]);
    printf("on the caller's thread: %s\n", work[0].status == XF_OK ? work[0].translation : work[0].err.message);
    /* [executor] */
    xf_model_free(same);
    xf_context_free(threadless);

    /* [cancelled] */
    enum { MANY = 20000 };
    static const char *texts[MANY];
    for (int i = 0; i < MANY; ++i) texts[i] = "one two three";
    pthread_t canceller;
    volatile int32_t cancelled = 0;
    xf_call call = XF_CALL_INIT;
    call.cancelled = &cancelled;
    must(xf_decoder_create(model, NULL, NULL, &decoder, &err));
    pthread_create(&canceller, NULL, cancel_thread, (void *)&cancelled);
    xf_status status = xf_translate(decoder, texts, NULL, MANY, NULL, &call, &hypotheses, &err);
    pthread_join(canceller, NULL);
    printf("%s, hypotheses: %s\n", xf_status_name(status), hypotheses == NULL ? "none" : "some");
    must(xf_translate(decoder, texts, NULL, 1, NULL, NULL, &hypotheses, &err)); /* the decoder remains usable */
    /* [cancelled] */
    xf_hypotheses_free(hypotheses);
    hypotheses = NULL;

    /* [fork] */
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        xf_context *own = NULL;
        status = xf_translate(decoder, texts, NULL, 1, NULL, NULL, &hypotheses, &err);
        printf("child: %s\n", xf_status_name(status));
        status = xf_context_create(NULL, NULL, &own, &err); /* a new context works */
        printf("child: %s\n", xf_status_name(status));
        xf_context_free(own);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    /* [fork] */

    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
