/*
 * experiment_flags.c - the flags, options, and description of an experiment; see experiment.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <string.h>

#include "experiment.h"
#include "files.h"
#include "measure.h"

void experiment_defaults(struct experiment *e) {
    *e = (struct experiment){.train_path = PAPER_DATA "/small.tsv",
                             .held_path = PAPER_DATA "/small.test.tsv",
                             .bleu = "13a",
                             .scale = 8,
                             .steps = 200,
                             .save_seconds = 30,
                             .lock = -1};
}

const char experiment_groups[] =
    "context. data. tokenizer. decode. model.seed model.norm model.max_length train.warmup_steps "
    "train.learning_rate train.schedule train.adam train.seed train.label_smoothing_kind";

void experiment_flags(struct experiment *e, struct flag flags[EXPERIMENT_FLAGS]) {
    const struct flag shared[EXPERIMENT_FLAGS] = {
        {"train", FLAG_TEXT, &e->train_path, NULL, "FILE.tsv",
         "Training pairs. Default: the 20,000 pairs in examples/translate/data."},
        {"scale", FLAG_COUNT, &e->scale, NULL, "8",
         "Divides d_model, d_ff, d_k, and d_v of every row; 1 is the paper's size, 16 the smallest."},
        {"steps", FLAG_COUNT, &e->steps, NULL, "200",
         "Steps of a row that the paper trains for 100,000 steps; other rows in proportion. 0: no limit."},
        {"minutes-per-row", FLAG_NUMBER, &e->minutes, NULL, "0",
         "Stops training of a row after this many minutes; 0: no limit. Rows may then have different steps."},
        {"rows", FLAG_TEXT, &e->rows, NULL, "NAMES",
         "Trains only these rows, such as base,big. Other rows can be added later."},
        {"held-sentences", FLAG_COUNT, &e->held_sentences, NULL, "0",
         "Number of held-out pairs to translate for BLEU; 0: all."},
        {"bleu", FLAG_TEXT, &e->bleu, NULL, "13a", BLEU_FLAG_HELP},
        {"save-seconds", FLAG_NUMBER, &e->save_seconds, NULL, "30", "Seconds between checkpoints."},
        {"out", FLAG_TEXT, &e->folder, NULL, e->folder,
         "Folder for the tables and the state from which a later run resumes."},
        {"quiet", FLAG_SWITCH, &e->quiet, NULL, "", "Prints no progress lines."},
    };
    memcpy(flags, shared, sizeof shared);
}

int64_t steps_of(const struct experiment *e, const struct paper_row *row) { return e->steps * row->steps / 100; }

int64_t snapshots_averaged(const struct paper_row *row) { return row->steps > 100 ? 20 : 5; }

/* The snapshots span a twentieth of the steps, as in the paper, or less if there are too few steps. */
int64_t snapshot_steps(const struct experiment *e, const struct paper_row *row) {
    const int64_t steps = steps_of(e, row), apart = steps / (20 * snapshots_averaged(row));
    return steps == 0 ? 50 : apart > 0 ? apart : 1;
}

bool is_wanted(const struct experiment *e, const char *name) {
    if (e->rows == NULL) return true;
    for (const char *at = e->rows; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        const size_t length = strcspn(at, ",");
        if (length == strlen(name) && strncmp(at, name, length) == 0) return true;
    }
    return false;
}

static int check_flags(struct experiment *e) {
    if (e->steps == 0 && e->minutes <= 0) {
        complain("--steps and --minutes-per-row are both 0, expected a limit in at least one");
        return EXIT_USAGE;
    }
    if (!read_bleu(e->bleu, &e->tokenize)) return EXIT_USAGE;
    for (const char *at = e->rows != NULL ? e->rows : ""; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        char name[32];
        bool known = false;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        for (size_t i = 0; i < e->choice_count && !known; ++i) known = strcmp(name, e->choices[i]) == 0;
        if (known) continue;
        suggest("row", name, e->choices, e->choice_count);
        return EXIT_USAGE;
    }
    for (int i = 0; i < PAPER_ROWS; ++i) {
        xf_config *config = NULL;
        xf_error err;
        if (xf_config_copy(e->config, &config, &err) != XF_OK) return fail(&err);
        const int status = set_row(config, paper_rows[i].name, e->scale);
        xf_config_free(config);
        if (status >= 0) return status;
    }
    return -1;
}

/*
 * The paper's schedule is for 100,000 steps. A much shorter run uses a tenth of its steps for warm-up. It also uses
 * pre-LN, because post-LN learns little in so few steps, and a learning rate whose peak is twice that of eq. (3) at the
 * same d_model with 4,000 warm-up steps. Options that the user sets take precedence.
 */
static int set_schedule(struct experiment *e) {
    xf_error err;
    const bool is_short = e->steps < 20000;
    int64_t warmup = e->steps > 0 ? e->steps / 10 : 400;
    warmup = warmup < 50 ? 50 : warmup > 4000 ? 4000 : warmup;
    const double factor = (is_short ? 2 : 1) * sqrt((double)warmup / 4000);
    const struct {
        const char *key;
        int64_t value;
    } values[] = {{"train.warmup_steps", warmup},
                  {"tokenizer.vocab_size", 4000},
                  {"data.batch_tokens", 1000},
                  {"data.max_tokens", 120},
                  {"model.max_length", 256}};
    xf_status status = xf_config_set_number(e->config, "train.learning_rate", factor, &err);
    for (size_t i = 0; status == XF_OK && i < sizeof values / sizeof values[0]; ++i)
        status = xf_config_set_number(e->config, values[i].key, values[i].value, &err);
    if (status == XF_OK && is_short) status = xf_config_set(e->config, "model.norm", "pre", &err);
    return status == XF_OK ? apply_settings(e->line, e->config) : fail(&err);
}

int set_options(struct experiment *e) {
    int status = set_schedule(e);
    if (status < 0) status = fit_max_tokens(e->line, e->config, e->config);
    return status < 0 ? check_flags(e) : status;
}

static const char *shown(const struct experiment *e, const char *key) {
    const char *value = "?";
    xf_config_get(e->config, key, &value, NULL);
    return value;
}

void describe_experiment(const struct experiment *e, FILE *file) {
    double rate = NAN;
    xf_config_get_number(e->config, "train.learning_rate", &rate, NULL);
    fprintf(file, "libxformer %s, %s.\n\n", xf_version(), device_of(e->context));
    if (e->scale > 1)
        fprintf(
            file,
            "Scaled: d_model, d_ff, d_k, and d_v are those of the paper divided by %lld in every row; layers, heads, "
            "dropout, and\nlabel smoothing are those of the paper. ",
            (long long)e->scale);
    else
        fputs("The sizes are those of the paper. ", file);
    fprintf(file,
            "Training on %s (%lld pairs; the paper: 4.5 million) with a vocabulary of %d (37,000),\n%s + %s tokens per "
            "step (25,000 + 25,000), ",
            base_name(e->train_path), (long long)xf_corpus_pair_count(e->train), (int)vocabulary_size(e->tokenizer),
            shown(e, "data.batch_tokens"), shown(e, "data.batch_tokens"));
    if (e->steps > 0) fprintf(file, "%lld steps (100,000)", (long long)e->steps);
    if (e->minutes > 0) fprintf(file, "%s%g minutes per row", e->steps > 0 ? " or " : "", e->minutes);
    fprintf(file,
            ", warm-up %s steps (4,000), eq. (3)\ntimes %.3g, %s-LN (post-LN). Seeds: model %s, dropout %s, order %s. "
            "Measured on %s (%lld pairs",
            shown(e, "train.warmup_steps"), rate, shown(e, "model.norm"), shown(e, "model.seed"),
            shown(e, "train.seed"), shown(e, "data.seed"), base_name(e->held_path),
            (long long)xf_corpus_pair_count(e->held));
    if (e->measured < xf_corpus_pair_count(e->held))
        fprintf(file, ", perplexity of the %lld of 1 to %s tokens a side", (long long)e->measured,
                shown(e, "data.max_tokens"));
    if (e->held_sentences > 0) fprintf(file, ", BLEU of the first %lld", (long long)e->held_sentences);
    fprintf(file, ")\nwith beam %s and alpha %s; perplexity per token, without smoothing; BLEU is %s.\n",
            shown(e, "decode.beam"), shown(e, "decode.alpha"),
            e->tokenize == XF_BLEU_SPLIT_HYPHENS
                ? "the paper's, multi-bleu with compounds split,\ncomputed on the text of the pairs, which must be "
                  "tokenized"
                : "sacreBLEU's with 13a tokens; the paper used\nmulti-bleu");
}
