/*
 * train_setup.c - opens the pairs, the vocabulary, and the model or checkpoint of a training run; see parse_train.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>

#include "common.h"
#include "files.h"
#include "parse_train.h"
#include "recombine.h"
#include "signals.h"
#include "tree_kind.h"

void checkpoint_name(const struct parse_run *run, char name[PATH_SIZE]) {
    snprintf(name, PATH_SIZE, "%.4000s.ckpt", run->flags.model);
}

/* Checks that the options of a group in a file equal those on the command line. `who` names the run in the message. */
static int check_group(const struct parse_run *run, const char *group, const xf_config *config, const char *file,
                       const char *who) {
    for (size_t i = 0; i < xf_option_count(); ++i) {
        xf_option_info info = XF_OPTION_INFO_INIT;
        const char *saved = NULL, *given = NULL;
        if (xf_option_get(i, &info, NULL) != XF_OK || strcmp(info.key, "model.vocab_size") == 0) continue;
        if (strncmp(info.key, group, strlen(group)) != 0) continue;
        if (xf_config_get(config, info.key, &saved, NULL) != XF_OK) continue;
        if (xf_config_get(run->config, info.key, &given, NULL) != XF_OK || strcmp(given, saved) == 0) continue;
        complain("%s is %s in %s and %s on the command line; %s cannot change it", info.key, saved, file, given, who);
        return EXIT_USAGE;
    }
    return -1;
}

/* Loads the model of --init, whose vocabulary is already loaded. */
static int begin_with_init(struct parse_run *run) {
    struct parser parser = {0};
    xf_error err;
    if (!parser_load(&parser, run->context, run->flags.init)) return EXIT_FAILED;
    int status =
        check_group(run, "model.", xf_model_config(parser.model), run->flags.init, "a run that starts from it");
    if (status < 0 && xf_trainer_create(parser.model, run->config, &run->trainer, &err) != XF_OK) status = fail(&err);
    parser_free(&parser); /* the trainer keeps the model */
    return status;
}

/* Trains a tokenizer on the training pairs, and creates a new model and its trainer. */
static int begin_afresh(struct parse_run *run) {
    xf_model *model = NULL;
    xf_error err;
    xf_status status = pairs_tokenizer(&run->train, run->context, run->config, &run->parser.tokenizer, &err);
    const struct alphabet alphabet = parser_alphabet(&run->parser);
    if (status == XF_OK)
        status =
            xf_config_set_number(run->config, "model.vocab_size", alphabet.first_id + alphabet_size(&alphabet), &err);
    if (status == XF_OK) status = xf_model_create(run->context, NULL, run->config, &model, &err);
    if (status == XF_OK) status = xf_trainer_create(model, run->config, &run->trainer, &err);
    xf_model_free(model); /* the trainer keeps it */
    return status == XF_OK ? -1 : fail(&err);
}

static int begin(struct parse_run *run) { return run->flags.init != NULL ? begin_with_init(run) : begin_afresh(run); }

/*
 * Writes the vocabulary after all checks have passed. First removes an older parser of the same name, which would give
 * wrong results with the new vocabulary.
 */
static int replace_parser(struct parse_run *run) {
    char name[PATH_SIZE];
    checkpoint_name(run, name);
    const char *const models[] = {run->flags.model, name};
    for (size_t i = 0; i < 2; ++i) {
        remove(models[i]);
        forget_previous(models[i]);
    }
    if (!parser_save_vocabulary(&run->parser, run->flags.model)) return EXIT_FAILED;
    snprintf(name, sizeof name, "%.4000s.tokenizer.json", run->flags.model);
    forget_previous(name);
    return -1;
}

/* Checks that the model and training options in the checkpoint equal those on the command line. */
static int check_settings(const struct parse_run *run) {
    const char *where = "the checkpoint", *who = "a resumed run";
    const int status = check_group(run, "model.", xf_model_config(xf_trainer_model(run->trainer)), where, who);
    return status < 0 ? check_group(run, "train.", xf_trainer_config(run->trainer), where, who) : status;
}

static int resume(struct parse_run *run) {
    char name[PATH_SIZE];
    xf_error err;
    const struct labels found = run->parser.labels; /* from the training pairs or from --init */
    const int32_t leaves = run->parser.leaves;
    xf_tokenizer_free(run->parser.tokenizer);
    run->parser.tokenizer = NULL;
    if (!parser_load_vocabulary(&run->parser, run->context, run->flags.model)) return EXIT_FAILED;
    if (memcmp(&found, &run->parser.labels, sizeof found) != 0) {
        complain("the labels of %s differ from %.4000s.labels; resume with the pairs that the run started with",
                 run->flags.train, run->flags.model);
        return EXIT_FAILED;
    }
    if (leaves != run->parser.leaves) {
        complain("--leaves is %d in %.4000s.labels and %d on the command line; a resumed run cannot change it",
                 (int)run->parser.leaves, run->flags.model, (int)leaves);
        return EXIT_USAGE;
    }
    checkpoint_name(run, name);
    const xf_source source = XF_SOURCE_PATH(name);
    if (xf_trainer_resume(run->context, &source, NULL, &until_interrupted, &run->trainer, &err) != XF_OK)
        return fail(&err);
    run->saved_step = xf_trainer_step_count(run->trainer);
    const int status = check_settings(run);
    if (status >= 0) return status;
    snapshots_find(&run->snapshots, run->saved_step);
    if (!curve_read(&run->curve, run->flags.model, run->saved_step)) return EXIT_FAILED;
    run->earlier_seconds = run->curve.seconds;
    return -1;
}

/* Returns a checksum of all sentences and trees (FNV-1a). */
static uint64_t sum_of(const struct pairs *pairs) {
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < pairs->count; ++i) {
        const struct pair *pair = &pairs->list[i];
        for (size_t k = 0; k <= pair->text_length; ++k)
            sum = (sum ^ (unsigned char)pair->text[k]) * UINT64_C(0x100000001b3);
        for (size_t k = 0; k < pair->tree.length; ++k)
            sum = (sum ^ (uint64_t)pair->tree.symbols[k]) * UINT64_C(0x100000001b3);
    }
    return sum;
}

/*
 * Writes the settings that determine the batches to M.xf.data, or checks them when resuming. The checkpoint does not
 * contain them. Returns -1, or the exit status on failure.
 */
static int keep_data(const struct parse_run *run, int64_t batch_tokens, int64_t seed) {
    char name[PATH_SIZE], found[160], expected[160] = "";
    snprintf(name, sizeof name, "%.4000s.data", run->flags.model);
    const int length =
        snprintf(found, sizeof found, "%zu pairs of the sum %016llx, data.batch_tokens %lld, data.seed %lld",
                 run->train.count, (unsigned long long)sum_of(&run->train), (long long)batch_tokens, (long long)seed);
    FILE *file = run->flags.resume ? fopen(name, "rb") : NULL;
    if (file != NULL) {
        const bool read = fgets(expected, sizeof expected, file) != NULL;
        fclose(file);
        expected[strcspn(expected, "\n")] = '\0';
        if (read && strcmp(found, expected) == 0) return -1;
        complain("found %s, expected %s as at the start of %s; use these, or start over with --overwrite", found,
                 expected, run->flags.model);
        return EXIT_USAGE;
    }
    struct sentences line = {0};
    sentences_add(&line, found, (size_t)length);
    const int status = write_sentences(name, &line);
    sentences_free(&line);
    return status;
}

/* Loads the vocabulary of --init. Returns -1, or the exit status on failure. */
static int open_init(struct parse_run *run) {
    if (!parser_load_vocabulary(&run->parser, run->context, run->flags.init)) return EXIT_FAILED;
    if (run->flags.leaves <= 0 || run->flags.leaves == run->parser.leaves) return -1;
    complain("--leaves is %d in %s.labels and %lld on the command line; a run that starts from it cannot change it",
             (int)run->parser.leaves, run->flags.init, (long long)run->flags.leaves);
    return EXIT_USAGE;
}

/* Adds recombined pairs. Call it after training the tokenizer, which uses only real sentences. Returns -1, or the exit
 * status on failure. */
static int recombine(struct parse_run *run) {
    xf_error err;
    int64_t seed = 0, longest = 0;
    run->train_read = run->train.count;
    if (get_integer(run->config, "data.seed", &seed, &err) != XF_OK) return fail(&err);
    for (size_t i = 0; i < run->train.count; ++i)
        if (run->train.list[i].words > longest) longest = run->train.list[i].words;
    pairs_recombine(&run->train, run->flags.recombine, longest, (uint64_t)seed);
    return -1;
}

int parse_run_open(struct parse_run *run) {
    xf_error err;
    int64_t batch_tokens = 0, seed = 0;
    memset(&run->parser.labels, 0, sizeof run->parser.labels);
    printf("%-12s %s\n", "device", device_of(run->context));
    run->parser.leaves = run->flags.leaves > 0 ? (int32_t)run->flags.leaves : 1;
    if (run->flags.init != NULL) {
        const int status = open_init(run);
        if (status >= 0) return status;
    }
    if (!pairs_read(&run->train, &run->parser.labels, run->flags.init == NULL, run->flags.train)) return EXIT_FAILED;
    if (!pairs_read(&run->dev, &run->parser.labels, false, run->flags.dev)) return EXIT_FAILED;
    int status = run->flags.resume ? resume(run) : begin(run);
    if (status >= 0) return status;
    run->parser.model = xf_trainer_model(run->trainer);
    if ((status = recombine(run)) >= 0) return status;
    if (pairs_encode(&run->train, run->parser.tokenizer, &err) != XF_OK ||
        pairs_encode(&run->dev, run->parser.tokenizer, &err) != XF_OK ||
        get_integer(run->config, "data.batch_tokens", &batch_tokens, &err) != XF_OK ||
        get_integer(run->config, "data.seed", &seed, &err) != XF_OK)
        return fail(&err);
    pairs_drop_long(&run->train, run->train_read, batch_tokens); /* recombined trees may be deeper than all others */
    run->dev_some = run->dev;
    if (run->flags.dev_sentences > 0 && (size_t)run->flags.dev_sentences < run->dev.count)
        run->dev_some.count = (size_t)run->flags.dev_sentences;
    if (!plan_open(&run->plan, &run->train, batch_tokens, (uint64_t)seed)) return EXIT_USAGE;
    if (!run->flags.resume && (status = replace_parser(run)) >= 0) return status;
    if ((status = keep_data(run, batch_tokens, seed)) >= 0) return status;
    const struct alphabet alphabet = parser_alphabet(&run->parser);
    printf("%-12s %zu pairs in %zu batches, %zu dev pairs, %d labels, vocabulary %d + %d\n", "data", run->train.count,
           run->plan.count, run->dev.count, (int)run->parser.labels.count, (int)alphabet.first_id,
           (int)alphabet_size(&alphabet));
    if (run->train.count > run->train_read)
        printf("%-12s %zu of the pairs are recombined from the other %zu\n", "recombined",
               run->train.count - run->train_read, run->train_read);
    printf("%-12s %s for training, %s for dev\n", "trees", tree_kind_of(&run->train, run->flags.gold)->name,
           tree_kind_of(&run->dev, run->flags.gold)->name);
    printf("%-12s %lld parameters\n", "model", (long long)parameter_count(run->parser.model));
    if (run->flags.init != NULL) printf("%-12s with the weights of %s\n", "started", run->flags.init);
    if (run->flags.resume) printf("%-12s after step %lld\n", "resumed", (long long)run->saved_step);
    return check_output() == EXIT_FAILED ? EXIT_FAILED : -1;
}

void parse_run_close(struct parse_run *run) {
    run->parser.model = NULL; /* owned by the trainer */
    parser_free(&run->parser);
    plan_free(&run->plan);
    own_batch_free(&run->batch);
    pairs_free(&run->train);
    pairs_free(&run->dev);
    curve_free(&run->curve);
    xf_trainer_free(run->trainer);
    run->trainer = NULL;
}
