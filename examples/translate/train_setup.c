/*
 * train_setup.c - opens the corpora, the tokenizer, and the model or checkpoint of a training run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "signals.h"

/* Creates a corpus from some pairs of the training corpus. NULL after a message. */
static xf_corpus *subset_of(const struct run *run, const int64_t *pairs, size_t count) {
    xf_corpus *corpus = NULL;
    xf_error err;
    if (xf_corpus_subset(run->corpus, pairs, count, &corpus, &err) != XF_OK) fail(&err);
    return corpus;
}

/* Moves every hold_out-th pair of the training corpus to the dev corpus. */
static bool hold_out(struct run *run) {
    const int64_t size = xf_corpus_pair_count(run->corpus), every = run->flags.hold_out;
    if (every == 1) {
        complain("--hold-out 1 holds out every pair, expected 2 or more, or 0 for no dev set");
        return false;
    }
    if (size < every) return true; /* no dev set */
    int64_t *kept = allocate((size_t)size * sizeof *kept), *held = allocate((size_t)size * sizeof *held);
    size_t kept_count = 0, held_count = 0;
    for (int64_t i = 0; i < size; ++i) {
        if ((i + 1) % every == 0)
            held[held_count++] = i;
        else
            kept[kept_count++] = i;
    }
    xf_corpus *rest = subset_of(run, kept, kept_count);
    run->dev = rest != NULL ? subset_of(run, held, held_count) : NULL;
    free(kept);
    free(held);
    if (rest != NULL) {
        xf_corpus_free(run->corpus);
        run->corpus = rest;
    }
    return run->dev != NULL;
}

static bool open_corpora(struct run *run) {
    xf_error err;
    if (xf_corpus_open(run->context, run->flags.train, NULL, run->config, &until_interrupted, &run->corpus, &err) !=
        XF_OK) {
        fail(&err);
        return false;
    }
    print_corpus("corpus", run->corpus);
    const bool encoded = !has_text(run->corpus);
    if (encoded && run->flags.tokenizer == NULL && run->flags.init == NULL) {
        snprintf(run->encoded_tokenizer, sizeof run->encoded_tokenizer, "%.4000s/tokenizer.json", run->flags.train);
        run->flags.tokenizer = run->encoded_tokenizer;
    }
    check_output(); /* so that a reader of a pipe sees it now */
    if (run->flags.dev != NULL) {
        if (xf_corpus_open(run->context, run->flags.dev, NULL, run->config, &until_interrupted, &run->dev, &err) !=
            XF_OK) {
            fail(&err);
            return false;
        }
        print_corpus("dev", run->dev);
        if (run->flags.dev_sentences > 0 && !has_text(run->dev)) {
            complain("--dev %s is an encoded corpus, which has no text for BLEU: give text, or --dev-sentences 0",
                     run->flags.dev);
            return false;
        }
    } else if (encoded) {
        printf("%-12s none: an encoded corpus has no text; set --dev to evaluate the model\n", "held out");
    } else if (run->flags.hold_out > 0) {
        if (!hold_out(run)) return false;
        if (run->dev != NULL) print_corpus("held out", run->dev);
    }
    return true;
}

/*
 * Rejects options of the command line that differ from the model of --init, or from the checkpoint of --resume, and
 * cannot be changed. trainer is NULL for --init.
 */
static int check_settings(const struct run *run, const xf_config *model, const xf_config *trainer) {
    for (size_t i = 0; i < run->line.setting_count; ++i) {
        const char *key = run->line.settings[i].key, *given = NULL, *saved = NULL;
        const xf_config *config = NULL;
        if (strncmp(key, "model.", 6) == 0 && strcmp(key, "model.weights") != 0) config = model;
        if (strncmp(key, "train.", 6) == 0) config = trainer;
        if (config == NULL || xf_config_get(config, key, &saved, NULL) != XF_OK) continue;
        if (xf_config_get(run->config, key, &given, NULL) != XF_OK || strcmp(given, saved) == 0) continue;
        /* 0: any value */
        if ((strcmp(key, "model.vocab_size") == 0 || strcmp(key, "train.shards") == 0) && strcmp(given, "0") == 0)
            continue;
        complain("%s is %s in %s and %s on the command line; %s can't change it", key, saved,
                 trainer != NULL ? "the checkpoint" : run->flags.init, given,
                 trainer != NULL ? "a resumed run" : "a run that starts with it");
        return EXIT_USAGE;
    }
    return -1;
}

/*
 * Detects invalid options of the model before the corpus is read and a tokenizer is trained, which may take minutes.
 * Creates a model with these widths but only one layer and the smallest vocabulary.
 */
static int check_model_options(struct run *run) {
    xf_config *small = NULL;
    xf_model *model = NULL;
    xf_error err;
    xf_status status = xf_config_copy(run->config, &small, &err);
    if (status == XF_OK) status = xf_config_set_number(small, "model.encoder_layers", 1, &err);
    if (status == XF_OK) status = xf_config_set_number(small, "model.decoder_layers", 1, &err);
    if (status == XF_OK) status = xf_config_set_number(small, "model.vocab_size", 259, &err);
    if (status == XF_OK) status = xf_model_create(run->context, NULL, small, &model, &err);
    xf_model_free(model);
    xf_config_free(small);
    if (status == XF_OK) return fit_max_tokens(&run->line, run->config, run->config);
    fail(&err);
    return status == XF_ERROR_INVALID_ARGUMENT || status == XF_ERROR_LIMIT ? EXIT_USAGE : EXIT_FAILED;
}

/* Takes the label smoothing of the checkpoint, so that a resumed run computes its dev loss in the same way. */
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

/* Opens the checkpoint. Options of the command line replace those that may change during a run. */
static int resume_trainer(struct run *run) {
    xf_config *changes = NULL;
    xf_error err;
    xf_status status = xf_config_create(&changes, &err);
    for (size_t i = 0; i < run->line.setting_count && status == XF_OK; ++i)
        if (strncmp(run->line.settings[i].key, "train.", 6) == 0)
            status = xf_config_set(changes, run->line.settings[i].key, run->line.settings[i].value, &err);
    const xf_source source = XF_SOURCE_PATH(run->flags.resume);
    if (status == XF_OK)
        status = xf_trainer_resume(run->context, &source, changes, &until_interrupted, &run->trainer, &err);
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

/* Opens the model and tokenizer of --init and creates a trainer at step 0. */
static int begin_with_init(struct run *run) {
    xf_model *model = NULL;
    xf_error err;
    const xf_source source = XF_SOURCE_PATH(run->flags.init);
    if (xf_model_load(run->context, &source, run->config, &until_interrupted, &model, &err) != XF_OK) return fail(&err);
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
    xf_model_free(model); /* the trainer keeps a reference */
    return status;
}

/* Creates a new model, its tokenizer, and a trainer at step 0. */
static int begin(struct run *run) {
    xf_tokenizer *tokenizer = NULL;
    xf_model *model = NULL;
    xf_error err;
    xf_status status;
    const double began = now();
    int chosen = choose_vocabulary(run);
    if (chosen >= 0) return chosen;
    const xf_source source = XF_SOURCE_PATH(run->flags.tokenizer);
    if (run->flags.tokenizer != NULL)
        status = xf_tokenizer_load(run->context, &source, &until_interrupted, &tokenizer, &err);
    else
        status = xf_tokenizer_train(run->context, run->corpus, run->config, &until_interrupted, &tokenizer, &err);
    if (status == XF_OK) {
        printf("%-12s %d tokens, ", "vocabulary", (int)vocabulary_size(tokenizer));
        if (run->flags.tokenizer != NULL)
            printf("from %s\n", run->flags.tokenizer);
        else
            printf("learned in %.1f s\n", now() - began);
        chosen = choose_run(run, tokenizer);
    }
    if (status == XF_OK && chosen < 0) {
        status = xf_model_create(run->context, tokenizer, run->config, &model, &err);
        if (status == XF_OK) status = xf_trainer_create(model, run->config, &run->trainer, &err);
        if (status == XF_OK) chosen = keep_choice(run);
    }
    xf_model_free(model); /* the trainer keeps a reference, the model one of the tokenizer */
    xf_tokenizer_free(tokenizer);
    return status == XF_OK ? chosen : fail(&err);
}

static int open_batchers(struct run *run) {
    const xf_tokenizer *tokenizer = xf_model_tokenizer(xf_trainer_model(run->trainer));
    xf_error err;
    if (xf_batcher_create(run->corpus, tokenizer, run->config, &until_interrupted, &run->batcher, &err) != XF_OK)
        return fail(&err);
    /* Continues at the next batch. The library rejects a corpus other than the one with which the run started. */
    if (run->flags.resume != NULL && xf_batcher_resume(run->batcher, run->trainer, &until_interrupted, &err) != XF_OK)
        return fail(&err);
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
    printf("%-12s %s\n", "device", device_of(run->context));
    const bool fresh = run->flags.resume == NULL && run->flags.init == NULL;
    const struct named_file model = {"--model", run->flags.model};
    int status = is_writer(run) ? check_writable(&model) : -1; /* before minutes of work */
    if (status < 0 && fresh) status = check_model_options(run);
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
    free(run->statuses);
    free(run->known_flags);
    history_free(&run->history);
    xf_batcher_free(run->dev_batcher);
    xf_batcher_free(run->batcher);
    xf_trainer_free(run->trainer);
    xf_corpus_free(run->dev);
    xf_corpus_free(run->corpus);
    xf_context_free(run->context);
    xf_config_free(run->saving);
    xf_config_free(run->config);
}
