/*
 * learning_test.c - the whole of the parser on sentences whose trees are known: an untrained model held to the grammar
 * answers with trees, and one that has learnt parses new sentences right.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "parser.h"
#include "pcfg.h"

#define ACCEPTED(call)                                               \
    do {                                                             \
        if ((call) != XF_OK) fail_msg("%s: %s", #call, err.message); \
    } while (0)

static xf_error err;

static struct {
    xf_config *config;
    xf_context *context;
    struct parser parser;
    struct pairs train, test;
} world;

static void draw_pairs(struct pairs *pairs, uint64_t seed, int count) {
    char line[PCFG_LINE];
    for (int i = 0; i < count; ++i) {
        pcfg_line(&seed, 7, line);
        assert_null(pairs_add_line(pairs, &world.parser.labels, true, line, strlen(line)));
    }
    if (world.parser.tokenizer == NULL) /* the first pairs are those to learn from */
        ACCEPTED(pairs_tokenizer(pairs, world.context, world.config, &world.parser.tokenizer, &err));
    ACCEPTED(pairs_encode(pairs, world.parser.tokenizer, &err));
}

static int open_world(int32_t leaves) {
    static const char *const options[][2] = {
        {"context.threads", "2"},      {"tokenizer.vocab_size", "330"},
        {"model.encoder_layers", "2"}, {"model.decoder_layers", "2"},
        {"model.d_model", "64"},       {"model.d_ff", "128"},
        {"model.heads", "4"},          {"model.d_k", "16"},
        {"model.d_v", "16"},           {"model.norm", "pre"},
        {"train.warmup_steps", "100"}, {"train.learning_rate", "0.4"},
        {"train.dropout", "0"},        {"train.attention_dropout", "0"},
        {"decode.beam", "4"},          {"train.label_smoothing", "0"},
    };
    ACCEPTED(xf_config_create(&world.config, &err));
    ACCEPTED(xf_config_preset(world.config, "parsing", &err));
    for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i)
        ACCEPTED(xf_config_set(world.config, options[i][0], options[i][1], &err));
    ACCEPTED(xf_context_create(world.config, NULL, &world.context, &err));
    draw_pairs(&world.train, 1, 2500);
    draw_pairs(&world.test, 2, 100);
    world.parser.leaves = leaves;
    const struct alphabet alphabet = parser_alphabet(&world.parser);
    ACCEPTED(
        xf_config_set_number(world.config, "model.vocab_size", alphabet.first_id + alphabet_size(&alphabet), &err));
    ACCEPTED(xf_model_create(world.context, NULL, world.config, &world.parser.model, &err));
    return 0;
}

static int open_plain(void **state) {
    (void)state;
    return open_world(1);
}

static int open_numbered(void **state) {
    (void)state;
    return open_world(3);
}

static int close_world(void **state) {
    (void)state;
    parser_free(&world.parser);
    pairs_free(&world.train);
    pairs_free(&world.test);
    xf_context_free(world.context);
    xf_config_free(world.config);
    return 0;
}

static struct parse_score measure(const char *extra, bool constrained) {
    struct answer answers[100];
    struct parse_score score;
    xf_decoder *decoder = NULL;
    ACCEPTED(xf_config_set(world.config, "decode.max_extra_tokens", extra, &err));
    ACCEPTED(xf_decoder_create(world.parser.model, NULL, world.config, &decoder, &err));
    ACCEPTED(measure_parser(&world.parser, decoder, &world.test, constrained, answers, &score, &err));
    for (int i = 0; constrained && i < 100; ++i) {
        const struct answer *answer = &answers[i];
        assert_true(answer->finished && answer->fault == TREE_OK);
        assert_int_equal(tree_check(answer->tree.symbols, answer->tree.length, world.test.list[i].words), TREE_OK);
        assert_true(answer->log_probability < 0);
    }
    answers_free(answers, 100);
    xf_decoder_free(decoder);
    return score;
}

/* Every result of an untrained model is a tree of its sentence, even with the smallest budget. */
TEST(untrained) {
    static const char *const extras[] = {"2", "3", "5", "40"};
    for (size_t i = 0; i < sizeof extras / sizeof extras[0]; ++i) {
        const struct parse_score score = measure(extras[i], true);
        assert_int_equal(score.malformed, 0);
        assert_int_equal(score.evalb.sentences, 100);
        assert_int_equal(score.evalb.errors, 0);
    }
    const struct parse_score freely = measure("40", false);
    assert_true(freely.malformed > 90 && freely.evalb.errors == freely.malformed);
}

/* A budget in which no tree fits gives no answer, and no error. */
TEST(no_room) {
    struct answer answers[100];
    xf_decoder *decoder = NULL;
    struct parse_score score;
    ACCEPTED(xf_config_set(world.config, "decode.max_extra_tokens", "1", &err));
    ACCEPTED(xf_decoder_create(world.parser.model, NULL, world.config, &decoder, &err));
    ACCEPTED(measure_parser(&world.parser, decoder, &world.test, true, answers, &score, &err));
    for (int i = 0; i < 100; ++i) /* more tokens than words leave more room */
        assert_int_equal(answers[i].finished, world.test.list[i].source_length > world.test.list[i].words + 1);
    answers_free(answers, 100);
    xf_decoder_free(decoder);
}

TEST(learning) {
    xf_trainer *trainer = NULL;
    struct plan plan = {0};
    struct own_batch own = {0};
    const struct alphabet alphabet = parser_alphabet(&world.parser);
    assert_true(plan_open(&plan, &world.train, 300, 1));
    ACCEPTED(xf_trainer_create(world.parser.model, world.config, &trainer, &err));
    double first = 0, last = 0;
    for (int64_t step = 0; step < 1400; ++step) {
        size_t count = 0;
        const size_t *index = plan_batch(&plan, step, &count);
        own_batch_fill(&own, &world.train, index, count, &alphabet);
        xf_step_stats stats = XF_STEP_STATS_INIT;
        ACCEPTED(xf_train_step(trainer, &own.batch, 1, NULL, &stats, &err));
        if (step == 0) first = stats.nll;
        last = stats.nll;
    }
    const struct parse_score score = measure("300", true), freely = measure("300", false);
    xf_decoder *decoder = NULL;
    double nll = 0;
    ACCEPTED(xf_decoder_create(world.parser.model, NULL, world.config, &decoder, &err));
    ACCEPTED(measure_nll(&world.parser, decoder, &world.test, &nll, &err));
    printf("nll %.3f to %.3f, test nll %.4f, F1 %.2f, complete %.0f %%, free: F1 %.2f, %d malformed\n", first, last,
           nll, evalb_f1(&score.evalb), evalb_complete(&score.evalb), evalb_strict_f1(&freely.evalb),
           (int)freely.malformed);
    assert_true(evalb_f1(&score.evalb) >= 97);
    assert_true(nll < 0.05);
    xf_decoder_free(decoder);
    xf_trainer_free(trainer);
    plan_free(&plan);
    own_batch_free(&own);
}

int main(void) {
    enum { NUMBERED = 2 }; /* the first tests, also with numbered leaves */
    return _cmocka_run_group_tests("numbered", tests_of_file, NUMBERED, open_numbered, close_world) +
           RUN_TESTS(open_plain, close_world);
}
