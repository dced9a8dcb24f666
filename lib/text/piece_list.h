// The bytes of many pieces, one behind another: a piece costs its bytes and four more, where a std::string costs 32.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace xf {

class PieceList {
public:
    PieceList() = default;
    PieceList(std::initializer_list<std::string_view> pieces) {
        for (const std::string_view piece : pieces) push_back(piece);
    }

    size_t size() const { return ends_.size(); }
    size_t bytes() const { return bytes_.size(); }  // of all, less than 4 GiB

    std::string_view operator[](size_t i) const {
        const size_t begin = i == 0 ? 0 : ends_[i - 1];
        return std::string_view(bytes_).substr(begin, ends_[i] - begin);
    }

    void push_back(std::string_view piece) {
        bytes_.append(piece);
        ends_.push_back(static_cast<uint32_t>(bytes_.size()));
    }
    void reserve(size_t pieces, size_t bytes) {
        ends_.reserve(pieces);
        bytes_.reserve(bytes);
    }

private:
    std::string bytes_;
    std::vector<uint32_t> ends_;
};

}  // namespace xf
