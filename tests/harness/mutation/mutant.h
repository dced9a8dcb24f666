// Included before every source file that has mutants. XF_MUTANT is the number of the active mutant; 0 or unset: none.
// XF_MUTANTS_REACHED names a file with one byte for each mutant, which is set when a run executes its place.
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
        // Shared, so that the marks of processes that are killed remain.
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
