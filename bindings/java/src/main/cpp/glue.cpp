/*
 * glue.cpp - libxformer_jni.so: the functions of the C API for Java, access to C memory, and callbacks.
 *
 * Java writes strings and structs into C memory (Frame.java) and calls the functions through Native.java. The compiler
 * derives each native method from the type of its function. Callbacks call static methods of Services and Frame, which
 * catch all exceptions, so none crosses a frame of the library. No Java object is pinned during a call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <jni.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xformer/experimental.h>
#include <xformer/xformer.h>

#include <type_traits>

/* Made by build.sh from Abi.java: its constants, sizes, and offsets are those of the headers. */
#include "layout.inl"

namespace {

template <typename T>
T *pointer(jlong address) {
    return reinterpret_cast<T *>(static_cast<intptr_t>(address));
}

/* The Java type of a parameter and of a result, and its letter in a signature. */
template <typename C>
using Parameter = std::conditional_t<std::is_same_v<C, double>, jdouble, jlong>;
template <typename C>
using Result =
    std::conditional_t<std::is_void_v<C> || std::is_same_v<C, double> || std::is_same_v<C, int32_t>, C, jlong>;
template <typename Type>
constexpr char letter = std::is_void_v<Type>            ? 'V'
                        : std::is_same_v<Type, jdouble> ? 'D'
                        : std::is_same_v<Type, int32_t> ? 'I'
                                                        : 'J';

template <typename C>
C to_c(Parameter<C> value) {
    if constexpr (std::is_pointer_v<C>)
        return pointer<std::remove_pointer_t<C>>(value);
    else
        return static_cast<C>(value);
}

template <typename C>
jlong to_long(C value) {
    if constexpr (std::is_pointer_v<C>)
        return static_cast<jlong>(reinterpret_cast<intptr_t>(value));
    else
        return static_cast<jlong>(value);
}

/* The native method of a function. It converts the arguments and the result. */
template <auto function>
struct Method;

template <typename Out, typename... In, Out (*function)(In...)>
struct Method<function> {
    static constexpr char signature[] = {'(', letter<Parameter<In>>..., ')', letter<Result<Out>>, '\0'};

    static Result<Out> JNICALL call(JNIEnv *, jclass, Parameter<In>... in) {
        if constexpr (std::is_same_v<Result<Out>, Out>)
            return function(to_c<In>(in)...);
        else
            return to_long(function(to_c<In>(in)...));
    }
};

/* Memory. */

jint JNICALL header_version(JNIEnv *, jclass) { return XF_VERSION_NUM; }

jlong JNICALL allocate(JNIEnv *, jclass, jlong size) { return to_long(calloc(static_cast<size_t>(size), 1)); }

void JNICALL release(JNIEnv *, jclass, jlong memory) { free(pointer<void>(memory)); }

jobject JNICALL view(JNIEnv *env, jclass, jlong memory, jlong size) {
    return env->NewDirectByteBuffer(pointer<void>(memory), size);
}

jlong JNICALL address_of(JNIEnv *env, jclass, jobject buffer) { return to_long(env->GetDirectBufferAddress(buffer)); }

jlong JNICALL length_of(JNIEnv *, jclass, jlong text) { return static_cast<jlong>(strlen(pointer<char>(text))); }

/* Callbacks. They run within a call of the library, on the Java thread that made it. user is a number. */

JavaVM *machine;

JNIEnv *environment() {
    void *env = nullptr;
    return machine->GetEnv(&env, JNI_VERSION_10) == JNI_OK ? static_cast<JNIEnv *>(env) : nullptr;
}

/* A static method of Java that takes longs and returns an int. */
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

    /* Returns the result of the method; 1 if an exception escaped it, for example on a full stack. */
    template <typename... In>
    int32_t operator()(In... in) const {
        JNIEnv *env = environment();
        if (env == nullptr) return 1;
        const jint result = env->CallStaticIntMethod(type, method, to_long(in)...);
        if (!env->ExceptionCheck()) return result;
        env->ExceptionClear();
        return 1;
    }
};

Callback java_log{"xformer/Services", "log", "(JJ)I"};
Callback java_parallel{"xformer/Services", "parallel", "(JJ)I"};
Callback java_progress{"xformer/Frame", "progress", "(JJ)I"};
Callback java_restrict{"xformer/Frame", "restrict", "(JJ)I"};
Callback java_read{"xformer/Frame", "read", "(JJJJ)I"};
Callback java_write{"xformer/Frame", "write", "(JJJJ)I"};

void on_log(void *user, const xf_log_line *line) { java_log(user, line); }

/* The method fails only before it has begun a task. The tasks then run here. */
void on_parallel(void *user, const xf_job *job) {
    if (java_parallel(user, job) == 0) return;
    for (int32_t i = 0; i < job->count; ++i) job->run(job->arg, i);
}

int32_t on_progress(void *user, const xf_progress *progress) { return java_progress(user, progress); }

int32_t on_constraint(void *user, const xf_constraint_step *step) { return java_restrict(user, step); }

int32_t on_read(void *user, uint64_t offset, void *dst, size_t bytes) { return java_read(user, offset, dst, bytes); }

int32_t on_write(void *user, uint64_t offset, const void *src, size_t bytes) {
    return java_write(user, offset, src, bytes);
}

void JNICALL run_task(JNIEnv *, jclass, jlong run, jlong arg, jint index) {
    pointer<void(void *, int32_t)>(run)(pointer<void>(arg), index);
}

/* In the order of Native.LOG and the following constants. */
jlong JNICALL callback(JNIEnv *, jclass, jint which) {
    const jlong all[] = {to_long(on_log),        to_long(on_parallel), to_long(on_progress),
                         to_long(on_constraint), to_long(on_read),     to_long(on_write)};
    return all[which];
}

JNINativeMethod row(const char *name, const char *signature, void *method) {
    return {const_cast<char *>(name), const_cast<char *>(signature), method};
}

bool register_all(JNIEnv *env) {
#define ROW(name, signature, method) row(name, signature, reinterpret_cast<void *>(method))
#define FUNCTION(name) ROW(#name, Method<name>::signature, Method<name>::call)
    const JNINativeMethod methods[] = {
#include "functions.inl" /* made by build.sh: FUNCTION(xf_...) for each function */
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
    const bool found = java_log.find(env) && java_parallel.find(env) && java_progress.find(env) &&
                       java_restrict.find(env) && java_read.find(env) && java_write.find(env);
    return found ? JNI_VERSION_10 : JNI_ERR;
}
