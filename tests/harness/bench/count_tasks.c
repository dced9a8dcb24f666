/*
 * count_tasks.c - how training and decoding would scale to many processors, from the times of their tasks on one.
 *
 *     count_tasks train  [sentences=128] [tokens=32] [layers=1] [cuts=1,32] [rounds=1] [key=value ...]
 *     count_tasks decode [sentences=32] [tokens=25] [cuts=1,32] [rounds=1] [key=value ...]
 *
 * train: one step on random sentences of one length, ids drawn as words are, by
 * Zipf's law. decode: one call over random sources, with fresh weights. cuts: the numbers of workers for which the work
 * is divided; the program runs once for each, starting with 1. A row for P processors uses the largest cut of at most
 * P. layers: the factor by which the work of layers counts. A step of 6 + 6 layers can be estimated from 1 + 1 layers,
 * which need a sixth of the memory (the update of the parameters is then that of the small model).
 *
 * Output: Markdown. The efficiency on P processors is T(1) / (P T(P)), where T(P) is the serial time plus the time of
 * each parallel region with its tasks on P workers: see count_plugin.cpp. The model ignores memory bandwidth, shared
 * caches, the time to wake workers and wait for them, and clock rates that decrease under load.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../support/api.h"
#include "common.h"
#include "count_plugin.h"

static const int32_t kProcessors[] = {1, 2, 8, 16, 32, 64, 128};
enum { kRows = sizeof kProcessors / sizeof *kProcessors, kMostOps = 32 };

/* The result of a run for one number of processors. */
typedef struct prediction {
    count_op all;
    count_op ops[kMostOps];
    int32_t count;
} prediction;

static int in_layers(const char *name) {
    static const char *const kOutside[] = {
        "between operations", "embed_fwd", "embed_bwd", "loss", "adam", "gate", "top_k", "sum_squares"};
    for (size_t i = 0; i < sizeof kOutside / sizeof *kOutside; ++i)
        if (strcmp(name, kOutside[i]) == 0) return 0;
    return 1;
}

static prediction predict(int32_t processors, int64_t layers) {
    prediction p = {.all = {.name = "all"}};
    const count_op *ops;
    p.count = count_summary(processors, &ops);
    if (p.count > kMostOps) die("%d operations, expected at most %d", p.count, kMostOps);
    for (int32_t i = 0; i < p.count; ++i) {
        const int64_t times = in_layers(ops[i].name) ? layers : 1;
        count_op op = ops[i];
        op.regions *= times, op.tasks *= times;
        op.serial *= (double)times, op.work *= (double)times, op.length *= (double)times;
        p.ops[i] = op;
        p.all.regions += op.regions, p.all.tasks += op.tasks;
        p.all.serial += op.serial, p.all.work += op.work, p.all.length += op.length;
        if (op.longest > p.all.longest) p.all.longest = op.longest;
    }
    return p;
}

static double alone(const count_op *op) { return op->serial + op->work; }
static double together(const count_op *op) { return op->serial + op->length; }

static void print_tables(const prediction *rows) {
    const double one = alone(&rows[0].all);
    printf(
        "\n| processors | regions | tasks | alone, s | share of the time | longest task, ms | time, s | efficiency |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int r = 0; r < kRows; ++r) {
        const count_op *all = &rows[r].all;
        printf("| %d | %lld | %lld | %.4f | %.1f %% | %.2f | %.4f | %.2f |\n", kProcessors[r], (long long)all->regions,
               (long long)all->tasks, all->serial, 100 * all->serial / together(all), 1e3 * all->longest, together(all),
               one / (kProcessors[r] * together(all)));
    }
    for (int r = 4; r < kRows; ++r) {
        printf(
            "\n%d processors, by operation:\n\n"
            "| operation | regions | tasks | alone, ms | longest task, ms | on one, ms | time, ms | efficiency |\n"
            "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
            kProcessors[r]);
        for (int32_t i = 0; i < rows[r].count; ++i) {
            const count_op *op = &rows[r].ops[i], *first = &rows[0].ops[i];
            if (alone(op) < 1e-3 * one / kProcessors[r]) continue;
            printf("| %s | %lld | %lld | %.3f | %.3f | %.2f | %.3f | %.2f |\n", op->name, (long long)op->regions,
                   (long long)op->tasks, 1e3 * op->serial, 1e3 * op->longest, 1e3 * alone(first), 1e3 * together(op),
                   alone(first) / (kProcessors[r] * together(op)));
        }
    }
}

/* Ids as words are drawn: the k-th of them as often as 1 / k. */
static int32_t draw_word(uint64_t *state, int64_t vocab) {
    const double u = next_random(state) / 2147483648.0;
    const int64_t id = 1 + (int64_t)exp(u * log((double)(vocab - 1)));
    return (int32_t)(id < vocab ? id : vocab - 1);
}

/* Memory that has been touched: which task would be the first to touch it is chance. Its time is left out. */
static void *touched_memory(void *user, size_t bytes, size_t alignment) {
    (void)user;
    const size_t huge = (size_t)1 << 21;
    count_pause();
    if (bytes >= huge) {
        alignment = huge;
        bytes = (bytes + huge - 1) / huge * huge;
    }
    void *memory;
    if (posix_memalign(&memory, alignment, bytes) != 0) die("no memory for %zu bytes", bytes);
    if (bytes >= huge) (void)madvise(memory, bytes, MADV_HUGEPAGE);
    memset(memory, 0, bytes);
    count_resume();
    return memory;
}

static void free_memory(void *user, void *memory, size_t bytes) {
    (void)user, (void)bytes;
    free(memory);
}

/* One run with the work cut for so many workers. */
static void count(args a, int training, int32_t workers) {
    const int64_t rounds = arg_number(a, "rounds", 1);
    count_start(workers); /* streams ask for the number when they are made */
    OWNED(config) *config = config_from(a);
    CHECK(xf_config_set, config, "context.backend_path", COUNT_FOLDER);
    CHECK(xf_config_set, config, "context.device", "cpu:openblas");
    CHECK(xf_config_set, config, "context.threads", "1");
    int64_t vocab = 0;
    CHECK(get_integer, config, "model.vocab_size", &vocab);
    if (vocab == 0) CHECK(xf_config_set_number, config, "model.vocab_size", vocab = 37000);
    OWNED(context) *context = NULL;
    OWNED(model) *model = NULL;
    xf_host host = XF_HOST_INIT;
    host.alloc = touched_memory;
    host.free = free_memory;
    CHECK(xf_context_create, config, &host, &context);
    CHECK(xf_model_create, context, NULL, config, &model);
    xf_batch batch = random_batch(arg_number(a, "sentences", training ? 128 : 32),
                                  arg_number(a, "tokens", training ? 32 : 25), vocab, 1, draw_word);
    if (training) {
        OWNED(trainer) *trainer = NULL;
        xf_step_stats stats = {.struct_size = sizeof stats};
        CHECK(xf_trainer_create, model, config, &trainer);
        for (int64_t round = 0; round < rounds; ++round) {
            round == 0 ? count_start(workers) : count_again();
            CHECK(xf_train_step, trainer, &batch, 1, NULL, &stats);
            if (count_stop() != 0) die("a step has not the tasks of the one before");
        }
        fprintf(stderr, "cut for %d: loss %.9g\n", workers, stats.loss); /* must not depend on it */
    } else {
        OWNED(decoder) *decoder = NULL;
        CHECK(xf_decoder_create, model, NULL, config, &decoder);
        for (int64_t round = 0; round < rounds; ++round) {
            OWNED(hypotheses) *hypotheses = NULL;
            round == 0 ? count_start(workers) : count_again();
            CHECK(xf_decode, decoder, &batch, NULL, NULL, &hypotheses);
            if (count_stop() != 0) die("a call has not the tasks of the one before");
        }
    }
    if (workers == 1) printf("%s; %s\n", device_of(context), xf_build_info());
    free_batch(&batch);
}

int main(int argc, char **argv) {
    const args a = {argc - 2, argv + 2};
    const int training = argc >= 2 && strcmp(argv[1], "train") == 0;
    if (!training && (argc < 2 || strcmp(argv[1], "decode") != 0))
        die("usage: count_tasks train|decode [key=value ...]; see the top of count_tasks.c");
    static prediction rows[kRows];
    const int64_t layers = arg_number(a, "layers", 1);
    int32_t last = 0;
    for (const char *cut = arg_text(a, "cuts", "1,32"); cut != NULL; cut = strchr(cut, ',')) {
        cut += *cut == ',';
        const int32_t workers = (int32_t)strtol(cut, NULL, 10);
        if (workers <= last || (last == 0 && workers != 1)) die("cuts: expected 1, then rising numbers of workers");
        count(a, training, last = workers);
        for (int r = 0; r < kRows; ++r)
            if (kProcessors[r] >= workers) rows[r] = predict(kProcessors[r], layers);
    }
    print_tables(rows);
    return EXIT_SUCCESS;
}
