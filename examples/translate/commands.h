/*
 * commands.h - the commands of examples/translate. Each gets the program's whole command line and returns its exit
 * status.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_COMMANDS_H
#define TRANSLATE_COMMANDS_H

/*
 * The model of a command that was given none: en-de.xf beside the program, which the build puts there. Its path is kept
 * until the program ends. NULL after a message when there is none.
 */
const char *model_beside(void);

int train_command(int argc, char **argv);
int translate_command(int argc, char **argv);
int evaluate_command(int argc, char **argv);
int inspect_command(int argc, char **argv);

#endif
