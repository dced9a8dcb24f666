/*
 * evalb.c - labeled bracketing scores; see evalb.h for the rules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "evalb.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"

/* The words [begin, end), numbered without the deleted ones. */
struct bracket {
    int32_t label;
    int64_t begin, end;
    bool matched;
};

bool evalb_is_punctuation(const char *word, size_t length) {
    static const char *const forms[] = {",",      ".",      ":",      ";",      "!",      "?",      "...",
                                        "-",      "--",     "`",      "``",     "'",      "''",     "\"",
                                        "\u2018", "\u2019", "\u201a", "\u201c", "\u201d", "\u201e", "\u00ab",
                                        "\u00bb", "\u2013", "\u2014", "\u2026"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; ++i)
        if (strlen(forms[i]) == length && memcmp(forms[i], word, length) == 0) return true;
    return false;
}

/* Cuts a label at "-" or "=": NP-SBJ and NP=2 become NP. PRT becomes ADVP. Returns the length. */
static size_t counted_name(const char **name) {
    const size_t length = strcspn(*name, "-=");
    if (length != 3 || memcmp(*name, "PRT", 3) != 0) return length;
    *name = "ADVP";
    return 4;
}

/* Returns the first label of the table that is equal to this one, or -1 for a label that is ignored. */
static int32_t counted_label(const struct labels *labels, int32_t label) {
    const char *name = labels->names[label];
    const size_t length = counted_name(&name);
    if (length == 3 && memcmp(name, "TOP", 3) == 0) return -1;
    for (int32_t i = 0; i < label; ++i) {
        const char *other = labels->names[i];
        if (counted_name(&other) == length && memcmp(other, name, length) == 0) return i;
    }
    return label;
}

/* Writes the counted brackets to `out`, in closing order. `out` has room for half as many brackets as symbols. */
static size_t brackets_of(struct bracket *out, const struct labels *labels, const bool *deleted, const int32_t *symbols,
                          size_t length) {
    size_t count = 0, depth = 0;
    int64_t leaf = 0, word = 0;
    int64_t *begins = allocate(length * sizeof *begins);
    for (size_t i = 0; i < length; ++i) {
        if (symbols[i] == SYMBOL_LEAF) {
            word += deleted == NULL || !deleted[leaf];
            ++leaf;
        } else if (is_opening(symbols[i])) {
            begins[depth++] = word;
        } else {
            const int32_t label = counted_label(labels, label_of(symbols[i]));
            const int64_t begin = begins[--depth];
            if (label >= 0 && begin < word) out[count++] = (struct bracket){label, begin, word, false};
        }
    }
    free(begins);
    return count;
}

static bool crosses(const struct bracket *a, const struct bracket *b) {
    return (a->begin < b->begin && b->begin < a->end && a->end < b->end) ||
           (b->begin < a->begin && a->begin < b->end && b->end < a->end);
}

/* Matches a bracket with an equal gold bracket that is not matched yet. */
static bool take_match(struct bracket *gold, size_t count, const struct bracket *test) {
    for (size_t i = 0; i < count; ++i) {
        if (gold[i].matched || gold[i].label != test->label) continue;
        if (gold[i].begin != test->begin || gold[i].end != test->end) continue;
        return gold[i].matched = true;
    }
    return false;
}

void evalb_add(struct evalb *score, const struct labels *labels, const bool *deleted, const struct tree *gold,
               const int32_t *test, size_t test_length) {
    struct bracket *wanted = allocate((gold->length / 2 + 1) * sizeof *wanted);
    struct bracket *found = allocate((test_length / 2 + 1) * sizeof *found);
    const size_t wanted_count = brackets_of(wanted, labels, deleted, gold->symbols, gold->length);
    const int64_t leaves = tree_leaves(gold->symbols, gold->length);
    int64_t words = leaves;
    for (int64_t i = 0; deleted != NULL && i < leaves; ++i) words -= deleted[i];
    if (words == 0) {
        score->skipped++;
    } else if (tree_check(test, test_length, leaves) != TREE_OK) {
        score->errors++;
        score->gold_of_errors += (int64_t)wanted_count;
    } else {
        const size_t found_count = brackets_of(found, labels, deleted, test, test_length);
        int64_t matched = 0, crossing = 0;
        for (size_t i = 0; i < found_count; ++i) {
            matched += take_match(wanted, wanted_count, &found[i]);
            bool overlaps = false;
            for (size_t k = 0; k < wanted_count && !overlaps; ++k) overlaps = crosses(&found[i], &wanted[k]);
            crossing += overlaps;
        }
        score->sentences++;
        score->gold += (int64_t)wanted_count;
        score->test += (int64_t)found_count;
        score->matched += matched;
        score->crossing += crossing;
        score->not_crossing += crossing == 0;
        score->complete += matched == (int64_t)wanted_count && matched == (int64_t)found_count;
    }
    free(wanted);
    free(found);
}

static double percent(int64_t part, int64_t whole) { return whole > 0 ? 100.0 * (double)part / (double)whole : 0; }

static double harmonic(double a, double b) { return a + b > 0 ? 2 * a * b / (a + b) : 0; }

double evalb_recall(const struct evalb *score) { return percent(score->matched, score->gold); }
double evalb_precision(const struct evalb *score) { return percent(score->matched, score->test); }
double evalb_f1(const struct evalb *score) { return harmonic(evalb_recall(score), evalb_precision(score)); }
double evalb_complete(const struct evalb *score) { return percent(score->complete, score->sentences); }

double evalb_average_crossing(const struct evalb *score) {
    return score->sentences > 0 ? (double)score->crossing / (double)score->sentences : 0;
}

double evalb_strict_recall(const struct evalb *score) {
    return percent(score->matched, score->gold + score->gold_of_errors);
}

double evalb_strict_f1(const struct evalb *score) {
    return harmonic(evalb_strict_recall(score), evalb_precision(score));
}
