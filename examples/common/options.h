/*
 * options.h - the command line of an example program.
 *
 * A command lists its own flags in a table. It also accepts every library option of the groups that it names, by key:
 * --train.dropout 0.1. The keys come from xf_option_get(), so that a new library option works here and appears in
 * --help without any change.
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
    FLAG_LIST,   /* value is a struct flag_list; each use of the flag adds a text */
    FLAG_COUNT,  /* value is an int64_t, 0 or more */
    FLAG_NUMBER, /* value is a double, 0 or more */
    FLAG_SWITCH, /* value is a bool; takes no argument */
    FLAG_OPTION  /* a short name of the library option "key" */
};

enum { MAX_LIST = 7 };

struct flag_list {
    const char *texts[MAX_LIST];
    size_t count;
};

struct flag {
    const char *name; /* without the dashes */
    enum flag_kind kind;
    void *value;
    const char *key;
    const char *argument; /* name of the argument in --help */
    const char *doc;
};

struct setting {
    const char *key, *value;
};

enum { MAX_SETTINGS = 64, MAX_ARGUMENTS = 2 };

struct command_line {
    const char *usage;  /* text after the program's name in the usage line */
    const char *about;  /* one or two lines for --help */
    const char *groups; /* accepted library options, as prefixes of their keys: "context. decode." */
    const struct flag *flags;
    size_t flag_count;
    size_t most_arguments;                 /* positional arguments accepted, up to MAX_ARGUMENTS */
    const char *arguments[MAX_ARGUMENTS];  /* out: the positional arguments, in order */
    size_t argument_count, plain_count;    /* out: number in all, and number before a "--" */
    struct setting settings[MAX_SETTINGS]; /* out: library options of the command line, in order */
    size_t setting_count;
};

/* Parses the arguments after the command. Returns -1 to continue, or the exit status: 0 after --help, or else 2. */
int read_command_line(struct command_line *line, int argc, char **argv);

/* Sets the library options of the command line. Returns -1 to continue, or the exit status 2. */
int apply_settings(const struct command_line *line, xf_config *config);

/* Does the same for a command that decodes. Rejects --greedy with a beam, and decode.n_best above decode.beam. */
int apply_decoding(const struct command_line *line, xf_config *config, bool greedy);

/* Returns whether a library option was set on the command line, by its key or a short name. */
bool is_given(const struct command_line *line, const char *key);

/*
 * Ensures that data.max_tokens is at most model.max_length, because a pair longer than model.max_length would end the
 * run. A larger value from the command line is rejected; the default is lowered, and a line of output reports it.
 * Returns -1 to continue, or the exit status.
 */
int fit_max_tokens(const struct command_line *line, xf_config *config, const xf_config *model);

/* Prints to stderr that the word is unknown, and suggests a similar known word if one exists. */
void suggest(const char *kind, const char *word, const char *const *known, size_t count);

#endif
