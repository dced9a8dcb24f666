/*
 * tree_kind.h - who made the trees that a number was measured on; whatever prints one says it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_TREE_KIND_H
#define PARSE_TREE_KIND_H

#include "pairs.h"

struct tree_kind {
    const char *name, *about;
};

/*
 * With gold the user says that people made the trees. Else they are generated when all their words are of the grammar
 * in pcfg.c, which no text of people keeps to; and else silver, as nothing vouches for them.
 */
const struct tree_kind *tree_kind_of(const struct pairs *pairs, bool gold);

/* The flag of the commands that print scores; value is a bool *. */
#define GOLD_FLAG(value)                                                                 \
    {                                                                                    \
        "gold", FLAG_SWITCH, value, NULL, "",                                            \
            "People made the trees: scores are said to be on gold trees, not on silver." \
    }

#endif
