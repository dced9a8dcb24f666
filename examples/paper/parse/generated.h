/*
 * generated.h - draws the trees of `paper_parse table4` from the grammar in pcfg.h if the user names no files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_GENERATED_H
#define PARSE_GENERATED_H

#include "parser.h"

enum { GENERATED_WORDS = 15, GENERATED_TEST = 300, GENERATED_DEV = 200, GENERATED_TRAIN = 8000 };

struct generated {
    char train[PATH_SIZE], dev[PATH_SIZE], test[PATH_SIZE];
};

/*
 * Creates train.tsv, dev.tsv, and test.tsv in the folder unless they exist. All sentences differ, and each call draws
 * the same ones. An existing file with other contents is rejected, because its scores would be taken for scores on the
 * generated trees. Returns false after printing a message.
 */
bool generated_make(struct generated *files, const char *folder);

#endif
