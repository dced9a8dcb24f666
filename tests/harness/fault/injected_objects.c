/*
 * Scenarios of fault injection: configs, contexts, ranks, metrics. See injected.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "injected.h"

static xf_status act_config(struct bench *b, digest *d, xf_error *error) {
    (void)b;
    OWNED(config) *config = NULL, *copy = NULL;
    const char *text = NULL;
    int64_t whole = 0;
    double number = 0;
    TRY(xf_config_create(&config, error));
    TRY(xf_config_preset(config, "base", error));
    TRY(xf_config_set(config, "context.backend_path", "/a/folder/of/plugins/that/is/not/there", error));
    TRY(xf_config_set_number(config, "decode.beam", 7, error));
    TRY(xf_config_set_number(config, "decode.alpha", 0.123456789, error));
    TRY(xf_config_copy(config, &copy, error));
    TRY(xf_config_get(copy, "context.backend_path", &text, error));
    add_text(d, text);
    TRY(xf_config_get(copy, "decode.alpha", &text, error));
    add_text(d, text);
    TRY(get_integer(copy, "decode.beam", &whole, error));
    TRY(xf_config_get_number(copy, "decode.alpha", &number, error));
    add_number(d, (double)whole + number);
    for (size_t i = 0; i < xf_option_count(); ++i) {
        xf_option_info info = XF_OPTION_INFO_INIT;
        TRY(xf_option_get(i, &info, error));
        add_text(d, info.key);
    }
    return XF_OK;
}

/* A setter that fails leaves the config as it was. */
static xf_status act_set(struct bench *b, digest *d, xf_error *error) {
    (void)b;
    static const char *const before = "/a/folder/that/was/there/before/the/other";
    static const char *const after = "/another/folder/which/has/a/longer/name/than/that";
    OWNED(config) *config = NULL;
    const char *text = NULL;
    xf_status status;
    ACCEPTED(xf_config_create(&config, err));
    set(config, "context.backend_path", before);
    DO(status = xf_config_set(config, "context.backend_path", after, error));
    ACCEPTED(xf_config_get(config, "context.backend_path", &text, err));
    assert_string_equal(text, status == XF_OK ? after : before);
    add_text(d, text);
    return status;
}

static xf_status act_context(struct bench *b, digest *d, xf_error *error) {
    OWNED(context) *context = NULL;
    const xf_host host = listening_host();
    xf_memory_stats memory = XF_MEMORY_STATS_INIT;
    int64_t value = 0;
    TRY(xf_context_create(b->config, &host, &context, error));
    TRY(xf_context_get_memory(context, &memory, error));
    TRY(xf_context_all_gather(context, 5, NULL, &value, error));
    add_number(d, (double)value);
    for (size_t i = 0; i < xf_context_backend_count(context); ++i) {
        xf_backend_info info = XF_BACKEND_INFO_INIT;
        TRY(xf_context_get_backend(context, i, &info, error));
        if (info.state == XF_BACKEND_ACTIVE) add_text(d, info.name);
    }
    return XF_OK;
}

/* After a failed xf_context_create() the caller still owns its arguments: the comms of both ranks. */
static xf_status act_ranks(struct bench *b, digest *d, xf_error *error) {
    xf_status status = XF_OK;
    xf_comm comms[2] = {XF_COMM_INIT, XF_COMM_INIT};
    xf_context *contexts[2] = {NULL, NULL};
    xf_host host = listening_host();
    TRY(xf_comm_loopback(comms, 2, error));
    for (int r = 0; r < 2 && status == XF_OK; ++r) {
        host.comm = &comms[r];
        DO(status = xf_context_create(b->config, &host, &contexts[r], error));
        if (status == XF_OK) add_number(d, rank_of(contexts[r]) + 10 * rank_count_of(contexts[r]));
    }
    for (int r = 0; r < 2; ++r) DO(contexts[r] == NULL ? comms[r].close(comms[r].user) : xf_context_free(contexts[r]));
    return status;
}

static xf_status act_metrics(struct bench *b, digest *d, xf_error *error) {
    (void)b;
    const char *const answers[] = {"eins zwei drei vier", "drei"}, *const right[] = {"eins zwei drei", "vier drei"};
    xf_bleu_score bleu = XF_BLEU_SCORE_INIT;
    double chrf = 0;
    TRY(xf_bleu(answers, NULL, right, NULL, 2, XF_BLEU_13A, &bleu, error));
    TRY(chrf_of(answers, right, 2, &chrf, error));
    add_number(d, bleu.score + chrf);
    return XF_OK;
}

const struct scenario object_scenarios[] = {
    {.name = "config", .act = act_config},
    {.name = "config_set", .act = act_set},
    {.name = "context", .everywhere = true, .act = act_context},
    {.name = "context_of_ranks", .act = act_ranks},
    {.name = "metrics", .act = act_metrics},
    {.name = NULL},
};
