/*
 * lines.h - reads lines from a file descriptor without waiting longer than needed.
 *
 * Standard input may be a file, a pipe that is slow, or another program that waits for our answer before it sends its
 * next line. So lines are taken in batches as long as they are there, and no longer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_LINES_H
#define EXAMPLE_LINES_H

#include <stdbool.h>
#include <stddef.h>

enum { LONGEST_LINE = 1 << 20 };

struct line_reader {
    int fd;
    char *buffer;
    size_t begin, end, capacity;
    bool at_end;   /* nothing more will come */
    bool skipping; /* inside the rest of a line that is too long */
    bool started;  /* the first line has been looked at for a byte order mark */
    int error;     /* errno of a read() that failed; what is done before it is told sets errno anew */
};

enum line_status {
    LINE_OK,       /* a line without its line end, LF or CRLF; valid until the next call */
    LINE_TOO_LONG, /* a line of more than LONGEST_LINE bytes; its text is left out */
    LINE_NONE_NOW, /* there is no line yet, and `wait` was false */
    LINE_END,      /* the end of the input */
    LINE_FAILED    /* reading failed: the reader's `error` says why */
};

enum line_status next_line(struct line_reader *reader, bool wait, const char **text, size_t *length);
void close_lines(struct line_reader *reader);

#endif
