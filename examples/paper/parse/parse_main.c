/*
 * parse_main.c - paper_parse: constituency parsing as in s. 6.3 of the paper. Trains, runs, and scores a parser, and
 * reproduces Table 4.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "commands.h"
#include "common.h"
#include "program.h"

const char program_name[] = "paper_parse";

static const struct command commands[] = {
    {"train", parse_train_command, "train a parser on sentences with their trees"},
    {"parse", parse_command, "parse the sentences of standard input to standard output"},
    {"evaluate", parse_evaluate_command, "measure labeled F1 on a test set by EVALB's rules"},
    {"generate", generate_command, "write sentences of a small grammar with their trees, for testing"},
    {"table4", table4_command, "train, score with and without the constraint, write the table"},
};

int main(int argc, char **argv) { return run_program(commands, sizeof commands / sizeof commands[0], "", argc, argv); }
