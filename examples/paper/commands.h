/*
 * commands.h - the commands of examples/paper. Each receives the whole command line and returns the exit
 * status.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_COMMANDS_H
#define PAPER_COMMANDS_H

int table1_command(int argc, char **argv);
int table2_command(int argc, char **argv);
int table3_command(int argc, char **argv);

#endif
