/*
 * ban.h - words and phrases that a translation must not contain, as a constraint of the search.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_BAN_H
#define TRANSLATE_BAN_H

#include <xformer/experimental.h>

#include "common.h"

/*
 * No word of a translation, and no phrase of whole words, begins with one of these texts: "Bad" excludes "Bad" and
 * "Badewanne". A text that begins with punctuation occurs nowhere. Hypotheses are compared as text, because the tokens
 * of a vocabulary can spell most words in several ways.
 */
struct ban {
    struct sentences phrases;
    struct sentences pieces; /* the text of each target token */
    uint32_t *always;        /* bit set of the tokens that contain a phrase that begins inside them */
    uint32_t *first;         /* bit set of the tokens that begin with a phrase; forbidden where a word can begin */
    char *tail;              /* the end of a hypothesis */
    size_t tail_size;
    xf_constraint constraint; /* for xf_decode_params */
};

/* Reads phrases, one per line, for the target vocabulary of a model. Returns -1, or the exit status after a message. */
int ban_open(struct ban *ban, const char *path, const xf_model *model);
void ban_close(struct ban *ban);

#endif
