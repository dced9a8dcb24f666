/*
 * settings.c - sets the library options of the command line and rejects contradictions; see options.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include "common.h"
#include "options.h"

int apply_settings(const struct command_line *line, xf_config *config) {
    xf_error err;
    for (size_t i = 0; i < line->setting_count; ++i) {
        if (xf_config_set(config, line->settings[i].key, line->settings[i].value, &err) == XF_OK) continue;
        complain("%s", err.message);
        return EXIT_USAGE;
    }
    return -1;
}

bool is_given(const struct command_line *line, const char *key) {
    for (size_t i = 0; i < line->setting_count; ++i)
        if (strcmp(line->settings[i].key, key) == 0) return true;
    return false;
}

int apply_decoding(const struct command_line *line, xf_config *config, bool greedy) {
    xf_error err;
    int64_t beam = 1, answers = 1;
    int status = apply_settings(line, config);
    if (status >= 0) return status;
    if (get_integer(config, "decode.beam", &beam, &err) != XF_OK) return fail(&err);
    if (get_integer(config, "decode.n_best", &answers, &err) != XF_OK) return fail(&err);
    if (greedy && beam != 1 && is_given(line, "decode.beam")) {
        complain("--greedy needs a beam of 1, but decode.beam is %lld; use only one of the two options",
                 (long long)beam);
        return EXIT_USAGE;
    }
    if (greedy) beam = 1;
    if (answers > beam) {
        complain("decode.n_best is %lld, expected at most decode.beam, which is %lld", (long long)answers,
                 (long long)beam);
        return EXIT_USAGE;
    }
    return xf_config_set_number(config, "decode.beam", beam, &err) == XF_OK ? -1 : fail(&err);
}

int fit_max_tokens(const struct command_line *line, xf_config *config, const xf_config *model) {
    xf_error err;
    int64_t most = 0, longest = 0;
    if (get_integer(config, "data.max_tokens", &most, &err) != XF_OK) return fail(&err);
    if (get_integer(model, "model.max_length", &longest, &err) != XF_OK) return fail(&err);
    if (most <= longest) return -1;
    if (is_given(line, "data.max_tokens")) {
        complain("data.max_tokens is %lld, expected at most model.max_length, which is %lld", (long long)most,
                 (long long)longest);
        return EXIT_USAGE;
    }
    printf("%-12s data.max_tokens is %lld rather than %lld, to match model.max_length\n", "lengths", (long long)longest,
           (long long)most);
    return xf_config_set_number(config, "data.max_tokens", longest, &err) == XF_OK ? -1 : fail(&err);
}
