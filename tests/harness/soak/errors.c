/*
 * The errors that a host meets in a day: damaged files, wrong arguments, no descriptor, no room, no memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <unistd.h>

#include "../../support/api.h"
#include "../../surfaces/hosts/host.h"
#include "work.h"

long errors_met;

static void met(xf_status found, xf_status expected, const xf_error *err) {
    if (found != expected)
        fprintf(stderr, "%s where %s is due: %s\n", xf_status_name(found), xf_status_name(expected),
                found < 0 ? err->message : "");
    CHECK(found == expected);
    ++errors_met;
}

/* Errors of every day: nothing stays of them. */
void meet_errors(xf_context *context, const xf_model *model, const xf_config *config, const char *model_path,
                 const char *tokenizer_path) {
    xf_error err;
    xf_model *none = NULL;
    xf_trainer *no_trainer = NULL;
    xf_corpus *no_corpus = NULL;
    size_t size = 0;
    char again[128];
    snprintf(again, sizeof again, "%.100s.again", model_path);
    met(save_model_memory(model, NULL, NULL, 0, &size, &err), XF_ERROR_BUFFER_TOO_SMALL, &err);
    unsigned char *bytes = malloc(size);
    CHECK(bytes != NULL);
    MUST(save_model_memory(model, NULL, bytes, size, &size, &err));
    xf_source source = source_memory(bytes, size - 7);
    met(xf_model_load(context, &source, NULL, NULL, &none, &err), XF_ERROR_CORRUPT, &err);
    source.size = size;
    bytes[size - 9] ^= 4;
    met(xf_model_load(context, &source, NULL, NULL, &none, &err), XF_ERROR_CORRUPT, &err);
    free(bytes);
    met(load_model(context, "/dev/null/none", &none, &err), XF_ERROR_IO, &err);
    met(load_model(context, tokenizer_path, &none, &err), XF_ERROR_CORRUPT, &err);
    met(resume_trainer(context, model_path, NULL, &no_trainer, &err), XF_ERROR_INVALID_ARGUMENT, &err);
    met(xf_corpus_from_pairs(context, NULL, NULL, NULL, NULL, 9, NULL, NULL, &no_corpus, &err),
        XF_ERROR_INVALID_ARGUMENT, &err);
    met(load_model(NULL, model_path, &none, &err), XF_ERROR_INVALID_ARGUMENT, &err);

    /* No descriptor left; no byte left in a file; no memory left in a budget. */
    struct rlimit files, length, now;
    CHECK(getrlimit(RLIMIT_NOFILE, &files) == 0 && getrlimit(RLIMIT_FSIZE, &length) == 0);
    const int next = dup(0);
    CHECK(next >= 0 && close(next) == 0);
    now = files;
    now.rlim_cur = (rlim_t)next;
    CHECK(setrlimit(RLIMIT_NOFILE, &now) == 0);
    met(load_model(context, model_path, &none, &err), XF_ERROR_IO, &err);
    met(save_model(model, NULL, again, &err), XF_ERROR_IO, &err);
    CHECK(setrlimit(RLIMIT_NOFILE, &files) == 0);
    now = length;
    now.rlim_cur = 5000;
    CHECK(setrlimit(RLIMIT_FSIZE, &now) == 0);
    met(save_model(model, NULL, again, &err), XF_ERROR_IO, &err);
    CHECK(setrlimit(RLIMIT_FSIZE, &length) == 0);
    OWNED(config) *less = NULL;
    MUST(xf_config_copy(config, &less, &err));
    met(xf_config_set(less, "model.d_modell", "8", &err), XF_ERROR_NOT_FOUND, &err);
    MUST(xf_config_set(less, "context.memory_budget", "20000", &err));
    OWNED(context) *small = NULL;
    MUST(xf_context_create(less, NULL, &small, &err));
    met(load_model(small, model_path, &none, &err), XF_ERROR_NO_MEMORY, &err);
    CHECK(none == NULL && no_trainer == NULL && no_corpus == NULL);
}
