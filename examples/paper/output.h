/*
 * output.h - what a table command leaves behind: text files that are whole or not there, tables as Markdown and TSV.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_OUTPUT_H
#define PAPER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A file that is written beside its place and put there when it is whole: killing the program leaves the old one. */
struct output {
    char path[4096], beside[4128];
    FILE *file;
};

/* Both return false after a message. */
bool output_open(struct output *out, const char *path);
bool output_close(struct output *out);

/* Makes a folder when it is not there. False after a message. */
bool make_folder(const char *path);

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
void table_tsv(const struct table *table, FILE *file);

#endif
