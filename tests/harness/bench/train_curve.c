/*
 * train_curve.c - this library's side of compare_training.py: trains on the batches of a file and prints the dev loss.
 *
 *     train_curve model=FILE batches=FILE dev_batches=FILE [steps=N] [every=100] [checkpoint=FILE] [minutes=5]
 *                 [stop_after=0] [key=value ...]
 *
 * Step s uses batch (s - 1) mod count. Prints a line "step TAB dev_loss TAB dev_nll TAB seconds" every `every` steps,
 * including step 0; seconds are the training time of this run without evaluations. With checkpoint= the state is saved
 * every `minutes` minutes and at the end, and a run that finds the file continues from it. stop_after= minutes, 0:
 * never.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "../../support/api.h"
#include "common.h"

/* A batcher of the pairs of all batches, in groups of at most as many tokens as one of them has. */
static xf_batcher *dev_batcher(xf_context *context, const xf_config *config, const batch_list *list) {
    int64_t most = 1;
    xf_batch all = XF_BATCH_INIT;
    for (int64_t i = 0; i < list->count; ++i) {
        const xf_batch *batch = &list->batches[i];
        const int64_t sizes[] = {batch->src_offsets[batch->sentences], batch->tgt_offsets[batch->sentences]};
        for (int side = 0; side < 2; ++side) most = sizes[side] > most ? sizes[side] : most;
        all.sentences += batch->sentences;
    }
    int32_t *ids[2];
    int64_t *offsets[2];
    for (int side = 0; side < 2; ++side) {
        int64_t sentence = 0;
        ids[side] = allocate(sizeof **ids * (size_t)(most * list->count));
        offsets[side] = allocate(sizeof **offsets * (size_t)(all.sentences + 1));
        offsets[side][0] = 0;
        for (int64_t i = 0; i < list->count; ++i) {
            const xf_batch *batch = &list->batches[i];
            const int64_t *from = side == 0 ? batch->src_offsets : batch->tgt_offsets;
            const int64_t start = offsets[side][sentence];
            memcpy(ids[side] + start, side == 0 ? batch->src_ids : batch->tgt_ids,
                   sizeof **ids * (size_t)from[batch->sentences]);
            for (int64_t b = 1; b <= batch->sentences; ++b) offsets[side][++sentence] = start + from[b];
        }
    }
    all.src_ids = ids[0];
    all.tgt_ids = ids[1];
    all.src_offsets = offsets[0];
    all.tgt_offsets = offsets[1];
    xf_corpus *corpus;
    xf_batcher *batcher;
    xf_config *own;
    CHECK(xf_config_copy, config, &own);
    CHECK(xf_config_set, own, "data.shuffle", "false");
    CHECK(xf_config_set_number, own, "data.batch_tokens", (double)most);
    CHECK(xf_config_set_number, own, "data.max_tokens", (double)most);
    CHECK(xf_corpus_from_ids, context, &all, NULL, &corpus);
    CHECK(xf_batcher_create, corpus, NULL, own, NULL, &batcher);
    xf_config_free(own);
    xf_corpus_free(corpus);
    for (int side = 0; side < 2; ++side) {
        free(ids[side]);
        free(offsets[side]);
    }
    return batcher;
}

static void print_dev(const xf_model *model, const xf_config *config, xf_batcher *dev, int64_t step, double time) {
    xf_decoder *decoder;
    xf_eval_stats stats = {.struct_size = sizeof stats};
    CHECK(xf_decoder_create, model, config, &decoder);
    CHECK(xf_evaluate, decoder, dev, NULL, &stats);
    xf_decoder_free(decoder);
    printf("%lld\t%.6f\t%.6f\t%.1f\n", (long long)step, stats.loss, stats.nll, time);
    fflush(stdout);
}

static xf_trainer *start(args a, xf_context *context, const xf_config *config, const char *checkpoint) {
    xf_trainer *trainer;
    xf_model *model;
    FILE *old = *checkpoint != '\0' ? fopen(checkpoint, "rb") : NULL;
    if (old != NULL) {
        fclose(old);
        CHECK(resume_trainer, context, checkpoint, NULL, &trainer);
        return trainer;
    }
    CHECK(load_model, context, arg_text(a, "model", NULL), &model);
    CHECK(xf_trainer_create, model, config, &trainer);
    xf_model_free(model);
    return trainer;
}

int main(int argc, char **argv) {
    const args a = {argc - 1, argv + 1};
    xf_config *config = config_from(a);
    xf_context *context;
    CHECK(xf_context_create, config, NULL, &context);
    const char *checkpoint = arg_text(a, "checkpoint", "");
    xf_trainer *trainer = start(a, context, config, checkpoint);
    xf_model *model = xf_trainer_model(trainer);
    const batch_list batches = read_batches(arg_text(a, "batches", NULL));
    const batch_list dev_batches = read_batches(arg_text(a, "dev_batches", NULL));
    xf_batcher *dev = dev_batcher(context, config, &dev_batches);
    const int64_t steps = arg_number(a, "steps", batches.count), every = arg_number(a, "every", 100);
    if (every == 0) die("every=0: expected at least 1");
    const double save_every = 60.0 * (double)arg_number(a, "minutes", 5);
    const double stop_after = 60.0 * (double)arg_number(a, "stop_after", 0);
    fprintf(stderr, "%s; %lld parameter tensors; from step %lld\n", device_of(context),
            (long long)xf_model_tensor_count(model), (long long)xf_trainer_step_count(trainer));
    const double begin = seconds();
    double time = 0, saved = begin;
    if (xf_trainer_step_count(trainer) == 0) print_dev(model, config, dev, 0, 0);
    int64_t step = xf_trainer_step_count(trainer);
    while (step < steps) {
        const double before = seconds();
        CHECK(xf_train_step, trainer, &batches.batches[step % batches.count], 1, NULL, NULL);
        time += seconds() - before;
        step = xf_trainer_step_count(trainer);
        if (step % every == 0 || step == steps) print_dev(model, config, dev, step, time);
        const int stop = step == steps || (stop_after > 0 && seconds() - begin > stop_after);
        if (*checkpoint != '\0' && (stop || seconds() - saved > save_every)) {
            CHECK(save_trainer, trainer, NULL, checkpoint);
            saved = seconds();
        }
        if (stop) break;
    }
    xf_batcher_free(dev);
    xf_trainer_free(trainer);
    xf_context_free(context);
    xf_config_free(config);
    return EXIT_SUCCESS;
}
