/*
 * generated.h - the trees of `paper_parse table4` when no files are given: drawn from the grammar of pcfg.h.
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
 * Sees to it that train.tsv, dev.tsv and test.tsv stand in the folder. All their sentences differ, and each call draws
 * the same. A file that is there is left as it is; one that holds anything else than what is drawn is refused, as its
 * scores would pass for scores on these trees. False after a message.
 */
bool generated_make(struct generated *files, const char *folder);

#endif
