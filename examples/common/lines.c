/*
 * lines.c - reads lines without waiting longer than needed; see lines.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "lines.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "system.h"

/* Makes room after the buffered bytes. The buffer never exceeds twice the size of the longest line. */
static void make_room(struct line_reader *reader) {
    if (reader->begin > 0) {
        memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
        reader->end -= reader->begin;
        reader->begin = 0;
    }
    if (reader->capacity - reader->end >= 4096) return;
    const size_t capacity = reader->capacity > 0 ? 2 * reader->capacity : 65536;
    char *grown = allocate(capacity);
    if (reader->end > 0) memcpy(grown, reader->buffer, reader->end);
    free(reader->buffer);
    reader->buffer = grown;
    reader->capacity = capacity;
}

/* Takes the next line from the buffer. Returns false if the buffer has no complete line. */
static bool take_line(struct line_reader *reader, const char **text, size_t *length) {
    char *begin = reader->buffer + reader->begin;
    const size_t held = reader->end - reader->begin;
    if (held == 0) return false;
    const char *newline = memchr(begin, '\n', held);
    if (newline == NULL && !reader->at_end) return false;
    size_t size = newline != NULL ? (size_t)(newline - begin) : held;
    reader->begin += size + (newline != NULL ? 1 : 0);
    if (size > 0 && begin[size - 1] == '\r') --size;
    if (!reader->started && size >= 3 && memcmp(begin, "\xEF\xBB\xBF", 3) == 0) begin += 3, size -= 3;
    reader->started = true;
    *text = begin;
    *length = size;
    return true;
}

bool open_lines(struct line_reader *reader, const char *path) {
    *reader = (struct line_reader){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    reader->opened = reader->fd >= 0;
    if (!reader->opened) complain("can't open %s: %s", path, strerror(errno));
    return reader->opened;
}

enum line_status next_line(struct line_reader *reader, bool wait, const char **text, size_t *length) {
    for (;;) {
        if (take_line(reader, text, length)) {
            const bool too_long = reader->skipping || *length > LONGEST_LINE;
            reader->skipping = false;
            return too_long ? LINE_TOO_LONG : LINE_OK;
        }
        if (reader->at_end) {
            const bool too_long = reader->skipping;
            reader->skipping = false;
            return too_long ? LINE_TOO_LONG : LINE_END;
        }
        if (reader->end - reader->begin > LONGEST_LINE) { /* drop the text, skip the rest of the line */
            reader->begin = reader->end = 0;
            reader->skipping = reader->started = true;
        }
        if (!wait && !is_ready(reader->fd)) return LINE_NONE_NOW;
        make_room(reader);
        const ssize_t count = read(reader->fd, reader->buffer + reader->end, reader->capacity - reader->end);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            reader->error = errno;
            return LINE_FAILED;
        }
        reader->end += (size_t)count;
        reader->at_end = count == 0;
    }
}

void close_lines(struct line_reader *reader) {
    free(reader->buffer);
    if (reader->opened) close(reader->fd);
    memset(reader, 0, sizeof *reader);
}
