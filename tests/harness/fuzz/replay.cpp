// Runs a target on files, for builds without libFuzzer: replay TARGET FILE-OR-FOLDER...
//
// Each file twice: as it is, and with memory that runs out where its hash says (failing.cpp). Ends with the number of
// files; none is a failure. All targets are in this one program, each under its own name in place of
// LLVMFuzzerTestOneInput (CMakeLists.txt).
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz.hpp"

#define XF_FUZZ_TARGET(name) extern "C" int fuzz_##name(const uint8_t *data, size_t size);
XF_FUZZ_TARGETS
#undef XF_FUZZ_TARGET

namespace fuzz {
extern bool shortages;
}

namespace {

struct Target {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
};
#define XF_FUZZ_TARGET(name) {#name, &fuzz_##name},
const Target kTargets[] = {XF_FUZZ_TARGETS};
#undef XF_FUZZ_TARGET

std::vector<std::filesystem::path> files_of(int count, char **names) {
    std::vector<std::filesystem::path> files;
    for (int i = 0; i < count; ++i) {
        if (!std::filesystem::is_directory(names[i]))
            files.emplace_back(names[i]);
        else
            for (const auto &entry : std::filesystem::recursive_directory_iterator(names[i]))
                if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

int main(int argc, char **argv) {
    const Target *target = nullptr;
    for (const Target &each : kTargets)
        if (argc > 2 && each.name == std::string(argv[1])) target = &each;
    if (target == nullptr) {
        std::fprintf(stderr, "usage: %s TARGET FILE-OR-FOLDER...\n", argv[0]);
        return 2;
    }
    size_t count = 0;
    for (const auto &path : files_of(argc - 2, argv + 2)) {
        std::ifstream file(path, std::ios::binary);
        const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
        std::printf("%s\n", path.filename().c_str());
        std::fflush(stdout);  // the last name printed is that of a crash
        for (const bool shortages : {false, true}) {
            fuzz::shortages = shortages;
            target->run(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
        }
        ++count;
    }
    std::printf("%s: %zu files\n", argv[1], count);
    return count > 0 ? 0 : 1;
}
