/*
 * output.c - folders and tables; see output.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _XOPEN_SOURCE 700

#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"

bool make_folder(const char *path) {
    struct stat there;
    if (mkdir(path, 0777) == 0) return true;
    if (errno == EEXIST && stat(path, &there) == 0 && S_ISDIR(there.st_mode)) return true;
    complain("cannot create the folder %s: %s", path, errno == EEXIST ? "it is a file" : strerror(errno));
    return false;
}

int lock_folder(const char *path) {
    char name[4096];
    if (!make_folder(path) || !join_path(name, path, "lock", "")) return -1;
    const int lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (lock >= 0 && fcntl(lock, F_SETLK, &whole) == 0) return lock;
    if (lock >= 0 && (errno == EACCES || errno == EAGAIN))
        complain("another run is using the folder %s; wait for it or choose another --out", path);
    else
        complain("cannot lock %s: %s", name, strerror(errno));
    if (lock >= 0) close(lock);
    return -1;
}

bool join_path(char path[4096], const char *folder, const char *name, const char *ending) {
    if (snprintf(path, 4096, "%s/%s%s", folder, name, ending) < 4096) return true;
    complain("the name of the folder has %zu bytes, expected fewer than 4000", strlen(folder));
    return false;
}

static void add_cell(struct table *table, char *text) {
    table->cells = with_room(table->cells, table->cell_count, &table->capacity, sizeof *table->cells);
    table->cells[table->cell_count++] = text;
}

void table_cell(struct table *table, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *copy = allocate(strlen(text) + 1);
    strcpy(copy, text);
    add_cell(table, copy);
}

void table_number(struct table *table, double number, int places) {
    if (isfinite(number))
        table_cell(table, "%.*f", places, number);
    else
        table_cell(table, "-");
}

void table_free(struct table *table) {
    for (size_t i = 0; i < table->cell_count; ++i) free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->cell_count = table->capacity = 0;
}

void table_markdown(const struct table *table, FILE *file) {
    for (size_t i = 0; i < table->column_count; ++i) fprintf(file, "| %s ", table->columns[i]);
    fputs("|\n", file);
    for (size_t i = 0; i < table->column_count; ++i) fputs("| --- ", file);
    fputs("|\n", file);
    for (size_t i = 0; i < table->cell_count; ++i) {
        fputs("| ", file);
        for (const char *c = table->cells[i]; *c != '\0'; ++c) {
            if (*c == '|') fputc('\\', file); /* would end the cell */
            fputc(*c, file);
        }
        fputs((i + 1) % table->column_count == 0 ? " |\n" : " ", file);
    }
}

static void table_tsv(const struct table *table, FILE *file) {
    for (size_t i = 0; i < table->column_count; ++i)
        fprintf(file, "%s%c", table->columns[i], i + 1 == table->column_count ? '\n' : '\t');
    for (size_t i = 0; i < table->cell_count; ++i)
        fprintf(file, "%s%c", table->cells[i], (i + 1) % table->column_count == 0 ? '\n' : '\t');
}

bool table_write_tsv(const struct table *table, const char *folder, const char *name) {
    char path[4096];
    struct output out;
    if (!join_path(path, folder, name, ".tsv") || !output_open(&out, path)) return false;
    table_tsv(table, out.file);
    return output_close(&out);
}
