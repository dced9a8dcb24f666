/*
 * commands.h - the commands of examples/translate. Each gets the program's whole command line and returns its exit
 * status.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_COMMANDS_H
#define TRANSLATE_COMMANDS_H

int train_command(int argc, char **argv);
int translate_command(int argc, char **argv);
int evaluate_command(int argc, char **argv);
int inspect_command(int argc, char **argv);

#endif
