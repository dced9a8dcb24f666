// SPDX-License-Identifier: Apache-2.0
#include "detect.h"

#include <cstdio>  // CLD2's header requires it

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

#include <algorithm>

#include "html_entities.h"

namespace serve {
namespace {

constexpr size_t kRead = 16384;      // bytes
constexpr double kUnreliable = 0.8;  // factor of the confidence

struct Code {
    std::string_view code, cld2, name;
};

// Where CLD2 uses other codes or names.
constexpr Code kCodes[] = {
    {"he", "iw", "Hebrew"},
    {"jv", "jw", "Javanese"},
    {"nb", "no", "Norwegian"},
    {"zh-Hant", "zh-Hant", "Chinese (traditional)"},
};

std::string_view to_cld2(std::string_view code) {
    for (const Code &each : kCodes)
        if (each.code == code) return each.cld2;
    return code;
}

std::string_view from_cld2(std::string_view code, std::span<const std::string> candidates) {
    for (const std::string &candidate : candidates)
        if (to_cld2(candidate) == code) return candidate;
    for (const Code &each : kCodes)
        if (each.cld2 == code) return each.code;
    return code;
}

struct Summary {
    CLD2::Language languages[3];
    int percents[3];
    bool reliable = false;
};

Summary summarize(std::string_view text, const std::string &hint, int flags) {
    const CLD2::CLDHints hints{hint.empty() ? nullptr : hint.c_str(), nullptr, CLD2::UNKNOWN_ENCODING,
                               CLD2::UNKNOWN_LANGUAGE};
    Summary result;
    double scores[3];
    int letters = 0;
    CLD2::ExtDetectLanguageSummary(text.data(), static_cast<int>(text.size()), true, &hints, flags, result.languages,
                                   result.percents, scores, nullptr, &letters, &result.reliable);
    return result;
}

}  // namespace

std::vector<Detected> detect(std::string_view text, std::span<const std::string> candidates) {
    if (!has_letter(text)) return {};
    if (text.size() > kRead) {
        size_t end = kRead;
        while ((text[end] & 0xC0) == 0x80) --end;
        text = text.substr(0, end);
    }
    std::string hint;
    for (const std::string &candidate : candidates) hint.append(hint.empty() ? "" : ",").append(to_cld2(candidate));
    Summary summary = summarize(text, hint, 0);
    // With the flag for short texts CLD2 calls every answer reliable.
    const bool reliable = summary.reliable && summary.languages[0] != CLD2::UNKNOWN_LANGUAGE;
    if (!reliable) summary = summarize(text, hint, CLD2::kCLDFlagBestEffort);
    std::vector<Detected> found;
    for (int i = 0; i < 3; ++i) {
        if (summary.percents[i] <= 0 || summary.languages[i] == CLD2::UNKNOWN_LANGUAGE) continue;
        std::string code(from_cld2(CLD2::LanguageCode(summary.languages[i]), candidates));
        const bool allowed =
            reliable || candidates.empty() || std::find(candidates.begin(), candidates.end(), code) != candidates.end();
        if (allowed) found.push_back({std::move(code), summary.percents[i] * (reliable ? 1.0 : kUnreliable)});
    }
    if (found.empty() && !candidates.empty()) found.push_back({candidates.front(), 0});
    return found;
}

std::string language_name(std::string_view code) {
    for (const Code &each : kCodes)
        if (each.code == code) return std::string(each.name);
    const CLD2::Language language = CLD2::GetLanguageFromName(std::string(code).c_str());
    if (language == CLD2::UNKNOWN_LANGUAGE) return std::string(code);
    std::string name = CLD2::LanguageName(language);
    for (size_t i = 1; i < name.size(); ++i) name[i] = name[i] == '_' ? ' ' : lower(name[i]);
    return name;
}

}  // namespace serve
