/*
 * main.c - examples/translate: trains, runs, measures, and inspects a translation model.
 *
 * The program is written in C11 and uses only the public headers of libxformer. Its code may be copied.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <string.h>

#include "commands.h"
#include "common.h"
#include "program.h"
#include "system.h"

const char program_name[] = "translate";

static const struct command commands[] = {
    {"train", train_command, "train a model on pairs of sentences"},
    {"encode", encode_command, "write a large corpus as token ids, for train"},
    {"translate", translate_command, "translate standard input to standard output"},
    {"score", score_command, "print the log-probability of translations"},
    {"evaluate", evaluate_command, "measure BLEU, chrF, and perplexity on a test set"},
    {"inspect", inspect_command, "show the contents of a model file"},
};

const char *model_beside(void) {
    static const char name[] = "en-de.xf";
    static char path[4096 + sizeof name];
    const bool found = program_path(path, 4096);
    if (found) strcpy(last_name(path), name);
    if (found && access(path, R_OK) == 0) return path;
    complain("--model M.xf is missing, and the folder of the program has no %s", name);
    return NULL;
}

int main(int argc, char **argv) { return run_program(commands, sizeof commands / sizeof commands[0], "", argc, argv); }
