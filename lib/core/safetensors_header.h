// Parses and writes the JSON header of a safetensors file, which may be hostile.
//
// Format: 8 bytes little-endian length, that many bytes of JSON, tensor data. The JSON is one object: tensor name ->
// {dtype, shape, data_offsets [begin, end)}, and "__metadata__" -> {string: string}. Offsets are relative to the end of
// the JSON. The ranges cover the data without holes and overlaps, so every byte of a file has a meaning.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace xf {

struct TensorInfo {
    std::string name;
    std::string dtype;            // F32 F16 BF16 I64 I32 U16 I8 U8
    std::vector<int64_t> shape;   // empty for a scalar
    uint64_t begin = 0, end = 0;  // in bytes from the start of the data
};

// Limits for a file. Every file that the library writes is within the defaults.
struct SafetensorsLimits {
    uint64_t file_bytes = uint64_t{1} << 40;
    uint64_t header_bytes = 100'000'000;  // the format's own limit
    size_t tensors = size_t{1} << 17;     // the largest checkpoint, of 1024 + 1024 layers, has 92,163
    size_t metadata_keys = 4096;
    size_t name_bytes = 1024;
    size_t rank = 8;
};

using Metadata = std::map<std::string, std::string>;

// The metadata key of the checksum; see safetensors.h.
inline constexpr char kDigestKey[] = "sha256";
inline constexpr size_t kDigestDigits = 64;

struct SafetensorsHeader {
    Metadata metadata;
    std::vector<TensorInfo> tensors;  // in the order of their data
    size_t digest_at = 0;             // offset in the JSON of the 64 digits of the checksum; 0 if there are none
};

// The size of an element in bytes; 0 for an unknown dtype.
size_t dtype_bytes(std::string_view dtype);

// Throws XF_ERROR_CORRUPT or XF_ERROR_LIMIT; `where` names the file in the message.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const SafetensorsLimits &limits,
                                           const std::string &where);

// Returns the JSON, padded with spaces so that the data are aligned to 8 bytes. Tensors keep their order.
std::string format_safetensors_header(const Metadata &metadata, const std::vector<TensorInfo> &tensors);

}  // namespace xf
