// See safetensors.h. Data are processed in chunks that remain in the cache between reading and hashing.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/safetensors.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <utility>

#include "core/checked.h"
#include "core/numbers.h"

namespace xf {
namespace {

constexpr size_t kChunk = size_t{1} << 18;
constexpr uint64_t kLengthBytes = 8;

// The format is little-endian; the length and tensors are copied without conversion.
static_assert(std::endian::native == std::endian::little, "big-endian processors are not supported");

// Describes a file that does not begin with the length of a header.
const char *beginning_of(const char (&bytes)[kLengthBytes]) {
    const auto is_text = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t'; };
    if (!std::all_of(std::begin(bytes), std::end(bytes), is_text)) return "bytes that are not the length of a header";
    return bytes[0] == '{' ? "'{', like a JSON file, for example of a tokenizer" : "text";
}

}  // namespace

SafetensorsReader::SafetensorsReader(std::shared_ptr<const Input> input, const SafetensorsLimits &limits)
    : input_(std::move(input)) {
    const std::string &name = input_->name();
    const uint64_t size = input_->size();
    XF_CHECK(size >= kLengthBytes, XF_ERROR_CORRUPT, "'%s' has %" PRIu64 " bytes, expected a safetensors file",
             name.c_str(), size);
    XF_CHECK(size <= limits.file_bytes, XF_ERROR_LIMIT, "'%s' has %" PRIu64 " bytes, expected at most %" PRIu64,
             name.c_str(), size, limits.file_bytes);
    char length[kLengthBytes];
    input_->read_at(0, length, sizeof length);
    const auto json_bytes = bits_as<uint64_t>(length);
    // If the length exceeds the file, the file is damaged or has another format; if it exceeds the limit too, the
    // latter.
    XF_CHECK(json_bytes <= size - kLengthBytes || json_bytes <= limits.header_bytes, XF_ERROR_CORRUPT,
             "'%s' is not a safetensors file: it begins with %s", name.c_str(), beginning_of(length));
    XF_CHECK(json_bytes <= size - kLengthBytes, XF_ERROR_CORRUPT,
             "'%s' has %" PRIu64 " bytes, expected more: its header length is %" PRIu64, name.c_str(), size,
             json_bytes);
    XF_CHECK(json_bytes <= limits.header_bytes, XF_ERROR_LIMIT,
             "'%s' has a header of %" PRIu64 " bytes, expected at most %" PRIu64, name.c_str(), json_bytes,
             limits.header_bytes);
    data_at_ = kLengthBytes + json_bytes;
    std::string json(json_bytes, '\0');
    input_->read_at(kLengthBytes, json.data(), json.size());
    header_ = parse_safetensors_header(json, size - data_at_, limits, name);
    for (size_t i = 0; i < header_.tensors.size(); ++i) index_.emplace(header_.tensors[i].name, i);
    if (header_.digest_at == 0) return;
    std::fill_n(json.begin() + header_.digest_at, kDigestDigits, '0');
    beginning_.update(length, sizeof length);
    beginning_.update(json.data(), json.size());
}

const TensorInfo *SafetensorsReader::find(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &header_.tensors[found->second];
}

void SafetensorsReader::verify(const Call &call) const {
    load_all([](const TensorInfo &) -> void * { return nullptr; }, call);
}

void SafetensorsReader::load_all(const Destination &destination, const Call &call) const {
    const int64_t total = input_->size();
    XF_CHECK(header_.digest_at > 0, XF_ERROR_CORRUPT, "'%s' has no checksum, expected 64 digits as metadata '%s'",
             input_->name().c_str(), kDigestKey);
    Sha256 hash = beginning_;
    std::vector<char> scratch;
    for (const TensorInfo &tensor : header_.tensors) {
        char *to = static_cast<char *>(destination(tensor));
        const bool skip = to == nullptr;
        if (skip) {
            scratch.resize(kChunk);
            to = scratch.data();
        }
        for (uint64_t at = tensor.begin; at < tensor.end;) {
            const size_t chunk = std::min<uint64_t>(kChunk, tensor.end - at);
            input_->read_at(data_at_ + at, to, chunk);
            hash.update(to, chunk);
            at += chunk;
            if (!skip) to += chunk;
            call.progress("load", data_at_ + at, total);
        }
    }
    const std::string found = hash.hex(), &expected = header_.metadata.at(kDigestKey);
    XF_CHECK(found == expected, XF_ERROR_CORRUPT, "'%s' is damaged: its SHA-256 is %s, expected %s",
             input_->name().c_str(), found.c_str(), expected.c_str());
}

void SafetensorsWriter::add(std::string name, std::string dtype, std::vector<int64_t> shape, Source source) {
    const size_t item = dtype_bytes(dtype);
    XF_CHECK(item > 0, XF_ERROR_INVALID_ARGUMENT, "tensor '%s' has the unknown dtype '%s'", name.c_str(),
             dtype.c_str());
    const uint64_t bytes = checked_mul<uint64_t>(checked_elements(shape, name.c_str()), item, name.c_str());
    entries_.push_back({{std::move(name), std::move(dtype), std::move(shape), 0, bytes}, std::move(source)});
}

void SafetensorsWriter::set_metadata(std::string key, std::string value) {
    XF_CHECK(key != kDigestKey, XF_ERROR_INVALID_ARGUMENT, "the metadata key '%s' is reserved for the checksum",
             kDigestKey);
    metadata_[std::move(key)] = std::move(value);
}

std::string SafetensorsWriter::write(Output *output, const std::string &name, const Call &call) const {
    // Wide elements come first, so that each tensor is aligned to its element size for tools that map the file.
    std::vector<const Entry *> order;
    for (const Entry &entry : entries_) order.push_back(&entry);
    std::stable_sort(order.begin(), order.end(), [](const Entry *a, const Entry *b) {
        return dtype_bytes(a->info.dtype) > dtype_bytes(b->info.dtype);
    });
    std::vector<TensorInfo> tensors;
    uint64_t data_bytes = 0;
    for (const Entry *entry : order) {
        TensorInfo &info = tensors.emplace_back(entry->info);
        info.begin = data_bytes;
        info.end = data_bytes = checked_add(data_bytes, entry->info.end, "the size of a file");
    }
    Metadata metadata = metadata_;
    metadata[kDigestKey] = std::string(kDigestDigits, '0');
    const std::string json = format_safetensors_header(metadata, tensors);
    size_t digest_at = 0;
    try {  // do not write a file that could not be read: names, UTF-8, limits
        XF_CHECK(json.size() <= SafetensorsLimits().header_bytes, XF_ERROR_LIMIT,
                 "'%s' would have a header of %zu bytes, expected at most %" PRIu64, name.c_str(), json.size(),
                 SafetensorsLimits().header_bytes);
        digest_at = parse_safetensors_header(json, data_bytes, {}, name).digest_at;
    } catch (const Error &error) {
        if (error.status() != XF_ERROR_CORRUPT) throw;
        throw Error(XF_ERROR_INVALID_ARGUMENT, error.what());
    }
    const auto total = checked_add<uint64_t>(kLengthBytes + json.size(), data_bytes, "the size of a file");

    output->reserve(total);
    Sha256 hash;
    uint64_t written = 0;
    const auto append = [&](const void *src, size_t bytes) {
        hash.update(src, bytes);
        output->write(src, bytes);
        written += bytes;
        call.progress("save", written, total);
    };
    const uint64_t json_bytes = json.size();
    append(&json_bytes, sizeof json_bytes);
    append(json.data(), json.size());
    std::vector<char> chunk(data_bytes > 0 ? kChunk : 0);
    for (const Entry *entry : order) {
        for (uint64_t at = 0; at < entry->info.end; at += kChunk) {
            const size_t bytes = std::min<uint64_t>(kChunk, entry->info.end - at);
            entry->source(at, chunk.data(), bytes);
            append(chunk.data(), bytes);
        }
    }
    std::string digest = hash.hex();
    output->put(kLengthBytes + digest_at, digest.data(), digest.size());
    return digest;
}

}  // namespace xf
