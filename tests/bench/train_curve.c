/*
 * train_curve.c - this library's side of compare_training.py: trains on the batches of a file and prints the dev loss.
 *
 *     train_curve model=FILE batches=FILE dev_batches=FILE [steps=N] [every=100] [checkpoint=FILE] [minutes=5]
 *                 [stop_after=0] [key=value ...]
 *
 * Step s uses batch (s - 1) mod count. Prints a line "step TAB dev_loss TAB dev_nll TAB seconds" every so many steps,
 * step 0 included; seconds of training in this run, without the evaluations. With checkpoint= the state is saved
 * every so many minutes and at the end, and a run that finds the file goes on from it. stop_after= minutes, 0: never.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "common.h"

static void print_dev(const xf_model *model, const xf_config *config, const batch_list *dev, int64_t step,
                      double time) {
    xf_decoder *decoder;
    xf_eval_stats stats = {.struct_size = sizeof stats};
    CHECK(xf_decoder_create, model, config, &decoder);
    CHECK(xf_evaluate, decoder, dev->batches, (size_t)dev->count, &stats);
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
        CHECK(xf_trainer_resume, context, checkpoint, NULL, &trainer);
        return trainer;
    }
    CHECK(xf_model_load, context, arg_text(a, "model", NULL), &model);
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
    const batch_list dev = read_batches(arg_text(a, "dev_batches", NULL));
    const int64_t steps = arg_number(a, "steps", batches.count), every = arg_number(a, "every", 100);
    if (every == 0) die("every=0: expected at least 1");
    const double save_every = 60.0 * (double)arg_number(a, "minutes", 5);
    const double stop_after = 60.0 * (double)arg_number(a, "stop_after", 0);
    fprintf(stderr, "%s; %lld parameter tensors; from step %lld\n", xf_context_device(context),
            (long long)xf_model_tensor_count(model), (long long)xf_trainer_step_count(trainer));
    const double begin = seconds();
    double time = 0, saved = begin;
    if (xf_trainer_step_count(trainer) == 0) print_dev(model, config, &dev, 0, 0);
    int64_t step = xf_trainer_step_count(trainer);
    while (step < steps) {
        const double before = seconds();
        CHECK(xf_train_step, trainer, &batches.batches[step % batches.count], 1, NULL);
        time += seconds() - before;
        step = xf_trainer_step_count(trainer);
        if (step % every == 0 || step == steps) print_dev(model, config, &dev, step, time);
        const int stop = step == steps || (stop_after > 0 && seconds() - begin > stop_after);
        if (*checkpoint != '\0' && (stop || seconds() - saved > save_every)) {
            CHECK(xf_trainer_save, trainer, NULL, checkpoint);
            saved = seconds();
        }
        if (stop) break;
    }
    xf_trainer_free(trainer);
    xf_context_free(context);
    xf_config_free(config);
    return EXIT_SUCCESS;
}
