/*
 * attention.h - the page of `translate translate --attention`: attention weights, as in Figures 3 to 5 of the paper.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_ATTENTION_H
#define TRANSLATE_ATTENTION_H

#include "common.h"
#include "page.h"

struct attention {
    const char *path; /* of the page; NULL: no page is written */
    int64_t limit;    /* maximum number of sentences in the page */

    int64_t sentences, weights; /* currently in the page */
    bool changed;               /* since the page was last written */
    struct text json;           /* the sentences, separated by commas */
};

/*
 * Adds a sentence and its best translation, running the decoder on the pair once more for the weights. Does nothing if
 * no page was requested, the page is full, or the source is empty. A sentence that is too long for the page is left
 * out, and a message gives the number of its line. Returns -1 to continue, or EXIT_FAILED after a message.
 */
int attention_add(struct attention *page, xf_decoder *decoder, const xf_model *model, const xf_config *config,
                  const char *source, size_t length, const xf_hypothesis *answer, long long number);

/* Writes the page if it has new sentences. Returns -1 to continue, or the exit status after a message. */
int attention_write(struct attention *page, const xf_model *model, const char *model_path);

#endif
