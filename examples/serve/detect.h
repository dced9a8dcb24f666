// Language detection and names of languages, by CLD2. docs/adr/0010-server.md has the measurements.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace serve {

struct Detected {
    std::string language;  // ISO 639-1, or a longer code if none exists
    double confidence;     // 0 to 100
};

// Detects the language of a text, which is valid UTF-8. Returns at most three languages, best first, and none if the
// text has no letters. `candidates` are the languages that the caller supports; empty: all. Other languages are
// returned only if CLD2 calls its answer reliable. If no language remains, the result is the first candidate with
// confidence 0. Otherwise, the confidence is the percentage of the text in this language, times 0.8 if the answer is
// not reliable. Only the first 16 KiB are read. Threads: several threads may call this function at once.
std::vector<Detected> detect(std::string_view text, std::span<const std::string> candidates);

// Returns the English name of a language, such as "German" for "de", or the code if it is unknown.
std::string language_name(std::string_view code);

}  // namespace serve
