// See languages.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/languages.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/error.h"

namespace xf {
namespace {

constexpr size_t kMostNameBytes = 64;

std::string key_of(std::string_view group, const char *side) { return std::string(group) + side + "_language"; }

}  // namespace

Languages::Languages(const Options &options, int64_t V, int64_t source_V) {
    const std::string &source = options.str("model.source_language"), &target = options.str("model.target_language");
    source_ = source == "before" ? Source::kBefore : source == "after" ? Source::kAfter : Source::kNone;
    target_ = target == "first"    ? Target::kFirst
              : target == "start"  ? Target::kStart
              : target == "source" ? Target::kSource
                                   : Target::kNone;
    XF_CHECK(source_ != Source::kBefore || target_ != Target::kSource, XF_ERROR_INVALID_ARGUMENT,
             "model.source_language is before and model.target_language source: one token can stand there");
    const bool in_source = source_ != Source::kNone || target_ == Target::kSource;
    const bool in_target = target_ == Target::kFirst || target_ == Target::kStart;
    int64_t most = in_target ? V : source_V;
    if (in_source) most = std::min(most, source_V);
    const std::string &text = options.str("model.languages");
    std::set<std::string_view> names;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        const std::string_view entry(text.data() + begin, end - begin);
        const size_t equals = std::min(entry.rfind('='), entry.size());
        const std::string_view name = entry.substr(0, equals),
                               number = entry.substr(std::min(equals + 1, entry.size()));
        int32_t token = -1;
        const auto [next, error] = std::from_chars(number.data(), number.data() + number.size(), token);
        XF_CHECK(!name.empty() && name.size() <= kMostNameBytes && error == std::errc() &&
                     next == number.data() + number.size() && token >= 0 &&
                     (end == text.size() || end + 1 < text.size()),
                 XF_ERROR_INVALID_ARGUMENT,
                 "model.languages has '%.*s', expected name=token with a name of 1 to %zu bytes and a number",
                 static_cast<int>(std::min(entry.size(), kMostNameBytes)), entry.data(), kMostNameBytes);
        XF_CHECK(token < most, XF_ERROR_INVALID_ARGUMENT,
                 "model.languages has '%.*s', expected a token of at most %lld", static_cast<int>(entry.size()),
                 entry.data(), static_cast<long long>(most - 1));
        XF_CHECK(names.insert(name).second, XF_ERROR_INVALID_ARGUMENT, "model.languages has '%.*s' twice",
                 static_cast<int>(name.size()), name.data());
        list_.push_back({std::string(name), token});
        begin = end + 1;
    }
    XF_CHECK(!list_.empty() || (source_ == Source::kNone && target_ == Target::kNone), XF_ERROR_INVALID_ARGUMENT,
             "model.%s_language is %s, expected languages in model.languages", in_target ? "target" : "source",
             in_target ? target.c_str() : source.c_str());
    if (target_ != Target::kStart) return;
    for (const Language &language : list_) starts_.push_back(language.token);
    std::sort(starts_.begin(), starts_.end());
}

bool Languages::starts(int32_t token) const { return std::binary_search(starts_.begin(), starts_.end(), token); }

LanguageTokens Languages::told(const Options &options, std::string_view group) const {
    const auto find_in = [&](const char *side) {
        const std::string key = key_of(group, side);
        return find(key, options.str(key));
    };
    return {find_in("source"), find_in("target")};
}

int32_t Languages::find(const std::string &key, std::string_view name) const {
    if (name.empty()) return -1;
    const std::string_view shown = name.substr(0, kMostNameBytes);
    XF_CHECK(!list_.empty(), XF_ERROR_INVALID_ARGUMENT, "%s is '%.*s', but the model has no languages to choose from",
             key.c_str(), static_cast<int>(shown.size()), shown.data());
    const Language *nearest = nullptr;
    size_t best = SIZE_MAX;
    for (const Language &language : list_) {
        if (language.name == name) return language.token;
        const size_t distance = edit_distance(shown, language.name);
        if (distance < best) best = distance, nearest = &language;
    }
    fail(XF_ERROR_INVALID_ARGUMENT, "%s is '%.*s', which the model does not know; the nearest of its %zu is '%s'",
         key.c_str(), static_cast<int>(shown.size()), shown.data(), list_.size(), nearest->name.c_str());
}

void Languages::check_told(const LanguageTokens &told, std::string_view group) const {
    const auto check = [&](bool wanted, int32_t token, const char *side) {
        XF_CHECK(!wanted || token >= 0, XF_ERROR_INVALID_ARGUMENT,
                 "%s is not set, expected one of the model's %zu, such as '%s'", key_of(group, side).c_str(),
                 list_.size(), list_.front().name.c_str());
    };
    check(source_ != Source::kNone, told.source, "source");
    check(target_ != Target::kNone, told.target, "target");
}

}  // namespace xf
