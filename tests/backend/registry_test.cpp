// Which backend a context takes: where plugins are looked for, and what happens when the best one does not open.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/registry.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "backend/context.h"
#include "backend/graph_cache.h"
#include "support/test.hpp"
#include "xformer/config.h"
#include "xformer/context.h"

namespace {

namespace fs = std::filesystem;
using Settings = std::map<std::string, std::string>;

xf::Options options_of(const Settings &settings) {
    xf::Options options;
    for (const auto &[key, value] : settings) options.set(key, value);
    return options;
}

// The made-up plugin, found as "cuda" in its folder, for as long as this lives.
class MadeUp {
public:
    MadeUp(const char *kind, const char *opens, xf_status status = XF_ERROR_NO_MEMORY) {
        setenv("XF_BACKEND_PATH", XF_TEST_FOLDER, 1);
        setenv("XF_TEST_KIND", kind, 1);
        setenv("XF_TEST_STATUS", std::to_string(status).c_str(), 1);
        if (opens != nullptr) setenv("XF_TEST_OPENS", opens, 1);
    }
    ~MadeUp() {
        for (const char *name : {"XF_BACKEND_PATH", "XF_TEST_KIND", "XF_TEST_STATUS", "XF_TEST_OPENS"}) unsetenv(name);
    }
};

// What xf::Context throws, as a sentence; empty when it opens, and then `name` is the backend it took.
std::string refusal(const Settings &settings, std::string *name = nullptr) {
    try {
        const xf::Context context(options_of(settings), nullptr);
        if (name != nullptr) *name = context.active().name;
    } catch (const xf::Error &error) {
        return error.what();
    }
    return "";
}

const xf::BackendEntry *entry_of(const xf::Registry &registry, const std::string &name) {
    for (const xf::BackendEntry &entry : registry.entries())
        if (entry.name == name) return &entry;
    return nullptr;
}

bool holds(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

// auto, and a kind that several backends serve, take the best that opens and tell why the better ones did not.
XF_TEST(a_backend_that_does_not_open_is_passed_over) {
    for (const char *kind : {"cuda", "cpu"}) {
        const MadeUp plugin(kind, nullptr);
        for (const char *device : {"auto", "cpu"}) {
            const xf::Context context(options_of({{"context.device", device}}), nullptr);
            CHECK(context.active().name != "made-up");
            CHECK_EQ(context.active().kind, "cpu");
            const xf::BackendEntry *entry = entry_of(context.registry(), "made-up");
            CHECK(entry != nullptr);
            const bool tried = std::string(device) == "auto" || std::string(kind) == "cpu";
            if (entry == nullptr) continue;
            CHECK_EQ(entry->reason, tried ? "device 0 is full; device 1 is full" : "");
            CHECK_EQ(entry->device_count, tried ? 0 : 2);
        }
    }
}

XF_TEST(auto_takes_any_device_of_the_best_backend) {
    for (const char *opens : {"0", "1"}) {
        const MadeUp plugin("cuda", opens);
        for (const char *device : {"auto", "cuda", "cuda:made-up"}) {
            const xf::Context context(options_of({{"context.device", device}}), nullptr);
            CHECK_EQ(context.active().name, "made-up");
            CHECK(holds(context.description(), std::string("made-up on cuda:") + opens));
            CHECK_EQ(entry_of(context.registry(), "made-up")->reason, "");
            CHECK_EQ(entry_of(context.registry(), "made-up")->device_count, 2);
        }
    }
}

XF_TEST(a_named_device_that_does_not_open_is_an_error) {
    const MadeUp plugin("cuda", "0");
    CHECK_FAILS(xf::Context(options_of({{"context.device", "cuda:1"}}), nullptr), XF_ERROR_NO_MEMORY);
    CHECK(holds(refusal({{"context.device", "cuda:1"}}), "device 1 is full"));
    const MadeUp none("cpu", "7");
    CHECK(holds(refusal({{"context.device", "cpu:0"}}), "device 0 is full"));
    CHECK(holds(refusal({{"context.device", "cpu:made-up"}}), "device 0 is full"));
}

XF_TEST(nothing_opens) {
    const MadeUp plugin("cuda", nullptr);
    CHECK(holds(refusal({{"context.device", "cuda"}}), "device 0 is full"));
    CHECK(holds(refusal({{"context.device", "auto"}, {"context.memory_budget", "1"}}), "device 0 is full"));
}

// The wish for an instruction set is the caller's: another backend would not fulfil it.
XF_TEST(a_refused_instruction_set_is_an_error) {
    const MadeUp plugin("cpu", nullptr, XF_ERROR_UNSUPPORTED);
    for (const char *device : {"auto", "cpu"}) {
        CHECK_FAILS(xf::Context(options_of({{"context.device", device}, {"context.isa", "avx2"}}), nullptr),
                    XF_ERROR_UNSUPPORTED);
        CHECK_EQ(refusal({{"context.device", device}}), "");
    }
}

XF_TEST(a_plugin_of_another_version_is_told_as_one) {
    const MadeUp made_up("cuda", nullptr);
    setenv("XF_TEST_REFUSAL", "1", 1);
    xf::Registry registry;
    xf_status status = XF_OK;
    try {
        registry.load(std::string(XF_TEST_FOLDER) + "/libxformer_cuda.so");
    } catch (const xf::Error &error) {
        status = error.status();
    }
    unsetenv("XF_TEST_REFUSAL");
    CHECK_EQ(status, XF_ERROR_VERSION);
}

// Calls that were broken off did not allocate all they need: they must not be recorded when they come again.
XF_TEST(calls_that_failed_are_made_anew_before_they_are_recorded) {
    xf::Context context(options_of({{"context.device", "cpu:ref"}}), nullptr);
    xf::Stream stream(context.device());
    xf::GraphCache<int> cache;
    for (int i = 0; i < 2; ++i) {
        bool thrown = false;
        try {
            cache.run(stream, 7, [] { xf::fail(XF_ERROR_CANCELLED, "broken off"); });
        } catch (const xf::Error &error) {
            thrown = error.status() == XF_ERROR_CANCELLED;
        }
        CHECK(thrown);
    }
    int made = 0;
    cache.run(stream, 7, [&] { ++made; });
    CHECK_EQ(made, 1);
}

XF_TEST(an_unknown_device_tells_what_there_is) {
    for (const char *device : {"gpu", "cpu:nothing", "cuda:7"}) {
        const MadeUp plugin("cuda", "0");
        std::string text = refusal({{"context.device", device}});
        std::replace(text.begin(), text.end(), ';', ',');
        CHECK(holds(text, std::string("there is no device '") + device + "'"));
        for (const char *possible : {"auto", "cpu", "cpu:ref", "cuda", "cuda:made-up", "cuda:0", "cuda:1"})
            CHECK(holds(text + ",", std::string(" ") + possible + ","));
    }
}

XF_TEST(the_budget_is_named_when_it_is_the_reason) {
    const Settings settings = {{"context.device", "cpu:ref"}, {"context.memory_budget", "1000"}};
    xf::Context context(options_of(settings), nullptr);
    const int64_t held = context.heap().current();
    const std::string expected = xf::format("791552 bytes more would exceed context.memory_budget 1000 (%lld held)",
                                            static_cast<long long>(held));
    for (int round = 0; round < 2; ++round) {
        try {
            xf::Buffer(context.device(), 791552);
            CHECK(false);
        } catch (const xf::Error &error) {
            CHECK_EQ(error.status(), XF_ERROR_NO_MEMORY);
            CHECK_EQ(std::string(error.what()), expected);
        }
        const xf::Buffer fits(context.device(), 100);
    }
    xf::Context free_of_budget(options_of({{"context.device", "cpu:ref"}}), nullptr);
    try {
        xf::Buffer(free_of_budget.device(), size_t{1} << 60);
        CHECK(false);
    } catch (const xf::Error &error) {
        CHECK(!holds(error.what(), "budget"));
    }
}

#ifdef XF_TEST_LIBRARY
// A program may have loaded the library by a relative name and then gone elsewhere.
XF_TEST(a_library_loaded_by_a_relative_name_finds_its_plugins) {
    const fs::path before = fs::current_path();
    std::string name = (fs::temp_directory_path() / "xf-registry-XXXXXX").string();
    const fs::path folder = ::mkdtemp(name.data());
    fs::create_directories(folder / "lib");
    fs::create_directories(folder / "empty");
    fs::copy_file(XF_TEST_LIBRARY, folder / "lib/libxformer_copy.so");
    fs::copy_file(XF_TEST_PLUGIN, folder / "lib/libxformer_openblas.so");
    fs::current_path(folder);
    void *library = dlopen("lib/libxformer_copy.so", RTLD_NOW | RTLD_LOCAL);
    fs::current_path(folder / "empty");
    CHECK(library != nullptr);
    if (library != nullptr) {
        const auto function = [library](auto *type, const char *symbol) {
            return reinterpret_cast<decltype(type)>(dlsym(library, symbol));
        };
        xf_config *config = nullptr;
        xf_context *context = nullptr;
        xf_error error{};
        CHECK_EQ(function(&xf_config_create, "xf_config_create")(&config, &error), XF_OK);
        CHECK_EQ(function(&xf_config_set, "xf_config_set")(config, "context.device", "cpu:openblas", &error), XF_OK);
        const xf_status status = function(&xf_context_create, "xf_context_create")(config, nullptr, &context, &error);
        CHECK_EQ(std::string(error.message), "");
        CHECK_EQ(status, XF_OK);
        function(&xf_context_free, "xf_context_free")(context);
        function(&xf_config_free, "xf_config_free")(config);
    }
    fs::current_path(before);
    std::error_code ignored;
    fs::remove_all(folder, ignored);
}
#endif

}  // namespace
