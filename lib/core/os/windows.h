// Names of files for Windows.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace xf {

// UTF-16 from UTF-8 and back. Return false with the last error ERROR_NO_UNICODE_TRANSLATION if the text is invalid.
bool to_wide(std::string_view text, std::wstring *wide);
bool to_utf8(std::wstring_view wide, std::string *text);

// The absolute path with backslashes, in the form that has no limit of 260 characters if it is that long. Returns false
// with the last error.
bool absolute_path(const std::wstring &path, std::wstring *absolute);

}  // namespace xf
