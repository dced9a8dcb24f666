// Reading and writing safetensors files whose every byte is covered by a checksum.
//
// The metadata key "sha256" holds the SHA-256 of the whole file with its own 64 digits taken as '0'. So a flipped bit
// in a name, a shape or the configuration is found like one in a weight, and other tools open the file as ever.
//
// Tensor data go from the file straight into the caller's memory and are hashed from there: a gigabyte is never held
// twice, and what was checked is what is used. The trap: load_all() compares after the last byte, so until it returns
// the destinations hold bytes that nobody vouches for. read() checks nothing but the range.
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
    // Reads and checks the header. No memory beyond it.
    explicit SafetensorsReader(std::shared_ptr<const Input> input, const SafetensorsLimits &limits = {});

    // Of a file, which stays open while the object lives.
    static SafetensorsReader open(const std::string &path, const SafetensorsLimits &limits = {},
                                  const IoOps &io = posix_io());

    // Of bytes that stay the caller's and unchanged while the object lives.
    static SafetensorsReader from_memory(const void *bytes, size_t size, const SafetensorsLimits &limits = {});

    const Input &input() const { return *input_; }
    const Metadata &metadata() const { return header_.metadata; }
    const std::vector<TensorInfo> &tensors() const { return header_.tensors; }  // in the order of their data
    const TensorInfo *find(std::string_view name) const;                        // null when there is none

    // Whether the file carries a checksum in the form verify() and load_all() ask for.
    bool has_digest() const { return header_.digest_at > 0; }

    // The data of one tensor; `bytes` must be exactly end - begin.
    void read(const TensorInfo &tensor, void *dst, size_t bytes) const;

    // Reads all and compares the checksum: XF_ERROR_CORRUPT when it differs or is missing. call hears "load", in bytes.
    void verify(const Call &call = Call()) const;

    // verify() that also keeps the data: `destination` gives the memory of each tensor, end - begin bytes, in the
    // order of tensors(), or null to skip it. After a failure the memory holds nothing of worth.
    using Destination = std::function<void *(const TensorInfo &)>;
    void load_all(const Destination &destination, const Call &call = Call()) const;

private:
    std::shared_ptr<const Input> input_;
    uint64_t data_at_ = 0;
    SafetensorsHeader header_;
    std::map<std::string_view, size_t> index_;  // into header_.tensors, whose strings it views
    Sha256 beginning_;                          // of the length and the header, the digits taken as '0'
};

class SafetensorsWriter {
public:
    // Gives `bytes` of a tensor's data from `offset` on; asked in ascending order, each byte once.
    using Source = std::function<void(uint64_t offset, void *dst, size_t bytes)>;

    // The data stay the caller's and must live until write(). XF_ERROR_INVALID_ARGUMENT for a bad dtype or size.
    void add(std::string name, std::string dtype, std::vector<int64_t> shape, const void *data, size_t bytes);
    void add(std::string name, std::string dtype, std::vector<int64_t> shape, Source source);

    void set_metadata(std::string key, std::string value);  // not "sha256"

    // Replaces the file as AtomicFile does and returns its checksum. The same tensors and metadata give the same
    // bytes. Names that are not UTF-8 or occur twice are XF_ERROR_INVALID_ARGUMENT. call hears "save", in bytes.
    std::string write(const std::string &path, const IoOps &io = posix_io(), bool keep_previous = true,
                      const Call &call = Call()) const;

    // The same bytes elsewhere, and how many they are: nothing is asked of the sources for that. `name` is for
    // messages.
    std::string write(Output *output, const std::string &name, const Call &call = Call()) const;
    uint64_t bytes(const std::string &name) const;

private:
    struct Layout;
    Layout lay_out(const std::string &name) const;
    static std::string put(const Layout &layout, Output *output, const Call &call);

    struct Entry {
        TensorInfo info;  // begin 0, end the number of bytes
        const void *data;
        Source source;
    };
    std::vector<Entry> entries_;
    Metadata metadata_;
};

}  // namespace xf
