/*
 * model.c - model.h and train.h for Java.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "glue.h"

JNIEXPORT jlong JNICALL Java_xformer_Native_modelCreate(JNIEnv *env, jclass class, jlong context, jlong config,
                                                        jlong tokenizer) {
    xf_model *made = NULL;
    xf_error err;
    (void)class;
    if (ended_well(env,
                   xf_model_create(FROM_JAVA(xf_context, context), FROM_JAVA(xf_config, config),
                                   FROM_JAVA(xf_tokenizer, tokenizer), &made, &err),
                   &err))
        return TO_JAVA(made);
    xf_model_free(made);
    return 0;
}

JNIEXPORT jlong JNICALL Java_xformer_Native_modelLoad(JNIEnv *env, jclass class, jlong context, jbyteArray path) {
    bytes p = bytes_open(env, path);
    xf_model *made = NULL;
    xf_error err;
    (void)class;
    if (p.data == NULL) return 0;
    if (!ended_well(env, xf_model_load(FROM_JAVA(xf_context, context), (const char *)p.data, &made, &err), &err)) {
        xf_model_free(made);
        made = NULL;
    }
    bytes_close(env, &p);
    return TO_JAVA(made);
}

JNIEXPORT jlong JNICALL Java_xformer_Native_modelAverage(JNIEnv *env, jclass class, jlong context, jbyteArray paths,
                                                         jintArray starts) {
    strings s;
    xf_model *made = NULL;
    xf_error err;
    (void)class;
    if (!strings_open(env, paths, starts, &s)) return 0;
    if (!ended_well(env, xf_model_average(FROM_JAVA(xf_context, context), s.texts, s.count, &made, &err), &err)) {
        xf_model_free(made);
        made = NULL;
    }
    strings_close(env, &s);
    return TO_JAVA(made);
}

JNIEXPORT void JNICALL Java_xformer_Native_modelSave(JNIEnv *env, jclass class, jlong model, jbyteArray path) {
    bytes p = bytes_open(env, path);
    xf_error err;
    (void)class;
    if (p.data == NULL) return;
    ended_well(env, xf_model_save(FROM_JAVA(xf_model, model), (const char *)p.data, &err), &err);
    bytes_close(env, &p);
}

JNIEXPORT void JNICALL Java_xformer_Native_modelExport(JNIEnv *env, jclass class, jlong model, jlong config,
                                                       jbyteArray path) {
    bytes p = bytes_open(env, path);
    xf_error err;
    (void)class;
    if (p.data == NULL) return;
    ended_well(env,
               xf_model_export(FROM_JAVA(xf_model, model), FROM_JAVA(xf_config, config), (const char *)p.data, &err),
               &err);
    bytes_close(env, &p);
}

JNIEXPORT void JNICALL Java_xformer_Native_modelFree(JNIEnv *env, jclass class, jlong model) {
    (void)class;
    xf_model_free(FROM_JAVA(xf_model, model));
    ended_well(env, XF_OK, NULL);
}

JNIEXPORT jlong JNICALL Java_xformer_Native_modelConfig(JNIEnv *env, jclass class, jlong model) {
    return Java_xformer_Native_configCopy(env, class, TO_JAVA(xf_model_config(FROM_JAVA(xf_model, model))));
}

JNIEXPORT jlong JNICALL Java_xformer_Native_modelTokenizer(JNIEnv *env, jclass class, jlong model) {
    (void)env, (void)class;
    return TO_JAVA(xf_model_tokenizer(FROM_JAVA(xf_model, model)));
}

JNIEXPORT jint JNICALL Java_xformer_Native_paramCount(JNIEnv *env, jclass class, jlong model) {
    (void)env, (void)class;
    return (jint)xf_model_tensor_count(FROM_JAVA(xf_model, model));
}

JNIEXPORT jbyteArray JNICALL Java_xformer_Native_paramInfo(JNIEnv *env, jclass class, jlong model, jint index,
                                                           jlongArray shape) {
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_model_get_tensor(FROM_JAVA(xf_model, model), (size_t)index, &info, &err), &err)) {
        const jlong both[] = {info.rows, info.columns};
        (*env)->SetLongArrayRegion(env, shape, 0, 2, both);
        if (!(*env)->ExceptionCheck(env)) return bytes_of_string(env, info.name);
    }
    return NULL;
}

JNIEXPORT void JNICALL Java_xformer_Native_paramRead(JNIEnv *env, jclass class, jlong model, jint index,
                                                     jobject values) {
    numbers n;
    xf_error err;
    enum xf_status status;
    (void)class;
    if (!numbers_open(env, values, true, &n)) return;
    status = xf_model_read_tensor(FROM_JAVA(xf_model, model), (size_t)index, n.data, n.count, &err);
    numbers_close(env, &n, status == XF_OK ? 0 : JNI_ABORT);
    ended_well(env, status, &err);
}

JNIEXPORT void JNICALL Java_xformer_Native_paramWrite(JNIEnv *env, jclass class, jlong model, jint index,
                                                      jobject values) {
    numbers n;
    xf_error err;
    (void)class;
    if (!numbers_open(env, values, true, &n)) return;
    ended_well(env, xf_model_write_tensor(FROM_JAVA(xf_model, model), (size_t)index, n.data, n.count, &err), &err);
    numbers_close(env, &n, JNI_ABORT);
}

JNIEXPORT jlong JNICALL Java_xformer_Native_trainerCreate(JNIEnv *env, jclass class, jlong model, jlong config) {
    xf_trainer *made = NULL;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_trainer_create(FROM_JAVA(xf_model, model), FROM_JAVA(xf_config, config), &made, &err), &err))
        return TO_JAVA(made);
    xf_trainer_free(made);
    return 0;
}

JNIEXPORT jlong JNICALL Java_xformer_Native_trainerResume(JNIEnv *env, jclass class, jlong context, jbyteArray path) {
    bytes p = bytes_open(env, path);
    xf_trainer *made = NULL;
    xf_error err;
    (void)class;
    if (p.data == NULL) return 0;
    if (!ended_well(env, xf_trainer_resume(FROM_JAVA(xf_context, context), (const char *)p.data, &made, &err), &err)) {
        xf_trainer_free(made);
        made = NULL;
    }
    bytes_close(env, &p);
    return TO_JAVA(made);
}

JNIEXPORT void JNICALL Java_xformer_Native_trainerFree(JNIEnv *env, jclass class, jlong trainer) {
    (void)class;
    xf_trainer_free(FROM_JAVA(xf_trainer, trainer));
    ended_well(env, XF_OK, NULL);
}

static void put_stats(JNIEnv *env, const xf_step_stats *s, jlongArray counts, jdoubleArray values) {
    const jlong n[] = {s->step, s->sentences, s->src_tokens, s->tgt_tokens};
    const jdouble x[] = {s->loss, s->nll, s->learning_rate, s->gradient_norm};
    (*env)->SetLongArrayRegion(env, counts, 0, 4, n);
    if (!(*env)->ExceptionCheck(env)) (*env)->SetDoubleArrayRegion(env, values, 0, 4, x);
}

JNIEXPORT void JNICALL Java_xformer_Native_trainStep(JNIEnv *env, jclass class, jlong trainer, jobjectArray array,
                                                     jlongArray counts, jdoubleArray values) {
    xf_step_stats stats = XF_STEP_STATS_INIT;
    batches b;
    enum xf_status status;
    xf_error err;
    (void)class;
    if (!batches_open(env, array, &b)) return;
    status = xf_train_step(FROM_JAVA(xf_trainer, trainer), b.rows, b.count, &stats, &err);
    batches_close(env, &b);
    if (ended_well(env, status, &err)) put_stats(env, &stats, counts, values);
}

JNIEXPORT void JNICALL Java_xformer_Native_trainAccumulate(JNIEnv *env, jclass class, jlong trainer, jobjectArray one,
                                                           jlongArray counts, jdoubleArray values) {
    xf_step_stats stats = XF_STEP_STATS_INIT;
    batches b;
    enum xf_status status;
    xf_error err;
    (void)class;
    if (!batches_open(env, one, &b)) return;
    status = xf_train_accumulate(FROM_JAVA(xf_trainer, trainer), b.rows, &stats, &err);
    batches_close(env, &b);
    if (ended_well(env, status, &err)) put_stats(env, &stats, counts, values);
}

JNIEXPORT void JNICALL Java_xformer_Native_trainUpdate(JNIEnv *env, jclass class, jlong trainer, jlongArray counts,
                                                       jdoubleArray values) {
    xf_step_stats stats = XF_STEP_STATS_INIT;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_train_update(FROM_JAVA(xf_trainer, trainer), &stats, &err), &err))
        put_stats(env, &stats, counts, values);
}

JNIEXPORT void JNICALL Java_xformer_Native_gradientRead(JNIEnv *env, jclass class, jlong trainer, jint index,
                                                        jobject values) {
    numbers n;
    xf_error err;
    enum xf_status status;
    (void)class;
    if (!numbers_open(env, values, true, &n)) return;
    status = xf_trainer_read_gradient(FROM_JAVA(xf_trainer, trainer), (size_t)index, n.data, n.count, &err);
    numbers_close(env, &n, status == XF_OK ? 0 : JNI_ABORT);
    ended_well(env, status, &err);
}

JNIEXPORT jlong JNICALL Java_xformer_Native_trainerSteps(JNIEnv *env, jclass class, jlong trainer) {
    (void)env, (void)class;
    return xf_trainer_step_count(FROM_JAVA(xf_trainer, trainer));
}

JNIEXPORT jlong JNICALL Java_xformer_Native_trainerModel(JNIEnv *env, jclass class, jlong trainer) {
    (void)env, (void)class;
    return TO_JAVA(xf_trainer_model(FROM_JAVA(xf_trainer, trainer)));
}

JNIEXPORT void JNICALL Java_xformer_Native_trainerSave(JNIEnv *env, jclass class, jlong trainer, jlong batcher,
                                                       jbyteArray path) {
    bytes p = bytes_open(env, path);
    xf_error err;
    (void)class;
    if (p.data == NULL) return;
    ended_well(
        env,
        xf_trainer_save(FROM_JAVA(xf_trainer, trainer), FROM_JAVA(xf_batcher, batcher), (const char *)p.data, &err),
        &err);
    bytes_close(env, &p);
}

JNIEXPORT void JNICALL Java_xformer_Native_trainerPosition(JNIEnv *env, jclass class, jlong trainer,
                                                           jlongArray position) {
    int64_t epoch = 0, batch = 0;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_trainer_get_position(FROM_JAVA(xf_trainer, trainer), &epoch, &batch, &err), &err)) {
        const jlong both[] = {epoch, batch};
        (*env)->SetLongArrayRegion(env, position, 0, 2, both);
    }
}

JNIEXPORT void JNICALL Java_xformer_Native_trainerSeek(JNIEnv *env, jclass class, jlong trainer, jlong batcher) {
    xf_error err;
    (void)class;
    ended_well(env, xf_trainer_seek(FROM_JAVA(xf_trainer, trainer), FROM_JAVA(xf_batcher, batcher), &err), &err);
}

JNIEXPORT jlong JNICALL Java_xformer_Native_trainerConfig(JNIEnv *env, jclass class, jlong trainer) {
    return Java_xformer_Native_configCopy(env, class, TO_JAVA(xf_trainer_config(FROM_JAVA(xf_trainer, trainer))));
}
