/*
 * program.c - runs a program with several commands; see program.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "program.h"

#include <stdio.h>
#include <string.h>

#include "common.h"
#include "options.h"
#include "system.h"

enum { MOST_COMMANDS = 16 };

static void print_usage(const struct command *commands, size_t count, const char *notes, FILE *file) {
    fprintf(file, "Usage: %s COMMAND [options]\n\n", program_name);
    for (size_t i = 0; i < count; ++i) fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].about);
    fprintf(file,
            "\n%s`%s COMMAND --help` lists the options of a command.\n"
            "`%s --version` prints the version of the library.\n"
            "Exit status: 0 success, 1 failure, 2 wrong usage, 130 interrupted.\n",
            notes, program_name, program_name);
}

/* Flushes buffered output. Output that cannot be written (a full disk) makes the command fail. */
static int finish(int status) {
    const int output = check_output();
    return status == EXIT_OK && output >= 0 ? output : status;
}

int run_program(const struct command *commands, size_t count, const char *notes, int argc, char **argv) {
    start_process(&argc, &argv);
    if (argc < 2) {
        print_usage(commands, count, notes, stderr);
        return EXIT_USAGE;
    }
    const char *command = argv[1];
    const bool help = strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 || strcmp(command, "help") == 0;
    if (argc > 2 && (help || strcmp(command, "--version") == 0)) {
        complain("'%.64s' is one argument too many; expected only %s, or %s COMMAND --help", argv[2], command,
                 program_name);
        return EXIT_USAGE;
    }
    if (help) {
        print_usage(commands, count, notes, stdout);
        return finish(EXIT_OK);
    }
    if (strcmp(command, "--version") == 0) {
        printf("libxformer %s, headers %d.%d.%d\n%s\n", xf_version(), XF_VERSION_MAJOR, XF_VERSION_MINOR,
               XF_VERSION_PATCH, xf_build_info());
        return finish(EXIT_OK);
    }
    const char *names[MOST_COMMANDS];
    for (size_t i = 0; i < count && i < MOST_COMMANDS; ++i) {
        names[i] = commands[i].name;
        if (strcmp(command, names[i]) == 0) return finish(commands[i].run(argc, argv));
    }
    suggest("command", command, names, count);
    return EXIT_USAGE;
}
