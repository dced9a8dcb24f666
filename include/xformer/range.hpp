/*
 * xformer/range.hpp - ranges for what the C API gives by number: options, backends, pairs, parameters, answers.
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

/** @brief Things that are read by their number, as a range. @tparam At reads one */
template <class At>
class Range {
public:
    using value_type = decltype(std::declval<const At &>()(std::size_t{})); /**< a thing */
    /** @brief A place in a range; things are made when they are read. */
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag; /**< because there are no references to things */
        using value_type = Range::value_type;              /**< a thing */
        using difference_type = std::ptrdiff_t;            /**< of two places */
        using pointer = void;                              /**< none */
        using reference = value_type;                      /**< none */
        iterator() = default;
        /** @brief Makes a place. @param at [in] reads things @param index [in] number of a thing */
        iterator(At at, std::size_t index) : at_(at), index_(index) {}
        value_type operator*() const { return at_(index_); } /**< @brief Reads. @return the thing */
        iterator &operator++() { return ++index_, *this; }   /**< @brief Goes on. @return this */
        iterator operator++(int) { return {at_, index_++}; } /**< @brief Goes on. @return where it was */
        /** @brief Compares. @param other [in] of the same range @return true for the same place */
        bool operator==(const iterator &other) const { return index_ == other.index_; }
        /** @brief Compares. @param other [in] of the same range @return false for the same place */
        bool operator!=(const iterator &other) const { return index_ != other.index_; }

    private:
        At at_{};
        std::size_t index_ = 0;
    };

    /** @brief Makes a range. @param size [in] how many things @param at [in] reads them */
    Range(std::size_t size, At at) : at_(at), size_(size) {}
    std::size_t size() const noexcept { return size_; } /**< @brief Counts. @return things */
    bool empty() const noexcept { return size_ == 0; }  /**< @brief Asks. @return true for none */
    iterator begin() const { return {at_, 0}; }         /**< @brief The first. @return its place */
    iterator end() const { return {at_, size_}; }       /**< @brief Behind the last. @return that place */
    value_type front() const { return at_(0); }         /**< @brief The first; none is an Error. @return it */
    /** @brief One thing. @param index [in] below size(), else an Error @return it */
    value_type operator[](std::size_t index) const { return at_(index); }

private:
    At at_;
    std::size_t size_;
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_RANGE_HPP */
