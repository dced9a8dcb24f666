/*
 * serve.c - requests that arrive at random times: the engine, or xf_decode() on what has arrived.
 *
 *     serve model=FILE lengths=FILE [how=engine|static|steps] [rate=0] [requests=200] [seed=7] [key=value ...]
 *
 * lengths: the source lengths, one in each line, used in turn. Sources have random ids, and each result has the length
 * of its source. rate: requests per second, Poisson; 0: all arrive at once. static: all requests that have arrived, at
 * most decode.batch_sentences, are decoded in one call. steps: the engine computes in xf_engine_step(), and the steps
 * are timed. The first requests, up to 32, are decoded once before the measurement.
 *
 * Output: lines "<what> TAB <value>": seconds (until the last result), p50, p95 (seconds from arrival to result), and
 * info. With steps, instead of p50 and p95: steps, step_p50, step_p95, step_max of the steps in which no request began,
 * and the same with "begin" instead of "step" of the others.
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
    uint64_t state = (uint64_t)arg_number(a, "seed", 7);
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

static void submit(xf_engine *engine, const load *l, int64_t i) {
    xf_request request = XF_REQUEST_INIT;
    uint64_t id;
    request.source_ids = l->ids + l->offsets[i];
    request.source_id_count = (size_t)(l->offsets[i + 1] - l->offsets[i]);
    CHECK(xf_engine_submit, engine, &request, &id);
}

/* Returns whether there was a result within timeout_ms. */
static int receive(xf_engine *engine, int64_t timeout_ms, double began, load *l) {
    xf_event event = XF_EVENT_INIT;
    xf_error err;
    const xf_status status = xf_engine_next(engine, timeout_ms, NULL, &event, &err);
    check(status, &err, "xf_engine_next");
    if (status == XF_DONE) return 0;
    check(event.status, &err, "a request");
    l->latency[event.id - 1] = seconds() - began - l->arrival[event.id - 1];
    xf_hypotheses_free(event.hypotheses);
    return 1;
}

static double run_engine(const xf_model *model, const xf_config *config, load *l) {
    OWNED(engine) *engine = NULL;
    CHECK(xf_engine_create, model, NULL, config, &engine);
    const double began = seconds();
    for (int64_t sent = 0, ended = 0; ended < l->count;) {
        const double now = seconds() - began;
        if (sent < l->count && l->arrival[sent] <= now)
            submit(engine, l, sent++);
        else /* rounded up, so that this thread takes no time from the engine */
            ended += receive(engine, sent < l->count ? (int64_t)((l->arrival[sent] - now) * 1000) + 1 : -1, began, l);
    }
    return seconds() - began;
}

static void print_times(const char *name, double *times, int64_t count) {
    if (count == 0) return;
    qsort(times, (size_t)count, sizeof(double), compare);
    printf("%s_p50\t%.6f\n%s_p95\t%.6f\n%s_max\t%.6f\n", name, times[count / 2], name, times[count * 95 / 100], name,
           times[count - 1]);
}

static double run_steps(const xf_model *model, const xf_config *config, load *l) {
    OWNED(engine) *engine = NULL;
    CHECK(xf_engine_create, model, NULL, config, &engine);
    double *times[2]; /* without and with requests that begin */
    int64_t counts[2] = {0, 0};
    const int64_t most = l->offsets[l->count] + 4 * l->count; /* a GPU may end a request up to three steps late */
    for (int i = 0; i < 2; ++i) times[i] = allocate((size_t)most * sizeof(double));
    xf_engine_info info = XF_ENGINE_INFO_INIT;
    int64_t passes = 0, sent = 0, ended = 0;
    const double began = seconds();
    while (ended < l->count) {
        if (sent == ended) wait_until(began + l->arrival[sent]);
        while (sent < l->count && l->arrival[sent] <= seconds() - began) submit(engine, l, sent++);
        const double begin = seconds();
        CHECK(xf_engine_step, engine);
        const double taken = seconds() - begin;
        CHECK(xf_engine_get_info, engine, &info);
        const int some = info.encoder_passes > passes;
        passes = info.encoder_passes;
        times[some][counts[some]++] = taken;
        while (receive(engine, 0, began, l)) ++ended;
    }
    const double taken = seconds() - began;
    printf("steps\t%lld\n", (long long)info.steps);
    print_times("step", times[0], counts[0]);
    print_times("begin", times[1], counts[1]);
    for (int i = 0; i < 2; ++i) free(times[i]);
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
    const char *const how = arg_text(a, "how", "engine");
    const int is_steps = strcmp(how, "steps") == 0;
    double (*const run)(const xf_model *, const xf_config *, load *) = is_steps                     ? run_steps
                                                                       : strcmp(how, "static") == 0 ? run_static
                                                                                                    : run_engine;
    OWNED(config) *config = config_from(a);
    CHECK(xf_config_set, config, "decode.min_tokens", "1000000"); /* the maximum takes precedence */
    CHECK(xf_config_set, config, "decode.max_extra_tokens", "0");
    CHECK(xf_config_set, config, "engine.max_requests", "1000000");
    OWNED(context) *context = NULL;
    OWNED(model) *model = NULL;
    CHECK(xf_context_create, config, NULL, &context);
    const xf_source source = source_path(arg_text(a, "model", NULL));
    CHECK(xf_model_load, context, &source, config, NULL, &model);
    int64_t vocab = 0;
    CHECK(get_integer, xf_model_config(model), "model.vocab_size", &vocab);
    load l = make_load(a, vocab), first = l;
    first.count = l.count < 32 ? l.count : 32;
    (run == run_static ? run_static : run_engine)(model, config, &first);
    if (is_steps) CHECK(xf_config_set, config, "engine.thread", "false");
    printf("seconds\t%.4f\n", run(model, config, &l));
    qsort(l.latency, (size_t)l.count, sizeof(double), compare);
    if (!is_steps) printf("p50\t%.4f\np95\t%.4f\n", l.latency[l.count / 2], l.latency[l.count * 95 / 100]);
    printf("info\tlibxformer %s, %s\n", xf_version(), device_of(context));
    free(l.arrival);
    free(l.latency);
    free(l.offsets);
    free(l.ids);
    return 0;
}
