/*
 * glue.h - what the files of libxformer_jni.so share: errors, strings, arrays, batches.
 *
 * The glue is a mirror of the C API and decides nothing. Rules it keeps: a native function looks for a pending
 * exception after each call of JNI that may leave one; memory of Java is copied, or is a direct buffer, so that the
 * collector is never stopped while the library computes; exceptions never cross the library's frames (see put_aside()).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_JNI_GLUE_H
#define XFORMER_JNI_GLUE_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>
#include <xformer/xformer.h>

#include "xformer_Native.h"

/* A handle as Java holds it, and back. */
#define TO_JAVA(pointer) ((jlong)(intptr_t)(pointer))
#define FROM_JAVA(type, number) ((type *)(intptr_t)(number))

/* Ends a call of the library: true when it went well and no callback has thrown; else an exception is pending. */
bool ended_well(JNIEnv *env, enum xf_status status, const xf_error *err);

/* Throws an OutOfMemoryError. */
void throw_no_memory(JNIEnv *env);

/* What xf_context_set_log() is given; user is a weak reference to an Ear. */
void on_log(void *user, enum xf_log_level level, const char *component, const char *message);

/* Keeps the exception that is pending, if one is, for ended_well(): true when there was one. */
bool put_aside(JNIEnv *env);

/* Bytes of Java, copied; data is NULL when an exception is pending. */
typedef struct bytes {
    jbyteArray array;
    jbyte *data;
    size_t length;
} bytes;

bytes bytes_open(JNIEnv *env, jbyteArray array);
void bytes_close(JNIEnv *env, bytes *b);

/* A new byte[]; NULL when an exception is pending. */
jbyteArray bytes_new(JNIEnv *env, const void *data, size_t length);
jbyteArray bytes_of_string(JNIEnv *env, const char *text);

/* Puts a new byte[] into an array: false when an exception is pending. A NULL text leaves the entry null. */
bool put_bytes(JNIEnv *env, jobjectArray array, jsize index, const char *text, size_t length);
bool put_strings(JNIEnv *env, jobjectArray array, const char *const *texts, jsize count);

/* Strings that Java packed one after the other, each with a NUL at its end. */
typedef struct strings {
    bytes packed;
    const char **texts;
    size_t *lengths;
    size_t count;
} strings;

bool strings_open(JNIEnv *env, jbyteArray packed, jintArray starts, strings *s);
void strings_close(JNIEnv *env, strings *s);

/* An int[] or float[], copied, or a direct buffer in place. */
typedef struct numbers {
    jobject array; /* NULL for a direct buffer */
    bool floats;
    void *data;
    size_t count;
} numbers;

bool numbers_open(JNIEnv *env, jobject object, bool floats, numbers *n);
/* mode: 0 copies back into the array, JNI_ABORT does not. */
void numbers_close(JNIEnv *env, numbers *n, jint mode);

/* The C view of an array of Batch objects. */
typedef struct batches {
    xf_batch *rows;
    size_t count;
    numbers *held; /* four for each: ids and offsets of source and target */
} batches;

bool batches_open(JNIEnv *env, jobjectArray array, batches *b);
void batches_close(JNIEnv *env, batches *b);

/* A new Batch with copies of a batcher's numbers; NULL when an exception is pending. */
jobject batch_new(JNIEnv *env, const xf_batch *batch);

/* Look up the classes that these files use; false when an exception is pending. */
bool batch_load(JNIEnv *env);
bool decode_load(JNIEnv *env);

#endif /* XFORMER_JNI_GLUE_H */
