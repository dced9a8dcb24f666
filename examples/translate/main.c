/*
 * main.c - examples/translate: trains a translation model, translates with it, measures it, looks into it.
 *
 * The program is written in C11 against libxformer's public headers alone, and is meant to be copied from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common.h"
#include "program.h"

const char program_name[] = "translate";

static const struct command commands[] = {
    {"train", train_command, "learn from pairs of sentences; write a model"},
    {"translate", translate_command, "translate standard input to standard output"},
    {"evaluate", evaluate_command, "measure BLEU, chrF and perplexity on a test set"},
    {"inspect", inspect_command, "show what is in a model file"},
};

const char *model_beside(void) {
    static const char name[] = "en-de.xf";
    static char path[4096 + sizeof name];
    const ssize_t length = readlink("/proc/self/exe", path, 4096); /* adds no NUL; the rest of path is zeros */
    char *const slash = length > 0 && length < 4096 ? strrchr(path, '/') : NULL;
    if (slash != NULL) strcpy(slash + 1, name);
    if (slash != NULL && access(path, R_OK) == 0) return path;
    complain("--model M.xf is missing, and there is no %s beside the program", name);
    return NULL;
}

int main(int argc, char **argv) { return run_program(commands, sizeof commands / sizeof commands[0], "", argc, argv); }
