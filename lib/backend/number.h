// A place in device memory where numbers of a stream's type lie: a pointer that knows how far apart they are.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef XF_NUM_UNTYPED
#define XF_NUM_UNTYPED  // the core serves every type: it asks for it by Num
#endif
#include "backend/plugin_abi.h"

namespace xf {

constexpr size_t number_bytes(uint32_t dtype) { return dtype == XF_BF16 ? 2 : 4; }

class Num {
public:
    Num() = default;
    Num(std::nullptr_t) {}
    Num(void *data, uint32_t dtype) : data_(data), dtype_(dtype) {}

    operator void *() const { return data_; }
    // n numbers further on.
    Num operator+(int64_t n) const {
        return {static_cast<char *>(data_) + n * static_cast<int64_t>(number_bytes(dtype_)), dtype_};
    }

private:
    void *data_ = nullptr;
    uint32_t dtype_ = XF_FP32;
};

}  // namespace xf
