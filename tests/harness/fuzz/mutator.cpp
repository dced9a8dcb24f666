// Mutates model files with their structure: the JSON header, the value of an option, or numbers of tensors. Afterwards
// it corrects lengths and the checksum, so that the code after these checks is reached, except in one of sixteen cases.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <random>

#include "core/sha256.h"
#include "fuzz.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

namespace {

constexpr char kDigest[] = "\"sha256\":\"";

// Writes the digits of the checksum; see safetensors.h.
void repair_digest(std::string *file, size_t header) {
    const size_t found = file->find(kDigest, 8);
    if (found == std::string::npos || found + sizeof kDigest - 1 + 64 > 8 + header) return;
    const size_t at = found + sizeof kDigest - 1;
    std::memset(file->data() + at, '0', 64);
    xf::Sha256 hash;
    hash.update(file->data(), file->size());
    std::memcpy(file->data() + at, hash.hex().data(), 64);
}

std::string mutated(std::string_view part, size_t longest) {
    std::string copy(part);
    copy.resize(std::max(longest, part.size()));
    copy.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(copy.data()), part.size(), copy.size()));
    return copy;
}

// Another value between two quotes or of a number, somewhere.
std::string other_value(const std::string &json, std::mt19937 *random) {
    const size_t from = json.find(':', (*random)() % (json.size() + 1));
    if (from == std::string::npos) return json;
    const size_t begin = from + 1 + (from + 1 < json.size() && (json[from + 1] == '"' || json[from + 1] == '['));
    const size_t end = json.find_first_of("\",]}", begin);
    if (end == std::string::npos) return json;
    return json.substr(0, begin) + mutated(std::string_view(json).substr(begin, end - begin), 24) + json.substr(end);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    std::mt19937 random(seed);
    uint64_t header = 0;
    if (size >= 8) std::memcpy(&header, data, 8);
    if (size < 10 || header > size - 8 || random() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
    const std::string_view file(reinterpret_cast<const char *>(data), size);
    std::string json(file.substr(8, header)), numbers(file.substr(8 + header));
    const auto part = random() % 4;
    if (part == 0) json = mutated(json, json.size() + 256);
    if (part == 1) numbers = mutated(numbers, numbers.size());
    if (part >= 2) json = other_value(json, &random);
    header = json.size();
    std::string changed(reinterpret_cast<const char *>(&header), sizeof header);
    changed += json;
    changed += numbers;
    if (changed.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
    repair_digest(&changed, json.size());
    std::memcpy(data, changed.data(), changed.size());
    return changed.size();
}
