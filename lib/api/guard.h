// The C edge: exceptions to statuses, who uses a handle, structs that may be older or newer than ours.
//
// Every function of lib/api that can fail is `return guard(err, [&] { ... });`. Nothing is thrown past it, the host's
// floating-point state is restored behind it, its thread is not cancelled within, and on an error no output has been
// written: bodies write outputs last.
//
// A body holds each handle that it is given, by shared() or exclusive(), until it returns. What can't be had is
// XF_ERROR_BUSY: nobody waits. A handle that is freed meanwhile goes with its last user.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>
#include <vector>

#include "api/handles.h"
#include "backend/context.h"
#include "core/error.h"
#include "core/float_state.h"
#include "core/os/process.h"

namespace xf {

// Fills err, which may be NULL, and returns status. The message becomes one line of UTF-8 whatever is in it: names and
// values in it may come from a hostile file.
xf_status report(xf_error *err, xf_status status, int native_code, const char *message) noexcept;

template <class Body>
xf_status guard(xf_error *err, Body &&body) noexcept {
    const FloatState state;
    const CancelState cancel_state;
    if (!thread_ready()) return report(err, XF_ERROR_NO_MEMORY, 0, "out of memory");
    try {
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            return XF_OK;
        } else {
            return body();
        }
    } catch (const Error &error) {
        return report(err, error.status(), error.native_code(), error.what());
    } catch (const std::bad_alloc &) {
        return report(err, XF_ERROR_NO_MEMORY, 0, "out of memory");
    } catch (const std::system_error &error) {
        return report(err, XF_ERROR_IO, error.code().value(), error.what());
    } catch (const std::length_error &) {
        return report(err, XF_ERROR_NO_MEMORY, 0, "a size is larger than memory can be");
    } catch (const std::exception &error) {
        return report(err, XF_ERROR_INTERNAL, 0, error.what());
    } catch (...) {
        return report(err, XF_ERROR_INTERNAL, 0, "an unknown exception");
    }
}

// A size that no address space has is a caller's -1, not a size.
inline void check_size(size_t count, size_t bytes_each, const char *name) {
    constexpr size_t kMost = SIZE_MAX >> (sizeof(size_t) == 8 ? 17 : 1);
    XF_CHECK(count <= kMost / bytes_each, XF_ERROR_INVALID_ARGUMENT, "%s is %zu, more than memory can hold", name,
             count);
}

inline void check_pointer(const void *pointer, const char *name) {
    XF_CHECK(pointer != nullptr, XF_ERROR_INVALID_ARGUMENT, "%s is NULL", name);
}

template <class Handle>
bool is_handle(const Handle *handle) {
    return handle != nullptr && handle->magic.load(std::memory_order_relaxed) == Handle::kMagic;
}

// A handle of the right kind that belongs to this process.
template <class Handle>
Handle &check_handle(Handle *handle, const char *name) {
    using Plain = std::remove_const_t<Handle>;
    check_pointer(handle, name);
    XF_CHECK(is_handle<Plain>(handle), XF_ERROR_INVALID_ARGUMENT, "%s is not %s, or was freed", name, Plain::kKind);
    if constexpr (requires { handle->context; }) {
        XF_CHECK(handle->context->pid() == process_id(), XF_ERROR_FORKED,
                 "%s belongs to process %d, from which this one was forked: create a context of its own", name,
                 handle->context->pid());
    }
    return *handle;
}

// A handle for the time of a call: beside other readers, or for itself.
template <class Handle>
class Use {
public:
    Use(Handle *handle, const char *name, bool exclusive) : handle_(check_handle(handle, name)), exclusive_(exclusive) {
        XF_CHECK(handle_.usage.begin(exclusive_), XF_ERROR_BUSY, "the %s is in use by another call", name);
    }
    ~Use() {
        if (handle_.usage.end(exclusive_)) delete &handle_;
    }
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;

    Handle *operator->() const { return &handle_; }
    Handle &operator*() const { return handle_; }

private:
    Handle &handle_;
    bool exclusive_;
};

template <class Handle>
Use<Handle> shared(Handle *handle, const char *name) {
    return Use<Handle>(handle, name, false);
}
template <class Handle>
Use<Handle> exclusive(Handle *handle, const char *name) {
    return Use<Handle>(handle, name, true);
}

// What several handles share, such as the parameters of a model, for the time of a call. busy: the message if another
// call uses it.
class SharedUse {
public:
    SharedUse(Usage &usage, bool exclusive, const char *busy) : usage_(usage), exclusive_(exclusive) {
        XF_CHECK(usage_.begin(exclusive_), XF_ERROR_BUSY, "%s", busy);
    }
    ~SharedUse() { usage_.end(exclusive_); }
    SharedUse(const SharedUse &) = delete;
    SharedUse &operator=(const SharedUse &) = delete;

private:
    Usage &usage_;
    bool exclusive_;
};

template <class Handle>
void free_handle(Handle *handle) noexcept {
    if (!is_handle(handle)) return;
    if constexpr (requires { handle->borrowed; })
        if (handle->borrowed) return;
    const FloatState state;
    const CancelState cancel_state;
    (void)thread_ready();
    if constexpr (requires { handle->close(); }) handle->close();
    let_go(handle);
}

// The caller's config, held for the time of a call, or the defaults.
class OptionsOf {
public:
    explicit OptionsOf(const xf_config *config) : use_(config != nullptr ? config : &defaults(), "config", false) {}
    const Options &operator*() const { return use_->options; }
    const Options *operator->() const { return &use_->options; }

private:
    static const xf_config &defaults() {
        static const xf_config config;
        return config;
    }
    Use<const xf_config> use_;
};

constexpr size_t kLargestStruct = 4096;  // more in struct_size is an error of the caller

// Checks a struct that begins with struct_size; oldest is the size of its first released form.
template <class T>
void check_struct(const T *out, const char *name, size_t oldest = sizeof(T)) {
    check_pointer(out, name);
    const size_t size = out->struct_size;
    XF_CHECK(size >= oldest && size <= kLargestStruct && size % alignof(T) == 0, XF_ERROR_INVALID_ARGUMENT,
             "%s->struct_size is %zu, expected %zu, as the struct's _INIT sets it", name, size, sizeof(T));
}

// Writes as much of value as the caller's struct has room for, and zeroes what a newer header has behind it.
template <class T>
void put_struct(T *out, T value) {
    const size_t size = out->struct_size, known = std::min(size, sizeof(T));
    value.struct_size = size;
    std::memcpy(out, &value, known);
    std::memset(reinterpret_cast<char *>(out) + known, 0, size - known);
}

// Reads an input struct; a tail that we do not know must be zero, or a wish of the caller would be ignored.
template <class T>
T get_struct(const T *in, const char *name, size_t oldest = sizeof(T)) {
    check_struct(in, name, oldest);
    const size_t size = in->struct_size;
    T value{};
    std::memcpy(&value, in, std::min(size, sizeof(T)));
    const auto *bytes = reinterpret_cast<const unsigned char *>(in);
    for (size_t i = sizeof(T); i < size; ++i)
        XF_CHECK(bytes[i] == 0, XF_ERROR_UNSUPPORTED, "%s has a member that this version of the library does not know",
                 name);
    value.struct_size = sizeof(T);
    return value;
}

// The caller's parameters of a call; NULL: defaults.
inline xf_call get_call(const xf_call *in) {
    if (in == nullptr) return XF_CALL_INIT;
    const xf_call call = get_struct(in, "call");
    XF_CHECK(call.deadline_ms >= 0, XF_ERROR_OUT_OF_RANGE, "call->deadline_ms is %" PRId64 ", expected 0 or more",
             call.deadline_ms);
    return call;
}

// The same as the library uses it, for a call on an object of the context.
inline Call begin_call(const Context &context, const xf_call *in, Call::Deadline deadline = Call::Deadline::kFail) {
    return Call(context.cancel_source(), get_call(in), deadline);
}

inline xf_batch get_batch(const xf_batch *in) {
    const xf_batch batch = get_struct(in, "batch");
    XF_CHECK(batch.sentences >= 0 && batch.sentences < INT32_MAX, XF_ERROR_INVALID_ARGUMENT,
             "the batch has %" PRId64 " sentences, expected 0 to 2^31 - 2", batch.sentences);
    XF_CHECK(batch.src_features == nullptr && batch.src_feature_width == 0, XF_ERROR_UNSUPPORTED,
             "the batch has src_features or src_feature_width, which this version does not support; set both to 0");
    return batch;
}

// Element i of the caller's array of structs, which may be larger than ours but have one size.
template <class T>
const T *element(const T *array, size_t i, const char *name) {
    const auto *at = reinterpret_cast<const T *>(reinterpret_cast<const char *>(array) + i * array->struct_size);
    XF_CHECK(at->struct_size == array->struct_size, XF_ERROR_INVALID_ARGUMENT,
             "%s[%zu].struct_size is %zu, expected %zu as in the first element", name, i, at->struct_size,
             array->struct_size);
    return at;
}

inline void check_buffer(const void *buffer, size_t capacity, const char *name) {
    XF_CHECK(buffer != nullptr || capacity == 0, XF_ERROR_INVALID_ARGUMENT, "%s is NULL with a capacity of %zu", name,
             capacity);
}

// Copies a text to the caller's buffer: always the length, and the text with a NUL if it fits.
inline xf_status put_text(std::string_view value, char *text, size_t capacity, size_t *length, xf_error *err) {
    *length = value.size();
    if (capacity <= value.size())
        return report(err, XF_ERROR_BUFFER_TOO_SMALL, 0,
                      format("the text needs %zu bytes, the buffer has %zu", value.size() + 1, capacity).c_str());
    std::memcpy(text, value.data(), value.size());
    text[value.size()] = '\0';
    return XF_OK;
}

// The same for ids.
inline xf_status put_ids(const std::vector<int32_t> &values, int32_t *ids, size_t capacity, size_t *count,
                         xf_error *err) {
    *count = values.size();
    if (values.size() > capacity)
        return report(err, XF_ERROR_BUFFER_TOO_SMALL, 0,
                      format("the text has %zu tokens, the buffer room for %zu", values.size(), capacity).c_str());
    std::copy(values.begin(), values.end(), ids);
    return XF_OK;
}

}  // namespace xf
