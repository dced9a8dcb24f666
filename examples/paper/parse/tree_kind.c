/*
 * tree_kind.c - gold, silver or generated; see tree_kind.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tree_kind.h"

#include <string.h>

#include "pcfg.h"

static const struct tree_kind gold_trees = {"gold", "made by people, according to --gold"};
static const struct tree_kind silver_trees = {
    "silver", "made by a program and not corrected by people; these are not scores on the Penn Treebank"};
static const struct tree_kind generated_trees = {
    "generated (PCFG)",
    "drawn together with their sentences from a small probabilistic grammar, which is much easier than natural "
    "language; these are not scores on the Penn Treebank"};

static bool is_generated(const struct pair *pair) {
    for (const char *word = pair->text; *word != '\0'; word += strspn(word, " ")) {
        const size_t length = strcspn(word, " ");
        if (!pcfg_has_word(word, length)) return false;
        word += length;
    }
    return true;
}

const struct tree_kind *tree_kind_of(const struct pairs *pairs, bool gold) {
    if (gold) return &gold_trees;
    for (size_t i = 0; i < pairs->count; ++i)
        if (!is_generated(&pairs->list[i])) return &silver_trees;
    return &generated_trees;
}
