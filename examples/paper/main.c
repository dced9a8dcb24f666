/*
 * main.c - paper: makes tables 1, 2 and 3 of "Attention Is All You Need" anew. The commands are in files of their
 * names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "common.h"
#include "options.h"

const char program_name[] = "paper";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
} commands[] = {
    {"table1", table1_command, "time and path length of four kinds of layer by sequence length"},
    {"table2", table2_command, "BLEU and training cost of the base and the big setting"},
    {"table3", table3_command, "all variations of the model: perplexity, BLEU, parameters"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_usage(FILE *file) {
    fprintf(file, "Usage: paper COMMAND [options]\n\n");
    for (size_t i = 0; i < COMMANDS; ++i) fprintf(file, "  %-8s %s\n", commands[i].name, commands[i].about);
    fprintf(
        file,
        "\nEach writes its table (Markdown and TSV) and a plot (SVG) into a folder, --out.\n"
        "`paper COMMAND --help` lists the options. Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\n");
}

static int finish(int status) {
    const int output = check_output();
    return status == EXIT_OK && output >= 0 ? output : status;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); /* writing then fails with EPIPE, which check_output() understands */
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_usage(stdout);
        return finish(EXIT_OK);
    }
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; ++i) {
        names[i] = commands[i].name;
        if (strcmp(argv[1], names[i]) == 0) return finish(commands[i].run(argc, argv));
    }
    suggest("command", argv[1], names, COMMANDS);
    return EXIT_USAGE;
}
