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

/* Prints a time in milliseconds, or why there is none. */
static void print_time(const char *name, const struct timing *timing) {
    if (isfinite(timing->median))
        printf("%s %10.3f ms", name, 1e3 * timing->median);
    else
        printf("%s not measurable", name);
}

/* Writes the table after each length, so that an interrupted run leaves the results so far. */
static int measure_all(struct table1 *t, const xf_config *config) {
    static const char *const names[LAYER_KINDS] = {"self-attention", "restricted",    "recurrent",
                                                   "convolutional",  "encoder layer", "encoder layer, restricted"};
    bool hidden = false;
    for (int64_t n = t->shortest; n <= t->longest && t->length_count < MAX_LENGTHS; n *= 2) {
        struct encoder_cost *costs = t->costs[t->length_count];
        for (int kind = 0; kind < LAYER_KINDS; ++kind) {
            struct encoder_cost *cost = &costs[kind];
            const int status = measure_one(t, config, (enum layer_kind)kind, n, cost);
            if (status >= 0) return status;
            printf("n %-6lld %-28s ", (long long)n, names[kind]);
            print_time("forward", &cost->forward);
            if (!t->forward_only) print_time("   with gradients", &cost->both);
            printf("\n");
            hidden |= isnan(cost->forward.median) || (!t->forward_only && isnan(cost->both.median));
            if (check_output() >= 0) return EXIT_FAILED;
        }
        t->lengths[t->length_count++] = n;
        if (!write_table1(t)) return EXIT_FAILED;
    }
    if (hidden)
        printf(
            "not measurable: the difference between two models is not larger than its noise; use larger --d,\n"
            "--min-length, or --repeats\n");
    return -1;
}

static int check_values(struct table1 *t) {
    const char *wrong = NULL;
    if (t->d < 2 || t->d > 8192 || t->heads < 1 || t->d % t->heads != 0)
        wrong = "--d from 2 to 8192 that is a multiple of --heads";
    else if (t->window < 2 || t->kernel < 2 || t->kernel > 99)
        wrong = "--window of at least 2 and --kernel from 2 to 99";
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
    /* The default is one thread, because the recurrent and the convolutional layer use one. */
    if (xf_config_set_number(config, "context.threads", 1, &err) != XF_OK) return fail(&err);
    int status = apply_settings(line, config);
    if (status < 0) status = check_values(t);
    if (status >= 0) return status;
    xf_context *context = open_context(config); /* only for the device name; each measurement creates its own */
    if (context == NULL) return EXIT_FAILED;
    catch_signals();
    if (t->cpu_time) count_processor_time();
    t->device = device_of(context);
    printf("%-12s %s\n", "device", t->device);
    status = measure_all(t, config);
    if (status < 0) {
        printf("wrote %s/table1.md, table1.tsv, and table1.svg\n", t->folder);
        status = EXIT_OK;
    }
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
        {"out", FLAG_TEXT, &t.folder, NULL, "table1", "Folder for table1.md, table1.tsv, and table1.svg."},
        {"d", FLAG_COUNT, &t.d, NULL, "512", "Width of all layers; attention has d_k = d / heads."},
        {"heads", FLAG_COUNT, &t.heads, NULL, "8", "Number of attention heads."},
        {"window", FLAG_COUNT, &t.window, NULL, "256", "Window r of restricted attention."},
        {"kernel", FLAG_COUNT, &t.kernel, NULL, "3", "Kernel width k of the convolutional layer."},
        {"min-length", FLAG_COUNT, &t.shortest, NULL, "256", "Shortest sequence; each further one is twice as long."},
        {"max-length", FLAG_COUNT, &t.longest, NULL, "8192", "Longest sequence."},
        {"repeats", FLAG_COUNT, &t.repeats, NULL, "5", "Measurements of each time; the table shows the median."},
        {"forward-only", FLAG_SWITCH, &t.forward_only, NULL, "",
         "Measures only the forward pass, which takes a quarter of the time."},
        {"cpu-time", FLAG_SWITCH, &t.cpu_time, NULL, "",
         "Measures processor time instead of wall-clock time. Use it with one thread on a busy machine."},
    };
    struct command_line line = {
        .usage = "table1 [options]",
        .about =
            "Measures Table 1: the time of one layer by sequence length, for self-attention, restricted "
            "self-attention, a recurrent layer, and a convolutional layer of the same width. Takes about 15 minutes.",
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
