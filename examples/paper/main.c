/*
 * main.c - paper: makes tables 1, 2 and 3 of "Attention Is All You Need" anew. The commands are in files of their
 * names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "commands.h"
#include "common.h"
#include "program.h"

const char program_name[] = "paper";

static const struct command commands[] = {
    {"table1", table1_command, "time and path length of four kinds of layer by sequence length"},
    {"table2", table2_command, "BLEU and training cost of the base and the big setting"},
    {"table3", table3_command, "all variations of the model: perplexity, BLEU, parameters"},
};

int main(int argc, char **argv) {
    return run_program(commands, sizeof commands / sizeof commands[0],
                       "Each writes its table (Markdown and TSV) and a plot (SVG) into a folder, --out.\n", argc, argv);
}
