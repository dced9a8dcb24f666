/*
 * batch.c - the class Batch as struct xf_batch, and back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "glue.h"

enum { kSides = 4 }; /* srcIds, srcOffsets, tgtIds, tgtOffsets */

static jclass batch_class;
static jmethodID constructor;
static jfieldID fields[kSides];

bool batch_load(JNIEnv *env) {
    static const char *const names[kSides][2] = {
        {"srcIds", "Ljava/lang/Object;"}, {"srcOffsets", "[I"}, {"tgtIds", "Ljava/lang/Object;"}, {"tgtOffsets", "[I"}};
    jclass found = (*env)->FindClass(env, "xformer/Batch");
    if (found == NULL) return false;
    constructor = (*env)->GetMethodID(env, found, "<init>", "(Ljava/lang/Object;[ILjava/lang/Object;[I[J)V");
    if (constructor == NULL) return false;
    for (int i = 0; i < kSides; ++i) {
        fields[i] = (*env)->GetFieldID(env, found, names[i][0], names[i][1]);
        if (fields[i] == NULL) return false;
    }
    batch_class = (*env)->NewGlobalRef(env, found);
    (*env)->DeleteLocalRef(env, found);
    return batch_class != NULL;
}

static bool open_row(JNIEnv *env, jobject batch, xf_batch *row, numbers *held) {
    const xf_batch empty = XF_BATCH_INIT;
    for (int i = 0; i < kSides; ++i) {
        jobject side = (*env)->GetObjectField(env, batch, fields[i]);
        if (side != NULL && !numbers_open(env, side, false, &held[i])) return false;
    }
    *row = empty;
    row->sentences = (int64_t)held[1].count - 1;
    row->src_ids = held[0].data;
    row->src_offsets = held[1].data;
    row->tgt_ids = held[2].data;
    row->tgt_offsets = held[3].data;
    return true;
}

bool batches_open(JNIEnv *env, jobjectArray array, batches *b) {
    const jsize count = (*env)->GetArrayLength(env, array);
    memset(b, 0, sizeof *b);
    /* The sides stay referred to until batches_close(). */
    if ((*env)->PushLocalFrame(env, count * (kSides + 1) + 8) != 0) return false;
    b->count = (size_t)count;
    b->rows = calloc(b->count + 1, sizeof *b->rows);
    b->held = calloc(b->count + 1, kSides * sizeof *b->held);
    if (b->rows == NULL || b->held == NULL) throw_no_memory(env);
    for (jsize i = 0; i < count && !(*env)->ExceptionCheck(env); ++i) {
        jobject batch = (*env)->GetObjectArrayElement(env, array, i);
        if (!(*env)->ExceptionCheck(env)) open_row(env, batch, &b->rows[i], &b->held[i * kSides]);
    }
    if (!(*env)->ExceptionCheck(env)) return true;
    batches_close(env, b);
    return false;
}

void batches_close(JNIEnv *env, batches *b) {
    for (size_t i = 0; b->held != NULL && i < b->count * kSides; ++i) numbers_close(env, &b->held[i], JNI_ABORT);
    free(b->rows);
    free(b->held);
    (*env)->PopLocalFrame(env, NULL);
}

static jintArray ints(JNIEnv *env, const int32_t *values, int64_t count) {
    jintArray made = (*env)->NewIntArray(env, (jsize)count);
    if (made != NULL && count > 0) (*env)->SetIntArrayRegion(env, made, 0, (jsize)count, values);
    return made;
}

jobject batch_new(JNIEnv *env, const xf_batch *batch) {
    const int64_t size = batch->sentences;
    jobject made = NULL;
    jintArray src, src_offsets, tgt, tgt_offsets;
    jlongArray index = NULL;
    if ((*env)->PushLocalFrame(env, 8) != 0) return NULL;
    src = ints(env, batch->src_ids, batch->src_offsets[size]);
    src_offsets = src == NULL ? NULL : ints(env, batch->src_offsets, size + 1);
    tgt = src_offsets == NULL ? NULL : ints(env, batch->tgt_ids, batch->tgt_offsets[size]);
    tgt_offsets = tgt == NULL ? NULL : ints(env, batch->tgt_offsets, size + 1);
    if (tgt_offsets != NULL) index = (*env)->NewLongArray(env, (jsize)size);
    if (index != NULL) {
        (*env)->SetLongArrayRegion(env, index, 0, (jsize)size, (const jlong *)batch->pair_index);
        made = (*env)->NewObject(env, batch_class, constructor, src, src_offsets, tgt, tgt_offsets, index);
    }
    return (*env)->PopLocalFrame(env, made);
}
