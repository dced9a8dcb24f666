/*
 * main.c - paper: reproduces Tables 1, 2, and 3 of "Attention Is All You Need". Each command is in the file of its
 * name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "commands.h"
#include "common.h"
#include "program.h"

const char program_name[] = "paper";

static const struct command commands[] = {
    {"table1", table1_command, "measure the time and path length of four kinds of layers"},
    {"table2", table2_command, "train the base and the big model; report BLEU and training cost"},
    {"table3", table3_command, "train all variations; report perplexity, BLEU, and parameters"},
};

int main(int argc, char **argv) {
    return run_program(commands, sizeof commands / sizeof commands[0],
                       "Each command writes its table (Markdown and TSV) and a plot (SVG) to\nthe folder --out.\n",
                       argc, argv);
}
