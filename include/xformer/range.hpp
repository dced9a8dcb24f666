/*
 * xformer/range.hpp - ranges of elements that the C API returns by index: options, backends, pairs, tensors,
 * hypotheses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_RANGE_HPP
#define XFORMER_RANGE_HPP

#include <cstddef>
#include <iterator>
#include <utility>

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief A range of elements that are read by index. @tparam At reads one element */
template <class At>
class Range {
public:
    using value_type = decltype(std::declval<const At &>()(std::size_t{})); /**< type of the elements */
    /** @brief A position in the range. Elements are created when they are read. */
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag; /**< elements are values, not references */
        using value_type = Range::value_type;              /**< type of the elements */
        using difference_type = std::ptrdiff_t;            /**< distance between two positions */
        using pointer = void;                              /**< none */
        using reference = value_type;                      /**< same as value_type */
        iterator() = default;
        /** @brief Creates a position. @param at [in] reads an element @param index [in] index of the element */
        iterator(At at, std::size_t index) : at_(at), index_(index) {}
        value_type operator*() const { return at_(index_); } /**< @brief Reads the element. @return the element */
        iterator &operator++() { return ++index_, *this; }   /**< @brief Advances. @return this */
        iterator operator++(int) { return {at_, index_++}; } /**< @brief Advances. @return the previous position */
        /** @brief Compares. @param other [in] a position in the same range @return true if they are equal */
        bool operator==(const iterator &other) const { return index_ == other.index_; }
        /** @brief Compares. @param other [in] a position in the same range @return false if they are equal */
        bool operator!=(const iterator &other) const { return index_ != other.index_; }

    private:
        At at_{};
        std::size_t index_ = 0;
    };

    /** @brief Creates a range. @param size [in] number of elements @param at [in] reads one */
    Range(std::size_t size, At at) : at_(at), size_(size) {}
    std::size_t size() const noexcept { return size_; } /**< @brief Returns the size. @return number of elements */
    bool empty() const noexcept { return size_ == 0; }  /**< @brief Returns whether it is empty. @return true if so */
    iterator begin() const { return {at_, 0}; }         /**< @brief Returns the beginning. @return an iterator */
    iterator end() const { return {at_, size_}; }       /**< @brief Returns the end. @return an iterator */
    value_type front() const {
        return at_(0);
    } /**< @brief Reads the first element. @return the element; throws Error if there is none */
    /** @brief Reads an element. @param index [in] less than size(); otherwise throws Error @return the element */
    value_type operator[](std::size_t index) const { return at_(index); }

private:
    At at_;
    std::size_t size_;
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_RANGE_HPP */
