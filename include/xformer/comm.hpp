/*
 * xformer/comm.hpp - comm.h for C++: ranks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_COMM_HPP
#define XFORMER_COMM_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "xformer/base.hpp"
#include "xformer/comm.h"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief One rank's way to the others, which is closed with this, or by the context that took it. */
class Comm {
public:
    /** @brief Reaches nobody. */
    Comm() noexcept = default;
    /** @brief Takes over a table, which its close() ends. @param table [in] filled by its carrier */
    explicit Comm(const xf_comm &table) noexcept : table_(table) {}
    /** @brief Moves. @param other [in,out] reaches nobody any more */
    Comm(Comm &&other) noexcept : table_(other.release()) {}
    /** @brief Closes what this has, then moves. @param other [in,out] reaches nobody any more @return this */
    Comm &operator=(Comm &&other) noexcept {
        Comm(std::move(other)).swap(*this);
        return *this;
    }
    Comm(const Comm &) = delete;
    Comm &operator=(const Comm &) = delete;
    ~Comm() {
        if (table_.close != nullptr) table_.close(table_.user);
    }

    /** @brief Exchanges two. @param other [in,out] the other */
    void swap(Comm &other) noexcept { std::swap(table_, other.table_); }
    /** @brief The table. @return its size is 0 when this reaches nobody */
    const xf_comm &get() const noexcept { return table_; }
    /** @brief Gives up the table. @return the caller closes it */
    xf_comm release() noexcept { return std::exchange(table_, xf_comm XF_COMM_INIT); }

    /** @brief Makes ranks of threads. @param size [in] how many @return one for each rank's Host::comm */
    static std::vector<Comm> loopback(std::uint16_t size) {
        std::vector<Comm> ranks(size);
        std::vector<xf_comm> tables(size);
        xf_comm none = XF_COMM_INIT;  // of no ranks, which are refused
        detail::call(xf_comm_loopback, size != 0 ? tables.data() : &none, size);
        for (std::size_t i = 0; i < size; ++i) ranks[i] = Comm(tables[i]);
        return ranks;
    }

private:
    xf_comm table_ = XF_COMM_INIT;
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_COMM_HPP */
