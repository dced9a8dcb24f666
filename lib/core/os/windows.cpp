// See process.h, readable.h, and windows.h. plugin.cpp has what plugins need.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/os/windows.h"

#include <cxxabi.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <thread>

#include "core/error.h"
#include "core/os/process.h"
#include "core/os/readable.h"

namespace xf {

bool to_wide(std::string_view text, std::wstring *wide) {
    wide->clear();
    if (text.empty()) return true;
    // UTF-16 has at most as many units as UTF-8.
    wide->resize(text.size());
    const int size = static_cast<int>(std::min<size_t>(text.size(), INT_MAX));
    const int count = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), size, wide->data(), size);
    wide->resize(count);
    return count > 0;
}

bool to_utf8(std::wstring_view wide, std::string *text) {
    text->clear();
    if (wide.empty()) return true;
    const int size = static_cast<int>(std::min<size_t>(wide.size(), INT_MAX / 3));
    text->resize(size_t{3} * size);
    const int count =
        WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, wide.data(), size, text->data(), 3 * size, nullptr, nullptr);
    text->resize(count);
    return count > 0;
}

bool absolute_path(const std::wstring &path, std::wstring *absolute) {
    absolute->resize(MAX_PATH);
    for (;;) {
        const DWORD length = GetFullPathNameW(path.c_str(), absolute->size(), absolute->data(), nullptr);
        if (length == 0) return false;
        const bool complete = length < absolute->size();
        absolute->resize(length);
        if (complete) break;
    }
    if (absolute->size() < MAX_PATH - 12) return true;  // 12: a folder must leave room for a short name
    if (absolute->starts_with(L"\\\\.\\") || absolute->starts_with(L"\\\\?\\")) return true;
    if (absolute->starts_with(L"\\\\"))
        absolute->replace(0, 2, L"\\\\?\\UNC\\");
    else
        absolute->insert(0, L"\\\\?\\");
    return true;
}

std::optional<std::string> environment(const char *name) {
    std::wstring key, value(256, L'\0');
    if (!to_wide(name, &key)) return {};
    for (;;) {
        SetLastError(NO_ERROR);
        const DWORD length = GetEnvironmentVariableW(key.c_str(), value.data(), value.size());
        if (length == 0 && GetLastError() != NO_ERROR) return {};
        const bool complete = length < value.size();
        value.resize(length);
        if (complete) break;
    }
    std::string text;
    if (!to_utf8(value, &text)) return {};
    return text;
}

int processor_count() {
    DWORD_PTR own = 0, all = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all) && own != 0) return std::popcount(own);
    return std::thread::hardware_concurrency();  // a process in several groups of 64 processors has no mask
}

int cpu_quota(const std::string &, const std::string &) { return 0; }

bool random_bytes(void *dst, size_t bytes) {
    unsigned int random;  // of rand_s(), which is secure
    for (char *next = static_cast<char *>(dst); bytes > 0;) {
        if (rand_s(&random) != 0) return false;
        const size_t count = std::min(bytes, sizeof random);
        memcpy(next, &random, count);
        next += count;
        bytes -= count;
    }
    return true;
}

// Huge pages need a privilege that few users have, so an alignment for them would only waste memory.
void *allocate_memory(size_t bytes, size_t alignment) {
    return _aligned_malloc(bytes, std::min<size_t>(alignment, 64));
}
void free_memory(void *ptr) { _aligned_free(ptr); }

std::string reason_of(int error_number) {
    // Numbers that msvcrt.dll does not know.
    if (error_number == EOPNOTSUPP) return "Operation not supported";
    if (error_number == ELOOP) return "Too many levels of symbolic links";
    if (error_number == EBUSY) return "The file is open in another program";
    const char *const reason = strerror(error_number);
    return reason != nullptr && strcmp(reason, "Unknown error") != 0 ? reason : format("error %d", error_number);
}

namespace {

// The sentence of Windows for an error, in English if it has that.
std::string system_reason(DWORD error) {
    wchar_t *text = nullptr;
    const DWORD length = FormatMessageW(
        FORMAT_MESSAGE_ALLOCATE_BUFFER | FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr, error,
        MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US), reinterpret_cast<LPWSTR>(&text), 0, nullptr);
    std::wstring_view wide(length > 0 ? text : L"", length);
    while (!wide.empty() && (wide.back() <= L' ' || wide.back() == L'.')) wide.remove_suffix(1);
    std::string reason;
    if (!to_utf8(wide, &reason) || reason.empty()) reason = format("error %lu", static_cast<unsigned long>(error));
    LocalFree(text);
    return reason;
}

}  // namespace

void *load_library(const char *path, std::string *reason) {
    std::wstring wide, absolute;
    HMODULE library = nullptr;
    DWORD error = 0;
    if (to_wide(path, &wide) && absolute_path(wide, &absolute)) {
        // Otherwise Windows may show a window and wait.
        DWORD mode = 0;
        const bool quiet = SetThreadErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX, &mode);
        // Not the current folder or PATH: other users may be able to put a library there.
        library =
            LoadLibraryExW(absolute.c_str(), nullptr, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
        error = GetLastError();
        if (quiet) SetThreadErrorMode(mode, nullptr);
    } else {
        error = GetLastError();
    }
    if (library == nullptr) *reason = error == ERROR_NOT_ENOUGH_MEMORY ? "out of memory" : system_reason(error);
    return library;
}

void *library_symbol(void *library, const char *name) {
    return reinterpret_cast<void *>(GetProcAddress(static_cast<HMODULE>(library), name));
}

std::string plugin_file_name(const std::string &name) { return "xformer_" + name + ".dll"; }

std::string system_library_name(const std::string &) { return {}; }

std::string own_folder() {
    static const char anchor = 0;
    HMODULE module = nullptr;
    if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            reinterpret_cast<LPCWSTR>(&anchor), &module))
        return {};
    std::wstring path(MAX_PATH, L'\0');
    for (;;) {
        const DWORD length = GetModuleFileNameW(module, path.data(), path.size());
        if (length == 0) return {};
        if (length < path.size()) {
            path.resize(length);
            break;
        }
        path.resize(2 * path.size());
    }
    std::string folder;
    const size_t slash = path.rfind(L'\\');
    if (slash == std::wstring::npos || !to_utf8(std::wstring_view(path).substr(0, slash), &folder)) return {};
    return folder;
}

SignalsBlocked::SignalsBlocked() {}
SignalsBlocked::~SignalsBlocked() { (void)saved_; }
CancelState::CancelState() noexcept : saved_(0) {}
CancelState::~CancelState() { (void)saved_; }

namespace {

const DWORD ready_slot = TlsAlloc();

}  // namespace

// Thread-local variables are allocated when a thread first uses them, and GCC's runtime ends the process if it cannot.
bool thread_ready() noexcept {
    if (TlsGetValue(ready_slot) != nullptr) return true;
    // More than the runtime's list and state need. After free() they get this memory.
    void *const list = malloc(4096), *const state = malloc(128);
    const bool has_memory = list != nullptr && state != nullptr;
    free(state);
    free(list);
    if (!has_memory) return false;
    (void)TlsSetValue(ready_slot, abi::__cxa_get_globals());
    return true;
}

// poll() and its relatives take only sockets here, so there is no descriptor.
Readable::Readable() : ends_{-1, -1} {}
Readable::~Readable() {}
void Readable::set(bool readable) noexcept { readable_ = readable; }

}  // namespace xf
