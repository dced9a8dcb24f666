/*
 * tree_kind.h - the origin of the trees of a score. Every output with a score names it.
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
 * Returns gold if the user passed --gold, that is, people made the trees; generated if all words belong to the grammar
 * in pcfg.c, which does not happen in natural text; and silver otherwise.
 */
const struct tree_kind *tree_kind_of(const struct pairs *pairs, bool gold);

/* The --gold flag of the commands that print scores; value is a bool *. */
#define GOLD_FLAG(value)                                                                   \
    {                                                                                      \
        "gold", FLAG_SWITCH, value, NULL, "",                                              \
            "States that people made the trees. Scores are then labeled gold, not silver." \
    }

#endif
