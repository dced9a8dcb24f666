/*
 * output.h - the output of a table command: a folder, and tables as Markdown and TSV.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_OUTPUT_H
#define PAPER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "files.h"

/* Creates a folder if it does not exist. Returns false after printing a message. */
bool make_folder(const char *path);

/*
 * Creates the folder and locks its file "lock", so that no other run uses the folder. Returns a descriptor, or -1 after
 * printing a message. The lock is released when the descriptor is closed or the process exits.
 */
int lock_folder(const char *path);

/* Joins a folder, a name, and an extension: "out" "table3" ".md". Returns false after a message if it is too long. */
bool join_path(char path[4096], const char *folder, const char *name, const char *ending);

/* A table, filled cell by cell in row order. */
struct table {
    const char *const *columns;
    size_t column_count;
    char **cells;
    size_t cell_count, capacity;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void table_cell(struct table *table, const char *format, ...);
/* Adds a number with the given decimal places; "-" for NaN. */
void table_number(struct table *table, double number, int places);
void table_free(struct table *table);

void table_markdown(const struct table *table, FILE *file);
/* Writes the table as FOLDER/NAME.tsv. Returns false after printing a message. */
bool table_write_tsv(const struct table *table, const char *folder, const char *name);

#endif
