// Memory that never runs out: what ordinary fuzzers are linked with in place of failing.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

namespace fuzz {

Shortage::Shortage(const uint8_t *, size_t) {}
Shortage::~Shortage() {}
bool Shortage::happened() { return false; }
void Shortage::end() {}

}  // namespace fuzz
