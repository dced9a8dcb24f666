// See safetensors_header.h. RapidJSON's event parser drives a state machine, which stores only what the format defines
// and bounds the depth, so nesting cannot exhaust the stack.
//
// RapidJSON 1.1 reads out of bounds for some floating-point numbers (CVE-2024-38517) and ignores a failed allocation.
// So the characters outside strings are checked first (the format has no floats, signs, or literals), and the parser
// uses operator new, which throws.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/safetensors_header.h"

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <set>
#include <utility>

#include "core/checked.h"
#include "core/json_allocator.h"

namespace xf {
namespace {

using rapidjson::SizeType;

// The beginning of a hostile string, without control characters, for a message.
std::string printable(std::string_view text) {
    std::string safe;
    for (const unsigned char c : text.substr(0, 60)) safe += c < 0x20 || c >= 0x7f ? '?' : c;
    return text.size() > 60 ? safe + "..." : safe;
}

class HeaderHandler {
public:
    HeaderHandler(std::string_view json, const rapidjson::MemoryStream &stream, const SafetensorsLimits &limits,
                  const std::string &where, SafetensorsHeader &out)
        : json_(json), stream_(stream), limits_(limits), where_(where), out_(out) {}

    bool Null() { return unexpected("null"); }
    bool Bool(bool) { return unexpected("a boolean"); }
    bool Int(int) { return unexpected("a negative number"); }
    bool Int64(int64_t) { return unexpected("a negative number"); }
    bool Double(double) { return unexpected("a number above 64 bits"); }
    bool RawNumber(const char *, SizeType, bool) { return unexpected("a number"); }
    bool Uint(unsigned value) { return Uint64(value); }
    bool Uint64(uint64_t value);
    bool String(const char *text, SizeType length, bool);
    bool StartObject();
    bool Key(const char *text, SizeType length, bool);
    bool EndObject(SizeType);
    bool StartArray();
    bool EndArray(SizeType);

private:
    enum class State { kStart, kRoot, kEnter, kMetadata, kMetadataValue, kTensor, kDtype, kShape, kOffsets, kEnd };

    [[noreturn]] void refuse(xf_status status, const char *fmt, ...) const __attribute__((format(printf, 3, 4)));
    [[noreturn]] bool unexpected(const char *what) const {
        refuse(XF_ERROR_CORRUPT, "the header has %s before byte %zu, expected the form of safetensors", what,
               stream_.Tell());
    }
    void name_tensor(std::string_view name);
    void finish_tensor();
    void note_digest(std::string_view value);

    std::string_view json_;
    const rapidjson::MemoryStream &stream_;
    const SafetensorsLimits &limits_;
    const std::string &where_;
    SafetensorsHeader &out_;
    std::set<std::string, std::less<>> names_;
    State state_ = State::kStart;
    bool in_metadata_ = false, metadata_seen_ = false, array_open_ = false;
    bool dtype_seen_ = false, shape_seen_ = false, offsets_seen_ = false;
    std::string key_;
    TensorInfo tensor_;
    std::vector<uint64_t> offsets_;
};

void HeaderHandler::refuse(xf_status status, const char *fmt, ...) const {
    va_list args;
    va_start(args, fmt);
    const std::string text = vformat(fmt, args);
    va_end(args);
    fail(status, "'%s': %s", where_.c_str(), text.c_str());
}

bool HeaderHandler::StartObject() {
    if (state_ == State::kStart) {
        state_ = State::kRoot;
    } else if (state_ == State::kEnter) {
        state_ = in_metadata_ ? State::kMetadata : State::kTensor;
    } else {
        unexpected("an object");
    }
    return true;
}

bool HeaderHandler::Key(const char *text, SizeType length, bool) {
    const std::string_view key(text, length);
    if (state_ == State::kRoot) {
        in_metadata_ = key == "__metadata__";
        if (in_metadata_) {
            if (std::exchange(metadata_seen_, true)) refuse(XF_ERROR_CORRUPT, "__metadata__ occurs twice");
        } else {
            name_tensor(key);
        }
        state_ = State::kEnter;
    } else if (state_ == State::kMetadata) {
        if (out_.metadata.size() >= limits_.metadata_keys)
            refuse(XF_ERROR_LIMIT, "more than %zu metadata keys", limits_.metadata_keys);
        if (key.size() > limits_.name_bytes)
            refuse(XF_ERROR_LIMIT, "a metadata key of %zu bytes, expected at most %zu", key.size(), limits_.name_bytes);
        key_ = key;
        if (out_.metadata.contains(key_))
            refuse(XF_ERROR_CORRUPT, "the metadata key '%s' occurs twice", printable(key).c_str());
        state_ = State::kMetadataValue;
    } else if (state_ == State::kTensor && key == "dtype" && !dtype_seen_) {
        dtype_seen_ = true;
        state_ = State::kDtype;
    } else if (state_ == State::kTensor && key == "shape" && !shape_seen_) {
        shape_seen_ = true;
        state_ = State::kShape;
    } else if (state_ == State::kTensor && key == "data_offsets" && !offsets_seen_) {
        offsets_seen_ = true;
        state_ = State::kOffsets;
    } else {
        refuse(XF_ERROR_CORRUPT, "tensor '%s' has the key '%s' twice or unknown, expected dtype, shape, data_offsets",
               printable(tensor_.name).c_str(), printable(key).c_str());
    }
    return true;
}

void HeaderHandler::name_tensor(std::string_view name) {
    if (out_.tensors.size() >= limits_.tensors) refuse(XF_ERROR_LIMIT, "more than %zu tensors", limits_.tensors);
    if (name.size() > limits_.name_bytes)
        refuse(XF_ERROR_LIMIT, "a tensor name of %zu bytes, expected at most %zu", name.size(), limits_.name_bytes);
    if (name.empty() || name.find('\0') != std::string_view::npos)
        refuse(XF_ERROR_CORRUPT, "a tensor name is empty or has a NUL inside");
    if (!names_.emplace(name).second) refuse(XF_ERROR_CORRUPT, "tensor '%s' occurs twice", printable(name).c_str());
    tensor_ = {};
    tensor_.name = name;
    offsets_.clear();
    dtype_seen_ = shape_seen_ = offsets_seen_ = false;
}

bool HeaderHandler::String(const char *text, SizeType length, bool) {
    const std::string_view value(text, length);
    if (state_ == State::kMetadataValue) {
        if (key_ == kDigestKey) note_digest(value);
        out_.metadata.emplace(key_, value);
        state_ = State::kMetadata;
    } else if (state_ == State::kDtype) {
        if (dtype_bytes(value) == 0)
            refuse(XF_ERROR_CORRUPT, "tensor '%s' has dtype '%s', expected F32, F16, BF16, I64, I32, U16, I8 or U8",
                   printable(tensor_.name).c_str(), printable(value).c_str());
        tensor_.dtype = value;
        state_ = State::kTensor;
    } else {
        unexpected("a string");
    }
    return true;
}

// The parser has just read the closing quote. Digits that are written as escapes cannot be replaced by zeros, so they
// do not count.
void HeaderHandler::note_digest(std::string_view value) {
    const size_t after = stream_.Tell();
    if (value.size() != kDigestDigits || after < kDigestDigits + 2) return;
    const size_t at = after - 1 - kDigestDigits;
    if (json_[at - 1] == '"' && json_.substr(at, kDigestDigits) == value) out_.digest_at = at;
}

bool HeaderHandler::StartArray() {
    if ((state_ != State::kShape && state_ != State::kOffsets) || array_open_) unexpected("an array");
    array_open_ = true;
    return true;
}

bool HeaderHandler::Uint64(uint64_t value) {
    if (!array_open_) unexpected("a number");
    if (state_ == State::kShape) {
        if (tensor_.shape.size() >= limits_.rank)
            refuse(XF_ERROR_LIMIT, "tensor '%s' has more than %zu dimensions", printable(tensor_.name).c_str(),
                   limits_.rank);
        tensor_.shape.push_back(checked_cast<int64_t>(value, "a dimension of a tensor"));
    } else {
        if (offsets_.size() >= 2) unexpected("a third data offset");
        offsets_.push_back(value);
    }
    return true;
}

bool HeaderHandler::EndArray(SizeType) {
    array_open_ = false;
    state_ = State::kTensor;
    return true;
}

bool HeaderHandler::EndObject(SizeType) {
    if (state_ == State::kTensor) finish_tensor();
    state_ = state_ == State::kRoot ? State::kEnd : State::kRoot;
    return true;
}

void HeaderHandler::finish_tensor() {
    const std::string name = printable(tensor_.name);
    if (!dtype_seen_ || !shape_seen_ || offsets_.size() != 2)
        refuse(XF_ERROR_CORRUPT, "tensor '%s' lacks dtype, shape or two data_offsets", name.c_str());
    tensor_.begin = offsets_[0];
    tensor_.end = offsets_[1];
    const std::string what = format("'%s': tensor '%s'", where_.c_str(), name.c_str());
    const uint64_t bytes =
        checked_mul<uint64_t>(checked_elements(tensor_.shape, what.c_str()), dtype_bytes(tensor_.dtype), what.c_str());
    if (tensor_.end < tensor_.begin || tensor_.end - tensor_.begin != bytes)
        refuse(XF_ERROR_CORRUPT,
               "tensor '%s' has data_offsets [%" PRIu64 ", %" PRIu64 "], expected %" PRIu64 " bytes by dtype and shape",
               name.c_str(), tensor_.begin, tensor_.end, bytes);
    out_.tensors.push_back(std::move(tensor_));
}

void check_outside_strings(std::string_view json, const std::string &where) {
    bool in_string = false;
    for (size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (in_string && c == '\\') {
            ++i;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string) {
            XF_CHECK(c != '\0' && std::strchr("{}[]:,0123456789 \t\r\n", c), XF_ERROR_CORRUPT,
                     "'%s': the header has byte 0x%02x at %zu outside of strings, expected objects, strings and "
                     "whole numbers only",
                     where.c_str(), c & 0xFFu, i);
        }
    }
}

// Sorts by offset and checks that the ranges cover the data exactly once.
void check_cover(std::vector<TensorInfo> &tensors, uint64_t data_bytes, const std::string &where) {
    std::stable_sort(tensors.begin(), tensors.end(), [](const TensorInfo &a, const TensorInfo &b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    uint64_t at = 0;
    for (const TensorInfo &tensor : tensors) {
        XF_CHECK(tensor.begin == at, XF_ERROR_CORRUPT,
                 "'%s': tensor '%s' begins at byte %" PRIu64 " of the data, expected %" PRIu64
                 " (no holes, no overlaps)",
                 where.c_str(), printable(tensor.name).c_str(), tensor.begin, at);
        at = tensor.end;
    }
    XF_CHECK(at == data_bytes, XF_ERROR_CORRUPT,
             "'%s': the file has %" PRIu64 " bytes of data, but its header describes %" PRIu64, where.c_str(),
             data_bytes, at);
}

void append_string(std::string &out, std::string_view text) {
    out += '"';
    for (const unsigned char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c < 0x20)
            out += format("\\u%04x", c);
        else
            out += c;
    }
    out += '"';
}

}  // namespace

size_t dtype_bytes(std::string_view dtype) {
    if (dtype == "I64") return 8;
    if (dtype == "F32" || dtype == "I32") return 4;
    if (dtype == "F16" || dtype == "BF16" || dtype == "U16") return 2;
    if (dtype == "I8" || dtype == "U8") return 1;
    return 0;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const SafetensorsLimits &limits,
                                           const std::string &where) {
    check_outside_strings(json, where);
    SafetensorsHeader header;
    rapidjson::MemoryStream stream(json.data(), json.size());
    HeaderHandler handler(json, stream, limits, where, header);
    rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, ThrowingAllocator> reader;
    XF_CHECK(!json.empty() && json[0] == '{', XF_ERROR_CORRUPT, "'%s': the header does not begin with '{'",
             where.c_str());
    constexpr unsigned kFlags =
        rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseStopWhenDoneFlag;
    const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, handler);
    XF_CHECK(!result.IsError(), XF_ERROR_CORRUPT, "'%s': the header is not JSON at byte %zu: %s", where.c_str(),
             result.Offset(), rapidjson::GetParseError_En(result.Code()));
    XF_CHECK(json.find_first_not_of(' ', stream.Tell()) == std::string_view::npos, XF_ERROR_CORRUPT,
             "'%s': the header continues after its end at byte %zu, expected only spaces", where.c_str(),
             stream.Tell());
    check_cover(header.tensors, data_bytes, where);
    return header;
}

std::string format_safetensors_header(const Metadata &metadata, const std::vector<TensorInfo> &tensors) {
    std::string json = "{\"__metadata__\":{";
    const char *comma = "";
    for (const auto &[key, value] : metadata) {
        json += std::exchange(comma, ",");
        append_string(json, key);
        json += ':';
        append_string(json, value);
    }
    json += '}';
    for (const TensorInfo &tensor : tensors) {
        json += ',';
        append_string(json, tensor.name);
        json += ":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[";
        comma = "";
        for (const int64_t dimension : tensor.shape) {
            json += std::exchange(comma, ",");
            json += std::to_string(dimension);
        }
        json += format("],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", tensor.begin, tensor.end);
    }
    json += '}';
    json.append((8 - json.size() % 8) % 8, ' ');
    return json;
}

}  // namespace xf
