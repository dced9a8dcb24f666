/*
 * generate.c - `paper_parse generate`: writes sentences of a grammar with their trees, for testing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "commands.h"
#include "common.h"
#include "options.h"
#include "pcfg.h"

int generate_command(int argc, char **argv) {
    int64_t sentences = 1000, seed = 1, words = 25;
    const struct flag flags[] = {
        {"sentences", FLAG_COUNT, &sentences, NULL, "1000", "Number of sentences."},
        {"words", FLAG_COUNT, &words, NULL, "25",
         "Maximum number of words and punctuation marks in a sentence; at least 6."},
        {"seed", FLAG_COUNT, &seed, NULL, "1", "The same seed gives the same sentences."},
    };
    struct command_line line = {.usage = "generate [options] > pairs.tsv",
                                .about = "Writes sentences of a small grammar with their trees: sentence TAB tree.",
                                .groups = "",
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0]};
    const int status = read_command_line(&line, argc - 2, argv + 2);
    if (status >= 0) return status;
    if (words < 6 || words > 1000) {
        complain("--words is %lld, expected 6 to 1000", (long long)words);
        return EXIT_USAGE;
    }
    uint64_t state = (uint64_t)seed;
    char text[PCFG_LINE];
    int output = -1;
    for (int64_t i = 0; i < sentences && output < 0; ++i) {
        pcfg_line(&state, (int)words, text);
        puts(text);
        if (i % 256 == 0) output = check_output();
    }
    return output >= 0 ? output : EXIT_OK;
}
