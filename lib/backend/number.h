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

// XF_WEIGHTS_..., in the words of "context.weights" and "file.precision".
constexpr const char *weights_name(uint32_t type) {
    constexpr const char *kNames[] = {"fp32", "bf16", "fp16", "int8"};
    return kNames[type];
}

// A matrix as operations take it: what lies at data is of type XF_WEIGHTS_...
struct Matrix {
    const void *data;
    uint32_t type;
    const float *scales;  // one a row, with XF_WEIGHTS_INT8

    template <class Args>
    void give_to(Args *args) const {
        args->weights = data;
        args->weights_type = type;
        args->scales = scales;
    }
};

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
