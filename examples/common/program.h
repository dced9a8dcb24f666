/*
 * program.h - runs a program with several commands, such as `translate train`: usage, --help, --version, exit status.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_PROGRAM_H
#define EXAMPLE_PROGRAM_H

#include <stddef.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[1] is the name; returns the exit status */
    const char *about;
};

/* Runs the command that argv names. `notes` is printed after the list of commands. Returns the exit status. */
int run_program(const struct command *commands, size_t count, const char *notes, int argc, char **argv);

#endif
