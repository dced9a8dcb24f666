/*
 * context.c - config.h, context.h and backend.h for Java.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "glue.h"

JNIEXPORT jlong JNICALL Java_xformer_Native_configCreate(JNIEnv *env, jclass class) {
    xf_config *made = NULL;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_config_create(&made, &err), &err)) return TO_JAVA(made);
    xf_config_free(made);
    return 0;
}

JNIEXPORT void JNICALL Java_xformer_Native_configFree(JNIEnv *env, jclass class, jlong config) {
    (void)env, (void)class;
    xf_config_free(FROM_JAVA(xf_config, config));
}

JNIEXPORT jlong JNICALL Java_xformer_Native_configCopy(JNIEnv *env, jclass class, jlong config) {
    xf_config *made = NULL;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_config_copy(FROM_JAVA(xf_config, config), &made, &err), &err)) return TO_JAVA(made);
    xf_config_free(made);
    return 0;
}

JNIEXPORT void JNICALL Java_xformer_Native_configPreset(JNIEnv *env, jclass class, jlong config, jbyteArray name) {
    bytes n = bytes_open(env, name);
    xf_error err;
    (void)class;
    if (n.data == NULL) return;
    ended_well(env, xf_config_preset(FROM_JAVA(xf_config, config), (const char *)n.data, &err), &err);
    bytes_close(env, &n);
}

/* Sets an option from text, by either function. */
static void set_text(JNIEnv *env, jlong config, jbyteArray key, jbyteArray value,
                     enum xf_status (*set)(xf_config *, const char *, const char *, xf_error *)) {
    xf_error err;
    bytes v;
    bytes k = bytes_open(env, key);
    if (k.data == NULL) return;
    v = bytes_open(env, value);
    if (v.data != NULL)
        ended_well(env, set(FROM_JAVA(xf_config, config), (const char *)k.data, (const char *)v.data, &err), &err);
    bytes_close(env, &v);
    bytes_close(env, &k);
}

JNIEXPORT void JNICALL Java_xformer_Native_configSet(JNIEnv *env, jclass class, jlong config, jbyteArray key,
                                                     jbyteArray value) {
    (void)class;
    set_text(env, config, key, value, xf_config_set);
}

JNIEXPORT void JNICALL Java_xformer_Native_configSetLong(JNIEnv *env, jclass class, jlong config, jbyteArray key,
                                                         jlong value) {
    bytes k = bytes_open(env, key);
    xf_error err;
    (void)class;
    if (k.data == NULL) return;
    ended_well(env, xf_config_set_i64(FROM_JAVA(xf_config, config), (const char *)k.data, value, &err), &err);
    bytes_close(env, &k);
}

JNIEXPORT void JNICALL Java_xformer_Native_configSetDouble(JNIEnv *env, jclass class, jlong config, jbyteArray key,
                                                           jdouble value) {
    bytes k = bytes_open(env, key);
    xf_error err;
    (void)class;
    if (k.data == NULL) return;
    ended_well(env, xf_config_set_f64(FROM_JAVA(xf_config, config), (const char *)k.data, value, &err), &err);
    bytes_close(env, &k);
}

JNIEXPORT void JNICALL Java_xformer_Native_configSetBoolean(JNIEnv *env, jclass class, jlong config, jbyteArray key,
                                                            jboolean value) {
    bytes k = bytes_open(env, key);
    xf_error err;
    (void)class;
    if (k.data == NULL) return;
    ended_well(env, xf_config_set_i64(FROM_JAVA(xf_config, config), (const char *)k.data, value != JNI_FALSE, &err),
               &err);
    bytes_close(env, &k);
}

JNIEXPORT jlong JNICALL Java_xformer_Native_configGetLong(JNIEnv *env, jclass class, jlong config, jbyteArray key) {
    bytes k = bytes_open(env, key);
    int64_t value = 0;
    xf_error err;
    (void)class;
    if (k.data == NULL) return 0;
    ended_well(env, xf_config_get_i64(FROM_JAVA(xf_config, config), (const char *)k.data, &value, &err), &err);
    bytes_close(env, &k);
    return value;
}

JNIEXPORT jdouble JNICALL Java_xformer_Native_configGetDouble(JNIEnv *env, jclass class, jlong config, jbyteArray key) {
    bytes k = bytes_open(env, key);
    double value = 0;
    xf_error err;
    (void)class;
    if (k.data == NULL) return 0;
    ended_well(env, xf_config_get_f64(FROM_JAVA(xf_config, config), (const char *)k.data, &value, &err), &err);
    bytes_close(env, &k);
    return value;
}

JNIEXPORT jboolean JNICALL Java_xformer_Native_configGetBoolean(JNIEnv *env, jclass class, jlong config,
                                                                jbyteArray key) {
    bytes k = bytes_open(env, key);
    int64_t value = 0;
    xf_error err;
    (void)class;
    if (k.data == NULL) return JNI_FALSE;
    ended_well(env, xf_config_get_i64(FROM_JAVA(xf_config, config), (const char *)k.data, &value, &err), &err);
    bytes_close(env, &k);
    return value != 0 ? JNI_TRUE : JNI_FALSE;
}

JNIEXPORT jbyteArray JNICALL Java_xformer_Native_configGetString(JNIEnv *env, jclass class, jlong config,
                                                                 jbyteArray key) {
    bytes k = bytes_open(env, key);
    const char *value = NULL;
    jbyteArray found = NULL;
    xf_error err;
    (void)class;
    if (k.data == NULL) return NULL;
    if (ended_well(env, xf_config_get(FROM_JAVA(xf_config, config), (const char *)k.data, &value, &err), &err))
        found = bytes_of_string(env, value);
    bytes_close(env, &k);
    return found;
}

JNIEXPORT jint JNICALL Java_xformer_Native_optionCount(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return (jint)xf_option_count();
}

JNIEXPORT jint JNICALL Java_xformer_Native_option(JNIEnv *env, jclass class, jint index, jobjectArray texts,
                                                  jdoubleArray bounds) {
    xf_option_info row = XF_OPTION_INFO_INIT;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_option_get((size_t)index, &row, &err), &err)) {
        const char *const all[] = {row.key, row.default_value, row.choices, row.doc, row.paper, row.since};
        const jdouble limits[] = {row.minimum, row.maximum};
        if (put_strings(env, texts, all, 6)) (*env)->SetDoubleArrayRegion(env, bounds, 0, 2, limits);
    }
    return row.type;
}

JNIEXPORT jlong JNICALL Java_xformer_Native_contextCreate(JNIEnv *env, jclass class, jlong config) {
    xf_context *made = NULL;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_context_create(FROM_JAVA(xf_config, config), NULL, &made, &err), &err)) return TO_JAVA(made);
    xf_context_free(made);
    return 0;
}

JNIEXPORT void JNICALL Java_xformer_Native_contextFree(JNIEnv *env, jclass class, jlong context) {
    (void)class;
    xf_context_free(FROM_JAVA(xf_context, context));
    ended_well(env, XF_OK, NULL);
}

JNIEXPORT void JNICALL Java_xformer_Native_contextSetLog(JNIEnv *env, jclass class, jlong context, jlong weak,
                                                         jint level) {
    xf_error err;
    (void)class;
    ended_well(env,
               xf_context_set_log(FROM_JAVA(xf_context, context), weak == 0 ? NULL : on_log, FROM_JAVA(void, weak),
                                  (enum xf_log_level)level, &err),
               &err);
}

JNIEXPORT void JNICALL Java_xformer_Native_contextCancel(JNIEnv *env, jclass class, jlong context) {
    (void)env, (void)class;
    xf_context_cancel(FROM_JAVA(xf_context, context));
}

JNIEXPORT jbyteArray JNICALL Java_xformer_Native_contextDevice(JNIEnv *env, jclass class, jlong context) {
    (void)class;
    return bytes_of_string(env, xf_context_device(FROM_JAVA(xf_context, context)));
}

JNIEXPORT void JNICALL Java_xformer_Native_contextMemory(JNIEnv *env, jclass class, jlong context, jlongArray stats) {
    xf_memory_stats m = XF_MEMORY_STATS_INIT;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_context_get_memory(FROM_JAVA(xf_context, context), &m, &err), &err)) {
        const jlong all[] = {m.current, m.peak, m.budget, m.allocations};
        (*env)->SetLongArrayRegion(env, stats, 0, 4, all);
    }
}

JNIEXPORT jint JNICALL Java_xformer_Native_backendCount(JNIEnv *env, jclass class, jlong context) {
    (void)env, (void)class;
    return (jint)xf_backend_count(FROM_JAVA(xf_context, context));
}

JNIEXPORT void JNICALL Java_xformer_Native_backend(JNIEnv *env, jclass class, jlong context, jint index,
                                                   jobjectArray texts, jintArray counts) {
    xf_backend_info info = XF_BACKEND_INFO_INIT;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_backend_get(FROM_JAVA(xf_context, context), (size_t)index, &info, &err), &err)) {
        const char *const all[] = {info.name, info.version, info.path, info.kind, info.reason};
        const jint both[] = {info.device_count, info.active};
        if (put_strings(env, texts, all, 5)) (*env)->SetIntArrayRegion(env, counts, 0, 2, both);
    }
}

JNIEXPORT void JNICALL Java_xformer_Native_backendLoad(JNIEnv *env, jclass class, jlong context, jbyteArray path) {
    bytes p = bytes_open(env, path);
    xf_error err;
    (void)class;
    if (p.data == NULL) return;
    ended_well(env, xf_backend_load(FROM_JAVA(xf_context, context), (const char *)p.data, &err), &err);
    bytes_close(env, &p);
}
