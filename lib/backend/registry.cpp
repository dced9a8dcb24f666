// SPDX-License-Identifier: Apache-2.0
#include "backend/registry.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "core/error.h"
#include "core/os/file.h"
#include "core/os/process.h"

extern "C" const xf_backend_v1 *xf_ref_backend(void);       // cpu/ref
extern "C" const xf_backend_v1 *xf_openblas_backend(void);  // cpu/openblas, where it is built in

namespace xf {
namespace {

#if defined(XF_BUILTIN_OPENBLAS)
constexpr auto kOpenblas = xf_openblas_backend;
#else
constexpr std::nullptr_t kOpenblas = nullptr;
#endif

// Best first.
struct Known {
    const char *name, *kind;
    const xf_backend_v1 *(*builtin)(void);  // null for a plugin
};
constexpr Known kKnown[] = {{"cuda", "cuda", nullptr}, {"openblas", "cpu", kOpenblas}, {"ref", "cpu", xf_ref_backend}};

// Appends the folders of a list. A relative folder would depend on the current directory: it is an error in an option,
// and ignored elsewhere (option is null).
void add_folders(std::string_view list, const char *option, std::vector<std::string> *folders) {
    while (!list.empty()) {
        const size_t end = list.find(kListSeparator);
        const std::string_view folder = list.substr(0, end);
        const bool absolute = is_absolute_path(folder);
        XF_CHECK(absolute || folder.empty() || option == nullptr, XF_ERROR_INVALID_ARGUMENT,
                 "%s has the folder '%.*s', expected an absolute path", option,
                 static_cast<int>(std::min<size_t>(folder.size(), 128)), folder.data());
        if (absolute) folders->emplace_back(folder);
        list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
    }
}

std::vector<std::string> search_path(const std::string &first, bool given_only) {
    std::vector<std::string> folders;
    add_folders(first, "context.backend_path", &folders);
    if (given_only) return folders;
    // Like LD_LIBRARY_PATH, it precedes the library's own folder, so that it can replace an installed plugin.
    add_folders(environment("XF_BACKEND_PATH").value_or(""), nullptr, &folders);
    const std::string own = own_folder();
    if (!own.empty()) {
        folders.push_back(own + "/xformer");
        folders.push_back(own);
    }
    return folders;
}

// The name becomes part of a file name.
bool is_plugin_name(std::string_view name) {
    return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

// Also throws if the plugin fails to count its devices.
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

// Returns whether the loader's message reports a lack of memory. "cannot allocate memory in static TLS block" does not
// count, because it is permanent. In a translated locale the message may differ: then the plugin counts as not found.
bool lacks_memory(std::string_view reason) {
    return reason.ends_with(reason_of(ENOMEM)) || reason.ends_with("out of memory");
}

// Loads a plugin and returns its function.
template <class Function>
Function load_plugin(const std::string &path, const char *what, const char *name) {
    // Try twice: if memory is short for a moment, glibc's loader usually reports "cannot open shared object file", and
    // another device would then give other results.
    void *library = nullptr;
    std::string reason;
    for (int i = 0; i < 2 && library == nullptr; ++i) library = load_library(path.c_str(), &reason);
    if (library == nullptr)
        fail(lacks_memory(reason) ? XF_ERROR_NO_MEMORY : XF_ERROR_NOT_FOUND, "cannot load '%s': %s", path.c_str(),
             reason.c_str());
    const auto function = reinterpret_cast<Function>(library_symbol(library, name));
    XF_CHECK(function != nullptr, XF_ERROR_NOT_FOUND, "'%s' is not %s: it has no function %s", path.c_str(), what,
             name);
    return function;
}

const xf_backend_v1 *open_plugin(const std::string &path) {
    const auto init = load_plugin<xf_plugin_init_fn>(path, "a backend", XF_PLUGIN_INIT_NAME);
    xf_error error{};
    const xf_backend_v1 *ops = init(XF_PLUGIN_ABI, &error);
    if (ops == nullptr)
        fail(error.status == XF_ERROR_VERSION ? XF_ERROR_VERSION : XF_ERROR_NOT_FOUND, "'%s' cannot be used: %.200s",
             path.c_str(), error.message);
    XF_CHECK(ops->size >= sizeof(xf_backend_v1) && ops->abi == XF_PLUGIN_ABI, XF_ERROR_VERSION,
             "'%s' has plugin version %u and a table of %u bytes, expected version %u and %zu bytes", path.c_str(),
             ops->abi, ops->size, XF_PLUGIN_ABI, sizeof(xf_backend_v1));
    return ops;
}

}  // namespace

Registry::Registry(const std::string &path, bool given_only) : folders_(search_path(path, given_only)) {
    for (const Known &known : kKnown) find(known.name, known.kind);
}

BackendEntry *Registry::find(const std::string &name, const std::string &kind) {
    for (BackendEntry &entry : entries_)
        if (entry.name == name) return entry.kind == kind ? &entry : nullptr;
    BackendEntry entry;
    entry.name = name;
    entry.kind = kind;
    const Known *const known =
        std::find_if(std::begin(kKnown), std::end(kKnown), [&name](const Known &item) { return item.name == name; });
    if (known != std::end(kKnown) && known->builtin != nullptr) {
        describe(known->builtin(), &entry);
    } else {
        entry.path = path_of(name);
        if (!entry.path.empty())
            entry.state = XF_BACKEND_FOUND;
        else
            entry.reason = format("%s was not found", plugin_file_name(name).c_str());
    }
    entries_.push_back(std::move(entry));
    return &entries_.back();
}

std::string Registry::path_of(const std::string &name) const {
    for (const std::string &folder : folders_) {
        std::string path = folder + "/" + plugin_file_name(name);
        if (file_exists(path.c_str())) return path;
    }
    return {};
}

std::string Registry::path_of_comm(const std::string &name) const {
    std::string path = path_of(name);
    XF_CHECK(!path.empty(), XF_ERROR_NOT_FOUND, "context.comm is %s, but %s was not found", name.c_str(),
             plugin_file_name(name).c_str());
    return path;
}

xf_comm Registry::open_comm(const std::string &name, const xf_comm_limits &limits) const {
    const std::string path = path_of_comm(name);
    const auto open = load_plugin<xf_comm_plugin_fn>(path, "a plugin for ranks", XF_COMM_PLUGIN_NAME);
    xf_comm comm = XF_COMM_INIT;
    xf_error error{};
    const int32_t status = open(XF_COMM_PLUGIN_ABI, &limits, &comm, &error);
    if (status != XF_OK) fail(status, "'%s': %.200s", path.c_str(), error.message);
    return comm;
}

const xf_transport_plugin *Registry::open_transport(const std::string &name) const {
    const std::string path = path_of_comm(name);
    const auto open =
        load_plugin<xf_transport_plugin_fn>(path, "a plugin for ranks' devices", XF_TRANSPORT_PLUGIN_NAME);
    xf_error error{};
    const xf_transport_plugin *const plugin = open(XF_TRANSPORT_PLUGIN_ABI, &error);
    if (plugin == nullptr) fail(error.status, "'%s': %.300s", path.c_str(), error.message);
    return plugin;
}

bool Registry::open(BackendEntry *entry, const std::string &kind) {
    if (entry->state == XF_BACKEND_FOUND) {
        try {
            describe(open_plugin(entry->path), entry);
            XF_CHECK(kind.empty() || entry->kind == kind, XF_ERROR_NOT_FOUND, "its devices have the kind %s",
                     entry->kind.c_str());
        } catch (const Error &error) {
            if (error.status() == XF_ERROR_NO_MEMORY) throw;  // another backend would give other bits
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
    const char *const hint = device.starts_with("gpu") ? " (an NVIDIA GPU is 'cuda')" : "";
    fail(XF_ERROR_NOT_FOUND, "there is no device '%.60s'%s, expected %s%s", device.c_str(), hint, possible().c_str(),
         reasons.c_str());
}

// The available device names, for messages: "auto, cpu, cpu:ref, cpu:openblas". Device numbers are known only after the
// plugin is loaded.
std::string Registry::possible() const {
    std::vector<std::string> names = {"auto"};
    const auto add = [&names](std::string name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    };
    for (const BackendEntry &entry : entries_) {
        if (entry.state == XF_BACKEND_ABSENT || entry.state == XF_BACKEND_UNUSABLE) continue;
        add(entry.kind);
        if (entry.name != entry.kind) add(entry.kind + ":" + entry.name);
        for (int32_t i = 0; i < entry.device_count && entry.device_count > 1; ++i)
            add(format("%s:%d", entry.kind.c_str(), i));
    }
    std::string text;
    for (const std::string &name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace xf
