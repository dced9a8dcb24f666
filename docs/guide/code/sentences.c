/*
 * sentences.c - the sentences of a text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "must.h"

int main(void) {
    /* [split] */
    const char *const text = "Mr. Smith left at 5 p.m. on Friday. He was late.\n\n\"Why?\" she asked.\n";
    xf_span sentences[8];
    size_t count = 0, done = 0;
    must(xf_split_sentences(text, strlen(text), "en", 0, sentences, 8, &count, &err));
    for (size_t i = 0; i < count; ++i) {
        const xf_span s = sentences[i];
        printf("%.*s[%.*s]", (int)(s.begin - done), text + done, (int)(s.end - s.begin), text + s.begin);
        done = s.end;
    }
    printf("%s", text + done);
    /* [split] */
    return 0;
}
