// SPDX-License-Identifier: Apache-2.0
#include "fields.h"

#include <rapidjson/error/en.h>

#include <charconv>

#include "http.h"

namespace serve {
namespace {

std::string invalid(std::string_view name, std::string_view what) {
    return "Invalid request: " + std::string(name) + " parameter " + std::string(what);
}

}  // namespace

bool valid_utf8(std::string_view text) {
    const auto *at = reinterpret_cast<const unsigned char *>(text.data()), *const end = at + text.size();
    while (at != end) {
        const unsigned char first = *at++;
        if (first < 0x80) continue;
        const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
        if (first < 0xC2 || first > 0xF4 || end - at < more) return false;
        // Excludes overlong forms, surrogates, and code points above U+10FFFF.
        const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
        const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
        if (*at < low || *at > high) return false;
        for (int i = 1; i < more; ++i)
            if ((at[i] & 0xC0) != 0x80) return false;
        at += more;
    }
    return true;
}

std::size_t code_points(std::string_view text) {
    std::size_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return count;
}

void Fields::parse_json(std::string_view text) {
    // Iterative: the depth of the text does not use the stack.
    constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
    object_ = rapidjson::Document();
    object_.Parse<kFlags>(text.data(), text.size());
    if (object_.HasParseError()) {
        const std::string reason = rapidjson::GetParseError_En(object_.GetParseError());
        const std::size_t offset = object_.GetErrorOffset();
        object_.SetObject();
        throw HttpError{400, "Invalid JSON format: " + reason + " (byte " + std::to_string(offset) + ")"};
    }
    if (!object_.IsObject()) {
        object_.SetObject();
        throw HttpError{400, "Invalid JSON format: expected an object"};
    }
}

std::string_view beginning_of(std::string_view text, std::size_t size) {
    if (text.size() <= size) return text;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
    return text.substr(0, size);
}

bool Fields::add(std::string_view name, std::string_view text, std::size_t offset) {
    // A field may begin with a part of no bytes, so that offset 0 occurs twice.
    if (!form_.empty() && form_.back().first == name && form_.back().second.size() == offset) {
        form_.back().second += text;
        return true;
    }
    if (form_.size() == 64) return false;
    form_.emplace_back(name, text);
    return true;
}

void Fields::finish_form() {
    auto &memory = object_.GetAllocator();
    const auto copy = [&](const std::string &text) {
        return rapidjson::Value(text.data(), static_cast<rapidjson::SizeType>(text.size()), memory);
    };
    for (auto &[name, text] : form_) {
        if (has(name)) continue;
        std::string lines;
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] != '\r')
                lines += text[i];
            else if (i + 1 == text.size() || text[i + 1] != '\n')
                lines += '\n';
        }
        object_.AddMember(copy(name), copy(lines), memory);
    }
    form_.clear();
}

const rapidjson::Value *Fields::find(std::string_view name) const {
    const rapidjson::Value key(rapidjson::StringRef(name.data(), static_cast<rapidjson::SizeType>(name.size())));
    const auto member = object_.FindMember(key);
    return member == object_.MemberEnd() || member->value.IsNull() ? nullptr : &member->value;
}

bool Fields::is_list(std::string_view name) const {
    const rapidjson::Value *value = find(name);
    return value != nullptr && value->IsArray();
}

std::string_view Fields::text(std::string_view name) const {
    const rapidjson::Value *value = find(name);
    if (value == nullptr) return {};
    if (!value->IsString()) throw HttpError{400, invalid(name, "is not a string")};
    const std::string_view text(value->GetString(), value->GetStringLength());
    if (!valid_utf8(text)) throw HttpError{400, invalid(name, "is not valid UTF-8")};
    return text;
}

std::vector<std::string_view> Fields::texts(std::string_view name) const {
    if (!is_list(name)) {
        const std::string_view single = text(name);
        return single.empty() ? std::vector<std::string_view>() : std::vector{single};
    }
    std::vector<std::string_view> list;
    for (const rapidjson::Value &value : find(name)->GetArray()) {
        if (!value.IsString()) throw HttpError{400, invalid(name, "is not a string or an array of strings")};
        list.emplace_back(value.GetString(), value.GetStringLength());
        if (!valid_utf8(list.back())) throw HttpError{400, invalid(name, "is not valid UTF-8")};
    }
    return list;
}

std::int64_t Fields::integer(std::string_view name, std::int64_t otherwise, std::int64_t lowest,
                             std::int64_t highest) const {
    const rapidjson::Value *value = find(name);
    if (value == nullptr) return otherwise;
    std::int64_t number = 0;
    if (value->IsInt64()) {
        number = value->GetInt64();
    } else {
        if (!value->IsString()) throw HttpError{400, invalid(name, "is not a number")};
        const std::string_view text(value->GetString(), value->GetStringLength());
        if (text.empty()) return otherwise;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size())
            throw HttpError{400, invalid(name, "is not a number")};
    }
    if (number < lowest) throw HttpError{400, invalid(name, "must be >= " + std::to_string(lowest))};
    if (number > highest) throw HttpError{400, invalid(name, "must be <= " + std::to_string(highest))};
    return number;
}

bool Fields::flag(std::string_view name) const {
    const rapidjson::Value *value = find(name);
    if (value == nullptr) return false;
    if (value->IsBool()) return value->GetBool();
    if (value->IsString()) {
        const std::string_view text(value->GetString(), value->GetStringLength());
        if (text == "true" || text == "1") return true;
        if (text == "false" || text == "0" || text.empty()) return false;
    }
    throw HttpError{400, invalid(name, "is not true or false")};
}

}  // namespace serve
