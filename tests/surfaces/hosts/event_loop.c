/*
 * A host with one thread around poll() and its own thread pool. The host receives requests on a socket and passes them
 * to the pool, whose threads also run the library's tasks (xf_host.parallel); results return by an eventfd. The loop
 * computes nothing, the library starts no thread, and the results are those of a context with its own threads.
 *
 *     event_loop MODEL
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <xformer/xformer.h>

#include "host.h"

enum { POOL = 3, REQUESTS = 24, TEXTS = 3 };
static const char *const texts[TEXTS] = {"Enter the number of the first page.", "Choose Sheet - Hide Sheet.",
                                         "Click the icon to open the file."};

/* Pieces of a call of the library, on the stack of the thread that made it. */
struct job {
    const xf_job *work;
    int32_t next, left;
    struct job *later;
};
struct request {
    char text[128], answer[512];
    struct request *later;
};
static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct job *jobs;
    struct request *requests, *answered;
    int stop, wake, lent;
    pthread_t loop;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

/* Runs a piece that is left, with the lock open meanwhile: afterwards the job may be gone. 0: none was left. */
static int run_piece(struct job *job) {
    if (job->next == job->work->count) return 0;
    const int32_t index = job->next++;
    pthread_mutex_unlock(&pool.lock);
    CHECK(!pthread_equal(pthread_self(), pool.loop));
    job->work->run(job->work->arg, index);
    pthread_mutex_lock(&pool.lock);
    if (--job->left == 0) pthread_cond_broadcast(&pool.done);
    return 1;
}

/* The caller takes part, so a call ends also when all other threads are busy with requests. */
static void parallel(void *user, const xf_job *work) {
    struct job job = {work, 0, work->count, NULL}, **at = &pool.jobs;
    (void)user;
    pthread_mutex_lock(&pool.lock);
    job.later = pool.jobs;
    pool.jobs = &job;
    pool.lent += work->count > 1;
    pthread_cond_broadcast(&pool.work);
    while (run_piece(&job)) continue;
    while (job.left > 0) pthread_cond_wait(&pool.done, &pool.lock);
    while (*at != &job) at = &(*at)->later;
    *at = job.later;
    pthread_mutex_unlock(&pool.lock);
}

static void translate(xf_decoder *decoder, const char *text, char *answer, size_t size) {
    xf_error err;
    xf_hypotheses *answers = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    MUST(xf_translate(decoder, &text, NULL, 1, NULL, NULL, &answers, &err));
    MUST(xf_hypotheses_get(answers, 0, 0, &best, &err));
    snprintf(answer, size, "%s %a", best.text, best.score);
    xf_hypotheses_free(answers);
}

static void *pool_thread(void *decoder) {
    pthread_mutex_lock(&pool.lock);
    while (!pool.stop) {
        struct job *job = pool.jobs;
        int ran = 0;
        for (; job != NULL && !(ran = run_piece(job)); job = job->later) continue;
        if (ran) continue;
        struct request *request = pool.requests;
        if (request == NULL) {
            pthread_cond_wait(&pool.work, &pool.lock);
            continue;
        }
        pool.requests = request->later;
        pthread_mutex_unlock(&pool.lock);
        translate(decoder, request->text, request->answer, sizeof request->answer);
        pthread_mutex_lock(&pool.lock);
        request->later = pool.answered;
        pool.answered = request;
        CHECK(eventfd_write(pool.wake, 1) == 0);
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* One turn after the other until all requests of the socket are answered. */
static void loop(int socket, char expected[][512]) {
    static struct request requests[REQUESTS];
    int come = 0, answered = 0;
    while (answered < REQUESTS) {
        struct pollfd events[] = {{socket, POLLIN, 0}, {pool.wake, POLLIN, 0}};
        CHECK(poll(events, 2, -1) > 0);
        struct request *list = NULL;
        eventfd_t count;
        if (events[1].revents) CHECK(eventfd_read(pool.wake, &count) == 0);
        pthread_mutex_lock(&pool.lock);
        if (events[0].revents) {
            struct request *request = &requests[come++];
            CHECK(recv(socket, request->text, sizeof request->text - 1, 0) > 0);
            request->later = pool.requests;
            pool.requests = request;
            pthread_cond_signal(&pool.work);
        }
        list = pool.answered;
        pool.answered = NULL;
        pthread_mutex_unlock(&pool.lock);
        for (; list != NULL; list = list->later, ++answered)
            for (int i = 0; i < TEXTS; ++i)
                CHECK(strcmp(list->text, texts[i]) != 0 || strcmp(list->answer, expected[i]) == 0);
    }
}

int main(int argc, char **argv) {
    xf_error err;
    xf_config *config = NULL;
    xf_context *contexts[2] = {NULL, NULL}; /* with the library's threads, with the host's */
    xf_model *models[2] = {NULL, NULL};
    xf_decoder *decoders[POOL], *serial = NULL;
    pthread_t threads[POOL];
    static char expected[TEXTS][512];
    xf_host host = XF_HOST_INIT;
    host.parallel = parallel;
    int ends[2];
    CHECK(argc == 2 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0 && (pool.wake = eventfd(0, 0)) >= 0);
    MUST(xf_config_create(&config, &err));
    MUST(xf_config_set(config, "context.threads", "3", &err));

    MUST(xf_context_create(config, NULL, &contexts[0], &err));
    MUST(load_model(contexts[0], argv[1], &models[0], &err));
    MUST(xf_decoder_create(models[0], NULL, NULL, &serial, &err));
    for (int i = 0; i < TEXTS; ++i) translate(serial, texts[i], expected[i], sizeof expected[i]);

    const int before = count_entries("/proc/self/task");
    MUST(xf_context_create(config, &host, &contexts[1], &err));
    CHECK(count_entries("/proc/self/task") == before);
    MUST(load_model(contexts[1], argv[1], &models[1], &err));
    pool.loop = pthread_self();
    for (int i = 0; i < POOL; ++i) {
        MUST(xf_decoder_create(models[1], NULL, NULL, &decoders[i], &err));
        CHECK(pthread_create(&threads[i], NULL, pool_thread, decoders[i]) == 0);
    }
    for (int i = 0; i < REQUESTS; ++i) {
        const char *text = texts[i % TEXTS];
        CHECK(send(ends[0], text, strlen(text), 0) > 0);
    }
    loop(ends[1], expected);
    CHECK(count_entries("/proc/self/task") == before + POOL);

    pthread_mutex_lock(&pool.lock);
    pool.stop = 1;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < POOL; ++i) pthread_join(threads[i], NULL);
    printf("%d requests, %d pieces of work were shared; %s\n", REQUESTS, pool.lent, expected[0]);
    CHECK(pool.lent > 0);
    for (int i = 0; i < POOL; ++i) xf_decoder_free(decoders[i]);
    xf_decoder_free(serial);
    for (int i = 0; i < 2; ++i) {
        xf_model_free(models[i]);
        xf_context_free(contexts[i]);
    }
    xf_config_free(config);
    return 0;
}
