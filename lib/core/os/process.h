// The process and its memory, as the operating system sees them.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace xf {

// A forked child has a different id.
int process_id();

// The value of an environment variable; null if it is not set or the program runs with raised privileges.
const char *environment(const char *name);

// Processors that this process may use, by its affinity mask.
int processor_count();

// Unpredictable random bytes. Returns false, without waiting, if the system has none yet.
bool random_bytes(void *dst, size_t bytes);

// Memory for free_memory(); null if there is none. Alignments of 2 MiB or more also ask for huge pages.
void *allocate_memory(size_t bytes, size_t alignment);
void free_memory(void *ptr);

// Shared libraries. load_library() returns null with the loader's message in `reason`. A library is never unloaded.
void *load_library(const char *path, std::string *reason);
void *library_symbol(void *library, const char *name);
// "libxformer_<name>.so" here.
std::string plugin_file_name(const std::string &name);
// The folder of the file that holds this code; empty if it cannot be found out.
std::string own_folder();

}  // namespace xf
