/*
 * main.c - examples/translate: trains a translation model, translates with it, measures it, looks into it.
 *
 * The program is written in C11 against libxformer's public headers alone, and is meant to be copied from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
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

int main(int argc, char **argv) { return run_program(commands, sizeof commands / sizeof commands[0], "", argc, argv); }
