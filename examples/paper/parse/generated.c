/*
 * generated.c - draws sentences with their trees into three files; see generated.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "generated.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common.h"
#include "output.h"
#include "pcfg.h"

enum { SEED = 1 };

/* The words determine the tree, so two lines differ only if their sentences differ. */
static bool is_new(const struct sentences *drawn, const char *line, size_t length) {
    for (size_t i = 0; i < drawn->count; ++i)
        if (drawn->lengths[i] == length && memcmp(drawn->texts[i], line, length) == 0) return false;
    return true;
}

static void draw(struct sentences *drawn, size_t count) {
    uint64_t state = SEED;
    char line[PCFG_LINE];
    while (drawn->count < count) {
        pcfg_line(&state, GENERATED_WORDS, line);
        const size_t length = strlen(line);
        if (is_new(drawn, line, length)) sentences_add(drawn, line, length);
    }
}

static bool holds_lines(FILE *file, const struct sentences *lines, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
        for (const char *c = lines->texts[i]; *c != '\0'; ++c)
            if (getc(file) != (unsigned char)*c) return false;
        if (getc(file) != '\n') return false;
    }
    return getc(file) == EOF;
}

static bool write_lines(const char *path, const struct sentences *lines, size_t begin, size_t end) {
    struct output out;
    if (!output_open(&out, path)) return false;
    for (size_t i = begin; i < end; ++i) fprintf(out.file, "%s\n", lines->texts[i]);
    return output_close(&out);
}

static bool check_or_write(const char *path, const struct sentences *lines, size_t begin, size_t end) {
    FILE *file = fopen(path, "rb");
    if (file == NULL && errno == ENOENT) return write_lines(path, lines, begin, end);
    if (file == NULL) {
        complain("cannot open %s: %s", path, strerror(errno));
        return false;
    }
    const bool same = holds_lines(file, lines, begin, end);
    fclose(file);
    if (!same)
        complain(
            "%s has other contents, expected the %zu generated trees; name your own files with --train, --dev, and "
            "--test, or use another --out",
            path, end - begin);
    return same;
}

bool generated_make(struct generated *files, const char *folder) {
    struct sentences drawn = {0};
    const struct {
        const char *name;
        char *path;
        size_t count;
    } parts[] = {{"test", files->test, GENERATED_TEST},
                 {"dev", files->dev, GENERATED_DEV},
                 {"train", files->train, GENERATED_TRAIN}};
    bool good = true;
    size_t begin = 0;
    draw(&drawn, GENERATED_TEST + GENERATED_DEV + GENERATED_TRAIN);
    for (size_t i = 0; good && i < sizeof parts / sizeof parts[0]; begin += parts[i++].count)
        good = join_path(parts[i].path, folder, parts[i].name, ".tsv") &&
               check_or_write(parts[i].path, &drawn, begin, begin + parts[i].count);
    if (good)
        printf("%-12s %d training, %d dev, and %d test trees in %s, because no files are named\n", "generated",
               (int)GENERATED_TRAIN, (int)GENERATED_DEV, (int)GENERATED_TEST, folder);
    sentences_free(&drawn);
    return good;
}
