/*
 * parse_main.c - examples/paper/parse: constituency parsing as in s. 6.3 of the paper. Trains a parser, parses with it,
 * measures it, makes Table 4.
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

const char program_name[] = "paper_parse";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
} commands[] = {
    {"train", parse_train_command, "learn from sentences with their trees; write a model"},
    {"parse", parse_command, "parse the sentences of standard input to standard output"},
    {"evaluate", parse_evaluate_command, "measure labelled F1 on a test set by EVALB's rules"},
    {"generate", generate_command, "write sentences of a small grammar with their trees, to try the others on"},
    {"table4", table4_command, "train, measure with and without the grammar, write table and plots; needs no data"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_usage(FILE *file) {
    fprintf(file, "Usage: %s COMMAND [options]\n\n", program_name);
    for (size_t i = 0; i < COMMANDS; ++i) fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].about);
    fprintf(file,
            "\n`%s COMMAND --help` lists the options of a command.\n"
            "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\n",
            program_name);
}

/* Output that could not be written (a full disk) is a failure, also when it was only buffered until now. */
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
    const char *command = argv[1];
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 || strcmp(command, "help") == 0) {
        print_usage(stdout);
        return finish(EXIT_OK);
    }
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; ++i) {
        names[i] = commands[i].name;
        if (strcmp(command, names[i]) == 0) return finish(commands[i].run(argc, argv));
    }
    suggest("command", command, names, COMMANDS);
    return EXIT_USAGE;
}
