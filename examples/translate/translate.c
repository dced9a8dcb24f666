/*
 * translate.c - `translate translate`: translates the lines of standard input to standard output, in order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "commands.h"
#include "common.h"
#include "files.h"
#include "line_checks.h"
#include "lines.h"
#include "options.h"
#include "system.h"

struct session {
    const char *model, *banned;
    const char *output, *pairs; /* of --output and --pairs, or NULL */
    bool resume;
    struct more_models more;
    int64_t batch_lines;
    bool greedy, scores, prefixes;
    struct attention attention;

    const xf_model *translator;
    const xf_config *config; /* of the decoder */
    xf_decoder *decoder;
    struct sentences lines, beginnings; /* of the current batch: sources and prefixes */
    bool numbered;                      /* several hypotheses per line: each is printed with the number of its line */
    bool interactive;
    bool multilingual;  /* the model needs text.target_language */
    bool warned;        /* of a line with several sentences */
    int64_t first_line; /* number of the first line of the current batch, from 1 */
    int64_t lines_read;
    int64_t refused; /* lines that could not be translated */
    int broken;      /* -1, or the exit status after drawing failed */
};

/* Prints a text as one line and one column: line ends and tabs become spaces. */
static void print_text(const char *text, size_t length) {
    for (size_t i = 0; i < length; ++i) {
        const char c = text[i];
        putchar(c == '\n' || c == '\r' || c == '\t' ? ' ' : c);
    }
}

/* Prints the links of --decode.alignment as a column in the format of Pharaoh: source token, hyphen, target token. */
static void print_links(const xf_hypothesis *answer) {
    const char *separator = "\t";
    for (size_t i = 0; i < answer->id_count; ++i) {
        if (answer->alignment[i] < 0) continue;
        printf("%s%d-%zu", separator, (int)answer->alignment[i], i);
        separator = " ";
    }
}

/*
 * Prints a pair for training: a source and its translation, in the order of --pairs. A line that could not be
 * translated has an empty translation, so that training skips it.
 */
static void print_pair(const struct session *session, size_t index, const xf_hypothesis *answer) {
    const char *columns[] = {session->lines.texts[index], answer != NULL ? answer->text : ""};
    const size_t lengths[] = {session->lines.lengths[index], answer != NULL ? answer->text_length : 0};
    const int first = strcmp(session->pairs, "back") == 0 ? 1 : 0;
    print_text(columns[first], lengths[first]);
    putchar('\t');
    print_text(columns[1 - first], lengths[1 - first]);
    putchar('\n');
}

static void print_answer(const struct session *session, long long number, const xf_hypothesis *answer) {
    if (session->numbered) printf("%lld\t", number);
    if (session->scores) printf("%.4f\t", answer->score);
    print_text(answer->text, answer->text_length);
    if (answer->alignment != NULL) print_links(answer);
    putchar('\n');
}

static void print_answers(void *user, size_t index, const xf_hypotheses *found, const xf_error *err) {
    struct session *session = user;
    const long long number = (long long)session->first_line + (long long)index;
    if (found == NULL) {
        complain("line %lld: %s", number, err->message);
        session->refused++;
        if (session->pairs != NULL)
            print_pair(session, index, NULL);
        else if (!session->numbered)
            putchar('\n');
        return;
    }
    xf_sentence_info sentence = XF_SENTENCE_INFO_INIT;
    xf_hypotheses_get_sentence(found, index, &sentence, NULL);
    const size_t answers = session->numbered ? sentence.hypothesis_count : 1;
    for (size_t rank = 0; rank < answers; ++rank) {
        xf_hypothesis answer = {.struct_size = sizeof answer};
        if (xf_hypotheses_get(found, index, rank, &answer, NULL) != XF_OK) continue;
        if (session->pairs != NULL)
            print_pair(session, index, &answer);
        else
            print_answer(session, number, &answer);
        if (rank == 0 && session->broken < 0)
            session->broken =
                attention_add(&session->attention, session->decoder, session->translator, session->config,
                              session->lines.texts[index], session->lines.lengths[index], &answer, number);
    }
}

/* Adds an empty line to the batch in place of one that cannot be translated. */
static void add_refused(struct session *session) {
    session->refused++;
    sentences_add(&session->lines, "", 0);
    sentences_add(&session->beginnings, "", 0);
}

/* Adds a line to the batch. With --prefixes, a prefix of its translation follows a tab. */
static void add_line(struct session *session, const char *text, size_t length) {
    const char *tab = session->prefixes && length > 0 ? memchr(text, '\t', length) : NULL, *tag = NULL;
    const size_t size = tab != NULL ? (size_t)(tab - text) : length, tag_size = language_tag(text, size, &tag);
    if (session->multilingual && tag_size > 0) {
        complain(
            "line %lld begins with the language tag >>%.*s<<; remove it, and select the language with "
            "--text.target_language %.*s",
            (long long)session->lines_read, (int)tag_size, tag, (int)tag_size, tag);
        add_refused(session);
        return;
    }
    size_t sentences = 0;
    if (!session->warned) xf_split_sentences(text, size, NULL, 0, NULL, 0, &sentences, NULL); /* counts them */
    if (sentences > 1) {
        complain(
            "warning: line %lld seems to contain several sentences; a model that was trained on single sentences "
            "may translate only one. Put each sentence on a separate line. This warning is printed once",
            (long long)session->lines_read);
        session->warned = true;
    }
    sentences_add(&session->lines, text, size);
    sentences_add(&session->beginnings, tab != NULL ? tab + 1 : "", tab != NULL ? length - size - 1 : 0);
}

/* Reads the next batch: waits for the first line, then adds the lines that have already arrived. */
static enum line_status read_batch(struct session *session, struct line_reader *reader) {
    const char *text = NULL;
    size_t length = 0;
    session->first_line = session->lines_read + 1;
    const size_t most = session->interactive ? 1 : (size_t)session->batch_lines;
    enum line_status status = LINE_OK;
    while (session->lines.count < most) {
        status = next_line(reader, session->lines.count == 0, &text, &length);
        if (status != LINE_OK && status != LINE_TOO_LONG) break;
        session->lines_read++;
        if (status == LINE_TOO_LONG) {
            complain("line %lld: longer than %d bytes", (long long)session->lines_read, (int)LONGEST_LINE);
            add_refused(session);
        } else {
            add_line(session, text, length);
        }
    }
    return status;
}

/* Returns whether standard input reads this regular file. On Windows, where st_ino is 0, this is not detected. */
static bool is_input(const struct stat *output) {
    struct stat input;
    return fstat(STDIN_FILENO, &input) == 0 && output->st_ino != 0 && output->st_ino == input.st_ino &&
           output->st_dev == input.st_dev && S_ISREG(input.st_mode);
}

/* Cuts off an incomplete last line, and stores the number of the others in *lines. On failure, sets errno. */
static bool keep_lines(int file, int64_t *lines) {
    char buffer[1 << 16];
    int64_t size = 0, whole = 0;
    ssize_t count;
    while ((count = read(file, buffer, sizeof buffer)) > 0) {
        for (ssize_t i = 0; i < count; ++i) {
            if (buffer[i] != '\n') continue;
            ++*lines;
            whole = size + i + 1;
        }
        size += count;
    }
    return count == 0 && ftruncate(file, whole) == 0 && lseek(file, whole, SEEK_SET) == whole;
}

/* Directs standard output to an opened file. Returns NULL, or the reason for a failure. */
static const char *use_output(const struct session *session, int file, int64_t *done) {
    struct stat status;
    if (fstat(file, &status) != 0) return strerror(errno);
    const bool regular = S_ISREG(status.st_mode);
    if (is_input(&status)) return "it is the file that standard input reads";
    if (session->resume && !regular) return "--continue requires a regular file";
    if (session->resume && !keep_lines(file, done)) return strerror(errno);
    if (!session->resume && regular && ftruncate(file, 0) != 0) return strerror(errno);
    return dup2(file, STDOUT_FILENO) >= 0 ? NULL : strerror(errno);
}

/*
 * Directs standard output to --output, and stores in *done the number of lines that the file keeps for --continue.
 * Returns -1, or EXIT_FAILED after a message.
 */
static int open_output(const struct session *session, int64_t *done) {
    *done = 0;
    if (session->output == NULL) return -1;
    const int file = open(session->output, (session->resume ? O_RDWR : O_WRONLY) | O_CREAT | O_CLOEXEC, 0666);
    const char *why = file >= 0 ? use_output(session, file, done) : strerror(errno);
    if (why != NULL) complain("can't write %s: %s", session->output, why);
    if (file >= 0 && file != STDOUT_FILENO) close(file);
    return why == NULL ? -1 : EXIT_FAILED;
}

/* Skips lines of standard input. Returns -1, or the exit status after a message. */
static int skip_lines(struct session *session, struct line_reader *reader, int64_t count) {
    const char *text = NULL;
    size_t length = 0;
    while (session->lines_read < count) {
        const enum line_status status = next_line(reader, true, &text, &length);
        if (status == LINE_FAILED)
            complain("reading standard input failed: %s", strerror(reader->error));
        else if (status == LINE_END)
            complain("%s has %lld lines, and standard input only %lld", session->output, (long long)count,
                     (long long)session->lines_read);
        if (status == LINE_FAILED || status == LINE_END) return EXIT_FAILED;
        session->lines_read++;
    }
    if (count > 0) complain("continuing after line %lld", (long long)count);
    return -1;
}

static int translate_lines(struct session *session) {
    struct line_reader reader = {.fd = STDIN_FILENO};
    int64_t done = 0;
    struct sentences *lines = &session->lines, *beginnings = &session->beginnings;
    enum line_status status = LINE_OK;
    int result = open_output(session, &done);
    if (result < 0) result = skip_lines(session, &reader, done);
    while (result < 0 && status != LINE_END) {
        if (session->interactive) {
            fputs("> ", stderr);
            fflush(stderr);
        }
        status = read_batch(session, &reader);
        xf_error err;
        xf_decode_params params = XF_DECODE_PARAMS_INIT;
        params.prefixes = session->prefixes ? (const char *const *)beginnings->texts : NULL;
        params.prefix_lengths = session->prefixes ? beginnings->lengths : NULL;
        if (translate_each(session->decoder, lines, &params, print_answers, session, &err) != XF_OK)
            result = fail(&err);
        if (result < 0) result = session->broken;
        if (result < 0) result = check_output();
        if (result < 0) result = attention_write(&session->attention, session->translator, session->model);
        if (result < 0 && status == LINE_FAILED) {
            complain("reading standard input failed: %s", strerror(reader.error));
            result = EXIT_FAILED;
        }
        sentences_clear(lines);
        sentences_clear(beginnings);
    }
    if (session->interactive && result < 0) fputc('\n', stderr);
    sentences_free(lines);
    sentences_free(beginnings);
    close_lines(&reader);
    if (result >= 0) return result;
    if (session->attention.path != NULL && session->attention.sentences == 0) {
        complain("%s is not written, because it would show no sentence", session->attention.path);
        return EXIT_FAILED;
    }
    return session->refused > 0 ? EXIT_FAILED : EXIT_OK;
}

/* Sets decode.banned_phrases to the lines of a file. Returns -1, or the exit status after a message. */
static int read_banned(const char *path, xf_config *config) {
    struct line_reader reader;
    struct text phrases = {0};
    const char *line = NULL;
    size_t length = 0;
    if (!open_lines(&reader, path)) return EXIT_FAILED;
    enum line_status status;
    while ((status = next_line(&reader, true, &line, &length)) == LINE_OK) {
        text_add(&phrases, line, length);
        text_add(&phrases, "\n", 1);
    }
    if (status == LINE_FAILED) complain("reading %s failed: %s", path, strerror(reader.error));
    if (status == LINE_TOO_LONG) complain("%s has a line longer than %d bytes", path, (int)LONGEST_LINE);
    close_lines(&reader);
    text_add(&phrases, "", 1);
    xf_error err;
    const xf_status set = xf_config_set(config, "decode.banned_phrases", phrases.bytes, &err);
    text_free(&phrases);
    if (status != LINE_END) return EXIT_FAILED;
    return set == XF_OK ? -1 : fail(&err);
}

static int translate(struct session *session, const xf_config *config) {
    xf_error err;
    int64_t answers = 1;
    if (get_integer(config, "decode.n_best", &answers, &err) != XF_OK) return fail(&err);
    session->numbered = answers > 1;
    xf_context *context = open_context(config);
    xf_model *model = context != NULL ? open_model(context, session->model, config) : NULL;
    xf_decoder *decoder = NULL;
    int status = EXIT_FAILED;
    if (model != NULL) decoder = open_decoder(context, model, &session->more, config);
    const char *language = "none";
    if (model != NULL) xf_config_get(xf_model_config(model), "model.target_language", &language, NULL);
    session->multilingual = strcmp(language, "none") != 0;
    if (decoder != NULL) {
        session->interactive = isatty(STDIN_FILENO) == 1;
        if (session->interactive)
            fprintf(stderr, "%s on %s. Enter one sentence per line; Ctrl-D ends.\n", session->model,
                    device_of(context));
        session->translator = model;
        session->config = config;
        session->decoder = decoder;
        status = translate_lines(session);
    }
    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_context_free(context);
    return status;
}

int translate_command(int argc, char **argv) {
    struct session session = {.batch_lines = 256, .attention.limit = 8, .broken = -1};
    const struct flag flags[] = {
        {"model", FLAG_TEXT, &session.model, NULL, "en-de.xf",
         "The model, or a checkpoint. The default is the one beside the program, English to German."},
        {"ensemble", FLAG_LIST, &session.more.ensemble, NULL, "M2.xf",
         "Another model with the same tokenizer. The probabilities of all models are combined. Up to 7 times."},
        {"draft", FLAG_TEXT, &session.more.draft, NULL, "SMALL.xf",
         "A smaller model with the same tokenizer, which may speed up greedy search. Does not change translations."},
        {"beam", FLAG_OPTION, NULL, "decode.beam", "4", "The same as --decode.beam."},
        {"alpha", FLAG_OPTION, NULL, "decode.alpha", "0.6", "The same as --decode.alpha."},
        {"greedy", FLAG_SWITCH, &session.greedy, NULL, "", "The same as --decode.beam 1."},
        {"n-best", FLAG_OPTION, NULL, "decode.n_best", "1",
         "The same as --decode.n_best. With more than 1, each translation is printed as: line number, TAB, "
         "translation."},
        {"prefixes", FLAG_SWITCH, &session.prefixes, NULL, "",
         "A line may have a second column, after a TAB: the beginning of its translation, from which the search "
         "continues."},
        {"ban", FLAG_TEXT, &session.banned, NULL, "FILE", "A file with the lines of --decode.banned_phrases."},
        {"scores", FLAG_SWITCH, &session.scores, NULL, "", "Prints the score and a TAB before each translation."},
        {"output", FLAG_TEXT, &session.output, NULL, "FILE",
         "Writes to this file, not to standard output. Without --continue, replaces an existing file."},
        {"continue", FLAG_SWITCH, &session.resume, NULL, "",
         "With --output and the same input as before: continues after the lines that the file already contains."},
        {"pairs", FLAG_TEXT, &session.pairs, NULL, "forward|back",
         "Prints pairs for training: source TAB translation (forward), or translation TAB source (back), for a model "
         "of the opposite direction. The translation of a line that is refused is empty; training skips such pairs."},
        {"attention", FLAG_TEXT, &session.attention.path, NULL, "OUT.html",
         "Also writes a page that shows the attention weights of the best translations. It needs no network."},
        {"attention-lines", FLAG_COUNT, &session.attention.limit, NULL, "8",
         "Maximum number of sentences in the page."},
        {"batch-lines", FLAG_COUNT, &session.batch_lines, NULL, "256",
         "Maximum number of lines per batch. A batch contains only lines that have arrived; it never waits for more."},
        {"threads", FLAG_OPTION, NULL, "context.threads", "N", "The same as --context.threads."},
        {"device", FLAG_OPTION, NULL, "context.device", "NAME", "The same as --context.device."},
    };
    struct command_line line = {.usage = "translate [--model M.xf] [options] < source > translation",
                                .about = "Translates standard input, one sentence per line.",
                                .groups = "context. decode. text. model.weights",
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0]};
    int status = read_command_line(&line, argc - 2, argv + 2);
    if (status >= 0) return status;
    if (session.batch_lines == 0 || session.attention.limit == 0) {
        complain("--%s is 0, expected 1 or more", session.batch_lines == 0 ? "batch-lines" : "attention-lines");
        return EXIT_USAGE;
    }
    if (session.model == NULL && (session.model = model_beside()) == NULL) return EXIT_USAGE;
    const struct flag_list *ensemble = &session.more.ensemble;
    const bool numbered = is_given(&line, "decode.n_best"), plain = !numbered && !session.scores;
    if (session.pairs != NULL && strcmp(session.pairs, "forward") != 0 && strcmp(session.pairs, "back") != 0) {
        complain("--pairs is '%.64s', expected forward or back", session.pairs);
        return EXIT_USAGE;
    }
    if (session.resume && session.output == NULL) {
        complain("--continue requires --output");
        return EXIT_USAGE;
    }
    if ((session.pairs != NULL && !plain) || (session.resume && numbered)) {
        complain("%s cannot be combined with %s", session.pairs != NULL ? "--pairs" : "--continue",
                 numbered ? "--n-best" : "--scores");
        return EXIT_USAGE;
    }
    const struct named_file page = {"--attention", session.attention.path}, output = {"--output", session.output};
    struct named_file read[MAX_LIST + 3] = {
        {"--model", session.model}, {"--draft", session.more.draft}, {"--ban", session.banned}};
    for (size_t i = 0; i < ensemble->count; ++i) read[i + 3] = (struct named_file){"--ensemble", ensemble->texts[i]};
    if (page.path != NULL && output.path != NULL && strcmp(page.path, output.path) == 0) {
        complain("--output and --attention have the same file %s", page.path);
        return EXIT_USAGE;
    }
    status = check_apart(&page, read, ensemble->count + 3);
    if (status < 0) status = check_apart(&output, read, ensemble->count + 3);
    if (status < 0) status = check_apart(&output, &page, 1);
    if (status < 0) status = check_writable(&page);
    if (status >= 0) return status;
    xf_config *config = NULL;
    xf_error err;
    if (xf_config_create(&config, &err) != XF_OK) return fail(&err);
    status = apply_decoding(&line, config, session.greedy);
    if (status < 0) status = check_draft(&session.more, config);
    if (status < 0 && session.banned != NULL) status = read_banned(session.banned, config);
    if (status < 0) status = translate(&session, config);
    xf_config_free(config);
    text_free(&session.attention.json);
    return status;
}
