/*
 * tree.h - constituency trees as sequences (Vinyals et al. 2015): "(S (NP XX XX )NP (VP XX )VP XX )S".
 *
 * Every leaf is written as XX. A bracket is opened by "(" and closed by ")", each followed by its label. In memory, the
 * sequence is an array of symbols: 0 is a leaf, 1 + 2k opens and 2 + 2k closes a bracket with label k.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_TREE_H
#define PARSE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_LABELS = 256, LABEL_SIZE = 24 };

/* The labels in order of first occurrence. The index of a label determines its symbols. */
struct labels {
    char names[MAX_LABELS][LABEL_SIZE];
    int32_t count;
};

enum { SYMBOL_LEAF = 0 };
static inline int32_t opening(int32_t label) { return 1 + 2 * label; }
static inline int32_t closing(int32_t label) { return 2 + 2 * label; }
static inline bool is_opening(int32_t symbol) { return symbol > 0 && symbol % 2 == 1; }
static inline bool is_closing(int32_t symbol) { return symbol > 0 && symbol % 2 == 0; }
static inline int32_t label_of(int32_t symbol) { return (symbol - 1) / 2; }

/* A sequence of symbols, which need not be a valid tree. Initialize it with zeros. */
struct tree {
    int32_t *symbols;
    size_t length, capacity;
};

void tree_add(struct tree *tree, int32_t symbol);
void tree_free(struct tree *tree);

/* The first fault that is found in a sequence. */
enum tree_fault {
    TREE_OK,
    TREE_UNKNOWN_WORD,  /* when reading: neither XX nor a bracket */
    TREE_UNKNOWN_LABEL, /* when reading: a label that is unknown or too long, or too many labels */
    TREE_NOTHING,       /* no symbols */
    TREE_OUTSIDE,       /* a leaf outside every bracket, or a second root */
    TREE_EMPTY_BRACKET, /* a bracket contains nothing */
    TREE_MISMATCH,      /* a bracket is closed with a different label, or was never opened */
    TREE_OPEN,          /* a bracket is not closed */
    TREE_LEAVES         /* the number of leaves differs from the expected one */
};
const char *tree_fault_text(enum tree_fault fault);

/* Checks that the symbols form one tree with the given number of leaves; leaves < 0: any number. */
enum tree_fault tree_check(const int32_t *symbols, size_t length, int64_t leaves);
int64_t tree_leaves(const int32_t *symbols, size_t length);

/*
 * Reads words separated by single blanks into symbols and replaces the contents of the tree. If grow is set, new labels
 * are added to the table. Does not check that the symbols form a tree, because the output of a model may not.
 */
enum tree_fault tree_read(struct tree *tree, struct labels *labels, bool grow, const char *text, size_t length);

/* Writes the symbols separated by single blanks. `text` must have room for tree_text_size() bytes. */
size_t tree_text_size(const struct labels *labels, const int32_t *symbols, size_t length);
void tree_write(char *text, const struct labels *labels, const int32_t *symbols, size_t length);

#endif
