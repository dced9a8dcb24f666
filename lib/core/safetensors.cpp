// See safetensors.h. Data pass in pieces that stay in the cache between reading and hashing.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/safetensors.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/atomic_file.h"
#include "core/checked.h"

namespace xf {
namespace {

constexpr size_t kPiece = size_t{1} << 18;
constexpr uint64_t kLengthBytes = 8;

void store_length(uint64_t value, char *dst) {
    for (int i = 0; i < 8; ++i) dst[i] = static_cast<char>(value >> (8 * i));
}

uint64_t load_length(const char *src) {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= static_cast<uint64_t>(static_cast<unsigned char>(src[i])) << (8 * i);
    return value;
}

}  // namespace

SafetensorsReader SafetensorsReader::open(const std::string &path, const SafetensorsLimits &limits, const IoOps &io) {
    auto file = std::make_unique<InputFile>(path, io);
    const uint64_t size = file->size();
    return SafetensorsReader(std::move(file), nullptr, size, path, limits);
}

SafetensorsReader SafetensorsReader::from_memory(const void *bytes, size_t size, const SafetensorsLimits &limits,
                                                 std::string name) {
    return SafetensorsReader(nullptr, static_cast<const char *>(bytes), size, std::move(name), limits);
}

SafetensorsReader::SafetensorsReader(std::unique_ptr<InputFile> file, const char *memory, uint64_t size,
                                     std::string name, const SafetensorsLimits &limits)
    : file_(std::move(file)), memory_(memory), size_(size), name_(std::move(name)) {
    using Big = unsigned long long;
    XF_CHECK(size_ >= kLengthBytes, XF_ERROR_CORRUPT, "'%s' has %llu bytes, expected a safetensors file", name_.c_str(),
             static_cast<Big>(size_));
    XF_CHECK(size_ <= limits.file_bytes, XF_ERROR_LIMIT, "'%s' has %llu bytes, expected at most %llu", name_.c_str(),
             static_cast<Big>(size_), static_cast<Big>(limits.file_bytes));
    char length[kLengthBytes];
    fetch(0, length, sizeof length);
    const uint64_t json_bytes = load_length(length);
    // A length beyond the file is damage or another kind of file, and a length that no header has is the latter.
    XF_CHECK(json_bytes <= size_ - kLengthBytes || json_bytes <= limits.header_bytes, XF_ERROR_CORRUPT,
             "'%s' is not a safetensors file: it has %llu bytes and would begin with a header of %llu", name_.c_str(),
             static_cast<Big>(size_), static_cast<Big>(json_bytes));
    XF_CHECK(json_bytes <= size_ - kLengthBytes, XF_ERROR_CORRUPT,
             "'%s' has %llu bytes, expected more by its header length %llu", name_.c_str(), static_cast<Big>(size_),
             static_cast<Big>(json_bytes));
    XF_CHECK(json_bytes <= limits.header_bytes, XF_ERROR_LIMIT,
             "'%s' has a header of %llu bytes, expected at most %llu", name_.c_str(), static_cast<Big>(json_bytes),
             static_cast<Big>(limits.header_bytes));
    data_at_ = kLengthBytes + json_bytes;
    std::string json(static_cast<size_t>(json_bytes), '\0');
    fetch(kLengthBytes, json.data(), json.size());
    header_ = parse_safetensors_header(json, size_ - data_at_, limits, name_);
    for (size_t i = 0; i < header_.tensors.size(); ++i) index_.emplace(header_.tensors[i].name, i);
    if (!has_digest()) return;
    std::fill_n(json.begin() + static_cast<std::ptrdiff_t>(header_.digest_at), kDigestDigits, '0');
    beginning_.update(length, sizeof length);
    beginning_.update(json.data(), json.size());
}

void SafetensorsReader::fetch(uint64_t offset, void *dst, size_t bytes) const {
    XF_CHECK(offset <= size_ && bytes <= size_ - offset, XF_ERROR_INTERNAL,
             "'%s': a read beyond its end was let through", name_.c_str());
    if (file_) {
        file_->read_at(offset, dst, bytes);
    } else if (bytes > 0) {
        std::memcpy(dst, memory_ + offset, bytes);
    }
}

const TensorInfo *SafetensorsReader::find(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &header_.tensors[found->second];
}

void SafetensorsReader::read(const TensorInfo &tensor, void *dst, size_t bytes) const {
    XF_CHECK(tensor.begin <= tensor.end && tensor.end <= size_ - data_at_ && bytes == tensor.end - tensor.begin,
             XF_ERROR_INVALID_ARGUMENT, "'%s': tensor '%s' read into %zu bytes, expected %llu", name_.c_str(),
             tensor.name.c_str(), bytes, static_cast<unsigned long long>(tensor.end - tensor.begin));
    fetch(data_at_ + tensor.begin, dst, bytes);
}

void SafetensorsReader::verify() const {
    load_all([](const TensorInfo &) -> void * { return nullptr; });
}

void SafetensorsReader::load_all(const Destination &destination) const {
    XF_CHECK(has_digest(), XF_ERROR_CORRUPT, "'%s' has no checksum, expected 64 digits as metadata '%s'", name_.c_str(),
             kDigestKey);
    Sha256 hash = beginning_;
    std::vector<char> scratch;
    for (const TensorInfo &tensor : header_.tensors) {
        char *to = static_cast<char *>(destination(tensor));
        const bool skip = to == nullptr;
        if (skip) {
            scratch.resize(kPiece);
            to = scratch.data();
        }
        for (uint64_t at = tensor.begin; at < tensor.end;) {
            const size_t piece = static_cast<size_t>(std::min<uint64_t>(kPiece, tensor.end - at));
            fetch(data_at_ + at, to, piece);
            hash.update(to, piece);
            at += piece;
            if (!skip) to += piece;
        }
    }
    const std::string found = hash.hex(), &expected = header_.metadata.at(kDigestKey);
    XF_CHECK(found == expected, XF_ERROR_CORRUPT, "'%s' is damaged: its SHA-256 is %s, expected %s", name_.c_str(),
             found.c_str(), expected.c_str());
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
    fail(XF_ERROR_INVALID_ARGUMENT, "tensor '%s' is given %zu bytes or NULL, expected %llu by dtype and shape",
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
    XF_CHECK(key != kDigestKey, XF_ERROR_INVALID_ARGUMENT, "the metadata key '%s' is kept for the checksum",
             kDigestKey);
    metadata_[std::move(key)] = std::move(value);
}

std::string SafetensorsWriter::write(const std::string &path, const IoOps &io, bool keep_previous) const {
    // Wide elements first, so that each tensor begins at a multiple of its element's size for tools that map the file.
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
    try {  // what can't be read back is not written: names, UTF-8, limits
        XF_CHECK(json.size() <= SafetensorsLimits().header_bytes, XF_ERROR_LIMIT,
                 "'%s' would have a header of %zu bytes, expected at most %llu", path.c_str(), json.size(),
                 static_cast<unsigned long long>(SafetensorsLimits().header_bytes));
        digest_at = parse_safetensors_header(json, data_bytes, {}, path).digest_at;
    } catch (const Error &error) {
        if (error.status() != XF_ERROR_CORRUPT) throw;
        throw Error(XF_ERROR_INVALID_ARGUMENT, error.what());
    }

    AtomicFile file(path, io, keep_previous);
    file.reserve(checked_add<uint64_t>(kLengthBytes + json.size(), data_bytes, "the size of a file"));
    Sha256 hash;
    const auto put = [&](const void *src, size_t bytes) {
        hash.update(src, bytes);
        file.write(src, bytes);
    };
    char length[kLengthBytes];
    store_length(json.size(), length);
    put(length, sizeof length);
    put(json.data(), json.size());
    std::vector<char> scratch;
    for (const Entry *entry : order) {
        for (uint64_t at = 0; at < entry->info.end;) {
            const size_t piece = static_cast<size_t>(std::min<uint64_t>(kPiece, entry->info.end - at));
            const char *from = static_cast<const char *>(entry->data) + at;
            if (!entry->data) {
                scratch.resize(kPiece);
                entry->source(at, scratch.data(), piece);
                from = scratch.data();
            }
            put(from, piece);
            at += piece;
        }
    }
    const std::string digest = hash.hex();
    file.rewrite(kLengthBytes + digest_at, digest.data(), digest.size());
    file.commit();
    return digest;
}

}  // namespace xf
