/*
 * A plugin of a host that knows nothing of libxformer: what it uses of the library it has given back when use()
 * returns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <xformer/xformer.h>

#include "../../support/small_model.h"

static int lines; /* of the log, whose function goes with this plugin */

static void log_line(void *user, const xf_log_line *line) {
    (void)user, (void)line;
    ++lines;
}

/* Creates a context with threads, a model, a trainer and a decoder, trains a step, decodes; the score of an answer. */
XF_API int use(const char *device, double *score, xf_error *err);

int use(const char *device, double *score, xf_error *err) {
    static const char *const settings[][2] = {
        {"context.threads", "3"}, {"model.vocab_size", "96"}, {"model.seed", "3"}, XF_TEST_SMALL_MODEL};
    enum { end = 1 }; /* the default of "model.end_token" */
    const int32_t ids[] = {5, 6, 7, end, 8, 9, end};
    const int64_t offsets[] = {0, 4, 7};
    const xf_batch batch = {sizeof batch, 2, ids, offsets, ids, offsets, NULL, NULL, 0};
    xf_host host = XF_HOST_INIT;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *answers = NULL;
    host.log = log_line;
    host.log_level = XF_LOG_DEBUG;
    xf_status status = xf_config_create(&config, err);
    for (size_t i = 0; status == XF_OK && i < sizeof settings / sizeof *settings; ++i)
        status = xf_config_set(config, settings[i][0], settings[i][1], err);
    if (status == XF_OK) status = xf_config_set(config, "context.device", device, err);
    if (status == XF_OK) status = xf_context_create(config, &host, &context, err);
    if (status == XF_OK) status = xf_model_create(context, NULL, config, &model, err);
    if (status == XF_OK) status = xf_trainer_create(model, config, &trainer, err);
    if (status == XF_OK) status = xf_train_step(trainer, &batch, 1, NULL, NULL, err);
    if (status == XF_OK) status = xf_decoder_create(model, NULL, config, &decoder, err);
    if (status == XF_OK) status = xf_decode(decoder, &batch, NULL, NULL, &answers, err);
    if (status == XF_OK) status = xf_hypotheses_get(answers, 0, 0, &best, err);
    *score = best.score;
    xf_context_free(context); /* in any order */
    xf_model_free(model);
    xf_trainer_free(trainer);
    xf_hypotheses_free(answers);
    xf_decoder_free(decoder);
    xf_config_free(config);
    return status == XF_OK && lines == 0 ? -1 : (int)status;
}
