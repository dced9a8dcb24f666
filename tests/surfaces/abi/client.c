/*
 * A program that creates, uses, and frees each object and passes each struct with the size in its headers. C89.
 *
 *     client FILE_PREFIX        writes FILE_PREFIX.json, .xf, .ckpt
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xformer/experimental.h"
#include "xformer/xformer.h"

enum { PAIRS = 8 };
static const char *const sources[PAIRS] = {
    "one two three", "two three four", "four one",           "one one two",
    "two",           "no target",      "three one four two", "three three three"};
static const char *const targets[PAIRS] = {"eins zwei drei",      "zwei drei vier", "vier eins",
                                           "eins eins zwei",      "zwei",           "",
                                           "drei eins vier zwei", "drei drei drei"};

static const char *const options[][2] = {{"context.device", "cpu"},
                                         {"context.threads", "1"},
                                         {"tokenizer.vocab_size", "280"},
                                         {"data.batch_tokens", "16"},
                                         {"model.encoder_layers", "1"},
                                         {"model.decoder_layers", "1"},
                                         {"model.d_model", "16"},
                                         {"model.d_ff", "24"},
                                         {"model.heads", "2"},
                                         {"model.d_k", "8"},
                                         {"model.d_v", "8"},
                                         {"model.max_length", "64"},
                                         {"train.dropout", "0"},
                                         {"train.schedule", "constant"},
                                         {"train.warmup_steps", "5"},
                                         {"decode.max_extra_tokens", "8"}};

static xf_error err;
static int failures = 0;
static int log_lines = 0;
static size_t bytes_held = 0;

static void fail(int line, const char *what, const char *found) {
    printf("client.c:%d: %s: %s\n", line, what, found);
    ++failures;
}

/* A call that must succeed, one that must return a status, a fact. */
#define DO(call)                                                 \
    do {                                                         \
        memset(&err, 0, sizeof err);                             \
        if ((call) != XF_OK) fail(__LINE__, #call, err.message); \
    } while (0)
#define GIVES(expected, call)                                                  \
    do {                                                                       \
        const xf_status found = (call);                                        \
        if (found != (expected)) fail(__LINE__, #call, xf_status_name(found)); \
    } while (0)
#define IS(fact)                                         \
    do {                                                 \
        if (!(fact)) fail(__LINE__, #fact, "is not so"); \
    } while (0)

static void *allocate(void *user, size_t size, size_t alignment) {
    char *block = malloc(size + alignment + sizeof(void *)), *at;
    if (block == NULL) return NULL;
    at = block + sizeof(void *);
    at += (alignment - (size_t)at % alignment) % alignment;
    memcpy(at - sizeof(void *), &block, sizeof(void *));
    *(size_t *)user += size;
    return at;
}

static void release(void *user, void *ptr, size_t size) {
    void *block;
    memcpy(&block, (char *)ptr - sizeof(void *), sizeof(void *));
    *(size_t *)user -= size;
    free(block);
}

static void on_log(void *user, const xf_log_line *line) {
    if (line->level <= XF_LOG_WARNING && line->component[0] != '\0' && line->message[0] != '\0') ++*(int *)user;
}

static xf_source from_path(const char *path) {
    xf_source source = XF_SOURCE_INIT;
    source.kind = XF_IO_PATH;
    source.path = path;
    return source;
}

static xf_sink to_path(const char *path) {
    xf_sink sink = XF_SINK_INIT;
    sink.kind = XF_IO_PATH;
    sink.path = path;
    return sink;
}

static size_t size_of(const xf_tensor_info *info) {
    int64_t size = 1;
    int32_t i;
    for (i = 0; i < info->dims; ++i) size *= info->shape[i];
    return (size_t)size;
}

static void use_version(void) {
    IS(xf_version()[0] != '\0' && xf_build_info()[0] != '\0');
    IS(xf_version_num() >= XF_VERSION_NUM);
    IS(strcmp(xf_status_name(XF_ERROR_CORRUPT), "XF_ERROR_CORRUPT") == 0);
    IS(strcmp(xf_status_name(12345), "XF_STATUS_UNKNOWN") == 0);
}

static xf_config *use_config(void) {
    xf_option_info info = XF_OPTION_INFO_INIT;
    xf_config *config = NULL, *copy = NULL;
    double whole = 0, number = 0, truth = 1;
    const char *text = NULL;
    size_t i;

    DO(xf_config_create(&config, &err));
    DO(xf_config_preset(config, "tiny", &err));
    for (i = 0; i < sizeof options / sizeof *options; ++i)
        DO(xf_config_set(config, options[i][0], options[i][1], &err));
    DO(xf_config_set_number(config, "model.window", 0, &err));
    DO(xf_config_set_number(config, "train.learning_rate", 0.01, &err));
    DO(xf_config_set_number(config, "data.shuffle", 0, &err));
    DO(xf_config_set(config, "tokenizer.normalization", "nfc", &err));
    DO(xf_config_copy(config, &copy, &err));
    DO(xf_config_get_number(copy, "model.d_model", &whole, &err));
    DO(xf_config_get_number(copy, "train.learning_rate", &number, &err));
    DO(xf_config_get_number(copy, "data.shuffle", &truth, &err));
    DO(xf_config_get(copy, "tokenizer.normalization", &text, &err));
    IS(whole == 16 && number == 0.01 && truth == 0 && text != NULL && strcmp(text, "nfc") == 0);
    xf_config_free(copy);

    GIVES(XF_ERROR_NOT_FOUND, xf_config_set(config, "no.such.option", "1", &err));
    IS(err.status == XF_ERROR_NOT_FOUND && strstr(err.message, "no.such.option") != NULL);
    GIVES(XF_ERROR_OUT_OF_RANGE, xf_config_set_number(config, "model.heads", -1, &err));

    IS(xf_option_count() > 40);
    for (i = 0; i < xf_option_count(); ++i) {
        DO(xf_option_get(i, &info, &err));
        IS(info.key[0] != '\0' && info.doc[0] != '\0' && info.since[0] != '\0');
    }
    DO(xf_option_find("model.d_model", &info, &err));
    IS(strcmp(info.key, "model.d_model") == 0);
    return config;
}

static xf_context *use_context(const xf_config *config) {
    xf_context_info info = XF_CONTEXT_INFO_INIT;
    xf_memory_stats memory = XF_MEMORY_STATS_INIT;
    xf_backend_info backend = XF_BACKEND_INFO_INIT;
    xf_host host = XF_HOST_INIT;
    xf_context *context = NULL;
    size_t i, active = 0;

    host.alloc_user = &bytes_held;
    host.alloc = allocate;
    host.free = release;
    host.log_user = &log_lines;
    host.log = on_log;
    DO(xf_context_create(config, &host, &context, &err));
    DO(xf_context_get_info(context, &info, &err));
    IS(info.description[0] != '\0' && info.backend[0] != '\0' && info.precision == XF_TYPE_FP32);
    IS(info.threads == 1 && info.rank == 0 && info.rank_count == 1);
    DO(xf_context_get_memory(context, &memory, &err));
    IS(xf_context_backend_count(context) >= 1);
    for (i = 0; i < xf_context_backend_count(context); ++i) {
        DO(xf_context_get_backend(context, i, &backend, &err));
        active += (size_t)(backend.state == XF_BACKEND_ACTIVE);
    }
    IS(active == 1);
    return context;
}

static xf_corpus *use_corpus(xf_context *context, const xf_config *config) {
    xf_corpus_stats stats = XF_CORPUS_STATS_INIT;
    xf_corpus *corpus = NULL, *missing = NULL;
    const char *source = NULL, *target = NULL;
    size_t source_length = 0, target_length = 0;

    DO(xf_corpus_from_pairs(context, sources, NULL, targets, NULL, PAIRS, config, NULL, &corpus, &err));
    IS(xf_corpus_pair_count(corpus) == 7);
    DO(xf_corpus_get_stats(corpus, &stats, &err));
    IS(stats.lines == 8 && stats.kept == 7 && stats.empty_side == 1);
    IS(log_lines > 0);
    DO(xf_corpus_get_pair(corpus, 2, &source, &source_length, &target, &target_length, &err));
    IS(source_length == 8 && memcmp(source, "four one", 8) == 0 && target_length == 9);
    GIVES(XF_ERROR_NOT_FOUND, xf_corpus_open(context, "/no/such/file", NULL, config, NULL, &missing, &err));
    GIVES(XF_ERROR_NOT_FOUND, xf_corpus_open(context, "/no/such/file", "/nor/this", NULL, NULL, &missing, &err));
    IS(missing == NULL);
    return corpus;
}

static xf_tokenizer *use_tokenizer(xf_context *context, const xf_config *config, const xf_corpus *corpus,
                                   const char *path) {
    xf_tokenizer *tokenizer = NULL, *again = NULL;
    const xf_source source = from_path(path);
    const xf_sink sink = to_path(path);
    xf_tokenizer_info info = XF_TOKENIZER_INFO_INIT;
    xf_span sentences[2];
    int32_t ids[64];
    char text[64];
    size_t count = 0, length = 0;

    DO(xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, &err));
    DO(xf_tokenizer_save(tokenizer, NULL, &sink, &err));
    DO(xf_tokenizer_load(context, &source, NULL, &again, &err));
    DO(xf_tokenizer_get_info(again, &info, &err));
    IS(strcmp(info.kind, "bpe") == 0 && info.vocab_size > 257);
    IS(info.start_token == 0 && info.end_token == 1);
    IS(xf_tokenizer_side(again, XF_SIDE_SOURCE) == again && xf_tokenizer_side(again, XF_SIDE_TARGET) == again);
    DO(xf_tokenizer_encode(again, "four one", 8, ids, 64, &count, &err));
    DO(xf_tokenizer_decode(again, ids, count, text, sizeof text, &length, &err));
    IS(length == 8 && strcmp(text, "four one") == 0);
    GIVES(XF_ERROR_BUFFER_TOO_SMALL, xf_tokenizer_decode(again, ids, count, text, 2, &length, &err));
    DO(xf_tokenizer_get_piece(again, info.end_token, text, sizeof text, &length, &err));
    IS(strcmp(text, "</s>") == 0);
    DO(xf_split_sentences("One. Two.", 9, "en", 0, sentences, 2, &count, &err));
    IS(count == 2 && sentences[0].end == 4 && sentences[1].begin == 5 && sentences[1].end == 9);
    xf_tokenizer_free(again);
    return tokenizer;
}

static void use_model(xf_model *model) {
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    double d_model = 0;
    float *values;
    char text[32];
    int32_t ids[16];
    size_t i, count, length = 0;

    DO(xf_config_get_number(xf_model_config(model), "model.d_model", &d_model, &err));
    DO(xf_model_set_metadata(model, "made by", "client", &err));
    DO(xf_model_get_metadata(model, "made by", text, sizeof text, &length, &err));
    IS(length == 6 && strcmp(text, "client") == 0);
    DO(xf_model_get_metadata_key(model, 0, text, sizeof text, &length, &err));
    IS(length == 7 && strcmp(text, "made by") == 0);
    GIVES(XF_DONE, xf_model_get_metadata_key(model, 1, text, sizeof text, &length, &err));
    DO(xf_model_encode(model, XF_SIDE_SOURCE, "four one", 8, NULL, ids, 16, &count, &err));
    IS(count > 1 && ids[count - 1] == 1);
    IS(d_model == 16 && xf_model_tokenizer(model) != NULL && xf_model_tensor_count(model) > 20);
    for (i = 0; i < xf_model_tensor_count(model); ++i) {
        DO(xf_model_get_tensor(model, i, &info, &err));
        count = size_of(&info);
        IS(info.type == XF_TYPE_FP32);
        values = malloc(count * sizeof *values);
        DO(xf_model_read_tensor(model, i, values, count, &err));
        free(values);
    }
}

/* A few steps, one of them in two halves, and a checkpoint. */
static void use_trainer(xf_trainer *trainer, xf_batcher *batcher, const char *path) {
    const xf_sink sink = to_path(path);
    xf_call call = XF_CALL_INIT;
    int32_t cancelled = 1;
    xf_step_stats step = XF_STEP_STATS_INIT;
    xf_batcher_stats stats = XF_BATCHER_STATS_INIT;
    xf_batch batch = XF_BATCH_INIT;
    double first = 0, last = 0;
    float gradient[16];
    size_t bias = 0;
    int done = 0;
    xf_status status;

    while (done < 30) {
        status = xf_batcher_next(batcher, NULL, &batch, &err);
        if (status == XF_DONE) continue;
        IS(status == XF_OK && batch.sentences > 0 && batch.pair_index != NULL);
        if (failures != 0) return;
        if (done == 7) {
            xf_tensor_info info = XF_TENSOR_INFO_INIT;
            DO(xf_train_accumulate(trainer, &batch, NULL, &step, &err));
            while (xf_model_get_tensor(xf_trainer_model(trainer), bias, &info, NULL) == XF_OK && size_of(&info) != 16)
                ++bias;
            DO(xf_trainer_read_gradient(trainer, bias, gradient, 16, &err));
            DO(xf_train_update(trainer, &step, &err));
        } else {
            DO(xf_train_step(trainer, &batch, 1, NULL, &step, &err));
        }
        IS(step.step == ++done);
        if (done == 1) first = step.nll;
        last = step.nll;
    }
    IS(last < first && xf_trainer_step_count(trainer) == 30);
    GIVES(XF_ERROR_STATE, xf_train_update(trainer, NULL, &err));
    IS(xf_trainer_config(trainer) != NULL);

    DO(xf_batcher_get_stats(batcher, &stats, &err));
    IS(stats.pairs == 7 && stats.batches > 1);
    DO(xf_batcher_seek(batcher, 0, 1, NULL, &err));
    call.cancelled = &cancelled;
    GIVES(XF_ERROR_CANCELLED, xf_trainer_save(trainer, batcher, &call, &sink, &err));
    cancelled = 0;
    DO(xf_trainer_save(trainer, batcher, &call, &sink, &err));
}

static void use_decoder(xf_decoder *decoder, xf_batcher *batcher, const xf_batch *batch) {
    xf_sentence_info sentence = XF_SENTENCE_INFO_INIT;
    const char *const texts[] = {"four one", ""}, *const given[] = {"vier eins", ""};
    xf_status statuses[2] = {1, 1};
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    xf_hypotheses *answers = NULL;
    double scores[8];

    DO(xf_translate(decoder, texts, NULL, 2, NULL, NULL, &answers, &err));
    IS(xf_hypotheses_sentence_count(answers) == 2);
    DO(xf_hypotheses_get_sentence(answers, 0, &sentence, &err));
    IS(sentence.status == XF_OK && sentence.hypothesis_count == 1 && sentence.message[0] == '\0');
    DO(xf_hypotheses_get(answers, 0, 0, &best, &err));
    IS(best.text != NULL && strlen(best.text) == best.text_length && best.score <= 0);
    IS((best.finished == 0 || best.finished == 1) && best.complete == 1);
    GIVES(XF_ERROR_OUT_OF_RANGE, xf_hypotheses_get(answers, 2, 0, &best, &err));
    xf_hypotheses_free(answers);
    answers = NULL;

    DO(xf_decode(decoder, batch, NULL, NULL, &answers, &err));
    IS(xf_hypotheses_sentence_count(answers) == (size_t)batch->sentences);
    xf_hypotheses_free(answers);
    IS(batch->sentences <= 8);
    DO(xf_score(decoder, batch, NULL, scores, &err));
    IS(scores[0] < 0);
    DO(xf_score_texts(decoder, texts, NULL, given, NULL, 2, NULL, scores, statuses, &err));
    IS(scores[0] < 0 && scores[1] < 0 && statuses[0] == XF_OK && statuses[1] == XF_OK);
    DO(xf_evaluate(decoder, batcher, NULL, &stats, &err));
    IS(stats.sentences == 7 && stats.perplexity > 1);
}

static void use_metrics(void) {
    const char *const texts[] = {"the cat sat on the mat"};
    xf_bleu_score bleu = XF_BLEU_SCORE_INIT;
    xf_chrf_score chrf = XF_CHRF_SCORE_INIT;

    DO(xf_bleu(texts, NULL, texts, NULL, 1, XF_BLEU_13A, &bleu, &err));
    IS(bleu.score > 99.9 && bleu.signature[0] != '\0');
    DO(xf_bleu(texts, NULL, texts, NULL, 1, XF_BLEU_NONE, &bleu, &err));
    DO(xf_chrf(texts, NULL, texts, NULL, 1, &chrf, &err));
    IS(chrf.score > 99.9 && chrf.signature[0] != '\0');
}

static void use_ranks(const xf_config *config) {
    xf_comm comms[2] = {XF_COMM_INIT, XF_COMM_INIT};
    xf_host host = XF_HOST_INIT;
    xf_context *context = NULL;

    DO(xf_comm_loopback(comms, 2, &err));
    IS(comms[1].struct_size == sizeof comms[1] && comms[1].rank == 1 && comms[1].size == 2);
    host.comm = &comms[0];
    DO(xf_context_create(config, &host, &context, &err));
    xf_context_free(context);
    comms[1].close(comms[1].user);
}

int main(int argc, char **argv) {
    char json[512], file[512], checkpoint[512];
    xf_source both[2];
    xf_sink sink;
    xf_model_summary summary = XF_MODEL_SUMMARY_INIT;
    xf_batcher_stats position = XF_BATCHER_STATS_INIT;
    float values[64];
    xf_batch batch = XF_BATCH_INIT;
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    xf_config *config;
    xf_context *context;
    xf_corpus *corpus;
    xf_tokenizer *tokenizer;
    xf_batcher *batcher = NULL;
    xf_model *model = NULL, *loaded = NULL, *average = NULL, *copy = NULL;
    xf_trainer *trainer = NULL, *resumed = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *answers = NULL;
    size_t i;

    if (argc != 2 || strlen(argv[1]) > 480) return 2;
    sprintf(json, "%s.json", argv[1]);
    sprintf(file, "%s.xf", argv[1]);
    sprintf(checkpoint, "%s.ckpt", argv[1]);

    use_version();
    use_metrics();
    config = use_config();
    use_ranks(config);
    context = use_context(config);
    corpus = use_corpus(context, config);
    tokenizer = use_tokenizer(context, config, corpus, json);
    DO(xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, &err));
    DO(xf_model_create(context, tokenizer, config, &model, &err));
    if (failures != 0) return 1;
    use_model(model);
    DO(xf_trainer_create(model, config, &trainer, &err));
    use_trainer(trainer, batcher, checkpoint);
    if (failures != 0) return 1;
    sink = to_path(file);
    DO(xf_model_save(model, NULL, NULL, &sink, &err));

    both[0] = from_path(file);
    both[1] = from_path(checkpoint);
    DO(xf_model_inspect(context, &both[1], NULL, &summary, &err));
    IS(summary.step == 30 && summary.weights == XF_TYPE_FP32 && summary.has_tokenizer == 1);
    DO(xf_model_load(context, &both[0], NULL, NULL, &loaded, &err));
    DO(xf_model_average(context, both, 2, NULL, &average, &err));
    DO(xf_config_set(config, "model.weights", "int8", &err));
    DO(xf_model_copy(loaded, NULL, config, NULL, &copy, &err));
    GIVES(XF_ERROR_STATE, xf_trainer_create(copy, NULL, &resumed, &err));
    xf_model_free(copy);
    for (i = 0; xf_model_get_tensor(average, i, &info, NULL) == XF_OK; ++i)
        if (size_of(&info) <= 64) {
            DO(xf_model_read_tensor(loaded, i, values, size_of(&info), &err));
            DO(xf_model_write_tensor(average, i, values, size_of(&info), &err));
        }
    DO(xf_trainer_resume(context, &both[1], NULL, NULL, &resumed, &err));
    DO(xf_batcher_resume(batcher, resumed, NULL, &err));
    DO(xf_batcher_get_stats(batcher, &position, &err));
    IS(position.epoch == 0 && position.batch == 1 && xf_trainer_step_count(resumed) == 30);
    DO(xf_batcher_next(batcher, NULL, &batch, &err));

    DO(xf_decoder_create(loaded, NULL, config, &decoder, &err));
    use_decoder(decoder, batcher, &batch);
    xf_context_cancel(context); /* nothing runs, so it has no effect */
    DO(xf_decode(decoder, &batch, NULL, NULL, &answers, &err));
    xf_hypotheses_free(answers);
    answers = NULL;
    GIVES(XF_ERROR_INVALID_ARGUMENT, xf_decode(NULL, &batch, NULL, NULL, &answers, NULL));

    xf_context_free(context); /* parents first: each child holds what it needs */
    xf_model_free(model);
    xf_model_free(loaded);
    xf_model_free(average);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(corpus);
    xf_config_free(config);
    xf_trainer_free(trainer);
    xf_trainer_free(resumed);
    xf_batcher_free(batcher);
    xf_decoder_free(decoder);
    IS(bytes_held == 0);

    if (failures == 0) printf("the client runs on %s\n", xf_version());
    return failures == 0 ? 0 : 1;
}
