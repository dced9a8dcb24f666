/*
 * attention.h - the page of `translate translate --attention`: who looks at whom, as in the paper's Figures 3 to 5.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_ATTENTION_H
#define TRANSLATE_ATTENTION_H

#include "common.h"
#include "page.h"

struct attention {
    const char *path; /* of the page; NULL: none is wanted */
    int64_t limit;    /* sentences in it */

    int64_t sentences, weights; /* that are in it */
    bool changed;               /* since the page was written */
    struct text json;           /* of the sentences, with commas between */
};

/*
 * Adds a sentence with the best answer to it, over which the decoder goes once more. Nothing happens when no page is
 * wanted, when it is full, or when the source is empty. A sentence that is too long for the page is told, with the
 * number of its line, and left out. Returns -1 to go on, or EXIT_FAILED after a message.
 */
int attention_add(struct attention *page, xf_decoder *decoder, const xf_model *model, const char *source, size_t length,
                  const xf_hypothesis *answer, long long number);

/* Writes the page when sentences have come to it. Returns -1 to go on, or the exit status after a message. */
int attention_write(struct attention *page, const xf_model *model, const char *model_path);

#endif
