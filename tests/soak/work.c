/*
 * See work.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "work.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "../hosts/host.h"
#include "../support/fnv.h"
#include "../support/small_model.h"

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
    pthread_mutex_t lock; /* of the rest: a handle is not freed while it is cancelled */
    xf_trainer *trains;
    xf_decoder *decodes;
    int shots, stop;
};

static void hash_file(uint64_t *sum, const char *path) {
    unsigned char bytes[4096];
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;) fnv_add(sum, bytes, n);
    fclose(file);
}

static xf_config *settings(const char *device, int threads) {
    static const char *const values[][2] = {
        XF_TEST_SMALL_MODEL,         {"tokenizer.vocab_size", "290"}, {"data.batch_tokens", "30"},
        {"data.bpe_dropout", "0.2"}, {"data.max_tokens", "30"},       {"train.warmup_steps", "5"},
        {"train.ema", "0.9"},        {"train.clip_norm", "1"},        {"decode.max_extra_tokens", "8"},
    };
    xf_error err;
    xf_config *config = NULL;
    char number[16];
    MUST(xf_config_create(&config, &err));
    MUST(xf_config_set(config, "context.device", device, &err));
    snprintf(number, sizeof number, "%d", threads);
    MUST(xf_config_set(config, "context.threads", number, &err));
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i)
        MUST(xf_config_set(config, values[i][0], values[i][1], &err));
    return config;
}

/* Cancels what it is aimed at, some times and at any instant of its calls. */
static void *cancel(void *arg) {
    struct lasting *lasting = arg;
    for (unsigned i = 0, stop = 0; !stop; ++i) {
        pthread_mutex_lock(&lasting->lock);
        if (lasting->shots > 0 && i % 7 != 0) {
            xf_trainer_cancel(lasting->trains);
            xf_decoder_cancel(lasting->decodes);
            --lasting->shots;
        }
        const struct timespec pause = {0, lasting->shots > 0 ? 20000 + i % 97 * 5000 : 1000000};
        stop = (unsigned)lasting->stop;
        pthread_mutex_unlock(&lasting->lock);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void aim(struct lasting *lasting, xf_trainer *trainer, xf_decoder *decoder) {
    pthread_mutex_lock(&lasting->lock);
    lasting->trains = trainer;
    lasting->decodes = decoder;
    lasting->shots = trainer != NULL || decoder != NULL ? 3 : 0;
    pthread_mutex_unlock(&lasting->lock);
}

/* A step that is cancelled is made again: the bits are those of one that was not. */
static void train(struct lasting *lasting, xf_trainer *trainer, xf_batcher *batcher, int steps, uint64_t *sum) {
    xf_error err;
    aim(lasting, trainer, NULL);
    while (steps > 0) {
        xf_step_stats stats = XF_STEP_STATS_INIT;
        const enum xf_status status = xf_train_next(trainer, batcher, &stats, &err);
        if (status == XF_ERROR_CANCELLED) {
            ++cancelled_calls;
        } else if (status != XF_DONE) {
            CHECK(status == XF_OK);
            fnv_add(sum, &stats, sizeof stats);
            --steps;
        }
    }
    aim(lasting, NULL, NULL);
}

static void decode(struct lasting *lasting, xf_decoder *decoder, const char *beam, uint64_t *sum) {
    xf_error err;
    xf_config *config = NULL;
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    xf_hypotheses *answers = NULL;
    MUST(xf_config_create(&config, &err));
    MUST(xf_config_set(config, "decode.beam", beam, &err));
    params.config = config;
    enum xf_status status;
    aim(lasting, NULL, decoder);
    while ((status = xf_translate(decoder, texts, NULL, TEXTS, &params, &answers, &err)) == XF_ERROR_CANCELLED)
        ++cancelled_calls;
    aim(lasting, NULL, NULL);
    CHECK(status == XF_OK);
    for (size_t i = 0; i < TEXTS; ++i) {
        xf_hypothesis best = XF_HYPOTHESIS_INIT;
        const int bad = texts[i][0] == '\xFF';
        CHECK(xf_hypotheses_get(answers, i, 0, &best, &err) == (bad ? XF_ERROR_DATA : XF_OK));
        if (bad) continue;
        fnv_add(sum, best.text, best.text_length);
        fnv_add(sum, &best.score, sizeof best.score);
    }
    xf_hypotheses_free(answers);
    xf_config_free(config);
}

/* Loss, scores and attention of fixed ids: of the same bits in fp32 and in a loaded copy. */
static void score(xf_decoder *decoder, uint64_t *sum) {
    static const int32_t ids[] = {20, 21, XF_TOKEN_END, 22, XF_TOKEN_END}, offsets[] = {0, 3, 5};
    const xf_batch both = {sizeof both, 2, ids, offsets, ids, offsets, NULL},
                   first = {sizeof first, 1, ids, offsets, ids, offsets, NULL};
    xf_error err;
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    double scores[2];
    float weights[2 * 3 * 3];
    size_t count = 0;
    MUST(xf_score(decoder, &both, scores, &err));
    MUST(xf_evaluate(decoder, &both, 1, &stats, &err));
    MUST(xf_attention_weights(decoder, &first, XF_ATTENTION_CROSS, 0, weights, 18, &count, &err));
    CHECK(count == 18);
    fnv_add(sum, scores, sizeof scores);
    fnv_add(sum, &stats, sizeof stats);
    fnv_add(sum, weights, sizeof weights);
}

/* What outlives its cycle: its trainer goes on, and a second one from its file does the same for two steps. */
static void live_on(struct lasting *lasting, xf_context *context, uint64_t *sum) {
    uint64_t old = 0, resumed = 0;
    xf_error err;
    xf_config *config = settings(lasting->device, 1);
    xf_trainer *second = NULL;
    xf_corpus *corpus = NULL;
    xf_batcher *batcher = NULL;
    xf_tokenizer *tokenizer = NULL;
    decode(lasting, lasting->decoder, "4", sum);
    MUST(xf_trainer_save(lasting->trainer, lasting->batcher, lasting->checkpoint, &err));
    MUST(xf_trainer_resume(context, lasting->checkpoint, config, &second, &err));
    MUST(xf_tokenizer_load(context, lasting->tokenizer_path, &tokenizer, &err));
    MUST(xf_corpus_from_memory(context, config, "pairs", pairs, sizeof pairs - 1, &corpus, &err));
    MUST(xf_batcher_create(corpus, tokenizer, config, &batcher, &err));
    MUST(xf_trainer_seek(second, batcher, &err));
    train(lasting, lasting->trainer, lasting->batcher, 2, &old);
    train(lasting, second, batcher, 2, &resumed);
    CHECK(old == resumed);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(corpus);
    xf_config_free(config);
    xf_trainer_free(second);
    xf_batcher_free(batcher);
}

uint64_t cycle(struct lasting *lasting, int threads) {
    uint64_t sum = 14695981039346656037u;
    xf_error err;
    xf_config *config = settings(lasting->device, threads);
    xf_context *context = NULL;
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    xf_model *model = NULL, *loaded = NULL, *narrow = NULL;
    xf_trainer *trainer = NULL;
    xf_decoder *decoder = NULL, *other = NULL;
    char run[64], best[64];
    snprintf(run, sizeof run, "%.50s.run", lasting->checkpoint);
    snprintf(best, sizeof best, "%.50s.best", lasting->checkpoint);
    MUST(xf_context_create(config, NULL, &context, &err));
    MUST(xf_corpus_from_memory(context, config, "pairs", pairs, sizeof pairs - 1, &corpus, &err));
    MUST(xf_tokenizer_train(context, config, corpus, &tokenizer, &err));
    MUST(xf_batcher_create(corpus, tokenizer, config, &batcher, &err));
    MUST(xf_model_create(context, config, tokenizer, &model, &err));
    MUST(xf_trainer_create(model, config, &trainer, &err));
    train(lasting, trainer, batcher, STEPS, &sum);
    MUST(xf_trainer_save(trainer, batcher, run, &err));
    xf_trainer_free(trainer);
    trainer = NULL;
    xf_model_free(model);
    MUST(xf_trainer_resume(context, run, NULL, &trainer, &err));
    MUST(xf_trainer_seek(trainer, batcher, &err));
    train(lasting, trainer, batcher, STEPS, &sum);
    MUST(xf_trainer_save(trainer, batcher, run, &err));
    hash_file(&sum, run);

    MUST(xf_trainer_ema(trainer, &model, &err));
    MUST(xf_model_save(model, NULL, best, &err));
    hash_file(&sum, best);
    MUST(xf_model_load(context, best, &loaded, &err));
    xf_config *eight = settings(lasting->device, threads);
    MUST(xf_config_set(eight, "file.precision", "int8", &err));
    MUST(xf_model_save(loaded, eight, best, &err));
    hash_file(&sum, best);
    MUST(xf_model_load(context, best, &narrow, &err));
    MUST(xf_decoder_create(loaded, config, &decoder, &err));
    MUST(xf_decoder_create(narrow, config, &other, &err));
    decode(lasting, decoder, "4", &sum);
    decode(lasting, decoder, "1", &sum);
    decode(lasting, other, "2", &sum);
    score(decoder, &sum);
    meet_errors(context, loaded, config, lasting->model_path, lasting->tokenizer_path);
    score(decoder, &sum);
    live_on(lasting, context, &sum);

    /* In an order that leaves children without their parents. */
    xf_context_free(context);
    xf_config_free(config);
    xf_config_free(eight);
    xf_corpus_free(corpus);
    xf_tokenizer_free(tokenizer);
    xf_model_free(model);
    xf_model_free(loaded);
    xf_model_free(narrow);
    decode(lasting, decoder, "3", &sum);
    xf_trainer_free(trainer);
    xf_decoder_free(decoder);
    xf_decoder_free(other);
    xf_batcher_free(batcher);
    return sum;
}

struct lasting *lasting_create(const char *device, const char *folder) {
    static int number;
    xf_error err;
    xf_context *context = NULL;
    xf_config *config = settings(device, 2);
    const enum xf_status status = xf_context_create(config, NULL, &context, &err);
    if (status == XF_ERROR_NOT_FOUND) {
        xf_config_free(config);
        return NULL;
    }
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
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    MUST(xf_corpus_from_memory(context, config, "pairs", pairs, sizeof pairs - 1, &corpus, &err));
    MUST(xf_tokenizer_train(context, config, corpus, &tokenizer, &err));
    MUST(xf_tokenizer_save(tokenizer, lasting->tokenizer_path, &err));
    MUST(xf_batcher_create(corpus, tokenizer, config, &lasting->batcher, &err));
    MUST(xf_model_create(context, config, tokenizer, &lasting->model, &err));
    MUST(xf_model_save(lasting->model, NULL, lasting->model_path, &err));
    MUST(xf_trainer_create(lasting->model, config, &lasting->trainer, &err));
    xf_model_free(lasting->model);
    lasting->model = NULL;
    MUST(xf_model_load(context, lasting->model_path, &lasting->model, &err));
    MUST(xf_decoder_create(lasting->model, config, &lasting->decoder, &err));
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(corpus);
    xf_config_free(config);
    CHECK(pthread_mutex_init(&lasting->lock, NULL) == 0);
    CHECK(pthread_create(&lasting->canceller, NULL, cancel, lasting) == 0);
    return lasting;
}

void lasting_free(struct lasting *lasting) {
    pthread_mutex_lock(&lasting->lock);
    lasting->stop = 1;
    pthread_mutex_unlock(&lasting->lock);
    pthread_join(lasting->canceller, NULL);
    pthread_mutex_destroy(&lasting->lock);
    xf_decoder_free(lasting->decoder);
    xf_trainer_free(lasting->trainer);
    xf_batcher_free(lasting->batcher);
    xf_model_free(lasting->model);
    xf_context_free(lasting->context);
    free(lasting);
}
