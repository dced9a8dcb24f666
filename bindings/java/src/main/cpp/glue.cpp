/*
 * glue.cpp - libxformer_jni.so: the functions of the C API for Java, its memory, and the way of callbacks back to Java.
 *
 * It decides nothing. Java writes strings and structs into memory of C (Frame.java) and calls functions by Native.java,
 * which build.sh makes of the headers; the compiler makes each method of C from the type of the function it is for.
 * Callbacks go to static methods of Services and Frame, which catch what listeners throw: an exception never crosses
 * the library's frames. Nothing of Java is pinned while the library computes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <jni.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xformer/xformer.h>

#include <type_traits>

namespace {

/* The structs as Java writes and reads them: words of 8 bytes, and where the last member stands. */
#define LAYOUT(type, words, last, place) \
    static_assert(sizeof(type) == 8 * (words) && offsetof(type, last) == 8 * (place), "see Java's " #type)
LAYOUT(xf_error, 32, message, 1);
LAYOUT(xf_option_info, 10, since, 9);
LAYOUT(xf_host, 14, comm, 13);
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

template <typename T>
T *pointer(jlong address) {
    return reinterpret_cast<T *>(static_cast<intptr_t>(address));
}

/* What Java has for a type of C: a long for numbers and pointers, an int for an enum xf_status; and its letter. */
template <typename C>
using Java = std::conditional_t<std::is_void_v<C> || std::is_same_v<C, double>, C,
                                std::conditional_t<std::is_enum_v<C>, jint, jlong>>;
template <typename C>
constexpr char letter = std::is_void_v<C>           ? 'V'
                        : std::is_same_v<C, double> ? 'D'
                        : std::is_enum_v<C>         ? 'I'
                                                    : 'J';

template <typename C>
C to_c(Java<C> value) {
    if constexpr (std::is_pointer_v<C>)
        return pointer<std::remove_pointer_t<C>>(value);
    else
        return static_cast<C>(value);
}

template <typename C>
Java<C> to_java(C value) {
    if constexpr (std::is_pointer_v<C>)
        return static_cast<jlong>(reinterpret_cast<intptr_t>(value));
    else
        return static_cast<Java<C>>(value);
}

/* The native method for a function: it converts each argument and the result. */
template <auto function>
struct Method;

template <typename Out, typename... In, Out (*function)(In...)>
struct Method<function> {
    static constexpr char signature[] = {'(', letter<In>..., ')', letter<Out>, '\0'};

    static Java<Out> JNICALL call(JNIEnv *, jclass, Java<In>... in) {
        if constexpr (std::is_void_v<Out>)
            function(to_c<In>(in)...);
        else
            return to_java(function(to_c<In>(in)...));
    }
};

/* Memory. */

jint JNICALL header_version(JNIEnv *, jclass) { return XF_VERSION_NUM; }

jlong JNICALL allocate(JNIEnv *, jclass, jlong size) { return to_java(calloc(static_cast<size_t>(size), 1)); }

void JNICALL release(JNIEnv *, jclass, jlong memory) { free(pointer<void>(memory)); }

jobject JNICALL view(JNIEnv *env, jclass, jlong memory, jlong size) {
    return env->NewDirectByteBuffer(pointer<void>(memory), size);
}

jlong JNICALL address_of(JNIEnv *env, jclass, jobject buffer) { return to_java(env->GetDirectBufferAddress(buffer)); }

jlong JNICALL length_of(JNIEnv *, jclass, jlong text) { return static_cast<jlong>(strlen(pointer<char>(text))); }

/* Callbacks. They run within a call of the library, on the thread of Java that made it; user is a number that Java
 * knows the listener by. */

JavaVM *machine;

JNIEnv *environment() {
    void *env = nullptr;
    return machine->GetEnv(&env, JNI_VERSION_10) == JNI_OK ? static_cast<JNIEnv *>(env) : nullptr;
}

/* A static method of Java that answers an int, of which all else it takes is a long. */
struct Callback {
    const char *type_name, *name, *signature;
    jclass type = nullptr;
    jmethodID method = nullptr;

    bool find(JNIEnv *env) {
        const jclass local = env->FindClass(type_name);
        if (local != nullptr) type = static_cast<jclass>(env->NewGlobalRef(local));
        if (type != nullptr) method = env->GetStaticMethodID(type, name, signature);
        return method != nullptr;
    }

    /* Its answer; 1 after what even its catch could not hold, a stack that is full, say. */
    template <typename... In>
    int32_t operator()(In... in) const {
        JNIEnv *env = environment();
        if (env == nullptr) return 1;
        const jint answer = env->CallStaticIntMethod(type, method, to_java(in)...);
        if (!env->ExceptionCheck()) return answer;
        env->ExceptionClear();
        return 1;
    }
};

Callback java_log{"xformer/Services", "log", "(JJJJ)I"};
Callback java_progress{"xformer/Services", "progress", "(JJJJ)I"};
Callback java_parallel{"xformer/Services", "parallel", "(JJJJ)I"};
Callback java_restrict{"xformer/Frame", "restrict", "(JJ)I"};

void on_log(void *user, enum xf_log_level level, const char *component, const char *message) {
    java_log(user, static_cast<jlong>(level), component, message);
}

int32_t on_progress(void *user, const char *task, int64_t done, int64_t total) {
    return java_progress(user, task, done, total);
}

/* The method fails only before it has begun a task; then they run here. */
void on_parallel(void *user, int32_t count, xf_task_fn task, void *arg) {
    if (java_parallel(user, count, task, arg) == 0) return;
    for (int32_t i = 0; i < count; ++i) task(arg, i);
}

void JNICALL run_task(JNIEnv *, jclass, jlong task, jlong arg, jint index) {
    pointer<std::remove_pointer_t<xf_task_fn>>(task)(pointer<void>(arg), index);
}

int32_t on_question(void *, const xf_prefix *prefix, uint32_t *allowed) { return java_restrict(prefix, allowed); }

/* In the order of Native.LOG and its like. */
jlong JNICALL callback(JNIEnv *, jclass, jint which) {
    const jlong all[] = {to_java(on_log), to_java(on_progress), to_java(on_parallel), to_java(on_question)};
    return all[which];
}

JNINativeMethod row(const char *name, const char *signature, void *method) {
    return {const_cast<char *>(name), const_cast<char *>(signature), method};
}

bool register_all(JNIEnv *env) {
#define ROW(name, signature, method) row(name, signature, reinterpret_cast<void *>(method))
#define FUNCTION(name) ROW(#name, Method<name>::signature, Method<name>::call)
    const JNINativeMethod methods[] = {
#include "functions.inl" /* made by build.sh: FUNCTION(xf_...), for each */
        ROW("headerVersion", "()I", header_version),
        ROW("allocate", "(J)J", allocate),
        ROW("release", "(J)V", release),
        ROW("view", "(JJ)Ljava/nio/ByteBuffer;", view),
        ROW("address", "(Ljava/nio/Buffer;)J", address_of),
        ROW("length", "(J)J", length_of),
        ROW("runTask", "(JJI)V", run_task),
        ROW("callback", "(I)J", callback),
    };
    const jclass native = env->FindClass("xformer/Native");
    return native != nullptr && env->RegisterNatives(native, methods, sizeof methods / sizeof *methods) == JNI_OK;
}

}  // namespace

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *) {
    machine = vm;
    JNIEnv *env = environment();
    if (env == nullptr || !register_all(env)) return JNI_ERR;
    const bool found =
        java_log.find(env) && java_progress.find(env) && java_parallel.find(env) && java_restrict.find(env);
    return found ? JNI_VERSION_10 : JNI_ERR;
}
