/*
 * glue.c - loading, errors and log lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "glue.h"

#include <string.h>

static JavaVM *machine;
static jclass exception_class;
static jmethodID after_call, hear;

/* What a callback has thrown in the call that runs on this thread: a global reference. */
static _Thread_local jobject thrown;

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
    JNIEnv *env = NULL;
    jclass found;
    (void)reserved;
    machine = vm;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_10) != JNI_OK) return JNI_ERR;

    found = (*env)->FindClass(env, "xformer/XformerException");
    if (found == NULL) return JNI_ERR;
    after_call = (*env)->GetStaticMethodID(env, found, "afterCall", "(II[BLjava/lang/Throwable;)Ljava/lang/Throwable;");
    if (after_call == NULL) return JNI_ERR;
    exception_class = (*env)->NewGlobalRef(env, found);
    (*env)->DeleteLocalRef(env, found);
    if (exception_class == NULL) return JNI_ERR;

    found = (*env)->FindClass(env, "xformer/Ear");
    if (found == NULL) return JNI_ERR;
    hear = (*env)->GetMethodID(env, found, "hear", "(I[B[B)V");
    (*env)->DeleteLocalRef(env, found);
    if (hear == NULL) return JNI_ERR;

    return batch_load(env) && decode_load(env) ? JNI_VERSION_10 : JNI_ERR;
}

void throw_no_memory(JNIEnv *env) {
    jclass found;
    if ((*env)->ExceptionCheck(env)) return;
    found = (*env)->FindClass(env, "java/lang/OutOfMemoryError");
    if (found != NULL) (*env)->ThrowNew(env, found, "native memory");
    (*env)->DeleteLocalRef(env, found);
}

bool ended_well(JNIEnv *env, enum xf_status status, const xf_error *err) {
    jobject raised;
    jobject exception;
    jbyteArray message = NULL;
    if (status >= 0 && thrown == NULL) return true;

    raised = thrown == NULL ? NULL : (*env)->NewLocalRef(env, thrown);
    if (thrown != NULL) (*env)->DeleteGlobalRef(env, thrown);
    thrown = NULL;
    if (status < 0) {
        message = bytes_of_string(env, err->message);
        if (message == NULL) return false;
    }
    exception = (*env)->CallStaticObjectMethod(env, exception_class, after_call, (jint)status,
                                               status < 0 ? (jint)err->native_code : 0, message, raised);
    if (!(*env)->ExceptionCheck(env)) (*env)->Throw(env, exception);
    (*env)->DeleteLocalRef(env, exception);
    (*env)->DeleteLocalRef(env, message);
    (*env)->DeleteLocalRef(env, raised);
    return false;
}

/*
 * Callbacks run within a call of the library, on the thread of Java that made it. An exception may not pass through the
 * library, and hardly a function of JNI may be called while one is pending.
 */
bool put_aside(JNIEnv *env) {
    jthrowable exception = (*env)->ExceptionOccurred(env);
    if (exception == NULL) return false;
    (*env)->ExceptionClear(env);
    if (thrown == NULL) thrown = (*env)->NewGlobalRef(env, exception);
    (*env)->DeleteLocalRef(env, exception);
    return true;
}

void on_log(void *user, enum xf_log_level level, const char *component, const char *message) {
    JNIEnv *env = NULL;
    jobject ear;
    if ((*machine)->GetEnv(machine, (void **)&env, JNI_VERSION_10) != JNI_OK) return;
    if (thrown != NULL || (*env)->ExceptionCheck(env)) return;

    if ((*env)->PushLocalFrame(env, 8) == 0) {
        ear = (*env)->NewLocalRef(env, (jobject)user);
        if (ear != NULL) { /* else it is collected already: objects are being freed that nobody closed */
            jbyteArray speaker = bytes_of_string(env, component);
            jbyteArray line = speaker == NULL ? NULL : bytes_of_string(env, message);
            if (line != NULL) (*env)->CallVoidMethod(env, ear, hear, (jint)level, speaker, line);
        }
        put_aside(env);
        (*env)->PopLocalFrame(env, NULL);
    } else {
        (*env)->ExceptionClear(env); /* no memory for a log line */
    }
}

JNIEXPORT jlong JNICALL Java_xformer_Native_weakCreate(JNIEnv *env, jclass class, jobject ear) {
    (void)class;
    return TO_JAVA((*env)->NewWeakGlobalRef(env, ear));
}

JNIEXPORT void JNICALL Java_xformer_Native_weakFree(JNIEnv *env, jclass class, jlong weak) {
    (void)class;
    (*env)->DeleteWeakGlobalRef(env, (jweak)(intptr_t)weak);
}

JNIEXPORT jint JNICALL Java_xformer_Native_headerVersion(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return XF_VERSION_NUM;
}

JNIEXPORT jint JNICALL Java_xformer_Native_versionNumber(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return xf_version_num();
}

JNIEXPORT jbyteArray JNICALL Java_xformer_Native_version(JNIEnv *env, jclass class) {
    (void)class;
    return bytes_of_string(env, xf_version());
}

JNIEXPORT jbyteArray JNICALL Java_xformer_Native_buildInfo(JNIEnv *env, jclass class) {
    (void)class;
    return bytes_of_string(env, xf_build_info());
}

JNIEXPORT jbyteArray JNICALL Java_xformer_Native_statusName(JNIEnv *env, jclass class, jint status) {
    (void)class;
    return bytes_of_string(env, xf_status_name(status));
}
