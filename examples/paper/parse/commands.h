/*
 * commands.h - the commands of examples/paper/parse. Each receives the whole command line and returns the exit
 * status.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_COMMANDS_H
#define PARSE_COMMANDS_H

int parse_train_command(int argc, char **argv);
int parse_command(int argc, char **argv);
int parse_evaluate_command(int argc, char **argv);
int generate_command(int argc, char **argv);
int table4_command(int argc, char **argv);

#endif
