/*
 * evaluate.c - `translate evaluate`: measures loss, perplexity, BLEU, chrF, and speed on a test set.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "commands.h"
#include "common.h"
#include "files.h"
#include "measure.h"
#include "options.h"

struct evaluation {
    const char *model, *test, *output, *bleu;
    int32_t tokenize; /* one of XF_BLEU_... */
    bool greedy;
};

static void print_bleu(const xf_bleu_score *bleu, double chrf, const struct translations *answers, double seconds) {
    printf("%-12s %.2f = %.1f/%.1f/%.1f/%.1f, brevity penalty %.3f, %lld words for %lld\n", "BLEU", bleu->score,
           bleu->precisions[0], bleu->precisions[1], bleu->precisions[2], bleu->precisions[3], bleu->brevity_penalty,
           (long long)bleu->hypothesis_length, (long long)bleu->reference_length);
    printf("%-12s %s\n", "", bleu->signature);
    print_bleu_hint(bleu);
    printf("%-12s %.2f\n", "chrF2", chrf);
    const double count = (double)answers->texts.count;
    printf("%-12s %.1f sentences/s, %.0f target tokens/s, %.1f s in total\n", "speed", count / seconds,
           (double)answers->tokens / seconds, seconds);
    if (answers->cut > 0)
        printf("%-12s %lld translations ended at the length limit\n", "cut off", (long long)answers->cut);
    if (answers->refused > 0)
        printf("%-12s %lld sources could not be translated\n", "refused", (long long)answers->refused);
}

/* Prints loss and perplexity. Pairs that are too long for the batcher are left out; a line reports how many. */
static xf_status print_loss(xf_decoder *decoder, xf_batcher *batcher, xf_error *err) {
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    xf_batcher_stats held = {.struct_size = sizeof held};
    xf_status status = xf_evaluate(decoder, batcher, NULL, &stats, err);
    if (status == XF_OK) status = xf_batcher_get_stats(batcher, &held, err);
    if (status != XF_OK) return status;
    printf("%-12s %.4f nats per target token; with label smoothing %.4f\n", "loss", stats.nll, stats.loss);
    printf("%-12s %.3f per target token, of %lld tokens in %lld pairs\n", "perplexity", stats.perplexity,
           (long long)stats.tgt_tokens, (long long)stats.sentences);
    if (held.too_long + held.empty > 0)
        printf("%-12s %lld pairs are not in the loss: longer than data.max_tokens, or empty\n", "",
               (long long)(held.too_long + held.empty));
    fflush(stdout);
    return XF_OK;
}

static int measure(const struct evaluation *evaluation, const xf_config *config, xf_decoder *decoder,
                   const xf_model *model, const xf_corpus *corpus) {
    struct sentences sources = {0}, references = {0};
    struct translations answers = {0};
    xf_bleu_score bleu;
    double chrf = 0;
    xf_error err;
    int status = EXIT_FAILED;
    xf_batcher *batcher = open_plain_batcher(corpus, xf_model_tokenizer(model), config);
    if (batcher != NULL) {
        sentences_of_corpus(&sources, corpus, SIDE_SOURCE, 0);
        sentences_of_corpus(&references, corpus, SIDE_TARGET, 0);
        xf_status result = print_loss(decoder, batcher, &err);
        const double began = now();
        if (result == XF_OK)
            result = measure_bleu(decoder, &sources, &references, evaluation->tokenize, &answers, &bleu, &chrf, &err);
        if (result == XF_OK)
            print_bleu(&bleu, chrf, &answers, now() - began);
        else
            fail(&err);
        status = result == XF_OK ? -1 : EXIT_FAILED;
    }
    if (status < 0 && evaluation->output != NULL) status = write_sentences(evaluation->output, &answers.texts);
    if (status < 0) status = answers.refused > 0 ? EXIT_FAILED : EXIT_OK;
    sentences_free(&sources);
    sentences_free(&references);
    sentences_free(&answers.texts);
    xf_batcher_free(batcher);
    return status;
}

static int evaluate(const struct evaluation *evaluation, const struct command_line *line, xf_config *config) {
    xf_error err;
    xf_corpus *corpus = NULL;
    xf_decoder *decoder = NULL;
    int status = EXIT_FAILED;
    xf_context *context = open_context(config);
    xf_model *model = context != NULL ? open_model(context, evaluation->model, config) : NULL;
    if (model != NULL && xf_corpus_open(context, evaluation->test, NULL, config, NULL, &corpus, &err) != XF_OK)
        fail(&err);
    if (corpus != NULL && !has_text(corpus)) {
        complain("--test %s is an encoded corpus, which has no text to translate", evaluation->test);
        xf_corpus_free(corpus);
        corpus = NULL;
    }
    if (corpus != NULL && xf_decoder_create(model, NULL, config, &decoder, &err) != XF_OK) fail(&err);
    if (decoder != NULL) {
        const char *beam = "?", *alpha = "?";
        xf_config_get(config, "decode.beam", &beam, NULL);
        printf("%-12s %s\n", "device", device_of(context));
        printf("%-12s %s, %lld parameters\n", "model", evaluation->model, (long long)parameter_count(model));
        print_corpus("test", corpus);
        if (xf_config_get(config, "decode.alpha", &alpha, NULL) == XF_OK)
            printf("%-12s beam %s, alpha %s\n", "decoding", beam, alpha);
        status = fit_max_tokens(line, config, xf_model_config(model));
        if (status < 0) status = measure(evaluation, config, decoder, model, corpus);
    }
    xf_decoder_free(decoder);
    xf_corpus_free(corpus);
    xf_model_free(model);
    xf_context_free(context);
    return status;
}

/* Checks before the evaluation that the output can be written and is not the test set or the model. */
static int check_output_file(const struct evaluation *evaluation) {
    const struct named_file output = {"--output", evaluation->output};
    const struct named_file read[] = {{"--test", evaluation->test}, {"--model", evaluation->model}};
    const int status = check_apart(&output, read, sizeof read / sizeof read[0]);
    return status < 0 ? check_writable(&output) : status;
}

int evaluate_command(int argc, char **argv) {
    struct evaluation evaluation = {.bleu = "13a"};
    const struct flag flags[] = {
        {"model", FLAG_TEXT, &evaluation.model, NULL, "en-de.xf",
         "The model, or a checkpoint. The default is the one beside the program, English to German."},
        {"test", FLAG_TEXT, &evaluation.test, NULL, "FILE.tsv",
         "Test pairs: source TAB reference, one pair per line. Required."},
        {"output", FLAG_TEXT, &evaluation.output, NULL, "FILE", "Writes the translations to this file, one per line."},
        {"bleu", FLAG_TEXT, &evaluation.bleu, NULL, "13a", BLEU_FLAG_HELP},
        {"beam", FLAG_OPTION, NULL, "decode.beam", "4", "The same as --decode.beam."},
        {"alpha", FLAG_OPTION, NULL, "decode.alpha", "0.6", "The same as --decode.alpha."},
        {"greedy", FLAG_SWITCH, &evaluation.greedy, NULL, "", "The same as --decode.beam 1."},
        {"threads", FLAG_OPTION, NULL, "context.threads", "N", "The same as --context.threads."},
        {"device", FLAG_OPTION, NULL, "context.device", "NAME", "The same as --context.device."},
    };
    struct command_line line = {.usage = "evaluate [--model M.xf] --test FILE.tsv [options]",
                                .about = "Translates a test set and compares the translations with its references.",
                                .groups = "context. decode. data. text. model.weights train.label_smoothing",
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0]};
    int status = read_command_line(&line, argc - 2, argv + 2);
    if (status >= 0) return status;
    if (!read_bleu(evaluation.bleu, &evaluation.tokenize)) return EXIT_USAGE;
    if (evaluation.test == NULL) {
        complain("--test FILE.tsv is missing; see translate evaluate --help");
        return EXIT_USAGE;
    }
    if (evaluation.model == NULL && (evaluation.model = model_beside()) == NULL) return EXIT_USAGE;
    xf_config *config = NULL;
    xf_error err;
    if (xf_config_create(&config, &err) != XF_OK) return fail(&err);
    status = apply_decoding(&line, config, evaluation.greedy);
    if (status < 0) status = check_output_file(&evaluation);
    if (status < 0) status = evaluate(&evaluation, &line, config);
    xf_config_free(config);
    return status;
}
