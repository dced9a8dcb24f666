/*
 * A host that opens the library by dlopen(), as bindings and plugins do: the C++ runtime comes with it, and then keeps
 * what a thread needs for exceptions in memory that is allocated when the thread first throws. Where there is none,
 * glibc ends the process. So the first call of a thread without memory has to be refused in another way.
 *
 *     fault_late LIBRARY
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "interpose.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xformer/xformer.h"

#define FUNCTIONS(f)                                                                                     \
    f(config_create) f(config_free) f(config_set) f(context_create) f(context_free) f(corpus_from_pairs) \
        f(corpus_free) f(tokenizer_train) f(tokenizer_free)
#define POINTER(name) static __typeof__(&xf_##name) name;
FUNCTIONS(POINTER)

static void need(int good, const char *what) {
    if (good) return;
    printf("fault_late: %s\n", what);
    exit(1);
}

static void *find(void *library, const char *name) {
    void *const function = dlsym(library, name);
    need(function != NULL, name);
    return function;
}

/* Tokens learnt on the workers of a context: every thread of the library throws and catches. */
static xf_status work(xf_error *err) {
    static const char *const sources[] = {"one two", "two two"}, *const targets[] = {"eins zwei", "zwei zwei"};
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_status status = config_create(&config, err);
    if (status == XF_OK) status = config_set(config, "context.device", "cpu:ref", err);
    if (status == XF_OK) status = config_set(config, "context.threads", "3", err);
    if (status == XF_OK) status = config_set(config, "tokenizer.vocab_size", "262", err);
    if (status == XF_OK) status = context_create(config, NULL, &context, err);
    if (status == XF_OK)
        status = corpus_from_pairs(context, sources, NULL, targets, NULL, 2, config, NULL, &corpus, err);
    if (status == XF_OK) status = tokenizer_train(context, corpus, config, NULL, &tokenizer, err);
    tokenizer_free(tokenizer);
    corpus_free(corpus);
    context_free(context);
    config_free(config);
    return status;
}

/* No memory from allocation `at` on. */
static struct fault_seen without_memory(long at, xf_status *status) {
    const struct fault_plan plan = {FAULT_MEMORY, at, true, 0};
    xf_error err;
    memset(&err, 0, sizeof err);
    fault_arm(&plan);
    fault_enter();
    *status = work(&err);
    fault_leave();
    const struct fault_seen seen = fault_disarm();
    if (*status != XF_OK) need(*status == XF_ERROR_NO_MEMORY && err.message[0] != 0, "another error");
    return seen;
}

static void *thread(void *unused) {
    xf_status status;
    without_memory(0, &status); /* the thread's first call */
    need(status == XF_ERROR_NO_MEMORY, "the first call went well without memory");
    need(work(NULL) == XF_OK, "a call with memory failed");
    without_memory(0, &status);
    need(status == XF_ERROR_NO_MEMORY, "a call went well without memory");
    need(work(NULL) == XF_OK, "the last call failed");
    return unused;
}

/* Loads the library where allocation `at`, or each from there on, fails: it is there or not, and nothing of ours ends
 * the process. glibc's loader does, with status 127, where it finds no memory for its table of unique symbols, which
 * libstdc++ has and this library has not. */
static bool load_without_memory(const char *path, long at, bool for_ever) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const struct fault_plan plan = {FAULT_MEMORY, at, for_ever, 0};
        alarm(20);
        fault_arm(&plan);
        fault_enter();
        void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        fault_leave();
        const struct fault_seen seen = fault_disarm();
        if (library != NULL) need(find(library, "xf_version") != NULL, "half a library");
        _exit(seen.fired ? 0 : 9);
    }
    int status = 0;
    need(waitpid(child, &status, 0) == child, "no child");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 9) return false;
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 127)) {
        printf("allocation %ld%s: status %d\n", at, for_ever ? " and on" : "", status);
        need(false, "loading ended the process");
    }
    return true;
}

int main(int argc, char **argv) {
    need(argc == 2, "fault_late LIBRARY");
    if (!fault_has_memory()) return 77;
    long loads = 0;
    for (int for_ever = 0; for_ever < 2; ++for_ever)
        for (long at = 0; load_without_memory(argv[1], at, for_ever != 0); ++at) ++loads;
    need(loads > 20, "loading allocates nothing");
    void *const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    need(library != NULL, "no library");
#define FIND(name) *(void **)&(name) = find(library, "xf_" #name);
    FUNCTIONS(FIND)
    alarm(60);
    thread(NULL);
    for (int i = 0; i < 4; ++i) {
        pthread_t started;
        need(fault_real_thread(&started, thread, NULL) == 0, "no thread");
        pthread_join(started, NULL);
    }
    /* Fewer workers, or none, do all of the work. */
    for (long i = 0; i < 8; ++i) {
        const struct fault_plan plan = {FAULT_THREADS, i / 2, i % 2 == 1, 0};
        fault_arm(&plan);
        fault_enter();
        const xf_status status = work(NULL);
        fault_leave();
        (void)fault_disarm();
        need(status == XF_OK, "a thread that does not start is an error");
    }
    puts("a host that opens the library late: no memory is an error on each thread");
    return 0;
}
