// A fast hash that detects accidental changes, such as transmission errors. Not a cryptographic hash.
//
// Eight lanes of 64 bits, each (h ^ word) * odd. This is one-to-one in the word, so a change of one word always changes
// the result. It runs at about the speed of memory.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace xf {

uint64_t hash64(const void *data, size_t size, uint64_t seed = 0);

}  // namespace xf
