// A fast hash of many bytes against accidents: what a wire or a memory cell changes. Not against people.
//
// Eight lanes of 64 bits, each (h ^ word) * odd, which maps words one to one: a change of one word always changes the
// result's lane. At about the speed of memory.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace xf {

uint64_t hash64(const void *data, size_t size, uint64_t seed = 0);

}  // namespace xf
