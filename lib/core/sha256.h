// SHA-256 of a stream of bytes.
//
// Model files carry it so that damage is found before weights are used. libmd does the work; on x86 with the SHA
// instructions whole blocks take a path seven times as fast, because a checkpoint of a gigabyte is hashed at every
// save. It finds damage, it does not prove who wrote a file.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sha256.h>

#include <cstddef>
#include <string>

namespace xf {

// Copying copies the state: a common beginning is hashed once.
class Sha256 {
public:
    Sha256();
    void update(const void *data, size_t bytes);
    std::string hex() const;  // 64 lower-case digits of all bytes so far; more may follow

private:
    SHA256_CTX context_;
};

// The path every processor has, whatever this one offers: for tests.
std::string portable_sha256_hex(const void *data, size_t bytes);

}  // namespace xf
