/*
 * tree.h - constituency trees as sequences (Vinyals et al. 2015): "(S (NP XX XX )NP (VP XX )VP XX )S".
 *
 * A leaf is XX, whatever its word; a bracket is opened by "(" and its label and closed by ")" and the same label. In
 * memory such a sequence is a row of symbols: 0 is the leaf, 1 + 2k opens and 2 + 2k closes a bracket of label k.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_TREE_H
#define PARSE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_LABELS = 256, LABEL_SIZE = 24 };

/* The labels in the order in which they were first met, which is that of their symbols. */
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

/* A sequence of symbols, a tree or not. Zeroed it is empty. */
struct tree {
    int32_t *symbols;
    size_t length, capacity;
};

void tree_add(struct tree *tree, int32_t symbol);
void tree_free(struct tree *tree);

/* What is wrong with a sequence; the first that is found. */
enum tree_fault {
    TREE_OK,
    TREE_UNKNOWN_WORD,  /* reading: neither XX nor a bracket */
    TREE_UNKNOWN_LABEL, /* reading: a label that is not in the table, or too long for it, or one too many */
    TREE_NOTHING,       /* no symbol */
    TREE_OUTSIDE,       /* a leaf outside every bracket, or a second root */
    TREE_EMPTY_BRACKET, /* a bracket is closed right after it was opened */
    TREE_MISMATCH,      /* a bracket is closed with another label, or one that was never opened */
    TREE_OPEN,          /* brackets are open at the end */
    TREE_LEAVES         /* another number of leaves than expected */
};
const char *tree_fault_text(enum tree_fault fault);

/* Whether the symbols are one tree with so many leaves; leaves < 0: with any number. */
enum tree_fault tree_check(const int32_t *symbols, size_t length, int64_t leaves);
int64_t tree_leaves(const int32_t *symbols, size_t length);

/*
 * Reads words separated by single blanks into symbols, in place of what the tree held. With grow, new labels are added
 * to the table. It does not check that they are a tree: an answer of a model need not be one.
 */
enum tree_fault tree_read(struct tree *tree, struct labels *labels, bool grow, const char *text, size_t length);

/* Writes the words of the symbols with single blanks; text has room for tree_text_size() bytes. */
size_t tree_text_size(const struct labels *labels, const int32_t *symbols, size_t length);
void tree_write(char *text, const struct labels *labels, const int32_t *symbols, size_t length);

#endif
