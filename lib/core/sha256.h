// SHA-256 of a stream of bytes.
//
// Model files contain it, so that damage is detected before weights are used. It does not prove the origin of a file.
// Uses the SHA instructions of x86 where they exist: a checkpoint of a gigabyte is hashed at every save.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace xf {

// A copy continues from the same state, so a common prefix is hashed only once.
class Sha256 {
public:
    Sha256();
    void update(const void *data, size_t bytes);
    std::string hex() const;  // 64 lower-case digits of all bytes so far; update() may follow

private:
    uint32_t state_[8];
    uint64_t bytes_ = 0;
    uint8_t partial_[64];  // the beginning of a block
};

// The compression function of processors without these instructions; a test calls it on all. data: [blocks, 64].
void compress_portably(uint32_t *state, const uint8_t *data, size_t blocks);

}  // namespace xf
