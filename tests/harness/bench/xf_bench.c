/*
 * xf_bench.c - this library's side of the benchmarks, through the public API.
 *
 *     xf_bench train  [sentences=128] [tokens=32] [batches=FILE] [each=1] [warmup=2] [steps=5] [preset=base] [key=value
 * ...] xf_bench init   model=FILE sources=FILE [sentences=64] [tokens=25] [preset=base] [key=value ...] xf_bench decode
 * model=FILE sources=FILE [warmup=1] [passes=3] [answers=FILE] [key=value ...]
 *
 * train: steps on one batch of random ids, sentences of one length, or on those of a file of dump_batches in turn; a
 * step has `each` of them, for train.shards. Several ranks: mpirun -n 2 xf_bench train context.comm=mpi.
 * init: a fresh model and random sources for decode. decode: passes over all sources. Weights that were never trained
 * do not end their answers, so answers run to the limit, decode.max_extra_tokens more than the source; with a trained
 * model they have their own lengths.
 *
 * Output, read by report.py: lines "<what> TAB <value>": step and cpu (wall and processor seconds of each timed step or
 * pass), tokens (source + target of a step, the mean of them; target tokens of a pass, end symbols counted), rss (peak
 * bytes of the process), loss, info, note (what the library logged).
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include "../../support/api.h"
#include "common.h"

/* Log messages of the library belong to the results: "an own, slower kernel computes it". */
static void print_note(void *user, const xf_log_line *line) {
    (void)user;
    printf("note\t%s: %s\n", line->component, line->message);
}

static xf_context *open_context(args a) {
    xf_context *context;
    OWNED(config) *config = config_from(a);
    xf_host host = XF_HOST_INIT;
    host.log = print_note;
    CHECK(xf_context_create, config, &host, &context);
    return context;
}

static void report(const xf_context *context, int64_t tokens) {
    printf("tokens\t%lld\n", (long long)tokens);
    printf("rss\t%lld\n", (long long)peak_rss());
    printf("info\tlibxformer %s, %s; %s\n", xf_version(), device_of(context), xf_build_info());
}

static xf_model *fresh_model(xf_context *context, xf_config *config) {
    xf_model *model;
    int64_t vocab = 0;
    CHECK(get_integer, config, "model.vocab_size", &vocab);
    if (vocab == 0) CHECK(xf_config_set_number, config, "model.vocab_size", 37000);
    CHECK(xf_model_create, context, NULL, config, &model);
    return model;
}

static int64_t vocab_size(const xf_model *model) {
    int64_t vocab = 0;
    CHECK(get_integer, xf_model_config(model), "model.vocab_size", &vocab);
    return vocab;
}

static void train(args a) {
    OWNED(context) *context = open_context(a);
    OWNED(config) *config = config_from(a);
    OWNED(model) *model = fresh_model(context, config);
    OWNED(trainer) *trainer = NULL;
    CHECK(xf_trainer_create, model, config, &trainer);
    const char *path = arg_text(a, "batches", "");
    xf_batch random = XF_BATCH_INIT;
    batch_list list = {&random, 1, NULL, NULL};
    if (*path != '\0')
        list = read_batches(path);
    else
        random = random_batch(arg_number(a, "sentences", 128), arg_number(a, "tokens", 32), vocab_size(model), 1);
    const int64_t warmup = arg_number(a, "warmup", 2), steps = arg_number(a, "steps", 5);
    if (steps < 1) die("steps=%lld: expected at least 1", (long long)steps);
    const int64_t each = arg_number(a, "each", 1);
    if (each < 1) die("each=%lld: expected at least 1", (long long)each);
    xf_batch *given = allocate((size_t)each * sizeof *given);
    xf_step_stats stats = {.struct_size = sizeof stats};
    int64_t tokens = 0;
    for (int64_t i = 0; i < warmup + steps; ++i) {
        for (int64_t j = 0; j < each; ++j) given[j] = list.batches[(i * each + j) % list.count];
        const double begin = seconds(), cpu = cpu_seconds();
        CHECK(xf_train_step, trainer, given, (size_t)each, NULL, &stats);
        if (i < warmup) continue;
        tokens += stats.src_tokens + stats.tgt_tokens;
        printf("step\t%.6f\ncpu\t%.6f\n", seconds() - begin, cpu_seconds() - cpu);
        fflush(stdout);
    }
    printf("loss\t%.4f\n", stats.loss);
    report(context, tokens / steps);
    free(given);
}

static void init(args a) {
    OWNED(context) *context = open_context(a);
    OWNED(config) *config = config_from(a);
    OWNED(config) *stored = config_from(a); /* with the weights of the file; a new model has fp32 */
    CHECK(xf_config_set, config, "model.weights", "same");
    OWNED(model) *model = fresh_model(context, config);
    CHECK(save_model, model, stored, arg_text(a, "model", NULL));
    xf_batch batch = random_batch(arg_number(a, "sentences", 64), arg_number(a, "tokens", 25), vocab_size(model), 2);
    batch.tgt_ids = NULL;
    batch.tgt_offsets = NULL;
    FILE *file = fopen(arg_text(a, "sources", NULL), "wb");
    if (file == NULL) die("cannot write %s", arg_text(a, "sources", NULL));
    const int32_t one = 1;
    fwrite("XFB1", 1, 4, file);
    fwrite(&one, sizeof one, 1, file);
    write_batch(file, &batch);
    if (fclose(file) != 0) die("writing sources failed");
}

/* Writes the best answer of each source, ids separated by spaces, one a line. */
static void write_answers(FILE *file, const xf_hypotheses *hypotheses) {
    xf_hypothesis answer = {.struct_size = sizeof answer};
    for (size_t i = 0; i < xf_hypotheses_sentence_count(hypotheses); ++i) {
        CHECK(xf_hypotheses_get, hypotheses, i, 0, &answer);
        for (size_t j = 0; j < answer.id_count; ++j) fprintf(file, j > 0 ? " %d" : "%d", answer.ids[j]);
        fputc('\n', file);
    }
}

static int64_t answer_tokens(const xf_hypotheses *hypotheses) {
    int64_t tokens = 0;
    xf_hypothesis answer = {.struct_size = sizeof answer};
    for (size_t i = 0; i < xf_hypotheses_sentence_count(hypotheses); ++i) {
        CHECK(xf_hypotheses_get, hypotheses, i, 0, &answer);
        tokens += (int64_t)answer.id_count + answer.finished;
    }
    return tokens;
}

static void decode(args a) {
    OWNED(context) *context = open_context(a);
    OWNED(config) *config = config_from(a);
    OWNED(model) *model = NULL;
    OWNED(decoder) *decoder = NULL;
    const xf_source source = source_path(arg_text(a, "model", NULL));
    CHECK(xf_model_load, context, &source, config, NULL, &model);
    CHECK(xf_decoder_create, model, NULL, config, &decoder);
    const batch_list sources = read_batches(arg_text(a, "sources", NULL));
    const int64_t warmup = arg_number(a, "warmup", 1), passes = arg_number(a, "passes", 3);
    const char *path = arg_text(a, "answers", "");
    int64_t tokens = 0;
    for (int64_t pass = 0; pass < warmup + passes; ++pass) {
        FILE *file = pass == 0 && *path != '\0' ? fopen(path, "w") : NULL;
        double time = 0, cpu_time = 0;
        tokens = 0;
        for (int64_t i = 0; i < sources.count; ++i) {
            OWNED(hypotheses) *hypotheses = NULL;
            const double begin = seconds(), cpu = cpu_seconds();
            CHECK(xf_decode, decoder, &sources.batches[i], NULL, NULL, &hypotheses);
            time += seconds() - begin;
            cpu_time += cpu_seconds() - cpu;
            tokens += answer_tokens(hypotheses);
            if (file != NULL) write_answers(file, hypotheses);
        }
        if (file != NULL && fclose(file) != 0) die("writing %s failed", path);
        if (pass < warmup) continue;
        printf("step\t%.6f\ncpu\t%.6f\n", time, cpu_time);
        fflush(stdout);
    }
    report(context, tokens);
}

int main(int argc, char **argv) {
    const args a = {argc - 2, argv + 2};
    if (argc >= 2 && strcmp(argv[1], "train") == 0) {
        train(a);
    } else if (argc >= 2 && strcmp(argv[1], "init") == 0) {
        init(a);
    } else if (argc >= 2 && strcmp(argv[1], "decode") == 0) {
        decode(a);
    } else {
        die("usage: xf_bench train|init|decode [key=value ...]; see the top of xf_bench.c");
    }
    return EXIT_SUCCESS;
}
