// Pointers to device memory with elements of a stream's type, and matrices of any weight type.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#ifndef XF_NUM_UNTYPED
#define XF_NUM_UNTYPED  // the core supports every type; it uses Num
#endif
#include "backend/plugin_abi.h"
#include "core/error.h"
#include "xformer/context.h"

namespace xf {

constexpr int64_t number_bytes(uint32_t dtype) { return dtype == XF_BF16 ? 2 : 4; }

// XF_WEIGHTS_... as a word of "model.weights".
constexpr const char *weights_name(uint32_t type) {
    constexpr const char *kNames[] = {"fp32", "bf16", "fp16", "int8"};
    return kNames[type];
}
// XF_TYPE_... of the public headers.
constexpr int32_t public_type(uint32_t weights_type) {
    constexpr int32_t kTypes[] = {XF_TYPE_FP32, XF_TYPE_BF16, XF_TYPE_FP16, XF_TYPE_INT8};
    return kTypes[weights_type];
}
// The type for a word of "model.weights"; `own` for "same".
inline uint32_t weights_named(const std::string &word, uint32_t own) {
    for (const uint32_t type : {XF_WEIGHTS_NUM, XF_WEIGHTS_BF16, XF_WEIGHTS_FP16, XF_WEIGHTS_INT8})
        if (word == weights_name(type)) return type;
    XF_CHECK(word == "same", XF_ERROR_INTERNAL, "model.weights is '%s', which has no reader", word.c_str());
    return own;
}

// A matrix argument of an operation. type is XF_WEIGHTS_...
struct Matrix {
    const void *data;
    uint32_t type;
    const float *scales;  // one per row, with XF_WEIGHTS_INT8

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
    // Advances by n elements.
    Num operator+(int64_t n) const { return {static_cast<char *>(data_) + n * number_bytes(dtype_), dtype_}; }

private:
    void *data_ = nullptr;
    uint32_t dtype_ = XF_FP32;
};

}  // namespace xf
