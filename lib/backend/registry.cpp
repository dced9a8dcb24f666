// See registry.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/registry.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "core/error.h"

extern "C" const xf_backend_v1 *xf_ref_backend(void);  // cpu/ref

namespace xf {
namespace {

constexpr const char *kPlugins[] = {"openblas", "cuda"};

// The file mapped at an address, by the kernel's absolute name. Empty when that can't be told.
std::string mapped_file(const void *address) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
    char text[PATH_MAX + 128];
    while (maps != nullptr && std::fgets(text, sizeof text, maps.get()) != nullptr) {
        // 7f0000000000-7f0000001000 r--p 00000000 fe:01 1234   /usr/lib/libxformer.so.0
        const std::string_view line(text, std::strcspn(text, "\n"));
        const char *const stop = line.data() + line.size();
        uintptr_t begin = 0, end = 0;
        const auto first = std::from_chars(line.data(), stop, begin, 16);
        if (first.ptr == stop || *first.ptr != '-') continue;
        std::from_chars(first.ptr + 1, stop, end, 16);
        if (at < begin || at >= end) continue;
        return std::string(line.substr(std::min(line.find('/'), line.size())));
    }
    return {};
}

std::string own_folder() {
    Dl_info info{};
    static const char anchor = 0;
    if (dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return {};
    // The name is what the library was loaded by. A relative one says nothing: the program may have gone elsewhere
    // since.
    const std::string file = info.dli_fname[0] == '/' ? info.dli_fname : mapped_file(&anchor);
    const size_t slash = file.rfind('/');
    return slash == std::string::npos ? std::string() : file.substr(0, slash);
}

std::vector<std::string> search_path() {
    std::vector<std::string> folders;
    const std::string own = own_folder();
    if (!own.empty()) {
        folders.push_back(own + "/xformer");
        folders.push_back(own);
    }
    const char *extra = secure_getenv("XF_BACKEND_PATH");
    for (std::string_view rest = extra != nullptr ? extra : ""; !rest.empty();) {
        const size_t end = rest.find(':');
        const std::string_view folder = rest.substr(0, end);
        if (!folder.empty() && folder[0] == '/') folders.emplace_back(folder);  // relative means the current directory
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return folders;
}

BackendEntry describe(const xf_backend_v1 *ops, std::string path) {
    BackendEntry entry;
    entry.name = ops->name;
    entry.version = ops->version;
    entry.kind = ops->kind;
    entry.path = std::move(path);
    entry.ops = ops;
    xf_error error{};
    entry.device_count = ops->device_count(&error);
    if (entry.device_count <= 0) entry.reason = error.message[0] != 0 ? error.message : "it found no device";
    return entry;
}

BackendEntry open_plugin(const std::string &path) {
    XF_CHECK(!path.empty(), XF_ERROR_INVALID_ARGUMENT, "the path is empty, expected the name of a file");
    // A name without a slash would be searched for by the dynamic linker: say where.
    const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
    void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
        const char *reason = dlerror();
        fail(access(file.c_str(), F_OK) == 0 ? XF_ERROR_BACKEND : XF_ERROR_NOT_FOUND, "cannot load backend '%s': %s",
             path.c_str(), reason != nullptr ? reason : "unknown");
    }
    const auto init = reinterpret_cast<xf_plugin_init_fn>(dlsym(library, XF_PLUGIN_INIT_NAME));
    XF_CHECK(init != nullptr, XF_ERROR_BACKEND, "'%s' is not a backend: it has no function " XF_PLUGIN_INIT_NAME,
             path.c_str());
    xf_error error{};
    const xf_backend_v1 *ops = init(XF_PLUGIN_ABI, &error);
    if (ops == nullptr)
        fail(error.status == XF_ERROR_VERSION ? XF_ERROR_VERSION : XF_ERROR_BACKEND, "backend '%s' can't serve: %.200s",
             path.c_str(), error.message);
    XF_CHECK(ops->size >= sizeof(xf_backend_v1) && ops->abi == XF_PLUGIN_ABI, XF_ERROR_VERSION,
             "backend '%s' has plugin version %u and a table of %u bytes, expected version %u and %zu bytes",
             path.c_str(), ops->abi, ops->size, XF_PLUGIN_ABI, sizeof(xf_backend_v1));
    return describe(ops, path);
}

}  // namespace

Registry::Registry() {
    entries_.push_back(describe(xf_ref_backend(), ""));
    const std::vector<std::string> folders = search_path();
    for (const char *name : kPlugins) {
        const std::string file = format("libxformer_%s.so", name);
        bool found = false;
        for (const std::string &folder : folders) {
            const std::string path = folder + "/" + file;
            if (access(path.c_str(), F_OK) != 0) continue;
            try_load(path);
            found = true;
            break;
        }
        if (!found) {
            BackendEntry missing;
            missing.name = name;
            missing.kind = std::string_view(name) == "cuda" ? "cuda" : "cpu";
            missing.reason = format("%s was not found", file.c_str());
            entries_.push_back(std::move(missing));
        }
    }
}

void Registry::try_load(const std::string &path) {
    try {
        entries_.push_back(open_plugin(path));
    } catch (const Error &error) {
        BackendEntry entry;
        const size_t begin = path.rfind("libxformer_") + 11;
        entry.name = path.substr(begin, path.rfind(".so") - begin);
        entry.path = path;
        entry.kind = entry.name == "cuda" ? "cuda" : "cpu";
        entry.reason = error.what();
        entries_.push_back(std::move(entry));
    }
}

const BackendEntry &Registry::load(const std::string &path) {
    entries_.push_back(open_plugin(path));
    return entries_.back();
}

std::vector<BackendEntry *> Registry::select(const std::string &device, int32_t *index) {
    const size_t colon = device.find(':');
    const std::string kind = device.substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : device.substr(colon + 1);
    int32_t number = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    const bool numbered = !rest.empty() && parsed.ec == std::errc() && parsed.ptr == rest.data() + rest.size();
    std::vector<BackendEntry *> found;
    std::string reasons;
    const bool cut = colon != std::string::npos && rest.empty();  // "cpu:" names nothing
    for (BackendEntry &entry : entries_) {
        if (cut || (kind != "auto" && kind != entry.kind)) continue;
        if (!rest.empty() && !numbered && rest != entry.name) continue;
        if (entry.ops == nullptr || entry.device_count <= 0 || number < 0 || number >= entry.device_count) {
            const std::string why =
                !entry.reason.empty() ? entry.reason : format("it has %d devices", entry.device_count);
            reasons += "; " + entry.name + ": " + why;
            continue;
        }
        found.push_back(&entry);
    }
    if (found.empty())
        fail(XF_ERROR_NOT_FOUND, "there is no device '%.60s', expected %s%s", device.c_str(), possible().c_str(),
             reasons.c_str());
    std::stable_sort(found.begin(), found.end(),
                     [](const BackendEntry *a, const BackendEntry *b) { return a->ops->score > b->ops->score; });
    if (numbered) found.resize(1);  // that device is meant and no other
    *index = numbered ? number : -1;
    return found;
}

// The names that select() takes here, for people: "auto, cpu, cpu:ref, cpu:openblas".
std::string Registry::possible() const {
    std::vector<std::string> names = {"auto"};
    const auto add = [&names](std::string name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    };
    for (const BackendEntry &entry : entries_) {
        if (entry.device_count <= 0) continue;
        add(entry.kind);
        add(entry.kind + ":" + entry.name);
        for (int32_t i = 0; i < entry.device_count && entry.device_count > 1; ++i)
            add(format("%s:%d", entry.kind.c_str(), i));
    }
    std::string text;
    for (const std::string &name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace xf
