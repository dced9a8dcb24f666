/*
 * train_choose.c - chooses the options that determine the length of a run, unless they are set.
 *
 * The defaults of the library are those of the paper, for 4.5 million pairs on eight GPUs. With a few thousand pairs,
 * an epoch would have only a few batches, and each would take minutes on a CPU. These options are chosen:
 *
 *     tokenizer.vocab_size   by the number of pairs
 *     data.batch_tokens      such that an epoch has 200 batches; at least 256; at most 2,000 for the preset tiny, 4,000
 *                            for small, and 25,000, as in the paper, for the others
 *     --steps                20 epochs, from 4,000 to 100,000
 *     train.warmup_steps     the value of the preset, at most half of those steps
 *     train.total_steps      those steps, for the schedules linear and cosine
 *
 * An option on the command line is never changed. If --steps is set, the warm-up and train.total_steps are not changed,
 * either. The same corpus always leads to the same choices. The checkpoint stores them for a resumed run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 200, EPOCHS = 20, LEAST_BATCH = 256, LEAST_STEPS = 4000, MOST_STEPS = 100000, SAMPLE = 2000 };

/* Metadata keys in the checkpoint's model. */
static const char batch_key[] = "translate.batch_tokens", steps_key[] = "translate.steps";

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t option_of(const xf_config *config, const char *key) {
    int64_t value = 0;
    get_integer(config, key, &value, NULL); /* cannot fail: the keys exist */
    return value;
}

/* Sets an option and records the value in `chosen`. */
static xf_status choose(struct run *run, const char *key, int64_t value, int64_t *chosen, xf_error *err) {
    *chosen = value;
    return xf_config_set_number(run->config, key, value, err);
}

int64_t vocabulary_for(int64_t pairs) {
    static const struct {
        int64_t pairs, tokens;
    } sizes[] = {{2000, 1000}, {10000, 2000}, {50000, 4000}, {200000, 8000}, {1000000, 16000}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        if (pairs <= sizes[i].pairs) return sizes[i].tokens;
    return 0;
}

int choose_vocabulary(struct run *run) {
    const int64_t tokens = vocabulary_for(xf_corpus_pair_count(run->corpus));
    xf_error err;
    if (run->flags.tokenizer != NULL || is_given(&run->line, "tokenizer.vocab_size") ||
        is_given(&run->line, "model.vocab_size"))
        return -1;
    if (tokens == 0 || choose(run, "tokenizer.vocab_size", tokens, &run->chosen.vocab_size, &err) == XF_OK) return -1;
    return fail(&err);
}

/* Returns the number of tokens of a text, including its end token. */
static int64_t length_of(const xf_tokenizer *tokenizer, const char *text, size_t length) {
    size_t count = 0;
    xf_tokenizer_encode(tokenizer, text, length, NULL, 0, &count, NULL); /* an empty buffer: returns only the count */
    return (int64_t)count + 1;
}

/* Returns what epoch_tokens() does for an encoded corpus, from its first chunk. 0 after a message. */
static int64_t encoded_epoch_tokens(const struct run *run, const xf_tokenizer *tokenizer) {
    xf_batcher_stats stats = {.struct_size = sizeof stats};
    xf_batcher *batcher = open_plain_batcher(run->corpus, tokenizer, run->config);
    if (batcher != NULL) xf_batcher_get_stats(batcher, &stats, NULL);
    xf_batcher_free(batcher);
    return most(stats.src_tokens, stats.tgt_tokens) * xf_corpus_pair_count(run->corpus) / most(stats.pairs, 1);
}

/* Estimates the number of tokens per epoch on the longer side, from a sample of pairs across the corpus. */
static int64_t epoch_tokens(const struct run *run, const xf_tokenizer *tokenizer) {
    if (!has_text(run->corpus)) return encoded_epoch_tokens(run, tokenizer);
    const int64_t pairs = xf_corpus_pair_count(run->corpus), seen = least(pairs, SAMPLE);
    const int64_t longest = option_of(run->config, "data.max_tokens");
    int64_t sources = 0, targets = 0;
    for (int64_t i = 0; i < seen; ++i) {
        const char *source, *target;
        size_t source_length, target_length;
        if (xf_corpus_get_pair(run->corpus, i * pairs / seen, &source, &source_length, &target, &target_length, NULL) !=
            XF_OK)
            continue;
        const int64_t a = length_of(tokenizer, source, source_length), b = length_of(tokenizer, target, target_length);
        if (a > longest || b > longest) continue; /* training skips this pair, too */
        sources += a;
        targets += b;
    }
    return seen > 0 ? most(sources, targets) * pairs / seen : 0;
}

static int64_t largest_batch(const char *preset) {
    if (preset == NULL || strcmp(preset, "small") == 0) return 4000;
    return strcmp(preset, "tiny") == 0 ? 2000 : 25000;
}

static bool schedule_ends(const xf_config *config) {
    const char *schedule = "";
    xf_config_get(config, "train.schedule", &schedule, NULL);
    return strcmp(schedule, "linear") == 0 || strcmp(schedule, "cosine") == 0;
}

/* Chooses the number of steps and the options of the learning rate that depend on it. */
static xf_status choose_steps(struct run *run, int64_t epoch_steps, xf_error *err) {
    static const char warmup_key[] = "train.warmup_steps", total_key[] = "train.total_steps";
    const bool ends = schedule_ends(run->config), warmup_given = is_given(&run->line, warmup_key);
    const int64_t warmup = option_of(run->config, warmup_key);
    xf_status status = XF_OK;
    int64_t steps = least(most((EPOCHS * epoch_steps + 99) / 100 * 100, LEAST_STEPS), MOST_STEPS);
    if (warmup_given) steps = most(steps, 2 * warmup);
    if (ends && is_given(&run->line, total_key)) steps = option_of(run->config, total_key);
    run->flags.steps = run->chosen.steps = steps;
    if (!warmup_given && warmup > most(steps / 2, 1))
        status = choose(run, warmup_key, most(steps / 2, 1), &run->chosen.warmup_steps, err);
    if (status == XF_OK && ends && !is_given(&run->line, total_key))
        status = choose(run, total_key, steps, &run->chosen.total_steps, err);
    return status;
}

/* Prints the choices in one line, in the form of command-line options. */
static void print_choice(const struct run *run) {
    const struct {
        const char *option;
        int64_t value;
    } options[] = {{"tokenizer.vocab_size", run->chosen.vocab_size},
                   {"data.batch_tokens", run->chosen.batch_tokens},
                   {"steps", run->chosen.steps},
                   {"train.warmup_steps", run->chosen.warmup_steps},
                   {"train.total_steps", run->chosen.total_steps}};
    size_t printed = 0;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i) {
        if (options[i].value == 0) continue;
        if (printed++ == 0) printf("%-12s", "chosen");
        printf(" --%s %lld", options[i].option, (long long)options[i].value);
    }
    if (printed > 0) printf("%s; set these options to override\n", run->flags.resume != NULL ? ", as before" : "");
    check_output();
}

int choose_run(struct run *run, const xf_tokenizer *tokenizer) {
    const xf_config *config = run->config;
    const bool needed = run->flags.steps < 0 || !is_given(&run->line, "data.batch_tokens");
    const int64_t shards = option_of(config, "train.shards"), tokens = needed ? epoch_tokens(run, tokenizer) : 0;
    const int64_t parts = (shards > 0 ? shards : run->ranks) * option_of(config, "train.accumulate");
    xf_status status = XF_OK;
    xf_error err;
    if (needed && tokens == 0 && !has_text(run->corpus)) return EXIT_FAILED; /* after a message */
    if (!is_given(&run->line, "data.batch_tokens")) {
        int64_t batch = least(tokens / (BATCHES * parts) / 10 * 10, largest_batch(run->flags.preset));
        batch = most(most(batch, LEAST_BATCH), option_of(config, "data.max_tokens")); /* so that any pair fits */
        if (batch < option_of(config, "data.batch_tokens"))
            status = choose(run, "data.batch_tokens", batch, &run->chosen.batch_tokens, &err);
    }
    if (status == XF_OK && run->flags.steps < 0)
        status = choose_steps(run, tokens / (option_of(config, "data.batch_tokens") * parts) + 1, &err);
    if (status != XF_OK) return fail(&err);
    print_choice(run);
    return -1;
}

static xf_status keep(xf_model *model, const char *key, int64_t value, xf_error *err) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return xf_model_set_metadata(model, key, value > 0 ? text : NULL, err); /* 0 removes a value of the --init model */
}

int keep_choice(struct run *run) {
    xf_model *model = xf_trainer_model(run->trainer);
    xf_error err;
    xf_status status = keep(model, batch_key, run->chosen.batch_tokens, &err);
    if (status == XF_OK) status = keep(model, steps_key, run->chosen.steps, &err);
    if (status == XF_OK) status = keep(model, STEP_KEY, 0, &err);
    return status == XF_OK ? -1 : fail(&err);
}

/* Returns 0 if the key does not exist. The library rejects an invalid number when it is set. */
static int64_t kept(const xf_model *model, const char *key) {
    char text[24];
    size_t length = 0;
    if (xf_model_get_metadata(model, key, text, sizeof text, &length, NULL) != XF_OK) return 0;
    return most(strtoll(text, NULL, 10), 0);
}

int recall_choice(struct run *run) {
    const xf_model *model = xf_trainer_model(run->trainer);
    const int64_t batch = kept(model, batch_key), steps = kept(model, steps_key);
    xf_error err;
    if (batch > 0 && !is_given(&run->line, "data.batch_tokens") &&
        choose(run, "data.batch_tokens", batch, &run->chosen.batch_tokens, &err) != XF_OK)
        return fail(&err);
    if (run->flags.steps < 0 && steps > 0) run->flags.steps = run->chosen.steps = steps;
    if (run->flags.steps < 0) run->flags.steps = MOST_STEPS;
    print_choice(run);
    return -1;
}
