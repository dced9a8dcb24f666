// A span with int64_t sizes and indices. Shapes and positions in the library are int64_t, so indexing needs no cast.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace xf {

// Does not own its elements. As in std::span, indices are not checked.
template <class T>
class View {
public:
    constexpr View() = default;
    constexpr View(T *data, int64_t size) : data_(data), size_(size) {}
    // Any contiguous range: std::vector, std::array, std::span, HeapVector.
    template <std::ranges::contiguous_range Range>
    requires std::is_convertible_v<decltype(std::ranges::data(std::declval<Range &>())), T *>
    constexpr View(Range &&range) : data_(std::ranges::data(range)), size_(std::ranges::ssize(range)) {}

    constexpr T *data() const { return data_; }
    constexpr int64_t size() const { return size_; }
    constexpr bool empty() const { return size_ == 0; }
    constexpr T &operator[](int64_t index) const { return data_[index]; }
    constexpr T &front() const { return data_[0]; }
    constexpr T &back() const { return data_[size_ - 1]; }
    constexpr T *begin() const { return data_; }
    constexpr T *end() const { return data_ + size_; }
    constexpr operator std::span<T>() const { return std::span<T>(data_, size_); }

private:
    T *data_ = nullptr;
    int64_t size_ = 0;
};

template <class Range>
View(Range &&range) -> View<std::remove_pointer_t<decltype(std::ranges::data(range))>>;

}  // namespace xf
