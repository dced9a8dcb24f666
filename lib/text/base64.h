// Bytes as text (RFC 4648, section 4): how a file of JSON holds tables that are no text.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace xf {

std::string to_base64(std::string_view bytes);

// False for what to_base64() never gives: other characters, wrong padding, bits that are lost.
bool from_base64(std::string_view text, std::string *bytes);

}  // namespace xf
