/*
 * lines.h - reads lines from a file descriptor without waiting longer than needed.
 *
 * Standard input may be a file, a slow pipe, or a program that waits for an answer before it sends the next line.
 * Therefore a batch contains the lines that have arrived, and reading does not wait for more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_LINES_H
#define EXAMPLE_LINES_H

#include <stdbool.h>
#include <stddef.h>

enum { LONGEST_LINE = 1 << 20 };

struct line_reader {
    int fd; /* 0 is standard input */
    char *buffer;
    size_t begin, end, capacity;
    bool opened;   /* by open_lines() */
    bool at_end;   /* read() has reached the end of the input */
    bool skipping; /* inside the rest of a line that is too long */
    bool started;  /* the first line was checked for a byte order mark */
    int error;     /* errno of a failed read(), kept because later calls overwrite errno */
};

enum line_status {
    LINE_OK,       /* a line without its line end, LF or CRLF; valid until the next call */
    LINE_TOO_LONG, /* a line of more than LONGEST_LINE bytes; its text is skipped */
    LINE_NONE_NOW, /* no complete line has arrived, and `wait` was false */
    LINE_END,      /* the end of the input */
    LINE_FAILED    /* reading failed; `error` of the reader is the errno */
};

/* Opens a file instead of standard input. False after a message. */
bool open_lines(struct line_reader *reader, const char *path);
enum line_status next_line(struct line_reader *reader, bool wait, const char **text, size_t *length);
/* Frees the buffer, and closes a file that open_lines() opened. */
void close_lines(struct line_reader *reader);

#endif
