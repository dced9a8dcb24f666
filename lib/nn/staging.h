// A staging buffer: collects arrays of integers in host memory and uploads them to the device in one transfer.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/device.h"

namespace xf {

class Staging {
public:
    void clear() { host_.clear(); }

    // Appends an array, aligned to 64 bytes, and returns its offset for at() and host().
    size_t add(std::span<const int32_t> values) {
        const size_t offset = host_.size();
        host_.insert(host_.end(), values.begin(), values.end());
        align();
        return offset;
    }
    // The same for count values value(0), value(1), ...
    template <class Value>
    size_t add(int64_t count, const Value &value) {
        const size_t offset = host_.size();
        for (int64_t i = 0; i < count; ++i) host_.push_back(value(i));
        align();
        return offset;
    }

    // Uploads everything that was added. The device memory has room for min_size integers and moves only when it grows.
    void upload(Stream &stream, size_t min_size = 0) {
        device_.reserve(stream.device(), std::max(host_.size(), min_size) * sizeof(int32_t));
        stream.upload(device_.data(), host_.data(), host_.size() * sizeof(int32_t));
    }
    // Takes the contents of another buffer on the same device. Offsets remain valid.
    void adopt(Stream &stream, Staging *from) {
        device_.reserve(stream.device(), from->device_.bytes());
        stream.copy(device_.data(), from->device_.data(), from->host_.size() * sizeof(int32_t));
        std::swap(host_, from->host_);
    }

    int32_t *at(size_t offset) const { return device_.as<int32_t>() + offset; }
    const int32_t *host(size_t offset) const { return host_.data() + offset; }
    const void *device_memory() const { return device_.data(); }

private:
    void align() { host_.resize((host_.size() + 15) / 16 * 16); }

    std::vector<int32_t> host_;
    Buffer device_;
};

}  // namespace xf
