// Included before every source file that has mutants: which of them is on. XF_MUTANT is its number; none: the library
// as it is. XF_MUTANTS_REACHED names a file with a byte for each, which is set when a run comes by.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace xf_mutation {

struct State {
    long chosen = 0;
    unsigned char *reached = nullptr;

    State() {
        if (const char *text = std::getenv("XF_MUTANT")) chosen = std::atol(text);
        const char *path = std::getenv("XF_MUTANTS_REACHED");
        if (path == nullptr) return;
        const int file = ::open(path, O_RDWR | O_CLOEXEC);
        if (file < 0) return;
        // Shared, so that children that are killed have said where they were.
        void *map = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map != MAP_FAILED) reached = static_cast<unsigned char *>(map);
        ::close(file);
    }
};

inline bool on(long number) {
    static const State state;
    if (state.reached != nullptr) state.reached[number] = 1;
    return state.chosen == number;
}

}  // namespace xf_mutation
