/*
 * files.h - safe output files: a command never overwrites a file that it reads and never leaves one half written.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_FILES_H
#define EXAMPLE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common.h"

/* A file as the user named it: the option that named it, and its path, which may be NULL. */
struct named_file {
    const char *option, *path;
};

/* Returns the name of a file without its folders. */
const char *base_name(const char *path);

/*
 * Checks that the file to be written is not one of the files to be read, even under another name, because writing
 * would destroy it. Returns -1 to continue, or EXIT_USAGE after a message.
 */
int check_apart(const struct named_file *written, const struct named_file *read, size_t count);

/*
 * Does the same for the files that a run writes beside its model. Their names are the name of the model and one of
 * these endings; the list ends with NULL. An ending that ends with '-' is followed by a number: a file with such a name
 * may not be read, whether it exists or not.
 */
int check_beside(const char *model, const char *const *endings, const struct named_file *read, size_t count);

/* Returns the number N if the name of a file is `model`, `ending`, and N, or else -1. Does not access any folder. */
int64_t number_after(const char *file, const char *model, const char *ending);

/*
 * Checks before a long computation that its output file can be written. Does not change the file and does not create
 * a new one. Returns -1 to continue, or the exit status after a message.
 */
int check_writable(const struct named_file *file);

/* Removes PATH.prev, the previous version that the library keeps of a file that it replaces. */
void forget_previous(const char *path);

/*
 * An output file. It is written under a temporary name in the same folder and renamed when it is complete, so that a
 * full disk, a kill, or a power failure leaves the old file intact. If the path is a symbolic link, its target is
 * replaced. A device or a pipe is written directly.
 */
struct output {
    const char *path; /* owned by the caller; valid until output_close() */
    char *target, *beside;
    mode_t mode; /* of the existing file, or 0 */
    bool direct;
    FILE *file;
};

/* Both return false after a message. Every successful output_open() must be followed by output_close(). */
bool output_open(struct output *out, const char *path);
bool output_close(struct output *out);

/* Writes the contents of a file. On failure, sets errno and returns false. */
typedef bool (*put_fn)(FILE *file, const void *user);

/* Opens, writes, and closes a file. Returns -1, or EXIT_FAILED after a message. */
int replace_file(const char *path, put_fn put, const void *user);

/* Writes sentences to a file, one per line. Returns the same as replace_file(). */
int write_sentences(const char *path, const struct sentences *texts);

#endif
