/*
 * pcfg.c - generates sentences with their trees; see pcfg.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "pcfg.h"

#include <stdio.h>
#include <string.h>

#include "pairs.h"

struct drawing {
    uint64_t *state;
    char words[PCFG_LINE / 2], tree[PCFG_LINE / 2];
    size_t words_length, tree_length;
    int word_count;
};

static void append(char *text, size_t *length, const char *word) {
    *length += (size_t)snprintf(text + *length, PCFG_LINE / 2 - *length, "%s%s", *length > 0 ? " " : "", word);
}

static void symbol(struct drawing *d, const char *text) { append(d->tree, &d->tree_length, text); }

static void leaf(struct drawing *d, const char *word) {
    append(d->words, &d->words_length, word);
    symbol(d, "XX");
    d->word_count++;
}

/* Returns a random number from 0 to count - 1. */
static int draw(struct drawing *d, int count) { return (int)(next_random(d->state) % (uint64_t)count); }

static void leaf_of(struct drawing *d, const char *const *words, int count) { leaf(d, words[draw(d, count)]); }
#define LEAF_OF(d, words) leaf_of(d, words, (int)(sizeof(words) / sizeof(words)[0]))

static const char *const determiners[] = {"the", "a", "every", "no", "this"};
static const char *const adjectives[] = {"old", "red", "small", "clever", "loud", "quiet"};
static const char *const nouns[] = {"dog", "cat", "house", "tree", "robot", "teacher", "river", "song"};
static const char *const transitive[] = {"sees", "likes", "finds", "follows"};
static const char *const intransitive[] = {"sleeps", "runs", "waits"};
static const char *const clausal[] = {"says", "thinks", "knows"};
static const char *const adverbs[] = {"quickly", "often", "here"};

static bool is_among(const char *const *words, size_t count, const char *word, size_t length) {
    for (size_t i = 0; i < count; ++i)
        if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0) return true;
    return false;
}

bool pcfg_has_word(const char *word, size_t length) {
    static const char *const others[] = {"that", "of", "with", "."};
#define IS_AMONG(words) is_among(words, sizeof(words) / sizeof(words)[0], word, length)
    return IS_AMONG(determiners) || IS_AMONG(adjectives) || IS_AMONG(nouns) || IS_AMONG(transitive) ||
           IS_AMONG(intransitive) || IS_AMONG(clausal) || IS_AMONG(adverbs) || IS_AMONG(others);
#undef IS_AMONG
}

/* `depth` bounds the recursion: beyond depth 3, nothing is nested. */
enum { DEEPEST = 3 };

static void verb_phrase(struct drawing *d, int depth);

static void base_noun_phrase(struct drawing *d) {
    symbol(d, "(NP");
    LEAF_OF(d, determiners);
    if (draw(d, 3) == 0) LEAF_OF(d, adjectives);
    LEAF_OF(d, nouns);
    symbol(d, ")NP");
}

/* Returns whether it ends in a clause. */
static bool noun_phrase(struct drawing *d, int depth) {
    const int kind = depth >= DEEPEST ? 9 : draw(d, 10);
    if (kind > 2) {
        base_noun_phrase(d);
        return false;
    }
    bool clause = true;
    symbol(d, "(NP");
    base_noun_phrase(d);
    if (kind == 0) {
        symbol(d, "(SBAR");
        symbol(d, "(WHNP");
        leaf(d, "that");
        symbol(d, ")WHNP");
        symbol(d, "(S");
        verb_phrase(d, depth + 1);
        symbol(d, ")S");
        symbol(d, ")SBAR");
    } else {
        symbol(d, "(PP");
        leaf(d, "of");
        clause = noun_phrase(d, depth + 1);
        symbol(d, ")PP");
    }
    symbol(d, ")NP");
    return clause;
}

static void modifier(struct drawing *d, int depth) {
    const int kind = draw(d, 4);
    if (kind == 0) {
        symbol(d, "(ADVP");
        LEAF_OF(d, adverbs);
        symbol(d, ")ADVP");
    } else if (kind == 1) {
        symbol(d, "(PP");
        leaf(d, "with");
        noun_phrase(d, depth + 1);
        symbol(d, ")PP");
    }
}

static void verb_phrase(struct drawing *d, int depth) {
    const int kind = depth >= DEEPEST ? draw(d, 4) : draw(d, 5);
    symbol(d, "(VP");
    if (kind == 4) {
        LEAF_OF(d, clausal);
        symbol(d, "(SBAR");
        symbol(d, "(S");
        noun_phrase(d, depth + 1);
        verb_phrase(d, depth + 1);
        symbol(d, ")S");
        symbol(d, ")SBAR");
    } else if (kind == 3) {
        LEAF_OF(d, intransitive);
        modifier(d, depth);
    } else {
        LEAF_OF(d, transitive);
        if (!noun_phrase(d, depth + 1)) modifier(d, depth);
    }
    symbol(d, ")VP");
}

void pcfg_line(uint64_t *state, int most, char line[PCFG_LINE]) {
    struct drawing d;
    do {
        d = (struct drawing){.state = state};
        symbol(&d, "(S");
        noun_phrase(&d, 0);
        verb_phrase(&d, 0);
        leaf(&d, ".");
        symbol(&d, ")S");
    } while (d.word_count > most);
    snprintf(line, PCFG_LINE, "%s\t%s", d.words, d.tree);
}
