/*
 * use.c - a C program of somebody else: what it is linked with, which backends are there, three steps of training.
 *
 *     use [DEVICE]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <xformer/xformer.h>

static xf_error err;

#define DO(call)                                  \
    do {                                          \
        if ((call) < 0) {                         \
            fprintf(stderr, "%s\n", err.message); \
            return 1;                             \
        }                                         \
    } while (0)

int main(int argc, char **argv) {
    static const int32_t ids[] = {5, 6, 7, XF_TOKEN_END, 8, 9, XF_TOKEN_END}, offsets[] = {0, 4, 7};
    const xf_batch batch = {sizeof batch, 2, ids, offsets, ids, offsets, NULL};
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    xf_step_stats stats = XF_STEP_STATS_INIT;

    DO(xf_config_create(&config, &err));
    DO(xf_config_preset(config, "tiny", &err));
    DO(xf_config_set(config, "model.vocab_size", "40", &err));
    DO(xf_config_set(config, "context.threads", "2", &err));
    DO(xf_config_set(config, "context.device", argc > 1 ? argv[1] : "cpu", &err));
    DO(xf_context_create(config, NULL, &context, &err));

    printf("version %s\n", xf_version());
    for (size_t i = 0; i < xf_backend_count(context); ++i) {
        xf_backend_info info = XF_BACKEND_INFO_INIT;
        DO(xf_backend_get(context, i, &info, &err));
        printf("%s:%s active %d, from '%s', reason '%s'\n", info.kind, info.name,
               (int)(info.state == XF_BACKEND_ACTIVE), info.path, info.reason);
    }

    DO(xf_model_create(context, config, NULL, &model, &err));
    DO(xf_trainer_create(model, config, &trainer, &err));
    while (stats.step < 3) DO(xf_train_step(trainer, &batch, 1, &stats, &err));
    printf("trained %d steps\n", (int)stats.step);

    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
