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

#include "../../support/api.h"
#include "common.h"

/* Means over the target tokens of all batches. */
static void print_dev(xf_context *context, const xf_config *config, const xf_model *model, const batch_list *dev,
                      int64_t step, double time) {
    OWNED(decoder) *decoder = NULL;
    xf_eval_stats sum = XF_EVAL_STATS_INIT;
    CHECK(xf_decoder_create, model, NULL, config, &decoder);
    for (int64_t i = 0; i < dev->count; ++i) {
        xf_eval_stats stats = XF_EVAL_STATS_INIT;
        CHECK(evaluate_pairs, decoder, context, &dev->batches[i], &stats);
        if (stats.sentences != dev->batches[i].sentences) die("a dev batch has pairs that are too long");
        sum.tgt_tokens += stats.tgt_tokens;
        sum.loss += stats.loss * (double)stats.tgt_tokens;
        sum.nll += stats.nll * (double)stats.tgt_tokens;
    }
    const double tokens = (double)sum.tgt_tokens;
    printf("%lld\t%.6f\t%.6f\t%.1f\n", (long long)step, sum.loss / tokens, sum.nll / tokens, time);
    fflush(stdout);
}

static xf_trainer *start(args a, xf_context *context, const xf_config *config, const char *checkpoint) {
    xf_trainer *trainer;
    OWNED(model) *model = NULL;
    FILE *old = *checkpoint != '\0' ? fopen(checkpoint, "rb") : NULL;
    if (old != NULL) {
        fclose(old);
        CHECK(resume_trainer, context, checkpoint, NULL, &trainer);
        return trainer;
    }
    CHECK(load_model, context, arg_text(a, "model", NULL), &model);
    CHECK(xf_trainer_create, model, config, &trainer);
    return trainer;
}

int main(int argc, char **argv) {
    const args a = {argc - 1, argv + 1};
    OWNED(config) *config = config_from(a);
    OWNED(context) *context = NULL;
    CHECK(xf_context_create, config, NULL, &context);
    const char *checkpoint = arg_text(a, "checkpoint", "");
    OWNED(trainer) *trainer = start(a, context, config, checkpoint);
    xf_model *model = xf_trainer_model(trainer);
    const batch_list batches = read_batches(arg_text(a, "batches", NULL));
    const batch_list dev = read_batches(arg_text(a, "dev_batches", NULL));
    const int64_t steps = arg_number(a, "steps", batches.count), every = arg_number(a, "every", 100);
    if (every == 0) die("every=0: expected at least 1");
    const double save_every = 60.0 * (double)arg_number(a, "minutes", 5);
    const double stop_after = 60.0 * (double)arg_number(a, "stop_after", 0);
    fprintf(stderr, "%s; %lld parameter tensors; from step %lld\n", device_of(context),
            (long long)xf_model_tensor_count(model), (long long)xf_trainer_step_count(trainer));
    const double begin = seconds();
    double time = 0, saved = begin;
    if (xf_trainer_step_count(trainer) == 0) print_dev(context, config, model, &dev, 0, 0);
    int64_t step = xf_trainer_step_count(trainer);
    while (step < steps) {
        const double before = seconds();
        CHECK(xf_train_step, trainer, &batches.batches[step % batches.count], 1, NULL, NULL);
        time += seconds() - before;
        step = xf_trainer_step_count(trainer);
        if (step % every == 0 || step == steps) print_dev(context, config, model, &dev, step, time);
        const int stop = step == steps || (stop_after > 0 && seconds() - begin > stop_after);
        if (*checkpoint != '\0' && (stop || seconds() - saved > save_every)) {
            CHECK(save_trainer, trainer, NULL, checkpoint);
            saved = seconds();
        }
        if (stop) break;
    }
    return EXIT_SUCCESS;
}
