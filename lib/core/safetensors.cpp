// See safetensors.h. Data are processed in chunks that remain in the cache between reading and hashing.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/atomic_file.h"
#include "core/checked.h"

namespace xf {
namespace {

constexpr size_t kChunk = size_t{1} << 18;
constexpr uint64_t kLengthBytes = 8;

// The format is little-endian, and tensors are copied without conversion.
static_assert(std::endian::native == std::endian::little, "big-endian processors are not supported");

void store_length(uint64_t value, char *dst) {
    for (int i = 0; i < 8; ++i) dst[i] = value >> (8 * i);
}

uint64_t load_length(const char *src) {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= static_cast<uint64_t>(static_cast<unsigned char>(src[i])) << (8 * i);
    return value;
}

// Describes a file that does not begin with the length of a header.
const char *beginning_of(const char (&bytes)[kLengthBytes]) {
    const auto is_text = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t'; };
    if (!std::all_of(std::begin(bytes), std::end(bytes), is_text)) return "bytes that are not the length of a header";
    return bytes[0] == '{' ? "'{', like a JSON file, for example of a tokenizer" : "text";
}

}  // namespace

SafetensorsReader SafetensorsReader::open(const std::string &path, const SafetensorsLimits &limits, const IoOps &io) {
    return SafetensorsReader(std::make_shared<InputFile>(path, io), limits);
}

SafetensorsReader SafetensorsReader::from_memory(const void *bytes, size_t size, const SafetensorsLimits &limits) {
    return SafetensorsReader(std::make_shared<MemoryInput>(bytes, size), limits);
}

SafetensorsReader::SafetensorsReader(std::shared_ptr<const Input> input, const SafetensorsLimits &limits)
    : input_(std::move(input)) {
    const std::string &name = input_->name();
    const uint64_t size = input_->size();
    using Big = unsigned long long;
    XF_CHECK(size >= kLengthBytes, XF_ERROR_CORRUPT, "'%s' has %llu bytes, expected a safetensors file", name.c_str(),
             static_cast<Big>(size));
    XF_CHECK(size <= limits.file_bytes, XF_ERROR_LIMIT, "'%s' has %llu bytes, expected at most %llu", name.c_str(),
             static_cast<Big>(size), static_cast<Big>(limits.file_bytes));
    char length[kLengthBytes];
    input_->read_at(0, length, sizeof length);
    const uint64_t json_bytes = load_length(length);
    // If the length exceeds the file, the file is damaged or has another format; if it exceeds the limit too, the
    // latter.
    XF_CHECK(json_bytes <= size - kLengthBytes || json_bytes <= limits.header_bytes, XF_ERROR_CORRUPT,
             "'%s' is not a safetensors file: it begins with %s", name.c_str(), beginning_of(length));
    XF_CHECK(json_bytes <= size - kLengthBytes, XF_ERROR_CORRUPT,
             "'%s' has %llu bytes, expected more: its header length is %llu", name.c_str(), static_cast<Big>(size),
             static_cast<Big>(json_bytes));
    XF_CHECK(json_bytes <= limits.header_bytes, XF_ERROR_LIMIT,
             "'%s' has a header of %llu bytes, expected at most %llu", name.c_str(), static_cast<Big>(json_bytes),
             static_cast<Big>(limits.header_bytes));
    data_at_ = kLengthBytes + json_bytes;
    std::string json(json_bytes, '\0');
    input_->read_at(kLengthBytes, json.data(), json.size());
    header_ = parse_safetensors_header(json, size - data_at_, limits, name);
    for (size_t i = 0; i < header_.tensors.size(); ++i) index_.emplace(header_.tensors[i].name, i);
    if (!has_digest()) return;
    std::fill_n(json.begin() + header_.digest_at, kDigestDigits, '0');
    beginning_.update(length, sizeof length);
    beginning_.update(json.data(), json.size());
}

const TensorInfo *SafetensorsReader::find(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &header_.tensors[found->second];
}

void SafetensorsReader::read(const TensorInfo &tensor, void *dst, size_t bytes) const {
    XF_CHECK(
        tensor.begin <= tensor.end && tensor.end <= input_->size() - data_at_ && bytes == tensor.end - tensor.begin,
        XF_ERROR_INVALID_ARGUMENT, "'%s': tensor '%s' read into %zu bytes, expected %llu", input_->name().c_str(),
        tensor.name.c_str(), bytes, static_cast<unsigned long long>(tensor.end - tensor.begin));
    input_->read_at(data_at_ + tensor.begin, dst, bytes);
}

void SafetensorsReader::verify(const Call &call) const {
    load_all([](const TensorInfo &) -> void * { return nullptr; }, call);
}

void SafetensorsReader::load_all(const Destination &destination, const Call &call) const {
    const int64_t total = input_->size();
    XF_CHECK(has_digest(), XF_ERROR_CORRUPT, "'%s' has no checksum, expected 64 digits as metadata '%s'",
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

void SafetensorsWriter::add(std::string name, std::string dtype, std::vector<int64_t> shape, const void *data,
                            size_t bytes) {
    add(std::move(name), std::move(dtype), std::move(shape), Source());
    Entry &entry = entries_.back();
    if (entry.info.end == bytes && (data || bytes == 0)) {
        entry.data = data;
        return;
    }
    const TensorInfo info = std::move(entry.info);
    entries_.pop_back();
    fail(XF_ERROR_INVALID_ARGUMENT, "tensor '%s' has %zu bytes of data or NULL, expected %llu bytes by dtype and shape",
         info.name.c_str(), bytes, static_cast<unsigned long long>(info.end));
}

void SafetensorsWriter::add(std::string name, std::string dtype, std::vector<int64_t> shape, Source source) {
    const size_t item = dtype_bytes(dtype);
    XF_CHECK(item > 0, XF_ERROR_INVALID_ARGUMENT, "tensor '%s' has the unknown dtype '%s'", name.c_str(),
             dtype.c_str());
    const uint64_t bytes = checked_mul<uint64_t>(checked_elements(shape, name.c_str()), item, name.c_str());
    entries_.push_back({{std::move(name), std::move(dtype), std::move(shape), 0, bytes}, nullptr, std::move(source)});
}

void SafetensorsWriter::set_metadata(std::string key, std::string value) {
    XF_CHECK(key != kDigestKey, XF_ERROR_INVALID_ARGUMENT, "the metadata key '%s' is reserved for the checksum",
             kDigestKey);
    metadata_[std::move(key)] = std::move(value);
}

struct SafetensorsWriter::Layout {
    std::vector<const Entry *> order;
    std::string json;
    size_t digest_at;
    uint64_t bytes;
};

SafetensorsWriter::Layout SafetensorsWriter::lay_out(const std::string &name) const {
    Layout layout{};
    // Wide elements come first, so that each tensor is aligned to its element size for tools that map the file.
    for (const Entry &entry : entries_) layout.order.push_back(&entry);
    std::stable_sort(layout.order.begin(), layout.order.end(), [](const Entry *a, const Entry *b) {
        return dtype_bytes(a->info.dtype) > dtype_bytes(b->info.dtype);
    });
    std::vector<TensorInfo> tensors;
    uint64_t data_bytes = 0;
    for (const Entry *entry : layout.order) {
        TensorInfo &info = tensors.emplace_back(entry->info);
        info.begin = data_bytes;
        info.end = data_bytes = checked_add(data_bytes, entry->info.end, "the size of a file");
    }
    Metadata metadata = metadata_;
    metadata[kDigestKey] = std::string(kDigestDigits, '0');
    layout.json = format_safetensors_header(metadata, tensors);
    try {  // do not write a file that could not be read: names, UTF-8, limits
        XF_CHECK(layout.json.size() <= SafetensorsLimits().header_bytes, XF_ERROR_LIMIT,
                 "'%s' would have a header of %zu bytes, expected at most %llu", name.c_str(), layout.json.size(),
                 static_cast<unsigned long long>(SafetensorsLimits().header_bytes));
        layout.digest_at = parse_safetensors_header(layout.json, data_bytes, {}, name).digest_at;
    } catch (const Error &error) {
        if (error.status() != XF_ERROR_CORRUPT) throw;
        throw Error(XF_ERROR_INVALID_ARGUMENT, error.what());
    }
    layout.bytes = checked_add<uint64_t>(kLengthBytes + layout.json.size(), data_bytes, "the size of a file");
    return layout;
}

std::string SafetensorsWriter::put(const Layout &layout, Output *output, const Call &call) {
    output->reserve(layout.bytes);
    Sha256 hash;
    uint64_t written = 0;
    const auto append = [&](const void *src, size_t bytes) {
        hash.update(src, bytes);
        output->write(src, bytes);
        written += bytes;
        call.progress("save", written, layout.bytes);
    };
    char length[kLengthBytes];
    store_length(layout.json.size(), length);
    append(length, sizeof length);
    append(layout.json.data(), layout.json.size());
    std::vector<char> scratch;
    for (const Entry *entry : layout.order) {
        for (uint64_t at = 0; at < entry->info.end;) {
            const size_t chunk = std::min<uint64_t>(kChunk, entry->info.end - at);
            const char *from = static_cast<const char *>(entry->data) + at;
            if (!entry->data) {
                scratch.resize(kChunk);
                entry->source(at, scratch.data(), chunk);
                from = scratch.data();
            }
            append(from, chunk);
            at += chunk;
        }
    }
    const std::string digest = hash.hex();
    output->rewrite(kLengthBytes + layout.digest_at, digest.data(), digest.size());
    return digest;
}

std::string SafetensorsWriter::write(const std::string &path, const IoOps &io, bool keep_previous,
                                     const Call &call) const {
    const Layout layout = lay_out(path);
    AtomicFile file(path, io, keep_previous);
    std::string digest = put(layout, &file, call);  // computed first: returning it allocates nothing
    file.commit();
    return digest;
}

std::string SafetensorsWriter::write(Output *output, const std::string &name, const Call &call) const {
    return put(lay_out(name), output, call);
}

}  // namespace xf
