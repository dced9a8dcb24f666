// SPDX-License-Identifier: Apache-2.0
#include "nn/languages.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/error.h"

namespace xf {
namespace {

constexpr size_t kMaxLanguageBytes = 64;

constexpr const char *kSourceOption = "text.source_language", *kTargetOption = "text.target_language";

}  // namespace

Languages::Languages(const Options &options, int64_t V, int64_t source_V) {
    source_ = options.choice<Source>("model.source_language",
                                     {{"none", Source::kNone}, {"before", Source::kBefore}, {"after", Source::kAfter}});
    target_ = options.choice<Target>(
        "model.target_language",
        {{"none", Target::kNone}, {"first", Target::kFirst}, {"start", Target::kStart}, {"source", Target::kSource}});
    XF_CHECK(
        source_ != Source::kBefore || target_ != Target::kSource, XF_ERROR_INVALID_ARGUMENT,
        "model.source_language is before and model.target_language is source, but only one token can precede a source");
    const bool in_source = source_ != Source::kNone || target_ == Target::kSource;
    const bool in_target = target_ == Target::kFirst || target_ == Target::kStart;
    int64_t end_of_ids = in_target ? V : source_V;
    if (in_source) end_of_ids = std::min(end_of_ids, source_V);
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
        XF_CHECK(!name.empty() && name.size() <= kMaxLanguageBytes && error == std::errc() &&
                     next == number.data() + number.size() && token >= 0 &&
                     (end == text.size() || end + 1 < text.size()),
                 XF_ERROR_INVALID_ARGUMENT,
                 "model.languages has '%s', expected name=token: a name of 1 to %zu bytes and a nonnegative number",
                 std::string(entry.substr(0, kMaxLanguageBytes)).c_str(), kMaxLanguageBytes);
        XF_CHECK(token < end_of_ids, XF_ERROR_INVALID_ARGUMENT,
                 "model.languages has '%s', expected a token of at most %" PRId64, std::string(entry).c_str(),
                 end_of_ids - 1);
        XF_CHECK(names.insert(name).second, XF_ERROR_INVALID_ARGUMENT, "model.languages contains '%s' twice",
                 std::string(name).c_str());
        list_.push_back({std::string(name), token});
        begin = end + 1;
    }
    XF_CHECK(!list_.empty() || (source_ == Source::kNone && target_ == Target::kNone), XF_ERROR_INVALID_ARGUMENT,
             "model.%s_language is %s, but model.languages is empty", in_target ? "target" : "source",
             options.text(in_target ? "model.target_language" : "model.source_language").c_str());
}

bool Languages::contains(int32_t token) const {
    return std::any_of(list_.begin(), list_.end(), [&](const Language &one) { return one.token == token; });
}

LanguageTokens Languages::tokens(const Options &options) const {
    return {find(kSourceOption, options.str(kSourceOption)), find(kTargetOption, options.str(kTargetOption))};
}

int32_t Languages::find(const char *key, std::string_view name) const {
    if (name.empty()) return -1;
    const std::string shown(name.substr(0, kMaxLanguageBytes));
    XF_CHECK(!list_.empty(), XF_ERROR_INVALID_ARGUMENT, "%s is '%s', but the model has no languages", key,
             shown.c_str());
    const Language *nearest = nullptr;
    size_t best = SIZE_MAX;
    for (const Language &candidate : list_) {
        if (candidate.name == name) return candidate.token;
        const size_t distance = edit_distance(shown, candidate.name);
        if (distance < best) best = distance, nearest = &candidate;
    }
    if (!is_near(best, shown))
        fail(XF_ERROR_INVALID_ARGUMENT, "%s is '%s', expected one of the model's %zu languages, such as '%s'", key,
             shown.c_str(), list_.size(), list_.front().name.c_str());
    fail(XF_ERROR_INVALID_ARGUMENT, "%s is '%s', which is not one of the model's %zu languages; the nearest is '%s'",
         key, shown.c_str(), list_.size(), nearest->name.c_str());
}

void Languages::check_set(const LanguageTokens &language) const {
    const auto check = [&](bool required, int32_t token, const char *key) {
        XF_CHECK(!required || token >= 0, XF_ERROR_INVALID_ARGUMENT,
                 "%s is not set, expected one of the model's %zu languages, such as '%s'", key, list_.size(),
                 list_.front().name.c_str());
    };
    check(source_ != Source::kNone, language.source, kSourceOption);
    check(target_ != Target::kNone, language.target, kTargetOption);
}

}  // namespace xf
