/*
 * memory.c - bytes, strings and numbers between Java and C. Nothing here is held while another thread of Java waits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "glue.h"

bytes bytes_open(JNIEnv *env, jbyteArray array) {
    bytes b;
    b.array = array;
    b.length = (size_t)(*env)->GetArrayLength(env, array);
    b.data = (*env)->GetByteArrayElements(env, array, NULL);
    if (b.data == NULL) throw_no_memory(env);
    return b;
}

void bytes_close(JNIEnv *env, bytes *b) {
    if (b->data != NULL) (*env)->ReleaseByteArrayElements(env, b->array, b->data, JNI_ABORT);
    b->data = NULL;
}

jbyteArray bytes_new(JNIEnv *env, const void *data, size_t length) {
    jbyteArray made;
    if (length > INT32_MAX) {
        throw_no_memory(env);
        return NULL;
    }
    made = (*env)->NewByteArray(env, (jsize)length);
    if (made != NULL && length > 0) (*env)->SetByteArrayRegion(env, made, 0, (jsize)length, data);
    return made;
}

jbyteArray bytes_of_string(JNIEnv *env, const char *text) { return bytes_new(env, text, strlen(text)); }

bool put_bytes(JNIEnv *env, jobjectArray array, jsize index, const char *text, size_t length) {
    jbyteArray made;
    if (text == NULL) return true;
    made = bytes_new(env, text, length);
    if (made == NULL) return false;
    (*env)->SetObjectArrayElement(env, array, index, made);
    (*env)->DeleteLocalRef(env, made);
    return !(*env)->ExceptionCheck(env);
}

bool put_strings(JNIEnv *env, jobjectArray array, const char *const *texts, jsize count) {
    for (jsize i = 0; i < count; ++i)
        if (!put_bytes(env, array, i, texts[i], texts[i] == NULL ? 0 : strlen(texts[i]))) return false;
    return true;
}

bool strings_open(JNIEnv *env, jbyteArray packed, jintArray starts, strings *s) {
    jint *begin;
    memset(s, 0, sizeof *s);
    s->count = (size_t)(*env)->GetArrayLength(env, starts) - 1;
    s->packed = bytes_open(env, packed);
    if (s->packed.data == NULL) return false;
    begin = (*env)->GetIntArrayElements(env, starts, NULL);
    s->texts = calloc(s->count + 1, sizeof *s->texts);
    s->lengths = calloc(s->count + 1, sizeof *s->lengths);
    if (begin != NULL && s->texts != NULL && s->lengths != NULL) {
        for (size_t i = 0; i < s->count; ++i) {
            s->texts[i] = (const char *)s->packed.data + begin[i];
            s->lengths[i] = (size_t)(begin[i + 1] - begin[i] - 1);
        }
        (*env)->ReleaseIntArrayElements(env, starts, begin, JNI_ABORT);
        return true;
    }
    if (begin != NULL) (*env)->ReleaseIntArrayElements(env, starts, begin, JNI_ABORT);
    strings_close(env, s);
    throw_no_memory(env);
    return false;
}

void strings_close(JNIEnv *env, strings *s) {
    free(s->texts);
    free(s->lengths);
    bytes_close(env, &s->packed);
}

bool numbers_open(JNIEnv *env, jobject object, bool floats, numbers *n) {
    jlong capacity = (*env)->GetDirectBufferCapacity(env, object);
    memset(n, 0, sizeof *n);
    if (capacity >= 0) {
        n->data = (*env)->GetDirectBufferAddress(env, object);
        n->count = (size_t)capacity;
        return true;
    }
    n->array = object;
    n->floats = floats;
    n->count = (size_t)(*env)->GetArrayLength(env, object);
    n->data = floats ? (void *)(*env)->GetFloatArrayElements(env, object, NULL)
                     : (void *)(*env)->GetIntArrayElements(env, object, NULL);
    if (n->data == NULL) throw_no_memory(env);
    return n->data != NULL;
}

void numbers_close(JNIEnv *env, numbers *n, jint mode) {
    if (n->array == NULL || n->data == NULL) return;
    if (n->floats)
        (*env)->ReleaseFloatArrayElements(env, n->array, n->data, mode);
    else
        (*env)->ReleaseIntArrayElements(env, n->array, n->data, mode);
    n->data = NULL;
}
