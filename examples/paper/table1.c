/*
 * table1.c - `paper table1`: measures the layers of Table 1 by sequence length.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "table1.h"

#include <math.h>
#include <stdio.h>

#include "commands.h"
#include "common.h"
#include "layers.h"
#include "options.h"
#include "output.h"
#include "signals.h"

static int measure_own(const struct table1 *t, enum layer_kind kind, int64_t n, struct encoder_cost *cost) {
    struct layer layer;
    const bool recurrent = kind == RECURRENT;
    layer_open(&layer, n, t->d, recurrent ? 0 : t->kernel);
    *cost = (struct encoder_cost){.both = {NAN, NAN, NAN}};
    time_work(recurrent ? recurrent_forward : convolution_forward, &layer, (int)t->repeats, &cost->forward);
    if (!t->forward_only && !was_interrupted())
        time_work(recurrent ? recurrent_both : convolution_both, &layer, (int)t->repeats, &cost->both);
    layer_close(&layer);
    return was_interrupted() ? EXIT_INTERRUPTED : -1;
}

static int measure_one(const struct table1 *t, const xf_config *config, enum layer_kind kind, int64_t n,
                       struct encoder_cost *cost) {
    if (kind == RECURRENT || kind == CONVOLUTION) return measure_own(t, kind, n, cost);
    const bool whole = kind == ENCODER || kind == ENCODER_RESTRICTED;
    const struct encoder_shape shape = {.n = n,
                                        .d_model = whole ? t->d : 2,
                                        .d_ff = whole ? 4 * t->d : 1,
                                        .heads = t->heads,
                                        .d_k = t->d / t->heads,
                                        .window = kind == RESTRICTED || kind == ENCODER_RESTRICTED ? t->window : 0};
    return measure_encoder(config, &shape, (int)t->repeats, !t->forward_only, cost);
}

/* Writes the table after every length: a run that is stopped leaves what it has measured. */
static int measure_all(struct table1 *t, const xf_config *config) {
    static const char *const names[LAYER_KINDS] = {"self-attention", "restricted",    "recurrent",
                                                   "convolutional",  "encoder layer", "encoder layer, restricted"};
    for (int64_t n = t->shortest; n <= t->longest && t->length_count < MAX_LENGTHS; n *= 2) {
        struct encoder_cost *costs = t->costs[t->length_count];
        for (int kind = 0; kind < LAYER_KINDS; ++kind) {
            struct encoder_cost *cost = &costs[kind];
            const int status = measure_one(t, config, (enum layer_kind)kind, n, cost);
            if (status >= 0) return status;
            printf("n %-6lld %-28s forward %10.3f ms", (long long)n, names[kind], 1e3 * cost->forward.median);
            if (!t->forward_only) printf("   with gradients %10.3f ms", 1e3 * cost->both.median);
            printf("\n");
            if (check_output() >= 0) return EXIT_FAILED;
        }
        t->lengths[t->length_count++] = n;
        if (!write_table1(t)) return EXIT_FAILED;
    }
    return -1;
}

static int check_values(struct table1 *t) {
    const char *wrong = NULL;
    if (t->d < 2 || t->d > 8192 || t->heads < 1 || t->d % t->heads != 0)
        wrong = "--d from 2 to 8192, a multiple of --heads";
    else if (t->window < 2 || t->kernel < 2 || t->kernel > 99)
        wrong = "--window from 2 and --kernel from 2 to 99";
    else if (t->shortest < LEAST_LENGTH || t->longest > MOST_LENGTH || t->shortest > t->longest)
        wrong = "8 <= --min-length <= --max-length <= 1048576";
    else if (t->repeats < 1 || t->repeats > MAX_REPEATS)
        wrong = "--repeats from 1 to 101";
    if (wrong != NULL) {
        complain("found d %lld, heads %lld, window %lld, kernel %lld, lengths %lld to %lld, repeats %lld; expected %s",
                 (long long)t->d, (long long)t->heads, (long long)t->window, (long long)t->kernel,
                 (long long)t->shortest, (long long)t->longest, (long long)t->repeats, wrong);
        return EXIT_USAGE;
    }
    return make_folder(t->folder) ? -1 : EXIT_FAILED;
}

static int run_table1(struct table1 *t, const struct command_line *line, xf_config *config) {
    xf_error err;
    /* One thread unless told otherwise: the recurrent and the convolutional layer have one. */
    if (xf_config_set_i64(config, "context.threads", 1, &err) != XF_OK) return fail(&err);
    int status = apply_settings(line, config);
    if (status < 0) status = check_values(t);
    if (status >= 0) return status;
    xf_context *context = open_context(config); /* for its name; each measurement has its own */
    if (context == NULL) return EXIT_FAILED;
    catch_signals(context);
    if (t->cpu_time) count_processor_time();
    t->device = xf_context_device(context);
    printf("%-12s %s\n", "device", t->device);
    status = measure_all(t, config);
    if (status < 0) {
        printf("%s/table1.md, table1.tsv and table1.svg are written\n", t->folder);
        status = EXIT_OK;
    }
    release_context();
    xf_context_free(context);
    return status;
}

int table1_command(int argc, char **argv) {
    static struct table1 t = {.folder = "table1",
                              .d = 512,
                              .heads = 8,
                              .window = 256,
                              .kernel = 3,
                              .shortest = 256,
                              .longest = 8192,
                              .repeats = 5};
    const struct flag flags[] = {
        {"out", FLAG_TEXT, &t.folder, NULL, "table1", "Folder for table1.md, table1.tsv and table1.svg."},
        {"d", FLAG_COUNT, &t.d, NULL, "512", "Width of all layers; d_k of the attention is d / heads."},
        {"heads", FLAG_COUNT, &t.heads, NULL, "8", "Heads of the attention."},
        {"window", FLAG_COUNT, &t.window, NULL, "256", "r of the restricted attention."},
        {"kernel", FLAG_COUNT, &t.kernel, NULL, "3", "k of the convolutional layer."},
        {"min-length", FLAG_COUNT, &t.shortest, NULL, "256", "The shortest sequence; each next is twice as long."},
        {"max-length", FLAG_COUNT, &t.longest, NULL, "8192", "The longest sequence."},
        {"repeats", FLAG_COUNT, &t.repeats, NULL, "5", "Measurements of each; the median is shown."},
        {"forward-only", FLAG_SWITCH, &t.forward_only, NULL, "",
         "Leaves out forward with gradients: a quarter of the time."},
        {"cpu-time", FLAG_SWITCH, &t.cpu_time, NULL, "",
         "Counts processor time of this process, not time on the wall: for one thread on a machine that is not quiet."},
    };
    struct command_line line = {
        .usage = "table1 [options]",
        .about =
            "Measures Table 1: the time of one layer by sequence length, for self-attention, restricted\n"
            "self-attention, a recurrent and a convolutional layer of the same width. A quarter of an hour.",
        .groups = "context.",
        .flags = flags,
        .flag_count = sizeof flags / sizeof flags[0]};
    xf_config *config = NULL;
    xf_error err;
    int status = read_command_line(&line, argc - 2, argv + 2);
    if (status >= 0) return status;
    if (xf_config_create(&config, &err) != XF_OK) return fail(&err);
    status = run_table1(&t, &line, config);
    xf_config_free(config);
    return status;
}
