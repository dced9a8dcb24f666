/*
 * XF_ERROR_BUSY: what one handle allows at once, from within a call and from many threads; and handles that are freed
 * while a call uses them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 200 };

static const char *const texts[] = {"one two"};
static float values[1 << 13];
static size_t first_size;

/* A call on the world's decoder is in its middle while this runs. */
static void check_taken(void) {
    const xf_batch batch = next_batch(world.batcher);
    OWNED_HYPOTHESES *answers = SENTINEL;
    double scores[64] = {0};
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    size_t count = 7;
    xf_decoder *other = NULL;
    OWNED_TRAINER *trainer = SENTINEL;
    const int64_t steps = xf_trainer_step_count(world.trainer);
    REFUSED(XF_ERROR_BUSY, answers, xf_decode(world.decoder, &batch, NULL, NULL, &answers, err));
    REFUSED(XF_ERROR_BUSY, answers, xf_translate(world.decoder, texts, NULL, 1, NULL, NULL, &answers, err));
    REFUSED(XF_ERROR_BUSY, scores, xf_score(world.decoder, &batch, NULL, scores, err));
    REFUSED(XF_ERROR_BUSY, stats, xf_evaluate(world.decoder, world.batcher, NULL, &stats, err));
    REFUSED(XF_ERROR_BUSY, count, xf_attention_weights(world.decoder, &batch, 1, 0, NULL, 0, &count, err));
    /* The model is being read: other calls may read it, but not change it. */
    REFUSED(XF_ERROR_BUSY, steps, xf_train_step(world.trainer, &batch, 1, NULL, NULL, err));
    REFUSED(XF_ERROR_BUSY, steps, xf_train_accumulate(world.trainer, &batch, NULL, NULL, err));
    REFUSED(XF_ERROR_BUSY, steps, xf_train_update(world.trainer, NULL, err));
    REFUSED(XF_ERROR_BUSY, steps, xf_model_write_tensor(world.model, 0, values, first_size, err));
    REFUSED(XF_ERROR_BUSY, steps, xf_model_write_tensor(xf_trainer_model(world.trainer), 0, values, first_size, err));
    assert_int_equal(xf_trainer_step_count(world.trainer), steps);
    ACCEPTED(xf_model_read_tensor(world.model, 0, values, first_size, err));
    ACCEPTED(save_model(world.model, NULL, scratch_path("model"), err));
    ACCEPTED(save_trainer(world.trainer, NULL, scratch_path("checkpoint"), err));
    ACCEPTED(xf_decoder_create(world.model, NULL, world.config, &other, err));
    ACCEPTED(xf_decode(other, &batch, NULL, NULL, &answers, err));
    xf_decoder_free(other);
    ACCEPTED(xf_trainer_create(world.model, world.config, &trainer, err));
}

/* Runs `within` at the first question of a call on the decoder. */
struct visit {
    void (*within)(void);
    int done;
};

static int32_t visit_once(void *user, const xf_constraint_step *step) {
    struct visit *visit = user;
    (void)step;
    if (!visit->done++) visit->within();
    return 0;
}

static xf_status decode_with(struct visit *visit, const xf_batch *batch, xf_hypotheses **answers) {
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    const xf_constraint constraint = {sizeof constraint, visit_once, visit};
    params.constraint = &constraint;
    return xf_decode(world.decoder, batch, &params, NULL, answers, NULL);
}

TEST(within_a_call) {
    const xf_tensor_info info = get_tensor(world.model, 0);
    first_size = number_count(&info);
    assert_true(first_size <= sizeof values / sizeof *values);
    struct visit visit = {check_taken, 0};
    OWNED_HYPOTHESES *answers = NULL;
    assert_int_equal(decode_with(&visit, &one_pair, &answers), XF_OK);
    assert_true(visit.done > 0);
    const xf_batch next = next_batch(world.batcher);
    ACCEPTED(xf_train_step(world.trainer, &next, 1, NULL, NULL, err)); /* free again */
}

/* Handles with which a model of an ensemble, or a draft, is taken. */
static struct several {
    xf_context *context;
    xf_model *models[2];
    xf_trainer *trainer;
    xf_decoder *decoders[2]; /* on models[0]: with models[1] in an ensemble, and as a draft */
    xf_decode_models more[2];
    const xf_model *others[1];
    int visits;
} several;

/* The host's executor, within a training step of models[1] the first time. */
static void train_visitor(void *user, const xf_job *job) {
    (void)user;
    if (several.visits++ == 0) {
        xf_hypotheses *answers = SENTINEL;
        xf_engine *engine = SENTINEL;
        double score = 0;
        for (int i = 0; i < 2; ++i) {
            REFUSED(XF_ERROR_BUSY, answers,
                    xf_translate(several.decoders[i], texts, NULL, 1, NULL, NULL, &answers, err));
            REFUSED(XF_ERROR_BUSY, score, xf_score(several.decoders[i], &one_pair, NULL, &score, err));
            REFUSED(XF_ERROR_BUSY, engine, xf_engine_create(several.models[0], &several.more[i], NULL, &engine, err));
        }
    }
    for (int32_t i = 0; i < job->count; ++i) job->run(job->arg, i);
}

/* A decoder of several models holds all of them. */
static void train_another(void) {
    REFUSED(XF_ERROR_BUSY, nothing, xf_train_step(several.trainer, &one_pair, 1, NULL, NULL, err));
}

TEST(several_models) {
    const xf_host host = {.struct_size = sizeof host, .parallel = train_visitor};
    OWNED_CONFIG *config = small_config("cpu:ref");
    set(config, "decode.beam", "1");
    several.visits = 1;
    ACCEPTED(xf_context_create(config, &host, &several.context, err));
    for (int i = 0; i < 2; ++i)
        ACCEPTED(xf_model_copy(world.model, several.context, NULL, NULL, &several.models[i], err));
    ACCEPTED(xf_trainer_create(several.models[1], config, &several.trainer, err));
    several.others[0] = several.models[1];
    several.more[0] = (xf_decode_models){sizeof(xf_decode_models), several.others, 1, NULL};
    several.more[1] = (xf_decode_models){sizeof(xf_decode_models), NULL, 0, several.models[1]};
    for (int i = 0; i < 2; ++i) {
        struct visit visit = {train_another, 0};
        const xf_constraint constraint = {sizeof constraint, visit_once, &visit};
        xf_decode_params params = XF_DECODE_PARAMS_INIT;
        params.constraint = &constraint;
        ACCEPTED(xf_decoder_create(several.models[0], &several.more[i], config, &several.decoders[i], err));
        MAKE(hypotheses, answers, xf_decode(several.decoders[i], &one_pair, &params, NULL, &answers, err));
        assert_true(visit.done > 0);
    }
    several.visits = 0;
    ACCEPTED(xf_train_step(several.trainer, &one_pair, 1, NULL, NULL, err));
    assert_true(several.visits > 0);
    for (int i = 0; i < 2; ++i) {
        MAKE(hypotheses, answers, xf_decode(several.decoders[i], &one_pair, NULL, NULL, &answers, err));
        xf_decoder_free(several.decoders[i]);
        xf_model_free(several.models[i]);
    }
    xf_trainer_free(several.trainer);
    xf_context_free(several.context);
}

/* Frees every object that the call uses while it runs. */
static void free_all(void) {
    xf_decoder_free(world.decoder);
    xf_decoder_free(world.decoder); /* once, even if a call still uses it */
    xf_trainer_free(world.trainer);
    xf_model_free(world.model);
    xf_context_free(world.context);
}

TEST(free_in_use) {
    int32_t ids[] = {5, 6, TOKEN_END};
    int64_t offsets[] = {0, 3};
    const xf_batch batch = {sizeof batch, 1, ids, offsets, NULL, NULL, NULL, NULL, 0};
    struct visit nothing_yet = {check_taken, 1}, visit = {free_all, 0};
    OWNED_HYPOTHESES *expected = NULL, *found = NULL;
    assert_int_equal(decode_with(&nothing_yet, &batch, &expected), XF_OK);
    assert_int_equal(decode_with(&visit, &batch, &found), XF_OK);
    assert_int_equal(visit.done > 0, 1);
    const xf_hypothesis a = get_hypothesis(expected, 0, 0), b = get_hypothesis(found, 0, 0);
    assert_true(a.score == b.score && a.id_count == b.id_count);
    world.decoder = NULL;
    world.trainer = NULL;
    world.model = NULL;
    world.context = NULL;
    world_close(state);
    world_open(state);
}

/* Threads that do what they like with one decoder, one trainer, one model, one batcher and one config. */
static atomic_int begun, busy, steps;

static void count(xf_status status) {
    if (status == XF_ERROR_BUSY)
        atomic_fetch_add(&busy, 1);
    else if (status != XF_OK && status != XF_DONE)
        abort(); /* cmocka's checks belong to its own thread */
}

static void *use_all(void *arg) {
    const int number = (int)(intptr_t)arg;
    float own[1 << 13] = {0};
    atomic_fetch_add(&begun, 1);
    while (atomic_load(&begun) < THREADS) continue;
    for (int i = 0; i < ROUNDS; ++i) {
        xf_hypotheses *answers = NULL;
        xf_batch next = XF_BATCH_INIT;
        xf_batcher_stats stats = XF_BATCHER_STATS_INIT;
        int64_t seen;
        double score;
        const int what = (i + number) % 10;
        if (what == 0) count(xf_translate(world.decoder, texts, NULL, 1, NULL, NULL, &answers, NULL));
        if (what == 1) count(xf_score(world.decoder, &one_pair, NULL, &score, NULL));
        if (what == 2) {
            const xf_status status = xf_train_step(world.trainer, &one_pair, 1, NULL, NULL, NULL);
            if (status == XF_OK) atomic_fetch_add(&steps, 1);
            count(status);
        }
        if (what == 3) count(xf_model_read_tensor(world.model, 0, own, first_size, NULL));
        if (what == 4) count(xf_model_write_tensor(world.model, 0, values, first_size, NULL));
        if (what == 5) count(xf_batcher_next(world.batcher, NULL, &next, NULL));
        if (what == 6) count(xf_batcher_get_stats(world.batcher, &stats, NULL));
        if (what == 7) count(xf_config_set_number(world.config, "decode.beam", 1 + number, NULL));
        if (what == 8) count(get_integer(world.config, "decode.beam", &seen, NULL));
        if (what == 9 && xf_trainer_step_count(world.trainer) < 0) abort();
        if (what == 9) xf_context_cancel(NULL);
        xf_hypotheses_free(answers);
    }
    return NULL;
}

TEST(many_threads) {
    pthread_t threads[THREADS];
    const int64_t before = xf_trainer_step_count(world.trainer);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, use_all, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    print_message("%d of %d calls were refused, %d steps made\n", busy, THREADS * ROUNDS, steps);
    assert_true(busy > 0 && steps > 0);
    assert_int_equal(xf_trainer_step_count(world.trainer), before + steps);
}

int main(void) { return RUN_TESTS(world_open, world_close); }
