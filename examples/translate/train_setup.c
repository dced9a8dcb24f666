/*
 * train_setup.c - opens what a training run needs: corpora, tokenizer, model, or a checkpoint.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

/* Of lines in the form of a corpus file. */
static xf_corpus *corpus_of(struct run *run, const char *name, const struct text *lines) {
    xf_corpus *corpus = NULL;
    xf_error err;
    if (xf_corpus_from_memory(run->context, run->config, name, lines->bytes, lines->length, &corpus, &err) != XF_OK)
        fail(&err);
    return corpus;
}

/* Takes every hold_out-th pair out of the training corpus and makes the dev corpus of them. */
static bool hold_out(struct run *run) {
    struct text kept = {0}, held = {0};
    const int64_t size = xf_corpus_pair_count(run->corpus), every = run->flags.hold_out;
    const char *source, *target;
    size_t source_length, target_length;
    for (int64_t i = 0; i < size; ++i) {
        if (xf_corpus_get_pair(run->corpus, i, &source, &source_length, &target, &target_length, NULL) != XF_OK)
            continue;
        struct text *lines = (i + 1) % every == 0 ? &held : &kept;
        text_add(lines, source, source_length);
        text_add(lines, "\t", 1);
        text_add(lines, target, target_length);
        text_add(lines, "\n", 1);
    }
    bool good = true;
    if (kept.length == 0) {
        complain("--hold-out %lld leaves nothing to learn from", (long long)every);
        good = false;
    } else if (held.length > 0) { /* a corpus of fewer pairs than that has no dev set */
        xf_corpus *rest = corpus_of(run, "training pairs", &kept);
        run->dev = corpus_of(run, "dev pairs", &held);
        good = rest != NULL && run->dev != NULL;
        if (rest != NULL) {
            xf_corpus_free(run->corpus);
            run->corpus = rest;
        }
    }
    text_free(&kept);
    text_free(&held);
    return good;
}

static bool open_corpora(struct run *run) {
    xf_error err;
    if (xf_corpus_open(run->context, run->config, run->flags.train, &run->corpus, &err) != XF_OK) {
        fail(&err);
        return false;
    }
    print_corpus("corpus", run->corpus);
    check_output(); /* for who waits behind a pipe */
    if (run->flags.dev != NULL) {
        if (xf_corpus_open(run->context, run->config, run->flags.dev, &run->dev, &err) != XF_OK) {
            fail(&err);
            return false;
        }
        print_corpus("dev", run->dev);
    } else if (run->flags.hold_out > 0) {
        if (!hold_out(run)) return false;
        if (run->dev != NULL) print_corpus("held out", run->dev);
    }
    return true;
}

/*
 * Where the file of --init or of --resume decides, an option that says something else is a mistake to be told. trainer
 * is NULL for --init.
 */
static int check_settings(const struct run *run, const xf_config *model, const xf_config *trainer) {
    for (size_t i = 0; i < run->line.setting_count; ++i) {
        const char *key = run->line.settings[i].key, *given = NULL, *saved = NULL;
        const xf_config *config = NULL;
        if (strncmp(key, "model.", 6) == 0) config = model;
        if (strncmp(key, "train.", 6) == 0) config = trainer;
        if (config == NULL || xf_config_get(config, key, &saved, NULL) != XF_OK) continue;
        if (xf_config_get(run->config, key, &given, NULL) != XF_OK || strcmp(given, saved) == 0) continue;
        /* 0: as it comes out */
        if ((strcmp(key, "model.vocab_size") == 0 || strcmp(key, "train.shards") == 0) && strcmp(given, "0") == 0)
            continue;
        complain("%s is %s in %s and %s on the command line; %s can't change it", key, saved,
                 trainer != NULL ? "the checkpoint" : run->flags.init, given,
                 trainer != NULL ? "a resumed run" : "a run that begins with it");
        return EXIT_USAGE;
    }
    return -1;
}

/*
 * Finds what the library would refuse in the options of the model before the corpus is read and a tokenizer learnt,
 * which may take minutes: makes a model of one layer and the smallest vocabulary with these widths.
 */
static int check_model_options(struct run *run) {
    xf_config *small = NULL;
    xf_model *model = NULL;
    xf_error err;
    enum xf_status status = xf_config_copy(run->config, &small, &err);
    if (status == XF_OK) status = xf_config_set_i64(small, "model.encoder_layers", 1, &err);
    if (status == XF_OK) status = xf_config_set_i64(small, "model.decoder_layers", 1, &err);
    if (status == XF_OK) status = xf_config_set_i64(small, "model.vocab_size", 259, &err);
    if (status == XF_OK) status = xf_model_create(run->context, small, NULL, &model, &err);
    xf_model_free(model);
    xf_config_free(small);
    if (status == XF_OK) return fit_max_tokens(&run->line, run->config, run->config);
    fail(&err);
    return status == XF_ERROR_INVALID_ARGUMENT || status == XF_ERROR_LIMIT ? EXIT_USAGE : EXIT_FAILED;
}

/* The dev loss of a resumed run is measured as that of the run it goes on with. */
static bool take_smoothing(struct run *run) {
    static const char *const keys[] = {"train.label_smoothing", "train.label_smoothing_kind"};
    xf_error err;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; ++i) {
        const char *value = NULL;
        if (xf_config_get(xf_trainer_config(run->trainer), keys[i], &value, &err) == XF_OK &&
            xf_config_set(run->config, keys[i], value, &err) == XF_OK)
            continue;
        fail(&err);
        return false;
    }
    return true;
}

/* The checkpoint, with the options of the command line that a run may change on its way. */
static int resume_trainer(struct run *run) {
    xf_config *changes = NULL;
    xf_error err;
    enum xf_status status = xf_config_create(&changes, &err);
    for (size_t i = 0; i < run->line.setting_count && status == XF_OK; ++i)
        if (strncmp(run->line.settings[i].key, "train.", 6) == 0)
            status = xf_config_set(changes, run->line.settings[i].key, run->line.settings[i].value, &err);
    if (status == XF_OK) status = xf_trainer_resume(run->context, run->flags.resume, changes, &run->trainer, &err);
    xf_config_free(changes);
    if (status == XF_OK) return -1;
    fail(&err);
    return status == XF_ERROR_STATE ? EXIT_USAGE : EXIT_FAILED;
}

static int resume(struct run *run) {
    const int resumed = resume_trainer(run);
    if (resumed >= 0) return resumed;
    if (xf_model_tokenizer(xf_trainer_model(run->trainer)) == NULL) {
        complain("%s has no tokenizer", run->flags.resume);
        return EXIT_FAILED;
    }
    if (run->own_checkpoint) snapshots_find(&run->snapshots, xf_trainer_step_count(run->trainer));
    const xf_config *model = xf_model_config(xf_trainer_model(run->trainer));
    int status = check_settings(run, model, xf_trainer_config(run->trainer));
    if (status < 0 && !take_smoothing(run)) return EXIT_FAILED;
    if (status < 0) status = fit_max_tokens(&run->line, run->config, model);
    return status < 0 ? recall_choice(run) : status;
}

/* The model of another run with its tokenizer, and a trainer at step 0. */
static int begin_with_init(struct run *run) {
    xf_model *model = NULL;
    xf_error err;
    if (xf_model_load(run->context, run->flags.init, &model, &err) != XF_OK) return fail(&err);
    int status = -1;
    if (xf_model_tokenizer(model) == NULL) {
        complain("%s has no tokenizer", run->flags.init);
        status = EXIT_FAILED;
    }
    if (status < 0) status = check_settings(run, xf_model_config(model), NULL);
    if (status < 0) status = fit_max_tokens(&run->line, run->config, xf_model_config(model));
    if (status < 0) status = choose_run(run, xf_model_tokenizer(model));
    if (status < 0 && xf_trainer_create(model, run->config, &run->trainer, &err) != XF_OK) status = fail(&err);
    if (status < 0) status = keep_choice(run);
    if (status < 0) printf("%-12s with the weights of %s\n", "begins", run->flags.init);
    xf_model_free(model); /* the trainer holds it */
    return status;
}

/* A fresh model with its tokenizer, and a trainer at step 0. */
static int begin(struct run *run) {
    xf_tokenizer *tokenizer = NULL;
    xf_model *model = NULL;
    xf_error err;
    enum xf_status status;
    const double began = now();
    int chosen = choose_vocabulary(run);
    if (chosen >= 0) return chosen;
    if (run->flags.tokenizer != NULL)
        status = xf_tokenizer_load(run->context, run->flags.tokenizer, &tokenizer, &err);
    else
        status = xf_tokenizer_train(run->context, run->config, run->corpus, &tokenizer, &err);
    if (status == XF_OK) {
        printf("%-12s %d tokens, ", "vocabulary", (int)xf_tokenizer_vocab_size(tokenizer));
        if (run->flags.tokenizer != NULL)
            printf("from %s\n", run->flags.tokenizer);
        else
            printf("learnt in %.1f s\n", now() - began);
        chosen = choose_run(run, tokenizer);
    }
    if (status == XF_OK && chosen < 0) {
        status = xf_model_create(run->context, run->config, tokenizer, &model, &err);
        if (status == XF_OK) status = xf_trainer_create(model, run->config, &run->trainer, &err);
        if (status == XF_OK) chosen = keep_choice(run);
    }
    xf_model_free(model); /* the trainer holds it, and it holds the tokenizer */
    xf_tokenizer_free(tokenizer);
    return status == XF_OK ? chosen : fail(&err);
}

static int open_batchers(struct run *run) {
    const xf_tokenizer *tokenizer = xf_model_tokenizer(xf_trainer_model(run->trainer));
    xf_error err;
    if (xf_batcher_create(run->corpus, tokenizer, run->config, &run->batcher, &err) != XF_OK) return fail(&err);
    /* Goes to the batch that was next; the library refuses another corpus than the one the run began with. */
    if (run->flags.resume != NULL && xf_trainer_seek(run->trainer, run->batcher, &err) != XF_OK) return fail(&err);
    if (run->dev == NULL) return -1;
    run->dev_batcher = open_plain_batcher(run->dev, tokenizer, run->config);
    if (run->dev_batcher == NULL) return EXIT_FAILED;
    if (run->flags.dev_sentences > 0) {
        sentences_of_corpus(&run->dev_sources, run->dev, SIDE_SOURCE, run->flags.dev_sentences);
        sentences_of_corpus(&run->dev_references, run->dev, SIDE_TARGET, run->flags.dev_sentences);
    }
    return -1;
}

int run_open(struct run *run) {
    run->snapshots.model = run->flags.model;
    run->snapshots.wanted = run->flags.average;
    run->snapshots.every = run->flags.average_every;
    printf("%-12s %s\n", "device", xf_context_device(run->context));
    const bool fresh = run->flags.resume == NULL && run->flags.init == NULL;
    int status = fresh ? check_model_options(run) : -1;
    if (status >= 0) return status;
    if (!open_corpora(run)) return EXIT_FAILED;
    status = fresh ? begin(run) : run->flags.resume != NULL ? resume(run) : begin_with_init(run);
    if (status < 0) status = open_batchers(run);
    return status;
}

void run_close(struct run *run) {
    sentences_free(&run->dev_sources);
    sentences_free(&run->dev_references);
    free(run->rows);
    free(run->told);
    history_free(&run->history);
    xf_batcher_free(run->dev_batcher);
    xf_batcher_free(run->batcher);
    xf_trainer_free(run->trainer);
    xf_corpus_free(run->dev);
    xf_corpus_free(run->corpus);
    xf_context_free(run->context);
    xf_config_free(run->config);
}
