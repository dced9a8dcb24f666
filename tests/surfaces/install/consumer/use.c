/*
 * use.c - a C program outside this project: prints its library and the backends, and trains three steps.
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
    static const int32_t ids[] = {5, 6, 7, 1, 8, 9, 1};
    static const int64_t offsets[] = {0, 4, 7};
    const xf_batch batch = {sizeof batch, 2, ids, offsets, ids, offsets, NULL, NULL, 0};
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
    for (size_t i = 0; i < xf_context_backend_count(context); ++i) {
        xf_backend_info info = XF_BACKEND_INFO_INIT;
        DO(xf_context_get_backend(context, i, &info, &err));
        printf("%s:%s active %d, from '%s', reason '%s'\n", info.kind, info.name,
               (int)(info.state == XF_BACKEND_ACTIVE), info.path, info.reason);
    }

    DO(xf_model_create(context, NULL, config, &model, &err));
    DO(xf_trainer_create(model, config, &trainer, &err));
    while (stats.step < 3) DO(xf_train_step(trainer, &batch, 1, NULL, &stats, &err));
    printf("trained %d steps\n", (int)stats.step);

    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
