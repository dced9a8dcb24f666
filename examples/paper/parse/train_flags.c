/*
 * train_flags.c - the flags of a training run, and the command `paper_parse train`; see parse_train.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <unistd.h>

#include "commands.h"
#include "common.h"
#include "files.h"
#include "parse_train.h"
#include "scale.h"
#include "signals.h"
#include "tree_kind.h"

void parse_train_flags(struct parse_train_flags *flags, struct flag table[PARSE_TRAIN_FLAGS]) {
    const struct flag rows[PARSE_TRAIN_FLAGS] = {
        {"train", FLAG_TEXT, &flags->train, NULL, "FILE.tsv",
         "Training pairs: sentence TAB tree. Required, but optional in table4."},
        {"dev", FLAG_TEXT, &flags->dev, NULL, "FILE.tsv",
         "Pairs for evaluation during training. Required, but optional in table4."},
        {"scale", FLAG_TEXT, &flags->scale, NULL, "scaled",
         "scaled: the paper's parsing model with all widths divided by four; parsing: the paper's model; tiny: for "
         "tests; generated: for the generated trees of table4. Options of the library override it."},
        {"init", FLAG_TEXT, &flags->init, NULL, "OTHER.xf",
         "Starts at step 0 with the weights and the vocabulary of this parser. Its sizes must match --scale."},
        {"steps", FLAG_COUNT, &flags->steps, NULL, "40000",
         "Stops at this step; 0: no limit, which requires --minutes."},
        {"minutes", FLAG_NUMBER, &flags->minutes, NULL, "M", "Stops after this many minutes."},
        {"eval-every", FLAG_COUNT, &flags->eval_every, NULL, "1000", "Steps between evaluations; 0: only at the end."},
        {"dev-sentences", FLAG_COUNT, &flags->dev_sentences, NULL, "200",
         "Number of dev sentences that an evaluation parses greedily; 0: all. The dev loss always uses all."},
        {"save-every", FLAG_COUNT, &flags->save_every, NULL, "250", "Steps between checkpoints; 0: only at the end."},
        {"average", FLAG_COUNT, &flags->average, NULL, "5", "Number of snapshots that are averaged into the model."},
        {"average-every", FLAG_COUNT, &flags->average_every, NULL, "100", "Steps between snapshots."},
        {"leaves", FLAG_COUNT, &flags->leaves, NULL, "1",
         "Number of ids that the leaves use in turn. 1: one id, as in the paper; 10 makes counting easier."},
        {"recombine", FLAG_COUNT, &flags->recombine, NULL, "0",
         "Adds this many pairs for each pair, with brackets replaced by others of the same label (see README)."},
        {"resume", FLAG_SWITCH, &flags->resume, NULL, "", "Resumes from the checkpoint M.xf.ckpt."},
        {"overwrite", FLAG_SWITCH, &flags->overwrite, NULL, "",
         "Starts over and replaces an existing checkpoint and model."},
        GOLD_FLAG(&flags->gold),
        {"quiet", FLAG_SWITCH, &flags->quiet, NULL, "", "Prints no progress lines."},
        {"threads", FLAG_OPTION, NULL, "context.threads", "N", "The same as --context.threads."},
    };
    for (size_t i = 0; i < PARSE_TRAIN_FLAGS; ++i) table[i] = rows[i];
}

int check_parse_train_flags(struct parse_train_flags *flags) {
    if (flags->train == NULL || flags->dev == NULL || flags->model == NULL) {
        complain("%s is missing; --help lists the options", flags->train == NULL ? "--train FILE.tsv"
                                                            : flags->dev == NULL ? "--dev FILE.tsv"
                                                                                 : "--model M.xf");
        return EXIT_USAGE;
    }
    if (flags->average > MOST_SNAPSHOTS || (flags->average > 1 && flags->average_every == 0)) {
        complain("--average is %lld and --average-every is %lld, expected at most %d and at least 1",
                 (long long)flags->average, (long long)flags->average_every, (int)MOST_SNAPSHOTS);
        return EXIT_USAGE;
    }
    if (flags->leaves == 0 || flags->leaves > MAX_LEAVES) {
        complain("--leaves is %lld, expected 1 to %d", (long long)flags->leaves, (int)MAX_LEAVES);
        return EXIT_USAGE;
    }
    if (flags->recombine > MOST_COPIES) {
        complain("--recombine is %lld, expected at most %d", (long long)flags->recombine, (int)MOST_COPIES);
        return EXIT_USAGE;
    }
    if (flags->steps < 0) flags->steps = flags->minutes > 0 ? 0 : 40000;
    if (flags->steps == 0 && flags->minutes <= 0) {
        complain("--steps is 0, expected a limit in --minutes");
        return EXIT_USAGE;
    }
    if (flags->resume && flags->overwrite) {
        complain("found both --resume and --overwrite, expected one of them");
        return EXIT_USAGE;
    }
    char name[PATH_SIZE];
    const int length = snprintf(name, sizeof name, "%s.ckpt", flags->model);
    if (length < 0 || length > 4000) {
        complain("the name of --model is too long");
        return EXIT_USAGE;
    }
    const struct named_file model = {"--model", flags->model};
    const struct named_file read[] = {{"--train", flags->train}, {"--dev", flags->dev}, {"--init", flags->init}};
    int status = check_apart(&model, read, 3);
    if (status < 0) status = check_beside(flags->model, parser_endings, read, 3);
    if (status < 0) status = check_writable(&model);
    if (status >= 0 || flags->resume || flags->overwrite) return status;
    if (access(name, F_OK) == 0) {
        complain("%s already exists from an earlier run; continue it with --resume or start over with --overwrite",
                 name);
        return EXIT_USAGE;
    }
    if (access(flags->model, F_OK) != 0) return -1;
    complain("--model %s already exists; use another name, or replace it with --overwrite", flags->model);
    return EXIT_USAGE;
}

int parse_train_command(int argc, char **argv) {
    static struct parse_run run;
    run.flags = (struct parse_train_flags)PARSE_TRAIN_DEFAULTS;
    struct flag flags[PARSE_TRAIN_FLAGS + 1] = {
        {"model", FLAG_TEXT, &run.flags.model, NULL, "M.xf",
         "Model to write. Also writes M.xf.ckpt, M.xf.labels, M.xf.tokenizer.json, M.xf.curve.tsv, and M.xf.data. "
         "Required."}};
    parse_train_flags(&run.flags, flags + 1);
    struct command_line line = {.usage = "train --train FILE.tsv --dev FILE.tsv --model M.xf [options]",
                                .about = "Trains a parser on sentences with their trees.",
                                .groups = "context. tokenizer. data.batch_tokens data.seed model. train.",
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0]};
    int status = read_command_line(&line, argc - 2, argv + 2);
    if (status < 0) status = check_parse_train_flags(&run.flags);
    if (status >= 0) return status;
    xf_error err;
    if (xf_config_create(&run.config, &err) != XF_OK) return fail(&err);
    if (set_scale(run.config, run.flags.scale, &err) != XF_OK) {
        fail(&err);
        status = EXIT_USAGE;
    }
    if (status < 0) status = apply_settings(&line, run.config);
    if (status < 0 && (run.context = open_context(run.config)) == NULL) status = EXIT_FAILED;
    if (status < 0) {
        catch_signals();
        status = parse_train(&run);
    }
    parse_run_close(&run);
    xf_context_free(run.context);
    xf_config_free(run.config);
    return status;
}
