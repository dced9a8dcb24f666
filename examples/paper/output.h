/*
 * output.h - what a table command leaves behind: a folder, tables as Markdown and TSV.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_OUTPUT_H
#define PAPER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "files.h"

/* Makes a folder when it is not there. False after a message. */
bool make_folder(const char *path);

/*
 * Makes the folder and takes its file "lock" for this run, so that no other works there. Returns a descriptor whose
 * end, with that of the process or sooner, is that of the lock; or -1 after a message.
 */
int lock_folder(const char *path);

/* Joins a folder, a name and an ending: "out" "table3" ".md". False after a message when that is too long. */
bool join_path(char path[4096], const char *folder, const char *name, const char *ending);

/* A table is filled cell by cell, row after row. */
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
/* A number with so many places, "-" when it is not a number. */
void table_number(struct table *table, double number, int places);
void table_free(struct table *table);

void table_markdown(const struct table *table, FILE *file);
/* Writes the table as FOLDER/NAME.tsv. False after a message. */
bool table_write_tsv(const struct table *table, const char *folder, const char *name);

#endif
