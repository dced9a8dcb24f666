/*
 * The same bits with every instruction set: hashes of translations and of training, compared with bits.txt.
 *
 *     bits MODEL CORPUS EXPECTED [ISA [few]]    all instruction sets that this CPU has, or only one
 *     bits MODEL CORPUS --print ISA             prints the content of EXPECTED
 *
 * MODEL is examples/translate/en-de.xf; CORPUS has lines that begin with a source sentence and a tab. The first
 * 200 sources of at most 80 bytes are translated, and the texts, tokens, and scores are hashed; with "few", for
 * emulators, only the first 4. Training hashes the loss and gradient norm of each of 50 steps and the final parameters.
 * EXPECTED has two hashes for each test, of all and of few.
 *
 * The instruction set "base" has no fused multiply-add and therefore gives other bits. It is tested only by name, with
 * bits_base.txt, and without OpenBLAS: these are also the bits of WebAssembly. Exit status: 0 success, 1 failure, 77
 * the CPU lacks the instruction set, or has only base.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xformer/xformer.h"

enum { SENTENCES = 200, FEW = 4, LONGEST_TEXT = 80, STEPS = 50, PAIRS = 8, LONGEST = 12, VOCABULARY = 101 };
enum { TESTS = 5, ALL = 31, TRANSLATIONS = 7 }; /* bits of names */

static const char *const names[TESTS] = {"translate-fp32", "translate-bf16", "translate-int8", "train-fp32",
                                         "train-bf16"};
/* Each instruction set, with the tests that use code of its own: bit i is names[i]. */
static const struct {
    const char *name;
    unsigned tests;
} instruction_sets[] = {{"base", ALL}, {"avx2", ALL},   {"avx512", ALL},  {"avx512vnni", 4},
                        {"neon", ALL}, {"neon-dot", 4}, {"neon-i8mm", 4}, {"auto", 20}};

static size_t sentences = SENTENCES;
static xf_error err;

static void check(xf_status status, const char *what) {
    if (status == XF_OK) return;
    fprintf(stderr, "bits: %s failed: %s: %s\n", what, xf_status_name(status), err.message);
    exit(1);
}

/* FNV-1a, 64 bits. */
static void add(uint64_t *hash, const void *bytes, size_t count) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < count; ++i) *hash = (*hash ^ p[i]) * UINT64_C(0x100000001B3);
}

static xf_config *config_of(const char *const *settings) {
    xf_config *config = NULL;
    check(xf_config_create(&config, &err), "xf_config_create");
    for (; *settings; settings += 2) check(xf_config_set(config, settings[0], settings[1], &err), settings[0]);
    return config;
}

/* NULL if this CPU lacks the instruction set. */
static xf_context *open_context(const char *isa, const char *precision) {
    xf_config *config = config_of((const char *const[]){"context.device", "cpu:openblas", "context.isa", isa,
                                                        "context.precision", precision, "context.threads", "2", NULL});
    xf_context *context = NULL;
    const xf_status status = xf_context_create(config, NULL, &context, &err);
    if (status != XF_ERROR_UNSUPPORTED) check(status, "xf_context_create");
    xf_config_free(config);
    return context;
}

static uint64_t translate(xf_context *context, const char *weights, const char *path, const char *const *texts) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    xf_config *config = config_of((const char *const[]){"model.weights", weights, NULL});
    const xf_source source = XF_SOURCE_PATH(path);
    xf_model *model = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *found = NULL;
    check(xf_model_load(context, &source, config, NULL, &model, &err), path);
    check(xf_decoder_create(model, NULL, NULL, &decoder, &err), "xf_decoder_create");
    check(xf_translate(decoder, texts, NULL, sentences, NULL, NULL, &found, &err), "xf_translate");
    for (size_t i = 0; i < sentences; ++i) {
        xf_hypothesis best = XF_HYPOTHESIS_INIT;
        check(xf_hypotheses_get(found, i, 0, &best, &err), "xf_hypotheses_get");
        add(&hash, best.text, best.text_length);
        add(&hash, best.ids, best.id_count * sizeof *best.ids);
        add(&hash, best.token_log_probabilities, (best.id_count + (size_t)best.finished) * sizeof(float));
        add(&hash, &best.log_probability, sizeof best.log_probability);
        add(&hash, &best.score, sizeof best.score);
    }
    xf_hypotheses_free(found);
    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_config_free(config);
    return hash;
}

/* Appends a sentence of random ids and the end symbol. Returns its end. */
static int64_t add_sentence(uint32_t *random, int32_t *ids, int64_t at) {
    *random = *random * 1664525u + 1013904223u;
    for (uint32_t length = (*random >> 16) % LONGEST; length > 0; --length) {
        *random = *random * 1664525u + 1013904223u;
        ids[at++] = 2 + (int32_t)((*random >> 16) % (VOCABULARY - 2));
    }
    ids[at++] = 1; /* the end symbol */
    return at;
}

static uint64_t train(xf_context *context) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    /* Sizes that are not multiples of vectors or tiles. */
    xf_config *config = config_of((const char *const[]){"model.encoder_layers",
                                                        "2",
                                                        "model.decoder_layers",
                                                        "2",
                                                        "model.d_model",
                                                        "42",
                                                        "model.d_ff",
                                                        "100",
                                                        "model.heads",
                                                        "3",
                                                        "model.d_k",
                                                        "14",
                                                        "model.d_v",
                                                        "14",
                                                        "model.vocab_size",
                                                        "101",
                                                        "model.max_length",
                                                        "64",
                                                        "train.warmup_steps",
                                                        "20",
                                                        NULL});
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    check(xf_model_create(context, NULL, config, &model, &err), "xf_model_create");
    check(xf_trainer_create(model, config, &trainer, &err), "xf_trainer_create");
    uint32_t random = 1;
    for (int step = 0; step < STEPS; ++step) {
        int32_t src[PAIRS * LONGEST], tgt[PAIRS * LONGEST];
        int64_t src_offsets[PAIRS + 1] = {0}, tgt_offsets[PAIRS + 1] = {0};
        for (int i = 0; i < PAIRS; ++i) {
            src_offsets[i + 1] = add_sentence(&random, src, src_offsets[i]);
            tgt_offsets[i + 1] = add_sentence(&random, tgt, tgt_offsets[i]);
        }
        const xf_batch batch = {.struct_size = sizeof batch,
                                .sentences = PAIRS,
                                .src_ids = src,
                                .src_offsets = src_offsets,
                                .tgt_ids = tgt,
                                .tgt_offsets = tgt_offsets};
        xf_step_stats stats = XF_STEP_STATS_INIT;
        check(xf_train_step(trainer, &batch, 1, NULL, &stats, &err), "xf_train_step");
        add(&hash, &stats.loss, sizeof stats.loss);
        add(&hash, &stats.gradient_norm, sizeof stats.gradient_norm);
    }
    for (size_t i = 0; i < xf_model_tensor_count(model); ++i) {
        xf_tensor_info info = XF_TENSOR_INFO_INIT;
        check(xf_model_get_tensor(model, i, &info, &err), "xf_model_get_tensor");
        size_t count = 1;
        for (int d = 0; d < info.dims; ++d) count *= (size_t)info.shape[d];
        float *values = malloc(count * sizeof *values);
        if (!values) exit(1);
        check(xf_model_read_tensor(model, i, values, count, &err), "xf_model_read_tensor");
        add(&hash, values, count * sizeof *values);
        free(values);
    }
    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_config_free(config);
    return hash;
}

/* Computes the hashes of these tests. Returns 0 if this CPU lacks the instruction set. */
static int compute(const char *isa, unsigned tests, const char *path, const char *const *texts, uint64_t *hashes) {
    for (int i = 0; i < TESTS; ++i) {
        if (!(tests >> i & 1u)) continue;
        const char *type = strchr(names[i], '-') + 1;
        xf_context *context = open_context(isa, i == 4 ? "bf16" : "fp32");
        if (!context) return 0;
        hashes[i] = i < 3 ? translate(context, type, path, texts) : train(context);
        xf_context_free(context);
    }
    return 1;
}

static int compare(const char *isa, unsigned tests, const uint64_t *hashes, const uint64_t *expected) {
    int wrong = 0;
    for (int i = 0; i < TESTS; ++i) {
        if (!(tests >> i & 1u)) continue;
        const int same = hashes[i] == expected[i];
        printf("%-10s %-14s %016" PRIx64, isa, names[i], hashes[i]);
        if (same)
            puts("");
        else
            printf(" differs, expected %016" PRIx64 "\n", expected[i]);
        wrong += !same;
    }
    fflush(stdout);
    return wrong;
}

/* The short sources of the corpus. Exits if there are too few. */
static void read_texts(const char *path, const char **texts) {
    static char lines[SENTENCES][4096];
    FILE *file = fopen(path, "r");
    for (int i = 0; i < SENTENCES;) {
        if (!file || !fgets(lines[i], sizeof lines[i], file)) {
            fprintf(stderr, "bits: %s has %d sources of at most %d bytes, expected %d\n", path, i, LONGEST_TEXT,
                    SENTENCES);
            exit(1);
        }
        const size_t length = strcspn(lines[i], "\t\n");
        lines[i][length] = 0;
        texts[i] = lines[i];
        i += length <= LONGEST_TEXT;
    }
    fclose(file);
}

static void read_expected(const char *path, uint64_t *expected) {
    FILE *file = fopen(path, "r");
    for (int i = 0; i < TESTS; ++i) {
        char name[32];
        uint64_t all, few;
        if (!file || fscanf(file, "%31s %" SCNx64 "%" SCNx64, name, &all, &few) != 3 || strcmp(name, names[i]) != 0) {
            fprintf(stderr, "bits: %s has no hashes of %s, expected one line for each test; see --print\n", path,
                    names[i]);
            exit(1);
        }
        expected[i] = sentences == FEW ? few : all;
    }
    fclose(file);
}

int main(int argc, char **argv) {
    static const char *texts[SENTENCES];
    uint64_t expected[TESTS], hashes[TESTS];
    int tested = 0, wrong = 0;
    if (argc < 4 || (strcmp(argv[3], "--print") == 0 && argc != 5) || (argc > 5 && strcmp(argv[5], "few") != 0)) {
        fprintf(stderr, "usage: bits MODEL CORPUS EXPECTED [ISA [few]] | bits MODEL CORPUS --print ISA\n");
        return 2;
    }
    read_texts(argv[2], texts);
    if (strcmp(argv[3], "--print") == 0) {
        if (!compute(argv[4], ALL, argv[1], texts, hashes)) check(XF_ERROR_UNSUPPORTED, "bits");
        sentences = FEW;
        memcpy(expected, hashes, sizeof hashes);
        compute(argv[4], TRANSLATIONS, argv[1], texts, expected);
        for (int i = 0; i < TESTS; ++i) printf("%s %016" PRIx64 " %016" PRIx64 "\n", names[i], hashes[i], expected[i]);
        return 0;
    }
    if (argc > 5) sentences = FEW;
    read_expected(argv[3], expected);
    for (size_t i = 0; i < sizeof instruction_sets / sizeof *instruction_sets; ++i) {
        const char *isa = instruction_sets[i].name;
        const unsigned tests = instruction_sets[i].tests;
        /* Without a name, and with none of the others, auto is base. */
        const int unwanted = strcmp(isa, "base") == 0 || (tested == 0 && strcmp(isa, "auto") == 0);
        if (argc > 4 ? strcmp(isa, argv[4]) != 0 : unwanted) continue;
        if (!compute(isa, tests, argv[1], texts, hashes)) continue;
        wrong += compare(isa, tests, hashes, expected);
        ++tested;
    }
    printf("%d instruction sets, %d hashes differ\n", tested, wrong);
    return wrong > 0 ? 1 : tested > 0 ? 0 : 77;
}
