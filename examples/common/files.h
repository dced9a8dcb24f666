/*
 * files.h - what becomes of the files a command writes: none may be one it reads, and none is left half written.
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

/* Whether two names lead to one file or folder that is there. */
bool is_same_file(const char *one, const char *other);

/* The name of a file without its folders, which are nobody's business but the user's. */
const char *base_name(const char *path);

/*
 * Refuses a file to be written that is there and is one of those to be read, under whatever name: writing would
 * destroy it. Returns -1 to go on, or EXIT_USAGE after a message.
 */
int check_apart(const struct named_file *written, const struct named_file *read, size_t count);

/*
 * The same for the files a run writes beside its model, whose names are the model's and one of these endings (the list
 * ends with NULL). After one that ends with '-' stands a number: no such file may be read, be it there now or not.
 */
int check_beside(const char *model, const char *const *endings, const struct named_file *read, size_t count);

/* The number at the end of a file's name when that begins with `model` and `ending`; else -1. Folders are not read. */
int64_t number_after(const char *file, const char *model, const char *ending);

/*
 * Finds out whether a file can be written, before hours go into what is to stand in it. What it holds is not touched,
 * and no file is left behind. Returns -1 to go on, or the exit status after a message.
 */
int check_writable(const struct named_file *file);

/* Removes what the library keeps of a file that it replaces, for one that no run goes on from. */
void forget_previous(const char *path);

/*
 * A file that is written beside its place and put there when it is whole: after a full disk, a kill or a power cut the
 * old one is there. Where a path is a link, the file it leads to is replaced; a device or a pipe is written as it is.
 */
struct output {
    const char *path; /* the caller's, until output_close() */
    char *target, *beside;
    mode_t mode; /* of the file that is there, or 0 */
    bool direct;
    FILE *file;
};

/* Both return false after a message. output_close() follows output_open() that was good, whatever came between. */
bool output_open(struct output *out, const char *path);
bool output_close(struct output *out);

/* Writes what is to stand in a file; false: it could not, and errno says why. */
typedef bool (*put_fn)(FILE *file, const void *user);

/* Opens, writes and closes. Returns -1, or EXIT_FAILED after a message. */
int replace_file(const char *path, put_fn put, const void *user);

/* The same for sentences, one a line. */
int write_sentences(const char *path, const struct sentences *texts);

#endif
