/*
 * xformer/base.hpp - errors, spans, views, and owners of handles: the base of all C++ classes.
 *
 * A callback may throw, but an exception must not pass through the C functions of the library. Each call therefore has
 * a guard on the stack. A callback stores its exception in the innermost guard of its thread, and the exception is
 * rethrown after the library has returned. An object that the call created is freed first.
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
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/** @brief The C++ interface; see xformer.hpp. */
namespace xformer {
/** @brief The name contains the version, so that one program can use the headers of two versions. */
inline namespace v0_1 {

/**
 * @defgroup cpp C++
 * @brief The classes of xformer.hpp. @since 0.1
 * @{
 */

/** @brief The reason for a failure; what() returns the message of the library. */
class Error : public std::runtime_error {
public:
    /** @brief Creates an error. @param status [in] negative @param what [in] the message
     *  @param native_code [in] as in xf_error */
    Error(xf_status status, const std::string &what, std::int32_t native_code = 0)
        : std::runtime_error(what), status_(status), native_code_(native_code) {}

    /** @brief Returns the status of the C function. @return one of XF_ERROR_... */
    xf_status status() const noexcept { return status_; }
    /** @brief Returns the code of the operating system or the backend. @return errno, a cudaError_t, or 0 */
    std::int32_t native_code() const noexcept { return native_code_; }

private:
    xf_status status_;
    std::int32_t native_code_;
};

/** @brief XF_ERROR_CANCELLED: the call was cancelled. */
class Cancelled : public Error {
public:
    using Error::Error;
};

/** @brief A view of contiguous elements, for C++17. std::span converts to it; it converts to std::span if the elements
 *  are const.
 *  @tparam T type of the elements */
template <class T>
class span {
public:
    using element_type = T;                 /**< T */
    using value_type = std::remove_cv_t<T>; /**< T without const */
    /** @brief Creates an empty span. */
    constexpr span() noexcept = default;
    /** @brief Refers to elements. @param data [in] the first element @param size [in] number of elements */
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    /** @brief Refers to the elements of a vector, array, std::span, or similar.
     *  @param from [in] must outlive the span */
    template <class From, class Element = std::remove_pointer_t<decltype(std::data(std::declval<From &>()))>,
              std::enable_if_t<std::is_convertible_v<Element (*)[], T (*)[]> &&
                                   (std::is_const_v<T> || std::is_lvalue_reference_v<From>),
                               int> = 0>
    constexpr span(From &&from) noexcept : data_(std::data(from)), size_(std::size(from)) {}

    constexpr T *data() const noexcept {
        return data_;
    } /**< @brief Returns the address of the first element. @return the address */
    constexpr std::size_t size() const noexcept {
        return size_;
    } /**< @brief Returns the number of elements. @return the number */
    constexpr bool empty() const noexcept {
        return size_ == 0;
    } /**< @brief Returns whether there are no elements. @return true if empty */
    constexpr T *begin() const noexcept {
        return data_;
    } /**< @brief Returns the address of the first element. @return the address */
    constexpr T *end() const noexcept {
        return data_ + size_;
    } /**< @brief Returns the end address. @return the address */
    /** @brief Returns an element. @param index [in] less than size(); not checked @return the element */
    constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/**
 * @brief A NUL-terminated string argument: a char pointer, a std::string, or a std::filesystem::path, but not on
 * Windows, where its characters are wide: pass its u8string().
 */
class CString {
public:
    /** @brief Refers to a pointer. @param text [in] NUL-terminated; must outlive the call */
    CString(const char *text) noexcept : text_(text) {}
    /** @brief Refers to a string; throws Error if it contains a NUL. @param text [in] must outlive the call */
    CString(const std::string &text) : text_(text.c_str()) {
        if (const std::size_t at = text.find('\0'); at != std::string::npos)
            throw Error(XF_ERROR_INVALID_ARGUMENT, "byte " + std::to_string(at) + " of " + std::to_string(text.size()) +
                                                       " bytes of text is a NUL, expected none");
    }
    /** @brief Refers to a path. @param path [in] a std::filesystem::path; must outlive the call */
    template <
        class Path,
        std::enable_if_t<std::is_same_v<decltype(std::declval<const Path &>().native()), const std::string &>, int> = 0>
    CString(const Path &path) : CString(path.native()) {}
    /** @brief Returns the string. @return NUL-terminated */
    const char *c_str() const noexcept { return text_; }

private:
    const char *text_;
};

/** @cond INTERNAL */
namespace detail {

// Guards one call of the library on this thread.
class Guard {
public:
    Guard() noexcept : outer_(std::exchange(current(), this)) {}
    Guard(const Guard &) = delete;
    Guard &operator=(const Guard &) = delete;
    ~Guard() { current() = outer_; }

    // The innermost guard of this thread, or NULL.
    static Guard *&current() noexcept {
        static thread_local Guard *guard = nullptr;
        return guard;
    }

    // For callbacks: calls a function of the caller unless an earlier callback of this call has thrown. Returns true if
    // it was called and did not throw. If there is no guard, the call was made from C, and the exception is dropped.
    template <class Body>
    static bool protect(const Body &body) noexcept {
        Guard *const guard = current();
        if (guard != nullptr && guard->thrown_) return false;
        try {
            body();
            return true;
        } catch (...) {
            if (guard != nullptr) guard->thrown_ = std::current_exception();
            return false;
        }
    }

    // An exception of a callback takes precedence over the error that it may have caused.
    void finish(xf_status status) const {
        if (thrown_) std::rethrow_exception(thrown_);
        if (status == XF_ERROR_CANCELLED) throw Cancelled(status, error.message, error.native_code);
        if (status < 0) throw Error(status, error.message, error.native_code);
    }

    xf_error error;  // written by a call that fails

private:
    std::exception_ptr thrown_;
    Guard *outer_;
};

template <class Function, class... Args>
xf_status call(Function *function, Args... args) {
    Guard guard;
    const xf_status status = function(args..., &guard.error);
    guard.finish(status);
    return status;
}

// A call that creates a handle.
template <class Object, class Function, class... Args>
Object make(Function *function, Args... args) {
    Guard guard;
    typename Object::handle_type *created = nullptr;
    const xf_status status = function(args..., &created, &guard.error);
    Object object(created);
    guard.finish(status);
    return object;
}

// A call that fills a struct.
template <class Stats, class Function, class... Args>
Stats fill(Stats stats, Function *function, Args... args) {
    call(function, args..., &stats);
    return stats;
}

// A call that reports the required size if the room is too small: run(room, needed, error).
template <class Room, class Run>
void fit(Room &room, const Run &run) {
    Guard guard;
    std::size_t needed = 0;
    xf_status status = run(room, &needed, &guard.error);
    if (status == XF_ERROR_BUFFER_TOO_SMALL) {
        room.resize(needed);
        status = run(room, &needed, &guard.error);
    }
    guard.finish(status);
    room.resize(needed);
}

// Texts as arrays of pointers and sizes.
struct Texts {
    std::vector<const char *> pointers;
    std::vector<std::size_t> lengths;

    Texts() = default;
    template <class Range>
    explicit Texts(const Range &texts) {
        for (const std::string_view text : texts) add(text);
    }
    void clear() noexcept { pointers.clear(), lengths.clear(); }
    void add(std::string_view text) {
        pointers.push_back(text.data() != nullptr ? text.data() : "");
        lengths.push_back(text.size());
    }
    std::size_t size() const noexcept { return pointers.size(); }
};

}  // namespace detail
/** @endcond */

/** @brief Refers to a handle that another object owns, or to none. @tparam Raw a type of the C API */
template <class Raw>
class View {
public:
    using handle_type = Raw; /**< type of the handle */
    /** @brief Refers to no handle. */
    constexpr View() noexcept = default;
    /** @brief Refers to a handle. @param handle [in] must outlive the view */
    constexpr explicit View(Raw *handle) noexcept : handle_(handle) {}
    /** @brief Returns the handle for the C API. @return NULL if there is none */
    constexpr Raw *get() const noexcept { return handle_; }
    /** @brief Returns whether there is a handle. @return false if there is none */
    constexpr explicit operator bool() const noexcept { return handle_ != nullptr; }

protected:
    Raw *handle_ = nullptr; /**< the handle */
};

/** @brief Owns a handle: the destructor frees it. Can be moved, but not copied.
 *  @tparam Base its view @tparam Raw type of the handle @tparam Free frees it */
template <class Base, class Raw, void (*Free)(Raw *)>
class Owner : public Base {
public:
    using handle_type = Raw; /**< type of the handle */
    /** @brief Takes ownership of a handle. @param handle [in] NULL creates an empty object */
    explicit Owner(Raw *handle) noexcept : Base(handle) {}
    /** @brief Moves a handle. @param other [in,out] empty afterwards */
    Owner(Owner &&other) noexcept : Base(other.release()) {}
    /** @brief Frees the handle and moves another. @param other [in,out] empty afterwards @return this */
    Owner &operator=(Owner &&other) noexcept {
        Raw *const taken = other.release();
        Free(get());
        this->handle_ = taken;
        return *this;
    }
    ~Owner() { Free(get()); }

    /** @brief Returns the handle for the C API. @return owned by this object; NULL if it is empty */
    Raw *get() const noexcept { return const_cast<Raw *>(Base::get()); }
    /** @brief Releases ownership. @return the handle, which the caller frees; this object is empty afterwards */
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
