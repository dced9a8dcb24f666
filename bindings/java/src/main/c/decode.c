/*
 * decode.c - decode.h and eval.h for Java.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "glue.h"

JNIEXPORT jlong JNICALL Java_xformer_Native_decoderCreate(JNIEnv *env, jclass class, jlong model, jlong config) {
    xf_decoder *made = NULL;
    xf_error err;
    (void)class;
    if (ended_well(env, xf_decoder_create(FROM_JAVA(xf_model, model), FROM_JAVA(xf_config, config), &made, &err), &err))
        return TO_JAVA(made);
    xf_decoder_free(made);
    return 0;
}

JNIEXPORT void JNICALL Java_xformer_Native_decoderFree(JNIEnv *env, jclass class, jlong decoder) {
    (void)class;
    xf_decoder_free(FROM_JAVA(xf_decoder, decoder));
    ended_well(env, XF_OK, NULL);
}

/* What a constraint needs during one call; the class Asked holds it in Java. */
typedef struct question {
    JNIEnv *env;
    jobject asked;
} question;

static jmethodID ask;

bool decode_load(JNIEnv *env) {
    jclass found = (*env)->FindClass(env, "xformer/Asked");
    if (found == NULL) return false;
    ask = (*env)->GetMethodID(env, found, "ask", "(I[IJI)[J");
    (*env)->DeleteLocalRef(env, found);
    return ask != NULL;
}

/* Asks; the answer is the words of a BitSet, without those at the end that are 0. */
static jlongArray answer_of(const question *q, const xf_prefix *prefix) {
    JNIEnv *env = q->env;
    jintArray ids = (*env)->NewIntArray(env, (jsize)prefix->length);
    if (ids == NULL) return NULL;
    if (prefix->length > 0) (*env)->SetIntArrayRegion(env, ids, 0, (jsize)prefix->length, prefix->ids);
    return (*env)->CallObjectMethod(env, q->asked, ask, (jint)prefix->sentence, ids, (jlong)prefix->remaining,
                                    (jint)prefix->vocab_size);
}

static int32_t on_question(void *user, const xf_prefix *prefix, uint32_t *allowed) {
    const question *q = user;
    JNIEnv *env = q->env;
    const jsize words = (prefix->vocab_size + 31) / 32;
    jlongArray answer;
    bool failed;
    if ((*env)->PushLocalFrame(env, 8) != 0) return put_aside(env);
    answer = answer_of(q, prefix);
    failed = put_aside(env);
    if (!failed) {
        const jsize size = (*env)->GetArrayLength(env, answer);
        for (jsize i = 0; i < words; ++i) {
            jlong word = 0;
            if (i / 2 < size) (*env)->GetLongArrayRegion(env, answer, i / 2, 1, &word);
            allowed[i] &= (uint32_t)((uint64_t)word >> (i % 2 * 32));
        }
    }
    (*env)->PopLocalFrame(env, NULL);
    return failed;
}

/* Sets the constraint for one call alone, so that the decoder keeps nothing of Java. */
static enum xf_status constrain(xf_decoder *decoder, question *q, xf_error *err) {
    return q->asked == NULL ? XF_OK : xf_decoder_set_constraint(decoder, on_question, q, err);
}

static jlong answered(JNIEnv *env, xf_decoder *decoder, const question *q, enum xf_status status, xf_error *err,
                      xf_hypotheses *found) {
    if (q->asked != NULL) xf_decoder_set_constraint(decoder, NULL, NULL, NULL);
    if (ended_well(env, status, err)) return TO_JAVA(found);
    xf_hypotheses_free(found);
    return 0;
}

JNIEXPORT jlong JNICALL Java_xformer_Native_decode(JNIEnv *env, jclass class, jlong decoder, jobjectArray one,
                                                   jobject asked) {
    xf_decoder *const d = FROM_JAVA(xf_decoder, decoder);
    question q = {env, asked};
    xf_hypotheses *found = NULL;
    batches b;
    enum xf_status status;
    xf_error err;
    (void)class;
    if (!batches_open(env, one, &b)) return 0;
    status = constrain(d, &q, &err);
    if (status == XF_OK) status = xf_decode(d, b.rows, &found, &err);
    batches_close(env, &b);
    return answered(env, d, &q, status, &err, found);
}

JNIEXPORT jlong JNICALL Java_xformer_Native_translate(JNIEnv *env, jclass class, jlong decoder, jbyteArray texts,
                                                      jintArray starts, jobject asked) {
    xf_decoder *const d = FROM_JAVA(xf_decoder, decoder);
    question q = {env, asked};
    xf_hypotheses *found = NULL;
    strings s;
    enum xf_status status;
    xf_error err;
    (void)class;
    if (!strings_open(env, texts, starts, &s)) return 0;
    status = constrain(d, &q, &err);
    if (status == XF_OK) status = xf_translate(d, s.texts, s.lengths, s.count, &found, &err);
    strings_close(env, &s);
    return answered(env, d, &q, status, &err, found);
}

JNIEXPORT void JNICALL Java_xformer_Native_hypothesesFree(JNIEnv *env, jclass class, jlong hypotheses) {
    (void)class;
    xf_hypotheses_free(FROM_JAVA(xf_hypotheses, hypotheses));
    ended_well(env, XF_OK, NULL);
}

JNIEXPORT jint JNICALL Java_xformer_Native_hypothesesCount(JNIEnv *env, jclass class, jlong hypotheses) {
    (void)env, (void)class;
    return (jint)xf_hypotheses_sentence_count(FROM_JAVA(xf_hypotheses, hypotheses));
}

JNIEXPORT jint JNICALL Java_xformer_Native_hypothesesSize(JNIEnv *env, jclass class, jlong hypotheses, jint sentence) {
    (void)env, (void)class;
    return (jint)xf_hypotheses_answer_count(FROM_JAVA(xf_hypotheses, hypotheses), (size_t)sentence);
}

JNIEXPORT jintArray JNICALL Java_xformer_Native_hypothesis(JNIEnv *env, jclass class, jlong hypotheses, jint sentence,
                                                           jint rank, jobjectArray text, jdoubleArray values) {
    xf_hypothesis h = XF_HYPOTHESIS_INIT;
    jintArray ids;
    xf_error err;
    (void)class;
    if (!ended_well(env,
                    xf_hypotheses_get(FROM_JAVA(xf_hypotheses, hypotheses), (size_t)sentence, (size_t)rank, &h, &err),
                    &err))
        return NULL;
    ids = (*env)->NewIntArray(env, (jsize)h.length);
    if (ids == NULL) return NULL;
    if (h.length > 0) (*env)->SetIntArrayRegion(env, ids, 0, (jsize)h.length, h.ids);
    if (put_bytes(env, text, 0, h.text, h.text_length)) {
        const jdouble all[] = {h.log_probability, h.score, h.finished};
        (*env)->SetDoubleArrayRegion(env, values, 0, 3, all);
    }
    return ids;
}

JNIEXPORT void JNICALL Java_xformer_Native_score(JNIEnv *env, jclass class, jlong decoder, jobjectArray one,
                                                 jdoubleArray log_probabilities) {
    const jsize count = (*env)->GetArrayLength(env, log_probabilities);
    double *scores;
    batches b;
    enum xf_status status;
    xf_error err;
    (void)class;
    if (!batches_open(env, one, &b)) return;
    scores = calloc((size_t)count + 1, sizeof *scores);
    if (scores == NULL) throw_no_memory(env);
    status = scores == NULL ? XF_OK : xf_score(FROM_JAVA(xf_decoder, decoder), b.rows, scores, &err);
    batches_close(env, &b);
    if (scores != NULL && ended_well(env, status, &err))
        (*env)->SetDoubleArrayRegion(env, log_probabilities, 0, count, scores);
    free(scores);
}

JNIEXPORT void JNICALL Java_xformer_Native_evaluate(JNIEnv *env, jclass class, jlong decoder, jobjectArray array,
                                                    jlongArray counts, jdoubleArray values) {
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    batches b;
    enum xf_status status;
    xf_error err;
    (void)class;
    if (!batches_open(env, array, &b)) return;
    status = xf_evaluate(FROM_JAVA(xf_decoder, decoder), b.rows, b.count, &stats, &err);
    batches_close(env, &b);
    if (ended_well(env, status, &err)) {
        const jlong n[] = {stats.sentences, stats.tgt_tokens};
        const jdouble x[] = {stats.loss, stats.nll, stats.perplexity};
        (*env)->SetLongArrayRegion(env, counts, 0, 2, n);
        if (!(*env)->ExceptionCheck(env)) (*env)->SetDoubleArrayRegion(env, values, 0, 3, x);
    }
}

JNIEXPORT jfloatArray JNICALL Java_xformer_Native_attentionWeights(JNIEnv *env, jclass class, jlong decoder,
                                                                   jobjectArray one, jint kind, jint layer) {
    xf_decoder *const d = FROM_JAVA(xf_decoder, decoder);
    size_t count = 0;
    float *weights = NULL;
    jfloatArray made = NULL;
    batches b;
    enum xf_status status;
    xf_error err;
    (void)class;
    if (!batches_open(env, one, &b)) return NULL;
    status = xf_attention_weights(d, b.rows, kind, layer, NULL, 0, &count, &err);
    if (status == XF_ERROR_BUFFER_TOO_SMALL) {
        weights = count > INT32_MAX ? NULL : malloc(count * sizeof *weights);
        if (weights == NULL)
            throw_no_memory(env);
        else
            status = xf_attention_weights(d, b.rows, kind, layer, weights, count, &count, &err);
    }
    batches_close(env, &b);
    if (!(*env)->ExceptionCheck(env) && ended_well(env, status, &err)) {
        made = (*env)->NewFloatArray(env, (jsize)count);
        if (made != NULL && weights != NULL) (*env)->SetFloatArrayRegion(env, made, 0, (jsize)count, weights);
    }
    free(weights);
    return made;
}

JNIEXPORT jbyteArray JNICALL Java_xformer_Native_bleu(JNIEnv *env, jclass class, jbyteArray found,
                                                      jintArray found_starts, jbyteArray wanted,
                                                      jintArray wanted_starts, jint tokenize, jdoubleArray values,
                                                      jlongArray lengths) {
    xf_bleu_score score = XF_BLEU_SCORE_INIT;
    jbyteArray signature = NULL;
    strings f, w;
    xf_error err;
    (void)class;
    if (!strings_open(env, found, found_starts, &f)) return NULL;
    if (strings_open(env, wanted, wanted_starts, &w)) {
        const enum xf_status status = xf_bleu(f.texts, w.texts, f.count, tokenize, &score, &err);
        strings_close(env, &w);
        if (ended_well(env, status, &err)) {
            const jdouble x[] = {score.score,         score.precisions[0], score.precisions[1],
                                 score.precisions[2], score.precisions[3], score.brevity_penalty};
            const jlong n[] = {score.hypothesis_length, score.reference_length};
            (*env)->SetDoubleArrayRegion(env, values, 0, 6, x);
            if (!(*env)->ExceptionCheck(env)) (*env)->SetLongArrayRegion(env, lengths, 0, 2, n);
            if (!(*env)->ExceptionCheck(env)) signature = bytes_of_string(env, score.signature);
        }
    }
    strings_close(env, &f);
    return signature;
}

JNIEXPORT jdouble JNICALL Java_xformer_Native_chrf(JNIEnv *env, jclass class, jbyteArray found, jintArray found_starts,
                                                   jbyteArray wanted, jintArray wanted_starts) {
    double score = 0;
    strings f, w;
    xf_error err;
    (void)class;
    if (!strings_open(env, found, found_starts, &f)) return 0;
    if (strings_open(env, wanted, wanted_starts, &w)) {
        const enum xf_status status = xf_chrf(f.texts, w.texts, f.count, &score, &err);
        strings_close(env, &w);
        ended_well(env, status, &err);
    }
    strings_close(env, &f);
    return score;
}
