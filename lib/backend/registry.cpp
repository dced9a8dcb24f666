// See registry.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/registry.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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

// The best first; "ref" is built in.
struct Known {
    const char *name, *kind;
};
constexpr Known kKnown[] = {{"cuda", "cuda"}, {"openblas", "cpu"}, {"ref", "cpu"}};

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

// Folders of a list with colons. A relative one would mean the current directory: an error in `option`, and left out of
// what is no option (null).
void add_folders(std::string_view list, const char *option, std::vector<std::string> *folders) {
    while (!list.empty()) {
        const size_t end = list.find(':');
        const std::string_view folder = list.substr(0, end);
        const bool absolute = !folder.empty() && folder[0] == '/';
        XF_CHECK(absolute || folder.empty() || option == nullptr, XF_ERROR_INVALID_ARGUMENT,
                 "%s has the folder '%.*s', expected a name that begins with a slash", option,
                 static_cast<int>(std::min<size_t>(folder.size(), 128)), folder.data());
        if (absolute) folders->emplace_back(folder);
        list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
    }
}

std::vector<std::string> search_path(const std::string &first) {
    std::vector<std::string> folders;
    add_folders(first, "context.backend_path", &folders);
    // Before the library's own, as LD_LIBRARY_PATH is: who sets it wants another plugin than the one that is there.
    const char *listed = secure_getenv("XF_BACKEND_PATH");
    add_folders(listed != nullptr ? listed : "", nullptr, &folders);
    const std::string own = own_folder();
    if (!own.empty()) {
        folders.push_back(own + "/xformer");
        folders.push_back(own);
    }
    return folders;
}

// The name becomes a part of a file's.
bool is_plugin_name(std::string_view name) {
    return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

std::string file_of(const std::string &name) { return format("libxformer_%s.so", name.c_str()); }

// Throws when the devices can't be counted, too.
void describe(const xf_backend_v1 *ops, BackendEntry *entry) {
    entry->version = ops->version;
    entry->kind = ops->kind;
    xf_error error{};
    const int32_t count = ops->device_count(&error);
    XF_CHECK(count > 0, XF_ERROR_NOT_FOUND, "%s", error.message[0] != 0 ? error.message : "it found no device");
    entry->ops = ops;
    entry->device_count = count;
    entry->state = XF_BACKEND_USABLE;
}

// Whether the loader's sentence says that there was no memory, and nothing of the file. Not: "cannot allocate memory in
// static TLS block", which stays so. In a translated locale it may say so otherwise: then the plugin is not found.
bool lacks_memory(std::string_view reason) {
    return reason.ends_with(reason_of(ENOMEM)) || reason.ends_with("out of memory");
}

// A plugin's one function.
template <class Function>
Function load_plugin(const std::string &path, const char *what, const char *name) {
    // Twice: of memory that is short for an instant glibc's loader mostly says "cannot open shared object file", and a
    // device that is passed over for that would be another answer.
    void *library = nullptr;
    for (int i = 0; i < 2 && library == nullptr; ++i)
        library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
        const char *reason = dlerror();
        if (reason == nullptr) reason = "out of memory";
        fail(lacks_memory(reason) ? XF_ERROR_NO_MEMORY : XF_ERROR_NOT_FOUND, "cannot load '%s': %s", path.c_str(),
             reason);
    }
    const auto function = reinterpret_cast<Function>(dlsym(library, name));
    XF_CHECK(function != nullptr, XF_ERROR_NOT_FOUND, "'%s' is not %s: it has no function %s", path.c_str(), what,
             name);
    return function;
}

const xf_backend_v1 *open_plugin(const std::string &path) {
    const auto init = load_plugin<xf_plugin_init_fn>(path, "a backend", XF_PLUGIN_INIT_NAME);
    xf_error error{};
    const xf_backend_v1 *ops = init(XF_PLUGIN_ABI, &error);
    if (ops == nullptr)
        fail(error.status == XF_ERROR_VERSION ? XF_ERROR_VERSION : XF_ERROR_NOT_FOUND, "'%s' can't serve: %.200s",
             path.c_str(), error.message);
    XF_CHECK(ops->size >= sizeof(xf_backend_v1) && ops->abi == XF_PLUGIN_ABI, XF_ERROR_VERSION,
             "'%s' has plugin version %u and a table of %u bytes, expected version %u and %zu bytes", path.c_str(),
             ops->abi, ops->size, XF_PLUGIN_ABI, sizeof(xf_backend_v1));
    return ops;
}

}  // namespace

Registry::Registry(const std::string &path) : folders_(search_path(path)) {
    for (const Known &known : kKnown) find(known.name, known.kind);
}

BackendEntry *Registry::find(const std::string &name, const std::string &kind) {
    for (BackendEntry &entry : entries_)
        if (entry.name == name) return entry.kind == kind ? &entry : nullptr;
    BackendEntry entry;
    entry.name = name;
    entry.kind = kind;
    if (name == "ref") {
        describe(xf_ref_backend(), &entry);
    } else {
        entry.path = path_of(name);
        if (!entry.path.empty())
            entry.state = XF_BACKEND_FOUND;
        else
            entry.reason = format("%s was not found", file_of(name).c_str());
    }
    entries_.push_back(std::move(entry));
    return &entries_.back();
}

std::string Registry::path_of(const std::string &name) const {
    for (const std::string &folder : folders_) {
        std::string path = folder + "/" + file_of(name);
        if (access(path.c_str(), F_OK) == 0) return path;
    }
    return {};
}

xf_comm Registry::open_comm(const std::string &name, double timeout) const {
    const std::string path = path_of(name);
    XF_CHECK(!path.empty(), XF_ERROR_NOT_FOUND, "context.comm is %s, but %s was not found", name.c_str(),
             file_of(name).c_str());
    const auto open = load_plugin<xf_comm_plugin_fn>(path, "a plugin for ranks", XF_COMM_PLUGIN_NAME);
    xf_comm comm = XF_COMM_INIT;
    xf_error error{};
    const int32_t status = open(XF_COMM_PLUGIN_ABI, timeout, &comm, &error);
    if (status != XF_OK) fail(static_cast<xf_status>(status), "'%s': %.200s", path.c_str(), error.message);
    return comm;
}

const xf_lane_plugin *Registry::open_lane(const std::string &name) const {
    const std::string path = path_of(name);
    XF_CHECK(!path.empty(), XF_ERROR_NOT_FOUND, "context.comm_device is %s, but %s was not found", name.c_str(),
             file_of(name).c_str());
    const auto open = load_plugin<xf_lane_plugin_fn>(path, "a plugin for ranks' devices", XF_LANE_PLUGIN_NAME);
    xf_error error{};
    const xf_lane_plugin *const plugin = open(XF_LANE_PLUGIN_ABI, &error);
    if (plugin == nullptr) fail(static_cast<xf_status>(error.status), "'%s': %.300s", path.c_str(), error.message);
    return plugin;
}

bool Registry::open(BackendEntry *entry, const std::string &kind) {
    if (entry->state == XF_BACKEND_FOUND) {
        try {
            describe(open_plugin(entry->path), entry);
            XF_CHECK(kind.empty() || entry->kind == kind, XF_ERROR_NOT_FOUND, "its devices are of the kind %s",
                     entry->kind.c_str());
        } catch (const Error &error) {
            if (error.status() == XF_ERROR_NO_MEMORY) throw;  // another backend, of other bits, is no answer to that
            entry->state = XF_BACKEND_UNUSABLE;
            entry->device_count = 0;
            entry->reason = error.what();
            entry->failure = std::current_exception();
        }
    }
    return entry->state == XF_BACKEND_USABLE;
}

Registry::Wanted Registry::want(const std::string &device) {
    const size_t colon = device.find(':');
    const std::string kind = device.substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : device.substr(colon + 1);
    Wanted wanted;
    const bool any = kind == "auto";
    if (!any) wanted.kind = kind;
    if (colon == std::string::npos) {
        for (const Known &known : kKnown)
            if (any || kind == known.kind) wanted.entries.push_back(find(known.name, known.kind));
    } else if (kind == "cpu" || kind == "cuda") {
        int32_t number = 0;
        const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        if (!rest.empty() && parsed.ec == std::errc() && parsed.ptr == rest.data() + rest.size() && number >= 0) {
            wanted.index = number;
            for (const Known &known : kKnown)
                if (kind == known.kind) wanted.entries.push_back(find(known.name, known.kind));
        } else if (is_plugin_name(rest)) {
            BackendEntry *named = find(rest, kind);
            if (named != nullptr) wanted.entries.push_back(named);
        }
    }
    if (wanted.entries.empty()) fail_unavailable(device, wanted);
    return wanted;
}

void Registry::fail_unavailable(const std::string &device, const Wanted &wanted) const {
    std::string reasons;
    for (const BackendEntry *entry : wanted.entries) {
        if (entry->failure != nullptr) {
            try {
                std::rethrow_exception(entry->failure);
            } catch (const Error &error) {
                if (error.status() != XF_ERROR_NOT_FOUND) throw;
            }
        }
        const std::string why = !entry->reason.empty() ? entry->reason : format("devices: %d", entry->device_count);
        reasons += "; " + entry->name + ": " + why;
    }
    fail(XF_ERROR_NOT_FOUND, "there is no device '%.60s', expected %s%s", device.c_str(), possible().c_str(),
         reasons.c_str());
}

// The names that may be had here, for people: "auto, cpu, cpu:ref, cpu:openblas". Devices have numbers once their
// plugin is opened.
std::string Registry::possible() const {
    std::vector<std::string> names = {"auto"};
    const auto add = [&names](std::string name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    };
    for (const BackendEntry &entry : entries_) {
        if (entry.state == XF_BACKEND_ABSENT || entry.state == XF_BACKEND_UNUSABLE) continue;
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
