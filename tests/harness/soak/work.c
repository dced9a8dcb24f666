/*
 * See work.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "work.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "../../support/fnv.h"
#include "../../support/world.h"
#include "../../surfaces/hosts/host.h"

enum { STEPS = 3, TEXTS = 4, MANY = 64 };

long cancelled_calls;

static const char pairs[] =
    "one two three\teins zwei drei\ntwo three four\tzwei drei vier\nthree four\tdrei vier\nfour one\tvier eins\n"
    "one one two\teins eins zwei\nfour four three two\tvier vier drei zwei\ntwo\tzwei\nno tab\n"
    "three one four two\tdrei eins vier zwei\none four\teins vier\ntwo two\tzwei zwei\n";
static const char *const texts[TEXTS] = {"one two", "four three two one", "", "\xFF no text"};

struct lasting {
    const char *device;
    char checkpoint[64], model_path[64], tokenizer_path[64];
    xf_context *context;
    xf_trainer *trainer; /* learns on from cycle to cycle */
    xf_batcher *batcher;
    xf_model *model; /* as it was when the process began */
    xf_decoder *decoder;
    pthread_t canceller;
    _Atomic int32_t cancelled; /* the flag of all calls */
    atomic_int shots, stop;
};

static xf_config *settings(const char *device, int threads) {
    static const char *const values[][2] = {{"data.batch_tokens", "30"},
                                            {"data.sampling", "0.2"},
                                            {"data.max_tokens", "30"},
                                            {"train.ema", "0.9"},
                                            {"train.clip_norm", "1"}};
    xf_error err;
    xf_config *config = NULL;
    MUST(make_config(device, &config, &err));
    MUST(xf_config_set_number(config, "context.threads", threads, &err));
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i)
        MUST(xf_config_set(config, values[i][0], values[i][1], &err));
    return config;
}

/* Cancels some calls at any instant. */
static void *cancel(void *arg) {
    struct lasting *lasting = arg;
    for (unsigned i = 0; !atomic_load(&lasting->stop); ++i) {
        const int shots = atomic_load(&lasting->shots);
        if (shots > 0 && i % 7 != 0) {
            atomic_store(&lasting->cancelled, 1);
            atomic_fetch_sub(&lasting->shots, 1);
        }
        const struct timespec pause = {0, shots > 0 ? 20000 + i % 97 * 5000 : 1000000};
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static xf_call call_of(struct lasting *lasting) {
    xf_call call = XF_CALL_INIT;
    call.cancelled = (const volatile int32_t *)&lasting->cancelled;
    return call;
}

/* A step that is cancelled is made again: the bits are those of one that was not. */
static void train(struct lasting *lasting, xf_trainer *trainer, xf_batcher *batcher, int steps, uint64_t *sum) {
    xf_error err;
    const xf_call call = call_of(lasting);
    atomic_store(&lasting->shots, 3);
    while (steps > 0) {
        xf_step_stats stats = XF_STEP_STATS_INIT;
        const xf_status status = xf_train_next(trainer, batcher, &call, &stats, &err);
        if (status == XF_ERROR_CANCELLED) {
            ++cancelled_calls;
            atomic_store(&lasting->cancelled, 0);
        } else if (status != XF_DONE) {
            CHECK(status == XF_OK);
            fnv_add(sum, &stats, sizeof stats);
            --steps;
        }
    }
    atomic_store(&lasting->shots, 0);
}

static void decode(struct lasting *lasting, xf_decoder *decoder, const char *beam, uint64_t *sum) {
    xf_error err;
    OWNED(config) *config = NULL;
    OWNED(hypotheses) *answers = NULL;
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    MUST(xf_config_create(&config, &err));
    MUST(xf_config_set(config, "decode.beam", beam, &err));
    params.config = config;
    const xf_call call = call_of(lasting);
    xf_status status;
    atomic_store(&lasting->shots, 3);
    while ((status = xf_translate(decoder, texts, NULL, TEXTS, &params, &call, &answers, &err)) == XF_ERROR_CANCELLED) {
        ++cancelled_calls;
        atomic_store(&lasting->cancelled, 0);
    }
    atomic_store(&lasting->shots, 0);
    CHECK(status == XF_OK);
    for (size_t i = 0; i < TEXTS; ++i) {
        xf_hypothesis best = XF_HYPOTHESIS_INIT;
        const int bad = texts[i][0] == '\xFF';
        CHECK(xf_hypotheses_get(answers, i, 0, &best, &err) == (bad ? XF_ERROR_DATA : XF_OK));
        if (bad) continue;
        fnv_add(sum, best.text, best.text_length);
        fnv_add(sum, &best.score, sizeof best.score);
    }
}

/* Loss, scores and attention of fixed ids: of the same bits in fp32 and in a loaded copy. */
static void score(xf_context *context, xf_decoder *decoder, uint64_t *sum) {
    static const int32_t ids[] = {20, 21, 1, 22, 1};
    static const int64_t offsets[] = {0, 3, 5};
    xf_batch both = XF_BATCH_INIT, first;
    both.sentences = 2;
    both.src_ids = both.tgt_ids = ids;
    both.src_offsets = both.tgt_offsets = offsets;
    first = both;
    first.sentences = 1;
    xf_error err;
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    double scores[2];
    float weights[2 * 3 * 3];
    size_t count = 0;
    MUST(xf_score(decoder, &both, NULL, scores, &err));
    MUST(evaluate_pairs(decoder, context, &both, &stats, &err));
    MUST(xf_attention_weights(decoder, &first, XF_ATTENTION_CROSS, 0, weights, 18, &count, &err));
    CHECK(count == 18);
    fnv_add(sum, scores, sizeof scores);
    fnv_add(sum, &stats, sizeof stats);
    fnv_add(sum, weights, sizeof weights);
}

/* Handles that outlive their cycle: a trainer continues, and a second one from its file does the same for two steps. */
static void live_on(struct lasting *lasting, xf_context *context, uint64_t *sum) {
    uint64_t old = 0, resumed = 0;
    xf_error err;
    OWNED(config) *config = settings(lasting->device, 1);
    OWNED(trainer) *second = NULL;
    OWNED(corpus) *corpus = NULL;
    OWNED(batcher) *batcher = NULL;
    OWNED(tokenizer) *tokenizer = NULL;
    decode(lasting, lasting->decoder, "4", sum);
    MUST(save_trainer(lasting->trainer, lasting->batcher, lasting->checkpoint, &err));
    MUST(resume_trainer(context, lasting->checkpoint, config, &second, &err));
    MUST(load_tokenizer(context, lasting->tokenizer_path, &tokenizer, &err));
    MUST(corpus_from_text(context, config, pairs, sizeof pairs - 1, &corpus, &err));
    MUST(xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, &err));
    MUST(xf_batcher_resume(batcher, second, NULL, &err));
    train(lasting, lasting->trainer, lasting->batcher, 2, &old);
    train(lasting, second, batcher, 2, &resumed);
    CHECK(old == resumed);
}

uint64_t cycle(struct lasting *lasting, int threads) {
    uint64_t sum = 14695981039346656037u;
    xf_error err;
    xf_config *config = settings(lasting->device, threads);
    xf_context *context = NULL;
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    OWNED(batcher) *batcher = NULL;
    xf_model *model = NULL, *loaded = NULL, *narrow = NULL;
    OWNED(trainer) *trainer = NULL;
    OWNED(decoder) *decoder = NULL, *other = NULL;
    char run[64], best[64];
    snprintf(run, sizeof run, "%.50s.run", lasting->checkpoint);
    snprintf(best, sizeof best, "%.50s.best", lasting->checkpoint);
    MUST(xf_context_create(config, NULL, &context, &err));
    MUST(corpus_from_text(context, config, pairs, sizeof pairs - 1, &corpus, &err));
    MUST(xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, &err));
    MUST(xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, &err));
    MUST(xf_model_create(context, tokenizer, config, &model, &err));
    MUST(xf_trainer_create(model, config, &trainer, &err));
    train(lasting, trainer, batcher, STEPS, &sum);
    MUST(save_trainer(trainer, batcher, run, &err));
    xf_trainer_free(trainer);
    trainer = NULL;
    xf_model_free(model);
    MUST(resume_trainer(context, run, NULL, &trainer, &err));
    MUST(xf_batcher_resume(batcher, trainer, NULL, &err));
    train(lasting, trainer, batcher, STEPS, &sum);
    MUST(save_trainer(trainer, batcher, run, &err));
    CHECK(fnv_add_file(&sum, run));

    MUST(xf_trainer_copy_average(trainer, NULL, &model, &err));
    MUST(save_model(model, NULL, best, &err));
    CHECK(fnv_add_file(&sum, best));
    MUST(load_model(context, best, &loaded, &err));
    OWNED(config) *eight = settings(lasting->device, threads);
    MUST(xf_config_set(eight, "model.weights", "int8", &err));
    MUST(save_model(loaded, eight, best, &err));
    CHECK(fnv_add_file(&sum, best));
    MUST(load_model(context, best, &narrow, &err));
    MUST(xf_decoder_create(loaded, NULL, config, &decoder, &err));
    MUST(xf_decoder_create(narrow, NULL, config, &other, &err));
    decode(lasting, decoder, "4", &sum);
    decode(lasting, decoder, "1", &sum);
    decode(lasting, other, "2", &sum);
    score(context, decoder, &sum);
    meet_errors(context, loaded, config, lasting->model_path, lasting->tokenizer_path);
    score(context, decoder, &sum);
    live_on(lasting, context, &sum);

    /* In an order that leaves children without their parents. */
    xf_context_free(context);
    xf_config_free(config);
    xf_corpus_free(corpus);
    xf_tokenizer_free(tokenizer);
    xf_model_free(model);
    xf_model_free(loaded);
    xf_model_free(narrow);
    decode(lasting, decoder, "3", &sum);
    return sum;
}

struct lasting *lasting_create(const char *device, const char *folder) {
    static int number;
    xf_error err;
    xf_context *context = NULL;
    OWNED(config) *config = settings(device, 2);
    const xf_status status = xf_context_create(config, NULL, &context, &err);
    if (status == XF_ERROR_NOT_FOUND) return NULL;
    CHECK(status == XF_OK);
    signal(SIGXFSZ, SIG_IGN); /* a file at its limit is then an error of write() */
    struct lasting *lasting = calloc(1, sizeof *lasting);
    CHECK(lasting != NULL);
    const int device_number = number++;
    lasting->device = device;
    lasting->context = context;
    snprintf(lasting->checkpoint, sizeof lasting->checkpoint, "%.30s/checkpoint%d", folder, device_number);
    snprintf(lasting->model_path, sizeof lasting->model_path, "%.30s/model%d", folder, device_number);
    snprintf(lasting->tokenizer_path, sizeof lasting->tokenizer_path, "%.30s/tokenizer%d", folder, device_number);
    OWNED(corpus) *corpus = NULL;
    OWNED(tokenizer) *tokenizer = NULL;
    MUST(corpus_from_text(context, config, pairs, sizeof pairs - 1, &corpus, &err));
    MUST(xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, &err));
    MUST(save_tokenizer(tokenizer, lasting->tokenizer_path, &err));
    MUST(xf_batcher_create(corpus, tokenizer, config, NULL, &lasting->batcher, &err));
    MUST(xf_model_create(context, tokenizer, config, &lasting->model, &err));
    MUST(save_model(lasting->model, NULL, lasting->model_path, &err));
    MUST(xf_trainer_create(lasting->model, config, &lasting->trainer, &err));
    xf_model_free(lasting->model);
    lasting->model = NULL;
    MUST(load_model(context, lasting->model_path, &lasting->model, &err));
    MUST(xf_decoder_create(lasting->model, NULL, config, &lasting->decoder, &err));
    CHECK(pthread_create(&lasting->canceller, NULL, cancel, lasting) == 0);
    return lasting;
}

void lasting_free(struct lasting *lasting) {
    atomic_store(&lasting->stop, 1);
    pthread_join(lasting->canceller, NULL);
    xf_decoder_free(lasting->decoder);
    xf_trainer_free(lasting->trainer);
    xf_batcher_free(lasting->batcher);
    xf_model_free(lasting->model);
    xf_context_free(lasting->context);
    free(lasting);
}
