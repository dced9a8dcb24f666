/*
 * xformer/base.hpp - what all classes for C++ stand on: errors, calls, owners of handles, views, spans.
 *
 * A callback of the caller's may throw, and no exception may pass through the library, which is C at its edge. So each
 * call has a place on its stack, and a callback finds that of its thread: what it threw waits there, and is thrown
 * again when the library has returned. The object that the call made, if any, is freed on the way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_BASE_HPP
#define XFORMER_BASE_HPP

#include "xformer/status.h"

#if __cplusplus < 201703L
#error "the C++ headers of libxformer need C++17 or later"
#endif

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/** @brief The library for C++; see xformer.hpp. */
namespace xformer {
/** @brief Named by version, so that parts of a program that were compiled with headers of two versions keep apart. */
inline namespace v0_1 {

/**
 * @defgroup cpp C++
 * @brief The classes of xformer.hpp. @since 0.1
 * @{
 */

/** @brief Why a call failed: the library's sentence in what(). */
class Error : public std::runtime_error {
public:
    /** @brief Makes an error. @param status [in] below 0 @param what [in] why @param native_code [in] as in xf_error */
    Error(xf_status status, const std::string &what, std::int32_t native_code = 0)
        : std::runtime_error(what), status_(status), native_code_(native_code) {}

    /** @brief Tells the kind. @return what the C function returned; xf_status_name() names it */
    xf_status status() const noexcept { return status_; }
    /** @brief Tells the code of the layer below. @return errno, a cudaError_t, or 0 */
    std::int32_t native_code() const noexcept { return native_code_; }

private:
    xf_status status_;
    std::int32_t native_code_;
};

/** @brief XF_ERROR_CANCELLED, a class of its own because it is no fault: somebody called cancel(). */
class Cancelled : public Error {
public:
    using Error::Error;
};

/** @brief Elements that lie one after the other. The same class under every standard; std::span converts to it and,
 *  of const elements, from it. @tparam T an element */
template <class T>
class span {
public:
    using element_type = T;                 /**< T */
    using value_type = std::remove_cv_t<T>; /**< T without const */
    /** @brief Makes an empty one. */
    constexpr span() noexcept = default;
    /** @brief Spans elements. @param data [in] the first @param size [in] how many */
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    /** @brief Spans a vector, an array, a std::span and the like. @param from [in] outlives the span */
    template <class From, class Element = std::remove_pointer_t<decltype(std::data(std::declval<From &>()))>,
              std::enable_if_t<std::is_convertible_v<Element (*)[], T (*)[]> &&
                                   (std::is_const_v<T> || std::is_lvalue_reference_v<From>),
                               int> = 0>
    constexpr span(From &&from) noexcept : data_(std::data(from)), size_(std::size(from)) {}

    constexpr T *data() const noexcept { return data_; }          /**< @brief The first. @return its address */
    constexpr std::size_t size() const noexcept { return size_; } /**< @brief Counts. @return elements */
    constexpr bool empty() const noexcept { return size_ == 0; }  /**< @brief Asks. @return true for none */
    constexpr T *begin() const noexcept { return data_; }         /**< @brief The first. @return its address */
    constexpr T *end() const noexcept { return data_ + size_; }   /**< @brief Behind the last. @return that address */
    /** @brief One element. @param index [in] below size(), which is not checked @return the element */
    constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/** @brief A NUL-terminated text for a call: of a char pointer, a std::string or a std::filesystem::path. */
class CString {
public:
    /** @brief Takes a pointer. @param text [in] NUL-terminated, outlives the call */
    CString(const char *text) noexcept : text_(text) {}
    /** @brief Takes a string; a NUL inside is an Error. @param text [in] outlives the call */
    CString(const std::string &text) : text_(text.c_str()) {
        if (const std::size_t at = text.find('\0'); at != std::string::npos)
            throw Error(XF_ERROR_INVALID_ARGUMENT, "byte " + std::to_string(at) + " of " + std::to_string(text.size()) +
                                                       " bytes of text is a NUL, expected none");
    }
    /** @brief Takes a path. @param path [in] a std::filesystem::path, outlives the call */
    template <
        class Path,
        std::enable_if_t<std::is_same_v<decltype(std::declval<const Path &>().native()), const std::string &>, int> = 0>
    CString(const Path &path) : CString(path.native()) {}
    /** @brief The text. @return NUL-terminated */
    const char *c_str() const noexcept { return text_; }

private:
    const char *text_;
};

/** @cond INTERNAL */
namespace detail {

// A call into the library that runs on this thread.
class Call {
public:
    Call() noexcept : outer_(std::exchange(current(), this)) {}
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;
    ~Call() { current() = outer_; }

    // The innermost call of this thread, or NULL.
    static Call *&current() noexcept {
        static thread_local Call *call = nullptr;
        return call;
    }

    // For callbacks: runs one of the caller's functions, unless an earlier one of this call has thrown. True when it
    // returned. Where there is no Call the caller is C, and nobody to throw to.
    template <class Body>
    static bool protect(const Body &body) noexcept {
        Call *const call = current();
        if (call != nullptr && call->thrown_) return false;
        try {
            body();
            return true;
        } catch (...) {
            if (call != nullptr) call->thrown_ = std::current_exception();
            return false;
        }
    }

    // What a callback threw comes before the error that it may have led to.
    void finish(xf_status status) const {
        if (thrown_) std::rethrow_exception(thrown_);
        if (status == XF_ERROR_CANCELLED) throw Cancelled(status, error.message, error.native_code);
        if (status < 0) throw Error(status, error.message, error.native_code);
    }

    xf_error error;  // written by a call that fails, before it is read

private:
    std::exception_ptr thrown_;
    Call *outer_;
};

template <class Function, class... Args>
xf_status call(Function *function, Args... args) {
    Call call;
    const xf_status status = function(args..., &call.error);
    call.finish(status);
    return status;
}

// A call that makes a handle.
template <class Object, class Function, class... Args>
Object make(Function *function, Args... args) {
    Call call;
    typename Object::handle_type *made = nullptr;
    const xf_status status = function(args..., &made, &call.error);
    Object object(made);
    call.finish(status);
    return object;
}

// A call that fills a struct.
template <class Stats, class Function, class... Args>
Stats fill(Stats stats, Function *function, Args... args) {
    call(function, args..., &stats);
    return stats;
}

// A call that tells how much room it needs when there is too little: run(room, needed, error).
template <class Room, class Run>
void fit(Room &room, const Run &run) {
    Call call;
    std::size_t needed = 0;
    xf_status status = run(room, &needed, &call.error);
    if (status == XF_ERROR_BUFFER_TOO_SMALL) {
        room.resize(needed);
        status = run(room, &needed, &call.error);
    }
    call.finish(status);
    room.resize(needed);
}

inline std::vector<const char *> pointers(const std::vector<std::string> &texts) {
    std::vector<const char *> pointers;
    pointers.reserve(texts.size());
    for (const std::string &text : texts) pointers.push_back(CString(text).c_str());
    return pointers;
}

}  // namespace detail
/** @endcond */

/** @brief A handle that belongs to somebody who lives longer; or none. @tparam Raw a type of the C API */
template <class Raw>
class View {
public:
    using handle_type = Raw; /**< what get() points to */
    /** @brief None: where it is an argument, "without". */
    constexpr View() noexcept = default;
    /** @brief Looks at a handle. @param handle [in] stays the caller's */
    constexpr explicit View(Raw *handle) noexcept : handle_(handle) {}
    /** @brief The handle, for the C API. @return NULL when there is none */
    constexpr Raw *get() const noexcept { return handle_; }
    /** @brief Asks. @return true when there is a handle */
    constexpr explicit operator bool() const noexcept { return handle_ != nullptr; }

protected:
    Raw *handle_ = nullptr; /**< the handle */
};

/** @brief A handle that this object owns: freed in the end, moved, not copied.
 *  @tparam Base a view of it @tparam Raw its type @tparam Free frees it */
template <class Base, class Raw, void (*Free)(Raw *)>
class Owner : public Base {
public:
    using handle_type = Raw; /**< what get() points to */
    /** @brief Adopts a handle. @param handle [in] freed by this object from now on; NULL makes an empty one */
    explicit Owner(Raw *handle) noexcept : Base(handle) {}
    /** @brief Takes another's handle. @param other [in,out] empty afterwards */
    Owner(Owner &&other) noexcept : Base(other.release()) {}
    /** @brief Frees the handle and takes another's. @param other [in,out] empty afterwards @return this */
    Owner &operator=(Owner &&other) noexcept {
        Raw *const taken = other.release();
        Free(get());
        this->handle_ = taken;
        return *this;
    }
    ~Owner() { Free(get()); }

    /** @brief The handle, for the C API. @return owned by this object; NULL when it is empty */
    Raw *get() const noexcept { return const_cast<Raw *>(Base::get()); }
    /** @brief Gives the handle away. @return the caller's to free; this object is empty afterwards */
    [[nodiscard]] Raw *release() noexcept {
        Raw *const given = get();
        this->handle_ = nullptr;
        return given;
    }
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_BASE_HPP */
