/*
 * commands.h - the commands of examples/translate. Each receives the whole command line and returns the exit status.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_COMMANDS_H
#define TRANSLATE_COMMANDS_H

/*
 * Returns the path of the default model, en-de.xf in the folder of the program, where the build puts it. The path is
 * valid until the program exits. NULL after a message if the file does not exist.
 */
const char *model_beside(void);

int train_command(int argc, char **argv);
int translate_command(int argc, char **argv);
int score_command(int argc, char **argv);
int evaluate_command(int argc, char **argv);
int inspect_command(int argc, char **argv);

#endif
