/*
 * tree.c - reads, checks, and writes linearized trees; see tree.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"

void tree_add(struct tree *tree, int32_t symbol) {
    tree->symbols = with_room(tree->symbols, tree->length, &tree->capacity, sizeof *tree->symbols);
    tree->symbols[tree->length++] = symbol;
}

void tree_free(struct tree *tree) {
    free(tree->symbols);
    memset(tree, 0, sizeof *tree);
}

const char *tree_fault_text(enum tree_fault fault) {
    switch (fault) {
        case TREE_OK:
            return "a tree";
        case TREE_UNKNOWN_WORD:
            return "a word that is neither XX nor a bracket";
        case TREE_UNKNOWN_LABEL:
            return "a label that is unknown";
        case TREE_NOTHING:
            return "an empty tree";
        case TREE_OUTSIDE:
            return "a leaf or a second root outside the root's bracket";
        case TREE_EMPTY_BRACKET:
            return "an empty bracket";
        case TREE_MISMATCH:
            return "a bracket that is closed with a different label than it was opened with";
        case TREE_OPEN:
            return "a bracket that is never closed";
        case TREE_LEAVES:
            return "a number of leaves that differs from the number of words in the sentence";
    }
    return "an unknown fault";
}

int64_t tree_leaves(const int32_t *symbols, size_t length) {
    int64_t leaves = 0;
    for (size_t i = 0; i < length; ++i) leaves += symbols[i] == SYMBOL_LEAF;
    return leaves;
}

/* `stack` holds the labels of the open brackets. */
static enum tree_fault check(const int32_t *symbols, size_t length, int32_t *stack) {
    size_t depth = 0;
    for (size_t i = 0; i < length; ++i) {
        const int32_t symbol = symbols[i];
        if (is_closing(symbol)) {
            if (depth == 0) return TREE_MISMATCH;
            if (is_opening(symbols[i - 1])) return TREE_EMPTY_BRACKET;
            if (stack[--depth] != label_of(symbol)) return TREE_MISMATCH;
            continue;
        }
        if (depth == 0 && (i > 0 || symbol == SYMBOL_LEAF)) return TREE_OUTSIDE;
        if (is_opening(symbol)) stack[depth++] = label_of(symbol);
    }
    return depth == 0 ? TREE_OK : TREE_OPEN;
}

enum tree_fault tree_check(const int32_t *symbols, size_t length, int64_t leaves) {
    if (length == 0) return TREE_NOTHING;
    int32_t *stack = allocate(length * sizeof *stack);
    enum tree_fault fault = check(symbols, length, stack);
    free(stack);
    if (fault == TREE_OK && leaves >= 0 && tree_leaves(symbols, length) != leaves) fault = TREE_LEAVES;
    return fault;
}

/* Returns the index of a label, or -1 if it is not in the table and cannot be added. */
static int32_t find_label(struct labels *labels, bool grow, const char *name, size_t length) {
    for (int32_t i = 0; i < labels->count; ++i)
        if (strlen(labels->names[i]) == length && memcmp(labels->names[i], name, length) == 0) return i;
    if (!grow || length == 0 || length >= LABEL_SIZE || labels->count == MAX_LABELS) return -1;
    memcpy(labels->names[labels->count], name, length);
    labels->names[labels->count][length] = '\0';
    return labels->count++;
}

enum tree_fault tree_read(struct tree *tree, struct labels *labels, bool grow, const char *text, size_t length) {
    tree->length = 0;
    for (size_t i = 0; i < length;) {
        size_t end = i;
        while (end < length && text[end] != ' ') ++end;
        const char *word = text + i;
        const size_t size = end - i;
        i = end < length ? end + 1 : end;
        if (size == 2 && memcmp(word, "XX", 2) == 0) {
            tree_add(tree, SYMBOL_LEAF);
            continue;
        }
        if (size < 2 || (*word != '(' && *word != ')')) return TREE_UNKNOWN_WORD;
        const int32_t label = find_label(labels, grow, word + 1, size - 1);
        if (label < 0) return TREE_UNKNOWN_LABEL;
        tree_add(tree, *word == '(' ? opening(label) : closing(label));
    }
    return TREE_OK;
}

static const char *word_of(const struct labels *labels, int32_t symbol) {
    return symbol == SYMBOL_LEAF ? "XX" : labels->names[label_of(symbol)];
}

size_t tree_text_size(const struct labels *labels, const int32_t *symbols, size_t length) {
    size_t size = 1;
    for (size_t i = 0; i < length; ++i) size += strlen(word_of(labels, symbols[i])) + 2;
    return size;
}

void tree_write(char *text, const struct labels *labels, const int32_t *symbols, size_t length) {
    for (size_t i = 0; i < length; ++i) {
        const char *word = word_of(labels, symbols[i]);
        if (i > 0) *text++ = ' ';
        if (symbols[i] != SYMBOL_LEAF) *text++ = is_opening(symbols[i]) ? '(' : ')';
        memcpy(text, word, strlen(word));
        text += strlen(word);
    }
    *text = '\0';
}
