// Reading and writing safetensors files whose every byte is covered by a checksum.
//
// The metadata key "sha256" contains the SHA-256 of the whole file, computed with its own 64 digits replaced by '0'. So
// it detects a flipped bit in a name, a shape, or the configuration as well as in a weight, and other tools can open
// the file.
//
// Tensor data are read directly into the caller's memory and hashed there: they are never in memory twice, and the
// checked bytes are the ones that are used. load_all() compares the checksum after the last byte, so the destinations
// hold unverified bytes until it returns.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/call.h"
#include "core/file.h"
#include "core/output.h"
#include "core/safetensors_header.h"
#include "core/sha256.h"

namespace xf {

class SafetensorsReader {
public:
    // Reads and checks the header. Allocates no other memory.
    explicit SafetensorsReader(std::shared_ptr<const Input> input, const SafetensorsLimits &limits = {});

    const Input &input() const { return *input_; }
    const Metadata &metadata() const { return header_.metadata; }
    const std::vector<TensorInfo> &tensors() const { return header_.tensors; }  // in the order of their data
    const TensorInfo *find(std::string_view name) const;                        // null if it does not exist

    // Reads everything and compares the checksum. Throws XF_ERROR_CORRUPT if it differs or is missing. Reports progress
    // as "load", in bytes.
    void verify(const Call &call = Call()) const;

    // Does verify() and stores the data: `destination` returns the memory for each tensor, end - begin bytes, in the
    // order of tensors(), or null to skip it. After a failure the content of the memory is undefined.
    using Destination = std::function<void *(const TensorInfo &)>;
    void load_all(const Destination &destination, const Call &call = Call()) const;

private:
    std::shared_ptr<const Input> input_;
    uint64_t data_at_ = 0;
    SafetensorsHeader header_;
    std::map<std::string_view, size_t> index_;  // into header_.tensors, whose strings it views
    Sha256 beginning_;                          // hash of the length and the header, with the digits replaced by '0'
};

class SafetensorsWriter {
public:
    // Copies `bytes` of a tensor's data from `offset` on. Called in ascending order, once for each byte.
    using Source = std::function<void(uint64_t offset, void *dst, size_t bytes)>;

    // Throws XF_ERROR_INVALID_ARGUMENT for a bad dtype or shape.
    void add(std::string name, std::string dtype, std::vector<int64_t> shape, Source source);

    void set_metadata(std::string key, std::string value);  // not "sha256"

    // Writes the file, without committing it, and returns its checksum. The same tensors and metadata give the same
    // bytes. `name` is that of the output, for messages. Throws XF_ERROR_INVALID_ARGUMENT if the name of a tensor is
    // not UTF-8 or occurs twice. Reports progress as "save", in bytes.
    std::string write(Output *output, const std::string &name, const Call &call = Call()) const;

private:
    struct Entry {
        TensorInfo info;  // begin is 0, end is the number of bytes
        Source source;
    };
    std::vector<Entry> entries_;
    Metadata metadata_;
};

}  // namespace xf
