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

/* A struct followed by bytes that the library must not change: they are not part of the struct. */
#define GUARDED(type)    \
    struct {             \
        type value;      \
        char behind[64]; \
    }
#define START(guarded, initial)                    \
    do {                                           \
        memset(&(guarded), 0x5A, sizeof(guarded)); \
        (guarded).value = (initial);               \
    } while (0)
#define INTACT(guarded, type) IS((guarded).value.struct_size == sizeof(type) && intact((guarded).behind))

static int intact(const char *bytes) {
    int i;
    for (i = 0; i < 64; ++i)
        if (bytes[i] != 0x5A) return 0;
    return 1;
}

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
    static const xf_option_info none = XF_OPTION_INFO_INIT;
    GUARDED(xf_option_info) info;
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
        START(info, none);
        DO(xf_option_get(i, &info.value, &err));
        INTACT(info, xf_option_info);
        IS(info.value.key[0] != '\0' && info.value.doc[0] != '\0' && info.value.since[0] != '\0');
    }
    START(info, none);
    DO(xf_option_find("model.d_model", &info.value, &err));
    INTACT(info, xf_option_info);
    IS(strcmp(info.value.key, "model.d_model") == 0);
    return config;
}

static xf_context *use_context(const xf_config *config) {
    static const xf_memory_stats no_memory = XF_MEMORY_STATS_INIT;
    static const xf_backend_info no_backend = XF_BACKEND_INFO_INIT;
    static const xf_context_info no_info = XF_CONTEXT_INFO_INIT;
    GUARDED(xf_context_info) info;
    GUARDED(xf_memory_stats) memory;
    GUARDED(xf_backend_info) backend;
    xf_host host = XF_HOST_INIT;
    xf_context *context = NULL;
    size_t i, active = 0;

    host.alloc_user = &bytes_held;
    host.alloc = allocate;
    host.free = release;
    host.log_user = &log_lines;
    host.log = on_log;
    DO(xf_context_create(config, &host, &context, &err));
    START(info, no_info);
    DO(xf_context_get_info(context, &info.value, &err));
    INTACT(info, xf_context_info);
    IS(info.value.description[0] != '\0' && info.value.backend[0] != '\0' && info.value.precision == XF_TYPE_FP32);
    IS(info.value.threads == 1 && info.value.rank == 0 && info.value.rank_count == 1);
    START(memory, no_memory);
    DO(xf_context_get_memory(context, &memory.value, &err));
    INTACT(memory, xf_memory_stats);
    IS(xf_context_backend_count(context) >= 1);
    for (i = 0; i < xf_context_backend_count(context); ++i) {
        START(backend, no_backend);
        DO(xf_context_get_backend(context, i, &backend.value, &err));
        INTACT(backend, xf_backend_info);
        active += (size_t)(backend.value.state == XF_BACKEND_ACTIVE);
    }
    IS(active == 1);
    return context;
}

static xf_corpus *use_corpus(xf_context *context, const xf_config *config) {
    static const xf_corpus_stats none = XF_CORPUS_STATS_INIT;
    GUARDED(xf_corpus_stats) stats;
    xf_corpus *corpus = NULL, *missing = NULL;
    const char *source = NULL, *target = NULL;
    size_t source_length = 0, target_length = 0;

    DO(xf_corpus_from_pairs(context, sources, NULL, targets, NULL, PAIRS, config, NULL, &corpus, &err));
    IS(xf_corpus_pair_count(corpus) == 7);
    START(stats, none);
    DO(xf_corpus_get_stats(corpus, &stats.value, &err));
    INTACT(stats, xf_corpus_stats);
    IS(stats.value.lines == 8 && stats.value.kept == 7 && stats.value.empty_side == 1);
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
    static const xf_tokenizer_info no_info = XF_TOKENIZER_INFO_INIT;
    const xf_source source = from_path(path);
    const xf_sink sink = to_path(path);
    GUARDED(xf_tokenizer_info) info;
    int32_t ids[64];
    char text[64];
    size_t count = 0, length = 0;

    DO(xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, &err));
    DO(xf_tokenizer_save(tokenizer, NULL, &sink, &err));
    DO(xf_tokenizer_load(context, &source, NULL, &again, &err));
    START(info, no_info);
    DO(xf_tokenizer_get_info(again, &info.value, &err));
    INTACT(info, xf_tokenizer_info);
    IS(strcmp(info.value.kind, "bpe") == 0 && info.value.vocab_size > 257);
    IS(info.value.start_token == 0 && info.value.end_token == 1);
    IS(xf_tokenizer_side(again, XF_SIDE_SOURCE) == again && xf_tokenizer_side(again, XF_SIDE_TARGET) == again);
    DO(xf_tokenizer_encode(again, "four one", 8, ids, 64, &count, &err));
    DO(xf_tokenizer_decode(again, ids, count, text, sizeof text, &length, &err));
    IS(length == 8 && strcmp(text, "four one") == 0);
    GIVES(XF_ERROR_BUFFER_TOO_SMALL, xf_tokenizer_decode(again, ids, count, text, 2, &length, &err));
    DO(xf_tokenizer_get_piece(again, info.value.end_token, text, sizeof text, &length, &err));
    IS(strcmp(text, "</s>") == 0);
    xf_tokenizer_free(again);
    return tokenizer;
}

static void use_model(xf_model *model) {
    static const xf_tensor_info none = XF_TENSOR_INFO_INIT;
    GUARDED(xf_tensor_info) info;
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
        START(info, none);
        DO(xf_model_get_tensor(model, i, &info.value, &err));
        INTACT(info, xf_tensor_info);
        count = size_of(&info.value);
        IS(info.value.type == XF_TYPE_FP32);
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
    static const xf_step_stats no_step = XF_STEP_STATS_INIT;
    static const xf_batcher_stats no_stats = XF_BATCHER_STATS_INIT;
    static const xf_batch no_batch = XF_BATCH_INIT;
    GUARDED(xf_step_stats) step;
    GUARDED(xf_batcher_stats) stats;
    GUARDED(xf_batch) batch;
    double first = 0, last = 0;
    float gradient[16];
    size_t bias = 0;
    int done = 0;
    xf_status status;

    while (done < 30) {
        START(batch, no_batch);
        status = xf_batcher_next(batcher, NULL, &batch.value, &err);
        INTACT(batch, xf_batch);
        if (status == XF_DONE) continue;
        IS(status == XF_OK && batch.value.sentences > 0 && batch.value.pair_index != NULL);
        if (failures != 0) return;
        START(step, no_step);
        if (done == 7) {
            xf_tensor_info info = XF_TENSOR_INFO_INIT;
            DO(xf_train_accumulate(trainer, &batch.value, NULL, &step.value, &err));
            while (xf_model_get_tensor(xf_trainer_model(trainer), bias, &info, NULL) == XF_OK && size_of(&info) != 16)
                ++bias;
            DO(xf_trainer_read_gradient(trainer, bias, gradient, 16, &err));
            DO(xf_train_update(trainer, &step.value, &err));
        } else {
            DO(xf_train_step(trainer, &batch.value, 1, NULL, &step.value, &err));
        }
        INTACT(step, xf_step_stats);
        IS(step.value.step == ++done);
        if (done == 1) first = step.value.nll;
        last = step.value.nll;
    }
    IS(last < first && xf_trainer_step_count(trainer) == 30);
    GIVES(XF_ERROR_STATE, xf_train_update(trainer, NULL, &err));
    IS(xf_trainer_config(trainer) != NULL);

    START(stats, no_stats);
    DO(xf_batcher_get_stats(batcher, &stats.value, &err));
    INTACT(stats, xf_batcher_stats);
    IS(stats.value.pairs == 7 && stats.value.batches > 1);
    DO(xf_batcher_seek(batcher, 0, 1, NULL, &err));
    call.cancelled = &cancelled;
    GIVES(XF_ERROR_CANCELLED, xf_trainer_save(trainer, batcher, &call, &sink, &err));
    cancelled = 0;
    DO(xf_trainer_save(trainer, batcher, &call, &sink, &err));
}

static void use_decoder(xf_decoder *decoder, xf_batcher *batcher, const xf_batch *batch) {
    static const xf_sentence_info no_sentence = XF_SENTENCE_INFO_INIT;
    GUARDED(xf_sentence_info) sentence;
    static const xf_hypothesis no_answer = XF_HYPOTHESIS_INIT;
    static const xf_eval_stats no_stats = XF_EVAL_STATS_INIT;
    const char *const texts[] = {"four one", ""}, *const given[] = {"vier eins", ""};
    xf_status statuses[2] = {1, 1};
    GUARDED(xf_hypothesis) best;
    GUARDED(xf_eval_stats) stats;
    xf_hypotheses *answers = NULL;
    double scores[8];

    DO(xf_translate(decoder, texts, NULL, 2, NULL, NULL, &answers, &err));
    IS(xf_hypotheses_sentence_count(answers) == 2);
    START(sentence, no_sentence);
    DO(xf_hypotheses_get_sentence(answers, 0, &sentence.value, &err));
    INTACT(sentence, xf_sentence_info);
    IS(sentence.value.status == XF_OK && sentence.value.hypothesis_count == 1 && sentence.value.message[0] == '\0');
    START(best, no_answer);
    DO(xf_hypotheses_get(answers, 0, 0, &best.value, &err));
    INTACT(best, xf_hypothesis);
    IS(best.value.text != NULL && strlen(best.value.text) == best.value.text_length && best.value.score <= 0);
    IS((best.value.finished == 0 || best.value.finished == 1) && best.value.complete == 1);
    GIVES(XF_ERROR_OUT_OF_RANGE, xf_hypotheses_get(answers, 2, 0, &best.value, &err));
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
    START(stats, no_stats);
    DO(xf_evaluate(decoder, batcher, NULL, &stats.value, &err));
    INTACT(stats, xf_eval_stats);
    IS(stats.value.sentences == 7 && stats.value.perplexity > 1);
}

static void use_metrics(void) {
    static const xf_bleu_score none = XF_BLEU_SCORE_INIT;
    const char *const texts[] = {"the cat sat on the mat"};
    GUARDED(xf_bleu_score) bleu;
    static const xf_chrf_score no_chrf = XF_CHRF_SCORE_INIT;
    GUARDED(xf_chrf_score) chrf;

    START(bleu, none);
    DO(xf_bleu(texts, NULL, texts, NULL, 1, XF_BLEU_13A, &bleu.value, &err));
    INTACT(bleu, xf_bleu_score);
    IS(bleu.value.score > 99.9 && bleu.value.signature[0] != '\0');
    DO(xf_bleu(texts, NULL, texts, NULL, 1, XF_BLEU_NONE, &bleu.value, &err));
    START(chrf, no_chrf);
    DO(xf_chrf(texts, NULL, texts, NULL, 1, &chrf.value, &err));
    INTACT(chrf, xf_chrf_score);
    IS(chrf.value.score > 99.9 && chrf.value.signature[0] != '\0');
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

    DO(xf_decoder_create(loaded, config, &decoder, &err));
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
