/*
 * options.h - the command line of an example program.
 *
 * A command has flags of its own, listed in a table, and takes every library option of the groups it names by its
 * key: --train.dropout 0.1. Those come from xf_option_get(), so that an option added to the library works here
 * and shows up in --help without a line of code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_OPTIONS_H
#define EXAMPLE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <xformer/xformer.h>

enum flag_kind {
    FLAG_TEXT,   /* value is a const char * */
    FLAG_COUNT,  /* value is an int64_t, 0 or more */
    FLAG_NUMBER, /* value is a double, 0 or more */
    FLAG_SWITCH, /* value is a bool; takes no argument */
    FLAG_OPTION  /* a short name of the library option "key" */
};

struct flag {
    const char *name; /* without the dashes */
    enum flag_kind kind;
    void *value;
    const char *key;
    const char *argument; /* what --help calls its argument */
    const char *doc;
};

struct setting {
    const char *key, *value;
};

enum { MAX_SETTINGS = 64, MAX_ARGUMENTS = 2 };

struct command_line {
    const char *usage;  /* what follows the program's name in the usage line */
    const char *about;  /* one or two lines for --help */
    const char *groups; /* library options taken, by the start of their keys: "context. decode." */
    const struct flag *flags;
    size_t flag_count;
    size_t most_arguments;                 /* without dashes, up to MAX_ARGUMENTS */
    const char *arguments[MAX_ARGUMENTS];  /* out: these, in order */
    size_t argument_count, plain_count;    /* out: how many there are, and how many of them stand before a "--" */
    struct setting settings[MAX_SETTINGS]; /* out: library options given, in order */
    size_t setting_count;
};

/* Reads the arguments after the command's name. Returns -1 to go on, or the exit status: 0 after --help, else 2. */
int read_command_line(struct command_line *line, int argc, char **argv);

/* Sets the library options that were given. Returns -1 to go on, or the exit status 2. */
int apply_settings(const struct command_line *line, xf_config *config);

/* The same for a command that decodes; refuses --greedy with a beam, and more answers than the beam holds. */
int apply_decoding(const struct command_line *line, xf_config *config, bool greedy);

/* Whether a library option stands on the command line, under its key or a short name. */
bool is_given(const struct command_line *line, const char *key);

/*
 * A pair that is longer than the model's positions would end a run at the batch that holds it. So data.max_tokens
 * above model.max_length is refused when it was given, and else lowered, with a line that says so. Returns -1 to go
 * on, or the exit status.
 */
int fit_max_tokens(const struct command_line *line, xf_config *config, const xf_config *model);

/* Says on stderr which of the words is nearest to the one that was not understood. */
void suggest(const char *kind, const char *word, const char *const *known, size_t count);

#endif
