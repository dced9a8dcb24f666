/*
 * glue.c - libxformer_jni.so: the functions of the C API for Java, its memory, and the way of callbacks back to Java.
 *
 * It decides nothing. Java writes strings and structs into memory of C (Frame.java) and calls the functions that
 * functions.inl lists; callbacks go to static methods of Services and Frame, which catch what listeners throw: an
 * exception never crosses the library's frames. Nothing of Java is pinned while the library computes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <jni.h>
#include <stdlib.h>
#include <string.h>
#include <xformer/xformer.h>

/* The structs as Java writes and reads them: words of 8 bytes, and where the last member stands. */
#define LAYOUT(type, words, last, place) \
    _Static_assert(sizeof(type) == 8 * (words) && offsetof(type, last) == 8 * (place), "see Java's " #type)
LAYOUT(xf_error, 32, message, 1);
LAYOUT(xf_option_info, 10, since, 9);
LAYOUT(xf_host, 13, release, 12);
LAYOUT(xf_memory_stats, 5, allocations, 4);
LAYOUT(xf_backend_info, 7, reason, 6);
LAYOUT(xf_corpus_stats, 8, nul_byte, 7);
LAYOUT(xf_batch, 7, pair_index, 6);
LAYOUT(xf_batcher_stats, 9, tgt_tokens, 8);
LAYOUT(xf_source, 7, fd, 6);
LAYOUT(xf_model_summary, 10, precision, 8);
LAYOUT(xf_tensor_info, 4, columns, 3);
LAYOUT(xf_step_stats, 10, outcome, 9);
LAYOUT(xf_prefix, 6, vocab_size, 5);
LAYOUT(xf_decode_params, 8, constraint_user, 7);
LAYOUT(xf_hypothesis, 9, finished, 8);
LAYOUT(xf_eval_stats, 6, perplexity, 5);
LAYOUT(xf_bleu_score, 21, signature, 9);

#define P(x) ((void *)(intptr_t)(x))
#define Z(x) ((size_t)(x))
#define I(x) ((int32_t)(x))

#define TAKES_0
#define TAKES_1 , jlong a
#define TAKES_2 TAKES_1, jlong b
#define TAKES_3 TAKES_2, jlong c
#define TAKES_4 TAKES_3, jlong d
#define TAKES_5 TAKES_4, jlong e
#define TAKES_6 TAKES_5, jlong f
#define TAKES_7 TAKES_6, jlong g
#define TAKES_8 TAKES_7, jlong h
#define TAKES_9 TAKES_8, jlong i

#define METHOD(type, name, count, call)                                        \
    static type JNICALL java_##name(JNIEnv *env, jclass class TAKES_##count) { \
        (void)env, (void)class;                                                \
        call;                                                                  \
    }
#define STATUS(name, count, ...) METHOD(jint, name, count, return name(__VA_ARGS__))
#define POINTER(name, count, ...) METHOD(jlong, name, count, return (jlong)(intptr_t)name(__VA_ARGS__))
#define NUMBER(name, count, ...) METHOD(jlong, name, count, return (jlong)name(__VA_ARGS__))
#define NOTHING(name, count, ...) METHOD(void, name, count, name(__VA_ARGS__))
#include "functions.inl"
#undef STATUS
#undef POINTER
#undef NUMBER
#undef NOTHING

/* The one that takes a double. */
static jint JNICALL java_xf_config_set_f64(JNIEnv *env, jclass class, jlong a, jlong b, jdouble c, jlong d) {
    (void)env, (void)class;
    return xf_config_set_f64(P(a), P(b), c, P(d));
}

/* Memory. */

static jint JNICALL header_version(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return XF_VERSION_NUM;
}

static jlong JNICALL allocate(JNIEnv *env, jclass class, jlong size) {
    (void)env, (void)class;
    return (jlong)(intptr_t)calloc(Z(size), 1);
}

static void JNICALL release(JNIEnv *env, jclass class, jlong address) {
    (void)env, (void)class;
    free(P(address));
}

static jobject JNICALL view(JNIEnv *env, jclass class, jlong address, jlong size) {
    (void)class;
    return (*env)->NewDirectByteBuffer(env, P(address), size);
}

static jlong JNICALL address_of(JNIEnv *env, jclass class, jobject buffer) {
    (void)class;
    return (jlong)(intptr_t)(*env)->GetDirectBufferAddress(env, buffer);
}

static jlong JNICALL length_of(JNIEnv *env, jclass class, jlong text) {
    (void)env, (void)class;
    return (jlong)strlen(P(text));
}

/* Callbacks. They run within a call of the library, on the thread of Java that made it; user is a number that Java
 * knows the listener by. */

static JavaVM *machine;
static jclass services, frame;
static jmethodID log_method, progress_method, parallel_method, restrict_method;

static JNIEnv *environment(void) {
    JNIEnv *env = NULL;
    return (*machine)->GetEnv(machine, (void **)&env, JNI_VERSION_10) == JNI_OK ? env : NULL;
}

/* What even the catch of the method could not hold, a stack that is full, say: true when there was something. */
static int32_t cleared(JNIEnv *env) {
    const jboolean failed = (*env)->ExceptionCheck(env);
    if (failed) (*env)->ExceptionClear(env);
    return failed;
}

static void on_log(void *user, enum xf_log_level level, const char *component, const char *message) {
    JNIEnv *env = environment();
    if (env == NULL) return;
    (*env)->CallStaticVoidMethod(env, services, log_method, (jlong)(intptr_t)user, (jint)level,
                                 (jlong)(intptr_t)component, (jlong)(intptr_t)message);
    cleared(env);
}

static int32_t on_progress(void *user, const char *task, int64_t done, int64_t total) {
    JNIEnv *env = environment();
    int32_t answer;
    if (env == NULL) return 0;
    answer = (*env)->CallStaticIntMethod(env, services, progress_method, (jlong)(intptr_t)user, (jlong)(intptr_t)task,
                                         (jlong)done, (jlong)total);
    return cleared(env) ? 1 : answer;
}

/* The method fails only before it has begun a task; then they run here. */
static void on_parallel(void *user, int32_t count, xf_task_fn task, void *arg) {
    JNIEnv *env = environment();
    if (env != NULL) {
        (*env)->CallStaticVoidMethod(env, services, parallel_method, (jlong)(intptr_t)user, (jint)count,
                                     (jlong)(intptr_t)task, (jlong)(intptr_t)arg);
        if (!cleared(env)) return;
    }
    for (int32_t i = 0; i < count; ++i) task(arg, i);
}

static void JNICALL run_task(JNIEnv *env, jclass class, jlong task, jlong arg, jint index) {
    (void)env, (void)class;
    ((xf_task_fn)(intptr_t)task)(P(arg), index);
}

static int32_t on_question(void *user, const xf_prefix *prefix, uint32_t *allowed) {
    JNIEnv *env = environment();
    int32_t answer;
    (void)user;
    if (env == NULL) return 1;
    answer =
        (*env)->CallStaticIntMethod(env, frame, restrict_method, (jlong)(intptr_t)prefix, (jlong)(intptr_t)allowed);
    return cleared(env) ? 1 : answer;
}

/* In the order of Native.LOG and its like. */
static jlong JNICALL callback(JNIEnv *env, jclass class, jint which) {
    const intptr_t all[] = {(intptr_t)on_log, (intptr_t)on_progress, (intptr_t)on_parallel, (intptr_t)on_question};
    (void)env, (void)class;
    return all[which];
}

static jclass found(JNIEnv *env, const char *name) {
    jclass local = (*env)->FindClass(env, name);
    return local == NULL ? NULL : (*env)->NewGlobalRef(env, local);
}

#define SIGNATURE_0
#define SIGNATURE_1 "J"
#define SIGNATURE_2 "JJ"
#define SIGNATURE_3 "JJJ"
#define SIGNATURE_4 "JJJJ"
#define SIGNATURE_5 "JJJJJ"
#define SIGNATURE_6 "JJJJJJ"
#define SIGNATURE_7 "JJJJJJJ"
#define SIGNATURE_8 "JJJJJJJJ"
#define SIGNATURE_9 "JJJJJJJJJ"
#define ROW(name, signature, function) \
    { (char *)(name), (char *)(signature), (void *)(intptr_t)(function) }
#define STATUS(name, count, ...) ROW(#name, "(" SIGNATURE_##count ")I", java_##name),
#define POINTER(name, count, ...) ROW(#name, "(" SIGNATURE_##count ")J", java_##name),
#define NUMBER(name, count, ...) POINTER(name, count, )
#define NOTHING(name, count, ...) ROW(#name, "(" SIGNATURE_##count ")V", java_##name),

static const JNINativeMethod methods[] = {
#include "functions.inl"
    ROW("xf_config_set_f64", "(JJDJ)I", java_xf_config_set_f64),
    ROW("headerVersion", "()I", header_version),
    ROW("allocate", "(J)J", allocate),
    ROW("release", "(J)V", release),
    ROW("view", "(JJ)Ljava/nio/ByteBuffer;", view),
    ROW("address", "(Ljava/nio/Buffer;)J", address_of),
    ROW("length", "(J)J", length_of),
    ROW("runTask", "(JJI)V", run_task),
    ROW("callback", "(I)J", callback),
};

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
    JNIEnv *env = NULL;
    jclass native;
    (void)reserved;
    machine = vm;
    if ((env = environment()) == NULL) return JNI_ERR;
    if ((native = (*env)->FindClass(env, "xformer/Native")) == NULL) return JNI_ERR;
    if ((*env)->RegisterNatives(env, native, methods, sizeof methods / sizeof *methods) != JNI_OK) return JNI_ERR;
    if ((services = found(env, "xformer/Services")) == NULL) return JNI_ERR;
    if ((frame = found(env, "xformer/Frame")) == NULL) return JNI_ERR;
    log_method = (*env)->GetStaticMethodID(env, services, "log", "(JIJJ)V");
    if (log_method == NULL) return JNI_ERR;
    progress_method = (*env)->GetStaticMethodID(env, services, "progress", "(JJJJ)I");
    if (progress_method == NULL) return JNI_ERR;
    parallel_method = (*env)->GetStaticMethodID(env, services, "parallel", "(JIJJ)V");
    if (parallel_method == NULL) return JNI_ERR;
    restrict_method = (*env)->GetStaticMethodID(env, frame, "restrict", "(JJ)I");
    return restrict_method == NULL ? JNI_ERR : JNI_VERSION_10;
}
