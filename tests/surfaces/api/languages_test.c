/*
 * Models of many languages, from texts to answers: what a batcher puts around both sides for each family, how names are
 * refused, and training after which the model is asked in the languages that it was taught.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "support.h"

enum { ENGLISH = 3, GERMAN = 4, END = TOKEN_END, NONE = -1 };

/* The positions of the language tokens before and after the source and the target, from English to German. */
struct family {
    const char *source, *target, *first_token;
    int32_t around[4];
};
static const struct family families[] = {
    {"before", "first", "-1", {ENGLISH, NONE, GERMAN, NONE}}, /* M2M-100, NLLB, mBART-50 */
    {"after", "first", "-1", {NONE, ENGLISH, GERMAN, NONE}},  /* NLLB's legacy_behaviour */
    {"after", "start", "-1", {NONE, ENGLISH, NONE, GERMAN}},  /* mBART-25 */
    {"none", "source", "-1", {GERMAN, NONE, NONE, NONE}},     /* OPUS-MT's groups */
    {"before", "none", "4", {ENGLISH, NONE, GERMAN, NONE}},   /* M2M-100 made for one language */
    {"none", "none", "-1", {NONE, NONE, NONE, NONE}},
};
enum { FAMILIES = sizeof families / sizeof families[0] };

static void set_family(xf_config *config, const struct family *family) {
    set(config, "model.languages", "English=3,German=4");
    set(config, "model.source_language", family->source);
    set(config, "model.target_language", family->target);
    set(config, "model.first_token", family->first_token);
}

static void set_languages(xf_config *config, const char *source, const char *target) {
    set(config, "text.source_language", source);
    set(config, "text.target_language", target);
}

/* The world's config with these languages. */
static xf_config *told(const char *source, const char *target) {
    xf_config *config = NULL;
    ACCEPTED(xf_config_copy(world.config, &config, err));
    set_languages(config, source, target);
    return config;
}

static xf_model *make_model(const struct family *family) {
    OWNED_CONFIG *config = told("", "");
    xf_model *model = NULL;
    set_family(config, family);
    ACCEPTED(xf_model_create(world.context, world.tokenizer, config, &model, err));
    return model;
}

static xf_corpus *corpus_of(const char *text) {
    xf_corpus *corpus = NULL;
    ACCEPTED(corpus_from_text(world.context, NULL, text, strlen(text), &corpus, err));
    return corpus;
}

/* before, the text's ids, the end symbol, after. */
static size_t framed(const char *text, int32_t before, int32_t after, int32_t ids[32]) {
    size_t count = 0, written = 0;
    if (before != NONE) ids[count++] = before;
    ACCEPTED(xf_tokenizer_encode(world.tokenizer, text, strlen(text), ids + count, 24, &written, err));
    count += written;
    ids[count++] = END;
    if (after != NONE) ids[count++] = after;
    return count;
}

static void check_batch(const xf_tokenizer *tokenizer, const xf_config *config, const int32_t around[4]) {
    OWNED_CORPUS *corpus = corpus_of("one two\teins zwei drei\n");
    xf_batch batch = XF_BATCH_INIT;
    int32_t ids[32];
    MAKE(batcher, batcher, xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, err));
    ACCEPTED(xf_batcher_next(batcher, NULL, &batch, err));
    assert_int_equal(batch.sentences, 1);
    assert_int_equal(batch.src_offsets[1], framed("one two", around[0], around[1], ids));
    assert_memory_equal(batch.src_ids, ids, (size_t)batch.src_offsets[1] * sizeof *ids);
    assert_int_equal(batch.tgt_offsets[1], framed("eins zwei drei", around[2], around[3], ids));
    assert_memory_equal(batch.tgt_ids, ids, (size_t)batch.tgt_offsets[1] * sizeof *ids);
}

TEST(framing) {
    for (int i = 0; i < FAMILIES; ++i) {
        const struct family *family = &families[i];
        OWNED_MODEL *model = make_model(family);
        OWNED_CONFIG *config = told("English", "German");
        check_batch(xf_model_tokenizer(model), config, family->around); /* of the model whose tokenizer it is */
        set_family(config, family);
        check_batch(world.tokenizer, config, family->around); /* of the config's */
    }
    /* The config's options come before the model's. */
    OWNED_MODEL *model = make_model(&families[0]);
    OWNED_CONFIG *config = told("English", "German");
    set_family(config, &families[2]);
    check_batch(xf_model_tokenizer(model), config, families[2].around);
}

static void says(const xf_config *config, const xf_tokenizer *tokenizer, const char *expected) {
    xf_batcher *batcher = SENTINEL;
    xf_error error;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, batcher,
            xf_batcher_create(world.corpus, tokenizer, config, NULL, &batcher, err));
    assert_int_equal(xf_batcher_create(world.corpus, tokenizer, config, NULL, &batcher, &error),
                     XF_ERROR_INVALID_ARGUMENT);
    assert_string_equal(error.message, expected);
}

TEST(names) {
    OWNED_MODEL *model = make_model(&families[0]);
    const xf_tokenizer *tokenizer = xf_model_tokenizer(model);
    xf_config *config = told("Englisch", "German");
    says(config, tokenizer,
         "text.source_language is 'Englisch', which is not one of the model's 2 languages; the nearest is 'English'");
    says(config, world.tokenizer, "text.source_language is 'Englisch', but the model has no languages");
    set(config, "text.source_language", "");
    says(config, tokenizer,
         "text.source_language is not set, expected one of the model's 2 languages, such as 'English'");
    set_languages(config, "English", "");
    says(config, tokenizer,
         "text.target_language is not set, expected one of the model's 2 languages, such as 'English'");
    xf_config_free(config);

    /* A corpus of ids has the languages' tokens among them: nothing is looked at. */
    const int32_t ids[] = {ENGLISH, 9, END};
    const int64_t offsets[] = {0, 3};
    xf_batch pairs = {sizeof pairs, 1, ids, offsets, ids, offsets, NULL, NULL, 0};
    xf_batch batch = XF_BATCH_INIT;
    config = told("", "German");
    MAKE(corpus, corpus, xf_corpus_from_ids(world.context, &pairs, NULL, &corpus, err));
    MAKE(batcher, batcher, xf_batcher_create(corpus, NULL, config, NULL, &batcher, err));
    ACCEPTED(xf_batcher_next(batcher, NULL, &batch, err));
    assert_memory_equal(batch.tgt_ids, ids, sizeof ids);
    xf_config_free(config);
}

/* Languages are tokens of a side: they count in its limits. */
TEST(limits) {
    int32_t ids[32];
    const size_t longest = framed("eins zwei drei", NONE, NONE, ids);
    const struct family *const counted[] = {&families[0], &families[2]};
    OWNED_CORPUS *corpus = corpus_of("one two\teins zwei drei\n");
    for (int i = 0; i < 2; ++i) {
        OWNED_MODEL *model = make_model(counted[i]);
        OWNED_CONFIG *config = told("English", "German");
        OWNED_BATCHER *batcher = SENTINEL;
        ACCEPTED(xf_config_set_number(config, "data.max_tokens", (int64_t)longest, err));
        REFUSED(XF_ERROR_DATA, batcher,
                xf_batcher_create(corpus, xf_model_tokenizer(model), config, NULL, &batcher, err));
        ACCEPTED(xf_config_set_number(config, "data.max_tokens", (int64_t)longest + 1, err));
        ACCEPTED(xf_batcher_create(corpus, xf_model_tokenizer(model), config, NULL, &batcher, err));
        const xf_batcher_stats stats = get_batcher_stats(batcher);
        assert_int_equal(stats.tgt_tokens, longest + 1);
    }
}

/* A request names the languages, or the engine does. */
TEST(requests) {
    OWNED_MODEL *model = make_model(&families[0]);
    OWNED_CONFIG *config = told("", "");
    OWNED_CONFIG *languages = told("English", "German");
    MAKE(engine, engine, xf_engine_create(model, NULL, config, &engine, err));
    for (int named = 0; named < 2; ++named) {
        xf_request request = XF_REQUEST_INIT;
        xf_event event = XF_EVENT_INIT;
        uint64_t id;
        request.text = "one two";
        request.config = named ? languages : NULL;
        ACCEPTED(xf_engine_submit(engine, &request, &id, err));
        ACCEPTED(xf_engine_next(engine, -1, NULL, &event, err));
        assert_int_equal(event.status, named ? XF_OK : XF_ERROR_INVALID_ARGUMENT);
        xf_hypotheses_free(event.hypotheses);
    }
}

static double dev_loss(const xf_model *model, xf_batcher *batcher) {
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    MAKE(decoder, decoder, xf_decoder_create(model, NULL, NULL, &decoder, err));
    ACCEPTED(xf_evaluate(decoder, batcher, NULL, &stats, err));
    return stats.nll;
}

/* A model that was trained on texts translates them, and scoring a translation gives the score of the decoder. */
static void check_answers(const xf_model *model, const struct family *family) {
    const char *const source = "four one";
    OWNED_CONFIG *config = told("English", "German");
    set(config, "decode.alpha", "0");
    MAKE(decoder, decoder, xf_decoder_create(model, NULL, config, &decoder, err));
    MAKE(hypotheses, answers, xf_translate(decoder, &source, NULL, 1, NULL, NULL, &answers, err));
    const xf_hypothesis best = get_hypothesis(answers, 0, 0);
    const char *const said = strstr(best.text, "vier"); /* after a language token, a byte in this tokenizer */
    assert_non_null(said);
    assert_string_equal(said, "vier eins");
    assert_true(best.finished);
    assert_int_equal(best.ids[0] == GERMAN, family->around[2] == GERMAN);

    int32_t source_ids[32], target_ids[32];
    const size_t length = framed(source, family->around[0], family->around[1], source_ids);
    memcpy(target_ids, best.ids, (size_t)best.id_count * sizeof *target_ids);
    target_ids[best.id_count] = END;
    const int64_t source_offsets[] = {0, (int32_t)length};
    const int64_t target_offsets[] = {0, (int32_t)best.id_count + 1};
    const xf_batch pair = {sizeof pair, 1, source_ids, source_offsets, target_ids, target_offsets, NULL, NULL, 0};
    double found = 0;
    ACCEPTED(xf_score(decoder, &pair, NULL, &found, err));
    assert_true(fabs(found - best.log_probability) < 1e-5);
}

TEST(training) {
    const char *const saved = scratch_path("start.xf"), *const checkpoint = scratch_path("run.xf");
    for (int i = 0; i < FAMILIES; ++i) {
        xf_model *model = make_model(&families[i]);
        ACCEPTED(save_model(model, NULL, saved, err));
        xf_model_free(model);
        ACCEPTED(load_model(world.context, saved, &model, err)); /* a model of others', with its tokenizer */
        OWNED_CONFIG *config = told("English", "German"), *other = told("English", "English");
        xf_batcher *another = NULL;
        OWNED_TRAINER *resumed = NULL;
        xf_step_stats stats = XF_STEP_STATS_INIT;
        set(config, "train.dropout", "0");
        MAKE(batcher, batcher, xf_batcher_create(world.corpus, xf_model_tokenizer(model), config, NULL, &batcher, err));
        MAKE(trainer, trainer, xf_trainer_create(model, config, &trainer, err));
        const double before = dev_loss(model, batcher);
        while (stats.step < 300) {
            xf_error error;
            assert_true(xf_train_next(trainer, batcher, NULL, &stats, &error) >= 0);
        }
        assert_true(dev_loss(model, batcher) < 0.1 * before);
        check_answers(model, &families[i]);

        /* A run can be resumed only with the same languages. */
        ACCEPTED(save_trainer(trainer, batcher, checkpoint, err));
        ACCEPTED(resume_trainer(world.context, checkpoint, NULL, &resumed, err));
        const xf_tokenizer *tokenizer = xf_model_tokenizer(xf_trainer_model(resumed));
        ACCEPTED(xf_batcher_create(world.corpus, tokenizer, other, NULL, &another, err));
        if (strcmp(families[i].target, "none") != 0)
            REFUSED(XF_ERROR_DATA, nothing, xf_batcher_resume(another, resumed, NULL, err));
        xf_batcher_free(another);
        ACCEPTED(xf_batcher_create(world.corpus, tokenizer, config, NULL, &another, err));
        ACCEPTED(xf_batcher_resume(another, resumed, NULL, err));
        xf_batcher_free(another);
        xf_model_free(model);
    }
}

int main(void) { return RUN_TESTS(world_open, world_close); }
