// The JSON header of a safetensors file: parsing what may be hostile, and writing it.
//
// Format: 8 bytes little-endian length, that many bytes of JSON, tensor data. The JSON is one object: tensor name ->
// {dtype, shape, data_offsets [begin, end)}, and "__metadata__" -> {string: string}. Ranges count from the end of the
// JSON and cover the data without hole or overlap, so that no byte of a file is without meaning.
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
    std::string dtype;            // F32 F16 BF16 I64 I32 I8 U8
    std::vector<int64_t> shape;   // empty for a scalar
    uint64_t begin = 0, end = 0;  // bytes, counted from the start of the data
};

// What a file may ask for. The defaults hold for every file the library writes.
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
    size_t digest_at = 0;             // where in the JSON the 64 digits of the checksum begin; 0 when there are none
};

// Bytes of one element, 0 for a dtype that is not known.
size_t dtype_bytes(std::string_view dtype);

// Throws XF_ERROR_CORRUPT or XF_ERROR_LIMIT; `where` names the file in the message.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const SafetensorsLimits &limits,
                                           const std::string &where);

// The JSON, padded with spaces so that data begin at a multiple of 8. Tensors keep their order.
std::string format_safetensors_header(const Metadata &metadata, const std::vector<TensorInfo> &tensors);

}  // namespace xf
