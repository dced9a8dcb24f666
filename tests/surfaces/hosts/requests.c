/*
 * A host with one thread per request. All share a model; each request has its own decoder, some have a deadline, and
 * some are cancelled by a flag while they run. A request does not affect others.
 *
 *     requests MODEL
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <xformer/xformer.h>

#include "host.h"

enum { PLAIN, LATE, CANCELLED, KINDS, REQUESTS = 9, FEW = 3, MANY = 4000 };
static const char *texts[MANY] = {"Enter the number of the first page.", "Choose Sheet - Hide Sheet.",
                                  "Click the icon to open the file."};

struct request {
    int kind;
    xf_decoder *decoder;
    pthread_t thread;
    volatile int32_t cancelled;
    xf_status status;
    xf_error err;
    xf_hypotheses *answers;
};

static void *serve(void *arg) {
    struct request *request = arg;
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    xf_config *config = NULL;
    xf_error err;
    MUST(xf_config_create(&config, &err));
    xf_call call = XF_CALL_INIT;
    call.cancelled = &request->cancelled;
    if (request->kind == LATE) { /* in small groups, so that some sentences are through by then */
        call.deadline_ms = 200;
        MUST(xf_config_set(config, "decode.batch_sentences", "3", &err));
    }
    params.config = config;
    request->status = xf_translate(request->decoder, texts, NULL, request->kind == PLAIN ? FEW : MANY, &params, &call,
                                   &request->answers, &request->err);
    xf_config_free(config);
    return NULL;
}

/* Counts the sentences whose search finished, and checks that each has the result of a call with only this sentence. */
static size_t count_whole(const struct request *request, const struct request *alone) {
    size_t whole = 0;
    for (size_t i = 0; i < xf_hypotheses_sentence_count(request->answers); ++i) {
        xf_error err;
        xf_hypothesis a = XF_HYPOTHESIS_INIT, b = XF_HYPOTHESIS_INIT;
        const xf_status status = sentence_status(request->answers, i, &err);
        CHECK(status == XF_OK || (status == XF_ERROR_DEADLINE && request->kind == LATE));
        if (status != XF_OK) continue;
        MUST(xf_hypotheses_get(request->answers, i, 0, &a, &err));
        MUST(xf_hypotheses_get(alone->answers, i % FEW, 0, &b, &err));
        CHECK(a.complete || request->kind == LATE);
        if (!a.complete) continue;
        CHECK(strcmp(a.text, b.text) == 0 && a.score == b.score);
        ++whole;
    }
    return whole;
}

int main(int argc, char **argv) {
    static struct request requests[REQUESTS], alone, again;
    xf_error err;
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    CHECK(argc == 2);
    for (int i = FEW; i < MANY; ++i) texts[i] = texts[i - FEW];
    MUST(xf_config_create(&config, &err));
    MUST(xf_config_set(config, "context.threads", "1", &err)); /* the requests are the threads */
    MUST(xf_context_create(config, NULL, &context, &err));
    MUST(load_model(context, argv[1], &model, &err));
    MUST(xf_decoder_create(model, NULL, NULL, &alone.decoder, &err));
    serve(&alone);
    CHECK(alone.status == XF_OK && count_whole(&alone, &alone) == FEW);

    for (int i = 0; i < REQUESTS; ++i) {
        requests[i].kind = i % KINDS;
        MUST(xf_decoder_create(model, NULL, NULL, &requests[i].decoder, &err));
        CHECK(pthread_create(&requests[i].thread, NULL, serve, &requests[i]) == 0);
    }
    const struct timespec pause = {0, 20000000};
    nanosleep(&pause, NULL); /* long enough to begin, not to end; a flag that is set earlier is obeyed, too */
    for (int i = CANCELLED; i < REQUESTS; i += KINDS) requests[i].cancelled = 1;
    for (int i = 0; i < REQUESTS; ++i) {
        struct request *request = &requests[i];
        pthread_join(request->thread, NULL);
        if (request->kind == CANCELLED) {
            CHECK(request->status == XF_ERROR_CANCELLED && request->answers == NULL);
            again.decoder = request->decoder; /* it is as good as new */
            serve(&again);
            CHECK(again.status == XF_OK && count_whole(&again, &alone) == FEW);
            xf_hypotheses_free(again.answers);
            again.answers = NULL;
        } else {
            CHECK(request->status == XF_OK);
            const size_t whole = count_whole(request, &alone);
            printf("request %d: %zu of %zu sentences\n", i, whole, xf_hypotheses_sentence_count(request->answers));
            CHECK(request->kind == PLAIN ? whole == FEW : whole < MANY);
        }
        xf_hypotheses_free(request->answers);
        xf_decoder_free(request->decoder);
    }
    xf_hypotheses_free(alone.answers);
    xf_decoder_free(alone.decoder);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
