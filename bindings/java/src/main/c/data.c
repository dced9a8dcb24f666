/*
 * data.c - data.h and text.h for Java.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "glue.h"

JNIEXPORT jlong JNICALL Java_xformer_Native_corpusOpen(JNIEnv *env, jclass class, jlong context, jlong config,
                                                       jbyteArray path) {
    bytes p = bytes_open(env, path);
    xf_corpus *made = NULL;
    xf_error err;
    (void)class;
    if (p.data == NULL) return 0;
    if (!ended_well(env,
                    xf_corpus_open(FROM_JAVA(xf_context, context), FROM_JAVA(xf_config, config), (const char *)p.data,
                                   &made, &err),
                    &err)) {
        xf_corpus_free(made);
        made = NULL;
    }
    bytes_close(env, &p);
    return TO_JAVA(made);
}

JNIEXPORT jlong JNICALL Java_xformer_Native_corpusOpenParallel(JNIEnv *env, jclass class, jlong context, jlong config,
                                                               jbyteArray source_path, jbyteArray target_path) {
    xf_corpus *made = NULL;
    xf_error err;
    bytes target;
    bytes source = bytes_open(env, source_path);
    (void)class;
    if (source.data == NULL) return 0;
    target = bytes_open(env, target_path);
    if (target.data != NULL &&
        !ended_well(env,
                    xf_corpus_open_parallel(FROM_JAVA(xf_context, context), FROM_JAVA(xf_config, config),
                                            (const char *)source.data, (const char *)target.data, &made, &err),
                    &err)) {
        xf_corpus_free(made);
        made = NULL;
    }
    bytes_close(env, &target);
    bytes_close(env, &source);
    return TO_JAVA(made);
}

JNIEXPORT jlong JNICALL Java_xformer_Native_corpusFromMemory(JNIEnv *env, jclass class, jlong context, jlong config,
                                                             jbyteArray name, jbyteArray text) {
    xf_corpus *made = NULL;
    xf_error err;
    bytes t;
    bytes n = bytes_open(env, name);
    (void)class;
    if (n.data == NULL) return 0;
    t = bytes_open(env, text);
    if (t.data != NULL &&
        !ended_well(env,
                    xf_corpus_from_memory(FROM_JAVA(xf_context, context), FROM_JAVA(xf_config, config),
                                          (const char *)n.data, (const char *)t.data, t.length, &made, &err),
                    &err)) {
        xf_corpus_free(made);
        made = NULL;
    }
    bytes_close(env, &t);
    bytes_close(env, &n);
    return TO_JAVA(made);
}

JNIEXPORT void JNICALL Java_xformer_Native_corpusFree(JNIEnv *env, jclass class, jlong corpus) {
    (void)class;
    xf_corpus_free(FROM_JAVA(xf_corpus, corpus));
    ended_well(env, XF_OK, NULL);
}

JNIEXPORT jlong JNICALL Java_xformer_Native_corpusSize(JNIEnv *env, jclass class, jlong corpus) {
    (void)env, (void)class;
    return xf_corpus_pair_count(FROM_JAVA(xf_corpus, corpus));
}

JNIEXPORT void JNICALL Java_xformer_Native_corpusStats(JNIEnv *env, jclass class, jlong corpus, jlongArray stats) {
    xf_corpus_stats s = XF_CORPUS_STATS_INIT;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_corpus_get_stats(FROM_JAVA(xf_corpus, corpus), &s, &err), &err)) {
        const jlong all[] = {s.lines, s.kept, s.bad_columns, s.empty_side, s.too_long, s.invalid_utf8, s.nul_byte};
        (*env)->SetLongArrayRegion(env, stats, 0, 7, all);
    }
}

JNIEXPORT void JNICALL Java_xformer_Native_corpusPair(JNIEnv *env, jclass class, jlong corpus, jlong index,
                                                      jobjectArray sides) {
    const char *source = NULL, *target = NULL;
    size_t source_length = 0, target_length = 0;
    xf_error err;
    (void)class;
    if (ended_well(env,
                   xf_corpus_get_pair(FROM_JAVA(xf_corpus, corpus), index, &source, &source_length, &target,
                                      &target_length, &err),
                   &err) &&
        put_bytes(env, sides, 0, source, source_length))
        put_bytes(env, sides, 1, target, target_length);
}

JNIEXPORT jlong JNICALL Java_xformer_Native_batcherCreate(JNIEnv *env, jclass class, jlong corpus, jlong tokenizer,
                                                          jlong config) {
    xf_batcher *made = NULL;
    xf_error err;
    (void)class;
    if (ended_well(env,
                   xf_batcher_create(FROM_JAVA(xf_corpus, corpus), FROM_JAVA(xf_tokenizer, tokenizer),
                                     FROM_JAVA(xf_config, config), &made, &err),
                   &err))
        return TO_JAVA(made);
    xf_batcher_free(made);
    return 0;
}

JNIEXPORT void JNICALL Java_xformer_Native_batcherFree(JNIEnv *env, jclass class, jlong batcher) {
    (void)class;
    xf_batcher_free(FROM_JAVA(xf_batcher, batcher));
    ended_well(env, XF_OK, NULL);
}

JNIEXPORT jobject JNICALL Java_xformer_Native_batcherNext(JNIEnv *env, jclass class, jlong batcher) {
    xf_batch batch = XF_BATCH_INIT;
    xf_error err;
    enum xf_status status = xf_batcher_next(FROM_JAVA(xf_batcher, batcher), &batch, &err);
    (void)class;
    return ended_well(env, status, &err) && status != XF_DONE ? batch_new(env, &batch) : NULL;
}

JNIEXPORT void JNICALL Java_xformer_Native_batcherStats(JNIEnv *env, jclass class, jlong batcher, jlongArray stats) {
    xf_batcher_stats s = XF_BATCHER_STATS_INIT;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_batcher_get_stats(FROM_JAVA(xf_batcher, batcher), &s, &err), &err)) {
        const jlong all[] = {s.epoch, s.batch, s.batches, s.pairs, s.too_long, s.empty, s.src_tokens, s.tgt_tokens};
        (*env)->SetLongArrayRegion(env, stats, 0, 8, all);
    }
}

JNIEXPORT void JNICALL Java_xformer_Native_batcherSeek(JNIEnv *env, jclass class, jlong batcher, jlong epoch,
                                                       jlong batch) {
    xf_error err;
    (void)class;
    ended_well(env, xf_batcher_seek(FROM_JAVA(xf_batcher, batcher), epoch, batch, &err), &err);
}

JNIEXPORT jlong JNICALL Java_xformer_Native_tokenizerTrain(JNIEnv *env, jclass class, jlong context, jlong config,
                                                           jlong corpus) {
    xf_tokenizer *made = NULL;
    xf_error err;
    (void)class;
    if (ended_well(env,
                   xf_tokenizer_train(FROM_JAVA(xf_context, context), FROM_JAVA(xf_config, config),
                                      FROM_JAVA(xf_corpus, corpus), &made, &err),
                   &err))
        return TO_JAVA(made);
    xf_tokenizer_free(made);
    return 0;
}

JNIEXPORT jlong JNICALL Java_xformer_Native_tokenizerLoad(JNIEnv *env, jclass class, jlong context, jbyteArray path) {
    bytes p = bytes_open(env, path);
    xf_tokenizer *made = NULL;
    xf_error err;
    (void)class;
    if (p.data == NULL) return 0;
    if (!ended_well(env, xf_tokenizer_load(FROM_JAVA(xf_context, context), (const char *)p.data, &made, &err), &err)) {
        xf_tokenizer_free(made);
        made = NULL;
    }
    bytes_close(env, &p);
    return TO_JAVA(made);
}

JNIEXPORT void JNICALL Java_xformer_Native_tokenizerSave(JNIEnv *env, jclass class, jlong tokenizer, jbyteArray path) {
    bytes p = bytes_open(env, path);
    xf_error err;
    (void)class;
    if (p.data == NULL) return;
    ended_well(env, xf_tokenizer_save(FROM_JAVA(xf_tokenizer, tokenizer), (const char *)p.data, &err), &err);
    bytes_close(env, &p);
}

JNIEXPORT void JNICALL Java_xformer_Native_tokenizerFree(JNIEnv *env, jclass class, jlong tokenizer) {
    (void)class;
    xf_tokenizer_free(FROM_JAVA(xf_tokenizer, tokenizer));
    ended_well(env, XF_OK, NULL);
}

JNIEXPORT jint JNICALL Java_xformer_Native_tokenizerSize(JNIEnv *env, jclass class, jlong tokenizer) {
    (void)env, (void)class;
    return xf_tokenizer_vocab_size(FROM_JAVA(xf_tokenizer, tokenizer));
}

JNIEXPORT jintArray JNICALL Java_xformer_Native_tokenizerEncode(JNIEnv *env, jclass class, jlong tokenizer,
                                                                jbyteArray text) {
    bytes t = bytes_open(env, text);
    size_t capacity = t.length + 16, count = 0;
    int32_t *ids = NULL;
    jintArray made = NULL;
    enum xf_status status = XF_ERROR_BUFFER_TOO_SMALL;
    xf_error err;
    (void)class;
    if (t.data == NULL) return NULL;
    /* Normalisation can make a text longer. */
    for (; status == XF_ERROR_BUFFER_TOO_SMALL; capacity = count) {
        free(ids);
        ids = malloc(capacity * sizeof *ids);
        if (ids == NULL) break;
        status = xf_tokenizer_encode(FROM_JAVA(xf_tokenizer, tokenizer), (const char *)t.data, t.length, ids, capacity,
                                     &count, &err);
    }
    if (ids == NULL || (status == XF_OK && count > INT32_MAX)) {
        throw_no_memory(env);
    } else if (ended_well(env, status, &err)) {
        made = (*env)->NewIntArray(env, (jsize)count);
        if (made != NULL) (*env)->SetIntArrayRegion(env, made, 0, (jsize)count, ids);
    }
    free(ids);
    bytes_close(env, &t);
    return made;
}

JNIEXPORT jbyteArray JNICALL Java_xformer_Native_tokenizerDecode(JNIEnv *env, jclass class, jlong tokenizer,
                                                                 jintArray ids) {
    numbers n;
    size_t capacity, length = 0;
    char *text = NULL;
    jbyteArray made = NULL;
    enum xf_status status = XF_ERROR_BUFFER_TOO_SMALL;
    xf_error err;
    (void)class;
    if (!numbers_open(env, ids, false, &n)) return NULL;
    for (capacity = 8 * n.count + 16; status == XF_ERROR_BUFFER_TOO_SMALL; capacity = length + 1) {
        free(text);
        text = malloc(capacity);
        if (text == NULL) break;
        status =
            xf_tokenizer_decode(FROM_JAVA(xf_tokenizer, tokenizer), n.data, n.count, text, capacity, &length, &err);
    }
    if (text == NULL)
        throw_no_memory(env);
    else if (ended_well(env, status, &err))
        made = bytes_new(env, text, length);
    free(text);
    numbers_close(env, &n, JNI_ABORT);
    return made;
}

JNIEXPORT jbyteArray JNICALL Java_xformer_Native_tokenizerPiece(JNIEnv *env, jclass class, jlong tokenizer, jint id) {
    size_t capacity, length = 0;
    char *text = NULL;
    jbyteArray made = NULL;
    enum xf_status status = XF_ERROR_BUFFER_TOO_SMALL;
    xf_error err;
    (void)class;
    for (capacity = 64; status == XF_ERROR_BUFFER_TOO_SMALL; capacity = length + 1) {
        free(text);
        text = malloc(capacity);
        if (text == NULL) break;
        status = xf_tokenizer_get_piece(FROM_JAVA(xf_tokenizer, tokenizer), id, text, capacity, &length, &err);
    }
    if (text == NULL)
        throw_no_memory(env);
    else if (ended_well(env, status, &err))
        made = bytes_new(env, text, length);
    free(text);
    return made;
}
