/*
 * main.c - examples/translate: trains a translation model, translates with it, measures it, looks into it.
 *
 * The program is written in C11 against libxformer's public headers alone, and is meant to be copied from.
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

const char program_name[] = "translate";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
} commands[] = {
    {"train", train_command, "learn from pairs of sentences; write a model"},
    {"translate", translate_command, "translate standard input to standard output"},
    {"evaluate", evaluate_command, "measure BLEU, chrF and perplexity on a test set"},
    {"inspect", inspect_command, "show what is in a model file"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_usage(FILE *file) {
    fprintf(file, "Usage: translate COMMAND [options]\n\n");
    for (size_t i = 0; i < COMMANDS; ++i) fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].about);
    fprintf(file,
            "\n`translate COMMAND --help` lists the options of a command, `translate --version` the library used.\n"
            "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\n");
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
    const bool help = strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 || strcmp(command, "help") == 0;
    if (argc > 2 && (help || strcmp(command, "--version") == 0)) {
        complain("'%.64s' is one argument too many; expected %s alone, or translate COMMAND --help", argv[2], command);
        return EXIT_USAGE;
    }
    if (help) {
        print_usage(stdout);
        return finish(EXIT_OK);
    }
    if (strcmp(command, "--version") == 0) {
        printf("libxformer %s, headers %d.%d.%d\n%s\n", xf_version(), XF_VERSION_MAJOR, XF_VERSION_MINOR,
               XF_VERSION_PATCH, xf_build_info());
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
