/*
 * serve.c - requests that arrive at random times: the engine, or xf_decode() on what has arrived.
 *
 *     serve lengths=FILE [how=engine|static] [rate=0] [requests=200] [preset=base] [model.weights=int8] [key=value ...]
 *
 * lengths: the source lengths, one in each line, used in turn. The weights are random, and each result has the length
 * of its source. rate: requests per second, Poisson; 0: all arrive at once. static: all requests that have arrived, at
 * most decode.batch_sentences, are decoded in one call.
 *
 * Output: lines "<what> TAB <value>": seconds (until the last result), p50, p95 (seconds from arrival to result), and
 * info.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <time.h>

#include "../../support/api.h"
#include "common.h"

enum { kLongest = 250 };

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void wait_until(double when) {
    const double left = when - seconds();
    if (left <= 0) return;
    const struct timespec time = {(time_t)left, (long)((left - floor(left)) * 1e9)};
    nanosleep(&time, NULL);
}

/* The arrivals, sources, and results of all requests. */
typedef struct load {
    int64_t count;
    double *arrival, *latency; /* arrival: from the beginning */
    int64_t *offsets;
    int32_t *ids;
} load;

static load make_load(args a, int64_t vocab) {
    size_t size;
    char *const text = read_file(arg_text(a, "lengths", NULL), &size), *at = text;
    load l = {arg_number(a, "requests", 200), NULL, NULL, NULL, NULL};
    l.arrival = allocate((size_t)l.count * sizeof(double));
    l.latency = allocate((size_t)l.count * sizeof(double));
    l.offsets = allocate((size_t)(l.count + 1) * sizeof(int64_t));
    l.ids = allocate((size_t)l.count * kLongest * sizeof(int32_t));
    const double rate = atof(arg_text(a, "rate", "0"));
    uint64_t state = 7;
    double now = 0;
    l.offsets[0] = 0;
    for (int64_t i = 0; i < l.count; ++i) {
        if (rate > 0) now -= log((next_random(&state) + 1.0) / 2147483649.0) / rate;
        l.arrival[i] = now;
        char *end;
        int64_t length = strtoll(at, &end, 10);
        if (end == at) length = strtoll(at = text, &end, 10);
        if (length < 1 || length > kLongest) die("a length is %lld, expected 1 to %d", (long long)length, kLongest);
        at = end;
        while (*at == '\n') ++at;
        int32_t *const ids = l.ids + l.offsets[i];
        for (int64_t t = 0; t < length; ++t) ids[t] = random_id(&state, vocab);
        ids[length - 1] = kEnd;
        l.offsets[i + 1] = l.offsets[i] + length;
    }
    free(text);
    return l;
}

static double run_engine(const xf_model *model, const xf_config *config, load *l) {
    xf_engine *engine = NULL;
    CHECK(xf_engine_create, model, NULL, config, &engine);
    const double began = seconds();
    for (int64_t sent = 0, ended = 0; ended < l->count;) {
        const double now = seconds() - began;
        if (sent < l->count && l->arrival[sent] <= now) {
            xf_request request = XF_REQUEST_INIT;
            uint64_t id;
            request.source_ids = l->ids + l->offsets[sent];
            request.source_id_count = (size_t)(l->offsets[sent + 1] - l->offsets[sent]);
            CHECK(xf_engine_submit, engine, &request, &id);
            ++sent;
            continue;
        }
        const int64_t wait = sent < l->count ? (int64_t)((l->arrival[sent] - now) * 1000) : -1;
        xf_event event = XF_EVENT_INIT;
        xf_error err;
        const xf_status status = xf_engine_next(engine, wait, NULL, &event, &err);
        check(status, &err, "xf_engine_next");
        if (status == XF_DONE) continue;
        check(event.status, &err, "a request");
        l->latency[event.id - 1] = seconds() - began - l->arrival[event.id - 1];
        xf_hypotheses_free(event.hypotheses);
        ++ended;
    }
    const double taken = seconds() - began;
    xf_engine_free(engine);
    return taken;
}

static double run_static(const xf_model *model, const xf_config *config, load *l) {
    xf_decoder *decoder = NULL;
    int64_t most = 0;
    CHECK(xf_decoder_create, model, NULL, config, &decoder);
    const double began = seconds();
    CHECK(get_integer, config, "decode.batch_sentences", &most);
    int64_t offsets[1025] = {0};
    if (most > 1024) die("decode.batch_sentences=%lld: expected at most 1024", (long long)most);
    for (int64_t ended = 0; ended < l->count;) {
        wait_until(began + l->arrival[ended]);
        const double now = seconds() - began;
        xf_batch batch = XF_BATCH_INIT;
        while (batch.sentences < most && ended + batch.sentences < l->count &&
               l->arrival[ended + batch.sentences] <= now) {
            ++batch.sentences;
            offsets[batch.sentences] = l->offsets[ended + batch.sentences] - l->offsets[ended];
        }
        batch.src_ids = l->ids + l->offsets[ended];
        batch.src_offsets = offsets;
        xf_hypotheses *hypotheses = NULL;
        if (batch.sentences > 0) CHECK(xf_decode, decoder, &batch, NULL, NULL, &hypotheses);
        xf_hypotheses_free(hypotheses);
        for (const int64_t begin = ended; ended < begin + batch.sentences; ++ended)
            l->latency[ended] = seconds() - began - l->arrival[ended];
    }
    const double taken = seconds() - began;
    xf_decoder_free(decoder);
    return taken;
}

int main(int argc, char **argv) {
    const args a = {argc - 1, argv + 1};
    OWNED(config) *config = config_from(a);
    OWNED(config) *fresh = config_from(a);
    CHECK(xf_config_set, fresh, "model.weights", "same"); /* a new model has fp32 */
    CHECK(xf_config_set, fresh, "model.vocab_size", "37000");
    CHECK(xf_config_set, config, "decode.min_tokens", "1000000"); /* the maximum takes precedence */
    CHECK(xf_config_set, config, "decode.max_extra_tokens", "0");
    CHECK(xf_config_set, config, "engine.max_requests", "1000000");
    OWNED(context) *context = NULL;
    OWNED(model) *model = NULL, *own = NULL;
    CHECK(xf_context_create, config, NULL, &context);
    CHECK(xf_model_create, context, NULL, fresh, &model);
    CHECK(xf_model_copy, model, context, config, NULL, &own);
    load l = make_load(a, 37000);
    const char *const how = arg_text(a, "how", "engine");
    const double taken = strcmp(how, "engine") == 0 ? run_engine(own, config, &l) : run_static(own, config, &l);
    printf("seconds\t%.4f\n", taken);
    qsort(l.latency, (size_t)l.count, sizeof(double), compare);
    printf("p50\t%.4f\np95\t%.4f\n", l.latency[l.count / 2], l.latency[l.count * 95 / 100]);
    printf("info\tlibxformer %s, %s, %s\n", xf_version(), device_of(context), how);
    free(l.arrival);
    free(l.latency);
    free(l.offsets);
    free(l.ids);
    return 0;
}
