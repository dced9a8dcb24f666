// Files that the build embeds in the program (embed.cmake).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace serve {

struct Asset {
    std::string_view path, type, content;
};

// The page and the description of the interface.
std::span<const Asset> assets();

}  // namespace serve
