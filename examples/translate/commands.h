/*
 * commands.h - the commands of examples/translate. Each receives the whole command line and returns the exit status.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_COMMANDS_H
#define TRANSLATE_COMMANDS_H

#include <stdint.h>

#include "options.h"

/*
 * Returns the path of the default model, en-de.xf in the folder of the program, where the build puts it. The path is
 * valid until the program exits. NULL after a message if the file does not exist.
 */
const char *model_beside(void);

/* The files of models that decode together with the first one (xf_decode_models). */
struct more_models {
    struct flag_list ensemble;
    const char *draft; /* NULL: none */
};

/* Rejects a draft that the search cannot use. Returns -1 to continue, or EXIT_USAGE after a message. */
int check_draft(const struct more_models *more, const xf_config *config);

/* Loads the models and creates a decoder. NULL after a message. */
xf_decoder *open_decoder(xf_context *context, const xf_model *model, const struct more_models *more,
                         const xf_config *config);

/* Returns a vocabulary size that suits a number of pairs; 0: the default of the library. */
int64_t vocabulary_for(int64_t pairs);

int train_command(int argc, char **argv);
int encode_command(int argc, char **argv);
int translate_command(int argc, char **argv);
int score_command(int argc, char **argv);
int evaluate_command(int argc, char **argv);
int inspect_command(int argc, char **argv);

#endif
