/*
 * Programs that are older and newer than the library: every struct that begins with struct_size, smaller and larger
 * than the library's own.
 *
 * Smaller than any release had: refused, nothing written. From the first release's size on: filled as far as the size
 * goes. Larger (a newer program): outputs are filled and their unknown tail zeroed; inputs are taken when the unknown
 * tail is zero and refused as unsupported when it is not. A size that no struct can have is refused. No byte
 * after struct_size is ever read or written.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/world.h"
#include "xformer/xformer.h"

enum { kRoom = 1024, kNewer = 24, kPaint = 0x5A };

static struct world world;
static xf_batch batch = XF_BATCH_INIT;
static int failures, checks;

static void check(int fact, const char *type, size_t size, const char *what, const xf_error *err) {
    ++checks;
    if (fact) return;
    ++failures;
    printf("%s, struct_size %zu: %s; %s\n", type, size, what, err != NULL ? err->message : "");
}

/* How each struct is filled by the library. */
static xf_status backend_info(void *out, xf_error *err) { return xf_context_get_backend(world.context, 0, out, err); }
static xf_status option_info(void *out, xf_error *err) { return xf_option_get(0, out, err); }
static xf_status option_found(void *out, xf_error *err) { return xf_option_find("decode.beam", out, err); }
static xf_status memory_stats(void *out, xf_error *err) { return xf_context_get_memory(world.context, out, err); }
static xf_status corpus_stats(void *out, xf_error *err) { return xf_corpus_get_stats(world.corpus, out, err); }
static xf_status batcher_stats(void *out, xf_error *err) { return xf_batcher_get_stats(world.batcher, out, err); }
static xf_status param_info(void *out, xf_error *err) { return xf_model_get_tensor(world.model, 0, out, err); }
static xf_status hypothesis(void *out, xf_error *err) { return xf_hypotheses_get(world.hypotheses, 0, 0, out, err); }
static xf_status eval_stats(void *out, xf_error *err) {
    return xf_evaluate(world.decoder, world.batcher, NULL, out, err);
}
static xf_status next_batch(void *out, xf_error *err) {
    xf_batcher_seek(world.batcher, 0, 0, NULL, NULL);
    return xf_batcher_next(world.batcher, NULL, out, err);
}
static xf_status bleu_score(void *out, xf_error *err) {
    const char *const text = "one two three four five";
    return xf_bleu(&text, NULL, &text, NULL, 1, XF_BLEU_13A, out, err);
}
static xf_status chrf_score(void *out, xf_error *err) {
    const char *const text = "one two three four five";
    return xf_chrf(&text, NULL, &text, NULL, 1, out, err);
}
static xf_status sentence_info(void *out, xf_error *err) {
    return xf_hypotheses_get_sentence(world.hypotheses, 0, out, err);
}
static xf_status context_info(void *out, xf_error *err) { return xf_context_get_info(world.context, out, err); }
static xf_status tokenizer_props(void *out, xf_error *err) { return xf_tokenizer_get_info(world.tokenizer, out, err); }
static xf_status model_summary(void *out, xf_error *err) {
    static unsigned char bytes[1 << 18];
    static xf_source source = XF_SOURCE_INIT;
    xf_sink sink = XF_SINK_INIT;
    if (source.size == 0) {
        sink.kind = source.kind = XF_IO_MEMORY;
        sink.data = bytes;
        sink.capacity = sizeof bytes;
        sink.size = &source.size;
        if (xf_model_save(world.model, NULL, NULL, &sink, err) != XF_OK) return XF_ERROR_INTERNAL;
        source.data = bytes;
    }
    return xf_model_inspect(world.context, &source, NULL, out, err);
}
/* Three calls fill a step; one that is refused makes none. */
static xf_status step_stats(void *out, xf_error *err) {
    const int64_t before = xf_trainer_step_count(world.trainer);
    const xf_status status = xf_train_step(world.trainer, &batch, 1, NULL, out, err);
    check(xf_trainer_step_count(world.trainer) == before + (status == XF_OK), "xf_step_stats", 0,
          "steps do not agree with the status", err);
    return status;
}
static xf_status half_step_stats(void *out, xf_error *err) {
    const xf_status status = xf_train_accumulate(world.trainer, &batch, NULL, out, err);
    if (status == XF_OK) xf_train_update(world.trainer, NULL, NULL);
    return status;
}
static xf_status update_stats(void *out, xf_error *err) {
    xf_status status;
    xf_train_accumulate(world.trainer, &batch, NULL, NULL, NULL);
    status = xf_train_update(world.trainer, out, err);
    if (status != XF_OK) xf_train_update(world.trainer, NULL, NULL);
    return status;
}

/* oldest: the size in the release that brought the struct. steady: each call gives the same. */
static const struct output {
    const char *type;
    size_t size, oldest;
    xf_status (*fill)(void *out, xf_error *err);
    int steady;
} outputs[] = {
    {"xf_backend_info", sizeof(xf_backend_info), 56, backend_info, 1},
    {"xf_option_info", sizeof(xf_option_info), 80, option_info, 1},
    {"xf_option_info", sizeof(xf_option_info), 80, option_found, 1},
    {"xf_memory_stats", sizeof(xf_memory_stats), 40, memory_stats, 1},
    {"xf_corpus_stats", sizeof(xf_corpus_stats), 64, corpus_stats, 1},
    {"xf_batcher_stats", sizeof(xf_batcher_stats), 72, batcher_stats, 1},
    {"xf_tensor_info", sizeof(xf_tensor_info), 56, param_info, 1},
    {"xf_hypothesis", sizeof(xf_hypothesis), 88, hypothesis, 1},
    {"xf_bleu_score", sizeof(xf_bleu_score), 168, bleu_score, 1},
    {"xf_chrf_score", sizeof(xf_chrf_score), 112, chrf_score, 1},
    {"xf_sentence_info", sizeof(xf_sentence_info), 48, sentence_info, 1},
    {"xf_context_info", sizeof(xf_context_info), 56, context_info, 1},
    {"xf_tokenizer_info", sizeof(xf_tokenizer_info), 32, tokenizer_props, 1},
    {"xf_model_summary", sizeof(xf_model_summary), 64, model_summary, 1},
    {"xf_eval_stats", sizeof(xf_eval_stats), 48, eval_stats, 0},
    {"xf_step_stats", sizeof(xf_step_stats), 80, step_stats, 0},
    {"xf_step_stats", sizeof(xf_step_stats), 80, half_step_stats, 0},
    {"xf_step_stats", sizeof(xf_step_stats), 80, update_stats, 0},
    {"xf_batch", sizeof(xf_batch), 72, next_batch, 1}, /* the last: it moves the arrays of batch */
};

static int all(const unsigned char *bytes, size_t from, size_t to, int value) {
    for (size_t i = from; i < to; ++i)
        if (bytes[i] != value) return 0;
    return 1;
}

static void output_of(const struct output *o, size_t size, xf_status expected) {
    static union {
        size_t struct_size;
        unsigned char bytes[kRoom];
    } room, whole;
    xf_error err = {XF_OK, 0, ""};
    const size_t shown = size < kRoom ? size : kRoom, known = shown < o->size ? shown : o->size;
    memset(&room, kPaint, sizeof room);
    room.struct_size = size;
    check(o->fill(&room, &err) == expected && err.status == expected && (err.message[0] != 0) == (expected != XF_OK),
          o->type, size, "another status than expected, or no message", &err);
    check(room.struct_size == size, o->type, size, "struct_size has changed", NULL);
    if (expected != XF_OK) {
        check(all(room.bytes, sizeof(size_t), kRoom, kPaint), o->type, size, "written to by a call that failed", &err);
        return;
    }
    check(all(room.bytes, known, shown, 0), o->type, size, "the unknown tail is not zero", NULL);
    check(all(room.bytes, shown, kRoom, kPaint), o->type, size, "bytes after struct_size were written", NULL);
    check(!all(room.bytes, sizeof(size_t), known, kPaint), o->type, size, "nothing was written", NULL);
    if (o->steady) {
        memset(&whole, kPaint, sizeof whole);
        whole.struct_size = o->size;
        o->fill(&whole, NULL);
        check(memcmp(whole.bytes + sizeof(size_t), room.bytes + sizeof(size_t), known - sizeof(size_t)) == 0, o->type,
              size, "the known part is not the same as in full size", NULL);
    }
}

static void *allocate(void *user, size_t size, size_t alignment) {
    (void)user;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
static void release(void *user, void *ptr, size_t size) {
    (void)user, (void)size;
    free(ptr);
}

/* An input of some size whose tail is zero except its last byte. */
static void input_of(const char *type, xf_status (*take)(void *in, xf_error *err), const void *value, size_t own,
                     size_t size, int last, xf_status expected) {
    union {
        size_t struct_size;
        unsigned char bytes[kRoom];
    } room;
    xf_error err = {XF_OK, 0, ""};
    memset(&room, 0, sizeof room);
    memcpy(&room, value, own);
    room.struct_size = size;
    if (size > own && size < kRoom) room.bytes[size - 1] = (unsigned char)last;
    check(take(&room, &err) == expected && err.status == expected && (err.message[0] != 0) == (expected != XF_OK), type,
          size, "another status than expected, or no message", &err);
}

static xf_status take_host(void *in, xf_error *err) {
    xf_context *other = NULL;
    const xf_status status = xf_context_create(world.config, in, &other, err);
    xf_context_free(other);
    return status;
}
static xf_status take_comm(void *in, xf_error *err) {
    xf_host host = XF_HOST_INIT;
    host.comm = in;
    return take_host(&host, err);
}
static xf_status train_on(void *in, xf_error *err) { return xf_train_step(world.trainer, in, 1, NULL, NULL, err); }
static xf_status accumulate(void *in, xf_error *err) {
    const xf_status status = xf_train_accumulate(world.trainer, in, NULL, NULL, err);
    if (status == XF_OK) xf_train_update(world.trainer, NULL, NULL);
    return status;
}
static xf_status score(void *in, xf_error *err) {
    double scores[64];
    return xf_score(world.decoder, in, NULL, scores, err);
}
static xf_status decode(void *in, xf_error *err) {
    xf_hypotheses *answers = NULL;
    const xf_status status = xf_decode(world.decoder, in, NULL, NULL, &answers, err);
    xf_hypotheses_free(answers);
    return status;
}
static xf_status corpus_of(void *in, xf_error *err) {
    xf_corpus *out = NULL;
    const xf_status status = xf_corpus_from_ids(world.context, in, NULL, &out, err);
    xf_corpus_free(out);
    return status;
}
static xf_status take_call(void *in, xf_error *err) {
    double scores[64];
    return xf_score(world.decoder, &batch, in, scores, err);
}
static xf_status take_params(void *in, xf_error *err) {
    xf_hypotheses *answers = NULL;
    const xf_status status = xf_decode(world.decoder, &batch, in, NULL, &answers, err);
    xf_hypotheses_free(answers);
    return status;
}
static xf_status take_constraint(void *in, xf_error *err) {
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    params.constraint = in;
    return take_params(&params, err);
}
static int32_t allow_all(void *user, const xf_constraint_step *step) {
    (void)user, (void)step;
    return 0;
}
static unsigned char file[1 << 18];
static xf_status take_sink(void *in, xf_error *err) { return xf_tokenizer_save(world.tokenizer, NULL, in, err); }
static xf_status take_source(void *in, xf_error *err) {
    xf_tokenizer *out = NULL;
    const xf_status status = xf_tokenizer_load(world.context, in, NULL, &out, err);
    xf_tokenizer_free(out);
    return status;
}

static void inputs(const char *type, xf_status (*take)(void *in, xf_error *err), const void *value, size_t own,
                   size_t oldest) {
    const size_t small[] = {0, 1, 8, oldest - 8, oldest - 1};
    for (size_t i = 0; i < sizeof small / sizeof *small; ++i)
        input_of(type, take, value, own, small[i], 0, XF_ERROR_INVALID_ARGUMENT);
    for (size_t size = oldest; size <= own + kNewer; size += 8) input_of(type, take, value, own, size, 0, XF_OK);
    input_of(type, take, value, own, own + kNewer, 1, XF_ERROR_UNSUPPORTED);
    input_of(type, take, value, own, own + 1, 0, XF_ERROR_INVALID_ARGUMENT);
    input_of(type, take, value, own, (size_t)1 << 40, 0, XF_ERROR_INVALID_ARGUMENT);
}

/* Arrays of a newer program: the stride is its struct_size; the sizes of one array are equal. */
static void arrays(void) {
    union {
        size_t struct_size;
        unsigned char bytes[kRoom];
    } two;
    xf_step_stats both = XF_STEP_STATS_INIT;
    xf_error err;
    const size_t size = sizeof(xf_batch) + kNewer;
    memset(&two, 0, sizeof two);
    for (int i = 0; i < 2; ++i) {
        memcpy(two.bytes + (size_t)i * size, &batch, sizeof batch);
        memcpy(two.bytes + (size_t)i * size, &size, sizeof size);
    }
    check(xf_train_step(world.trainer, (const xf_batch *)&two, 2, NULL, &both, &err) == XF_OK, "xf_batch", size,
          "two batches", &err);
    check(both.sentences == 2 * batch.sentences, "xf_batch", size, "the second batch was not found", NULL);
    two.bytes[2 * size - 1] = 1;
    check(xf_train_step(world.trainer, (const xf_batch *)&two, 2, NULL, NULL, &err) == XF_ERROR_UNSUPPORTED, "xf_batch",
          size, "an unknown member of the second batch", &err);
    two.bytes[2 * size - 1] = 0;
    memcpy(two.bytes + size, &batch.struct_size, sizeof size);
    check(xf_train_step(world.trainer, (const xf_batch *)&two, 2, NULL, NULL, &err) == XF_ERROR_INVALID_ARGUMENT,
          "xf_batch", size, "two sizes in one array", &err);
}

int main(void) {
    xf_error err = {XF_OK, 0, ""};
    xf_host host = XF_HOST_INIT;
    xf_comm comm = XF_COMM_INIT;
    xf_call call = XF_CALL_INIT;
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    xf_constraint constraint = XF_CONSTRAINT_INIT;
    xf_sink sink = XF_SINK_INIT;
    xf_source source = XF_SOURCE_INIT;
    if (make_world(&world, "cpu:ref", &err) != XF_OK || xf_batcher_next(world.batcher, NULL, &batch, &err) != XF_OK) {
        printf("%s\n", err.message);
        return 1;
    }
    for (const struct output *o = outputs; o < outputs + sizeof outputs / sizeof *outputs; ++o) {
        const size_t small[] = {0, 1, 8, o->oldest - 8, o->oldest - 1};
        for (size_t i = 0; i < sizeof small / sizeof *small; ++i) output_of(o, small[i], XF_ERROR_INVALID_ARGUMENT);
        for (size_t size = o->oldest; size <= o->size + kNewer; size += 8) output_of(o, size, XF_OK);
        output_of(o, o->size + 1, XF_ERROR_INVALID_ARGUMENT);
        output_of(o, (size_t)1 << 40, XF_ERROR_INVALID_ARGUMENT);
    }
    host.alloc = allocate;
    host.free = release;
    inputs("xf_host", take_host, &host, sizeof host, sizeof host);
    comm.size = 1;
    inputs("xf_comm", take_comm, &comm, sizeof comm, 48);
    next_batch(&batch, NULL);
    inputs("xf_batch", train_on, &batch, sizeof batch, 72);
    inputs("xf_batch", accumulate, &batch, sizeof batch, 72);
    inputs("xf_batch", score, &batch, sizeof batch, 72);
    inputs("xf_batch", decode, &batch, sizeof batch, 72);
    inputs("xf_batch", corpus_of, &batch, sizeof batch, 72);
    arrays();
    inputs("xf_call", take_call, &call, sizeof call, 40);
    inputs("xf_decode_params", take_params, &params, sizeof params, 56);
    constraint.function = allow_all;
    inputs("xf_constraint", take_constraint, &constraint, sizeof constraint, 24);
    sink.kind = source.kind = XF_IO_MEMORY;
    sink.data = file;
    sink.capacity = sizeof file;
    sink.size = &source.size;
    inputs("xf_sink", take_sink, &sink, sizeof sink, 64);
    source.data = file;
    inputs("xf_source", take_source, &source, sizeof source, 56);

    free_objects(&world);
    printf("%d checks, %d failed\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
