// The choice of a backend: where plugins are searched, and what happens if the best one does not open.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/registry.h"

#include <dlfcn.h>
#include <unistd.h>

#include "backend/context.h"
#include "backend/graph_cache.h"
#include "nn/fixture.hpp"
#include "support/temp_folder.hpp"
#include "xformer/config.h"
#include "xformer/context.h"

namespace {

namespace fs = std::filesystem;
using xf_test::options_of;
using xf_test::Settings;
using xf_test::TempFolder;

// Sets an environment variable until the destructor runs.
class Variable {
public:
    Variable(const char *name, const std::string &value) : name_(name) {
        if (const char *before = getenv(name)) before_ = before;
        setenv(name, value.c_str(), 1);
    }
    ~Variable() {
        if (before_)
            setenv(name_, before_->c_str(), 1);
        else
            unsetenv(name_);
    }
    Variable(const Variable &) = delete;
    Variable &operator=(const Variable &) = delete;

private:
    const char *name_;
    std::optional<std::string> before_;
};

// Installs the test plugin under several names in a folder that is searched first, until the destructor runs.
class MadeUp {
public:
    MadeUp(const std::vector<std::string> &names, const char *kind, const char *opens,
           xf_status status = XF_ERROR_NO_MEMORY)
        : kind_("XF_TEST_KIND", kind),
          status_("XF_TEST_STATUS", std::to_string(status)),
          opens_("XF_TEST_OPENS", opens != nullptr ? opens : "-1") {
        for (const std::string &name : names)
            fs::copy_file(std::string(XF_TEST_FOLDER) + "/libxformer_cuda.so", file(name));
    }
    std::string file(const std::string &name) const { return folder_ / ("libxformer_" + name + ".so"); }
    Settings device(const std::string &name) const {
        return {{"context.device", name}, {"context.backend_path", ":/nowhere:" + folder_.path()}};
    }
    std::string folder() const { return folder_.path(); }
    // Plugins are never unloaded, so the memory map of the process shows whether one was loaded.
    bool opened(const std::string &name) const {
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);)
            if (line.find(file(name)) != std::string::npos) return true;
        return false;
    }

private:
    const TempFolder folder_;
    const Variable kind_, status_, opens_;
};

// The log of a context. Each line begins with the number of its level.
struct Heard {
    std::string text;
    xf_host host = XF_HOST_INIT;
    Heard() {
        host.log_user = this;
        host.log_level = XF_LOG_DEBUG;
        host.log = [](void *user, const xf_log_line *line) {
            static_cast<Heard *>(user)->text +=
                std::to_string(line->level) + line->component + ": " + line->message + "\n";
        };
    }
};

// The message of the exception of xf::Context; empty if it opens, with the name of its backend in `name`.
std::string refusal(const Settings &settings, std::string *name = nullptr) {
    return xf_test::outcome_of([&] {
               const xf::Context context(options_of(settings), nullptr);
               if (name != nullptr) *name = context.active().name;
           })
        .message;
}

const xf::BackendEntry *entry_of(const xf::Registry &registry, const std::string &name) {
    for (const xf::BackendEntry &entry : registry.entries())
        if (entry.name == name) return &entry;
    return nullptr;
}

bool holds(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

// A relative folder would depend on the current folder of the program.
XF_TEST(a_relative_folder_is_rejected) {
    const std::string said = refusal({{"context.device", "cpu:ref"}, {"context.backend_path", "/tmp:plugins"}});
    CHECK(holds(said, "context.backend_path has the folder 'plugins'"));
}

// auto, or a kind with several backends, selects the best one that opens and logs why better ones did not.
XF_TEST(a_backend_that_does_not_open_is_skipped) {
    for (const char *device : {"auto", "cpu"}) {
        const MadeUp plugin({"openblas"}, "cpu", nullptr);
        Heard heard;
        const xf::Context context(options_of(plugin.device(device)), &heard.host);
        CHECK_EQ(context.active().name, "ref");
        CHECK(holds(heard.text, "2context: openblas is unavailable, using ref: device 0 is full; device 1 is full\n"));
        CHECK(holds(heard.text, "3context: ref on cpu:0"));
        const xf::BackendEntry *entry = entry_of(context.registry(), "openblas");
        CHECK_EQ(entry->reason, "device 0 is full; device 1 is full");
        CHECK_EQ(entry->device_count, 0);
        CHECK_EQ(entry->state, XF_BACKEND_UNUSABLE);
        CHECK_EQ(entry_of(context.registry(), "ref")->state, XF_BACKEND_ACTIVE);
    }
}

// A type of weights that the device does not support is an error, except as the type of a file: then matrices become
// fp32, and the log reports it.
XF_TEST(weights_that_the_device_does_not_support) {
    const MadeUp plugin({"openblas"}, "cpu", "0");
    Heard heard;
    const xf::Context context(options_of(plugin.device("cpu:openblas")), &heard.host);
    CHECK_EQ(context.active().name, "openblas");
    for (const char *weights : {"bf16", "fp16", "int8"})
        CHECK_FAILS(context.weights_type(weights, XF_WEIGHTS_NUM), XF_ERROR_UNSUPPORTED);
    CHECK_EQ(context.weights_type("fp32", XF_WEIGHTS_INT8, "'a.xf'"), uint32_t{XF_WEIGHTS_NUM});
    CHECK(!holds(heard.text, "a.xf"));
    CHECK_EQ(context.weights_type("same", XF_WEIGHTS_INT8, "'a.xf'"), uint32_t{XF_WEIGHTS_NUM});
    CHECK(holds(heard.text, "3model: the int8 matrices of 'a.xf' were converted to fp32: openblas in fp32 cannot"));
    CHECK_EQ(context.weights_type("same", XF_WEIGHTS_NUM, "'b.xf'"), uint32_t{XF_WEIGHTS_NUM});
    CHECK(!holds(heard.text, "b.xf"));
}

// Only plugins that may have the requested device are loaded. Other plugins are still listed.
XF_TEST(a_plugin_that_is_not_needed_is_not_opened) {
    const MadeUp plugin({"cuda", "foo"}, "cuda", "0");
    for (const char *device : {"cpu:ref", "cpu", "cpu:0", "cpu:nothing", "gpu"}) {
        refusal(plugin.device(device));
        CHECK(!plugin.opened("cuda"));
    }
    const xf::Context context(options_of(plugin.device("cpu:ref")), nullptr);
    CHECK_EQ(entry_of(context.registry(), "cuda")->state, XF_BACKEND_FOUND);
    CHECK_EQ(entry_of(context.registry(), "cuda")->path, plugin.file("cuda"));
    std::string name;
    CHECK_EQ(refusal(plugin.device("auto"), &name), "");
    CHECK_EQ(name, "cuda");
    CHECK(plugin.opened("cuda") && !plugin.opened("foo"));
    // An unknown plugin is found by its name.
    CHECK(holds(refusal(plugin.device("cpu:foo")), "foo: its devices have the kind cuda"));
    CHECK_EQ(refusal(plugin.device("cuda:foo"), &name), "");
    CHECK_EQ(name, "foo");
}

XF_TEST(auto_selects_any_device_of_the_best_backend) {
    for (const char *opens : {"0", "1"}) {
        const MadeUp plugin({"cuda"}, "cuda", opens);
        for (const char *device : {"auto", "cuda", "cuda:cuda"}) {
            const xf::Context context(options_of(plugin.device(device)), nullptr);
            CHECK_EQ(context.active().name, "cuda");
            CHECK(holds(context.description(), std::string("cuda on cuda:") + opens));
            CHECK_EQ(entry_of(context.registry(), "cuda")->reason, "");
            CHECK_EQ(entry_of(context.registry(), "cuda")->device_count, 2);
        }
    }
}

XF_TEST(a_named_device_that_does_not_open_is_an_error) {
    const MadeUp plugin({"cuda"}, "cuda", "0");
    CHECK_FAILS(xf::Context(options_of(plugin.device("cuda:1")), nullptr), XF_ERROR_NO_MEMORY);
    CHECK(holds(refusal(plugin.device("cuda:1")), "device 1 is full"));
    CHECK(holds(refusal(plugin.device("cuda:2")), "devices: 2"));
    const MadeUp none({"openblas"}, "cpu", "7");
    CHECK(holds(refusal(none.device("cpu:0")), "device 0 is full"));
    CHECK(holds(refusal(none.device("cpu:openblas")), "device 0 is full"));
}

XF_TEST(no_device_can_be_opened) {
    const MadeUp plugin({"cuda"}, "cuda", nullptr);
    CHECK(holds(refusal(plugin.device("cuda")), "device 0 is full"));
    Settings poor = plugin.device("auto");
    poor["context.memory_budget"] = "1";
    CHECK(holds(refusal(poor), "device 0 is full"));
}

// If the caller requests an instruction set, another backend is not a substitute.
XF_TEST(an_unsupported_instruction_set_is_an_error) {
    const MadeUp plugin({"openblas"}, "cpu", nullptr, XF_ERROR_UNSUPPORTED);
    for (const char *device : {"auto", "cpu"}) {
        Settings avx2 = plugin.device(device);
        avx2["context.isa"] = "avx2";
        CHECK_FAILS(xf::Context(options_of(avx2), nullptr), XF_ERROR_UNSUPPORTED);
        CHECK_EQ(refusal(plugin.device(device)), "");
    }
}

XF_TEST(a_plugin_of_another_version_is_reported) {
    const MadeUp plugin({"cuda"}, "cuda", nullptr);
    const Variable refusal_of("XF_TEST_REFUSAL", "1");
    CHECK_FAILS(xf::Context(options_of(plugin.device("cuda")), nullptr), XF_ERROR_VERSION);
    Heard heard;
    const xf::Context context(options_of(plugin.device("auto")), &heard.host);
    CHECK_EQ(context.active().kind, "cpu");
    CHECK(holds(heard.text, "2context: cuda is unavailable, using " + context.active().name + ": "));
    CHECK(holds(heard.text, "it is of another version"));
}

// Most machines have no GPU, but a GPU that is full is worth a warning.
XF_TEST(auto_without_a_gpu_gives_no_warning) {
    for (const xf_status status : {XF_ERROR_NOT_FOUND, XF_ERROR_NO_MEMORY}) {
        const MadeUp plugin({"cuda"}, "cuda", nullptr, status);
        Heard heard;
        const xf::Context context(options_of(plugin.device("auto")), &heard.host);
        const std::string line = "context: cuda is unavailable, using " + context.active().name + ": device 0 is full";
        CHECK(holds(heard.text, (status == XF_ERROR_NOT_FOUND ? "3" : "2") + line));
    }
}

// Files with the right name that are not plugins.
XF_TEST(files_that_are_not_plugins_are_rejected_with_a_reason) {
    const MadeUp plugin({}, "cpu", nullptr);
    std::ofstream(plugin.file("text")) << "\177ELF and then something else\n";
    fs::create_directory(plugin.file("folder"));
    for (const char *name : {"text", "folder"}) {
        CHECK_FAILS(xf::Context(options_of(plugin.device(std::string("cpu:") + name)), nullptr), XF_ERROR_NOT_FOUND);
        CHECK(holds(refusal(plugin.device(std::string("cpu:") + name)), std::string(name) + ": cannot load '"));
    }
    for (const char *device : {"cpu:../x", "cpu:X", "cpu:a b", "cuda:ref", "auto:ref", "auto:0"})
        CHECK_FAILS(xf::Context(options_of(plugin.device(device)), nullptr), XF_ERROR_NOT_FOUND);
}

// Calls that failed may not have allocated all memory, so they do not count as made before recording.
XF_TEST(failed_calls_are_repeated_before_they_are_recorded) {
    xf::Context context(options_of({{"context.device", "cpu:ref"}}), nullptr);
    xf::Stream stream(context.device());
    xf::GraphCache<int> cache;
    for (int i = 0; i < 2; ++i)
        CHECK_FAILS(cache.run(stream, 7, [] { xf::fail(XF_ERROR_CANCELLED, "broken off"); }), XF_ERROR_CANCELLED);
    int made = 0;
    cache.run(stream, 7, [&] { ++made; });
    CHECK_EQ(made, 1);
}

// The order of the folders, with files that are never loaded.
XF_TEST(named_folders_precede_the_library_folder) {
    const TempFolder option, variable;
    const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
    const bool made = fs::create_directory(own / "xformer");
    const Variable path("XF_BACKEND_PATH", "relative:" + variable.path());
    // A name that no other test uses, because all tests share the folder of the program.
    const std::string name = "order" + std::to_string(getpid()), file = "libxformer_" + name + ".so";
    const std::vector<fs::path> folders = {option.path(), variable.path(), own / "xformer", own};
    for (const fs::path &folder : folders) std::ofstream(folder / file) << "\n";
    for (const fs::path &folder : folders) {
        xf::Registry registry(option.path());
        const xf::Registry::Wanted wanted = registry.want("cpu:" + name);
        CHECK_EQ(wanted.entries.size(), size_t{1});
        if (!wanted.entries.empty()) {
            CHECK_EQ(wanted.entries[0]->path, (folder / file).string());
            CHECK_EQ(wanted.entries[0]->state, XF_BACKEND_FOUND);
        }
        fs::remove(folder / file);
    }
    std::error_code ignored;
    if (made) fs::remove(own / "xformer", ignored);
}

// A plugin that only the environment names, or that is beside the program, is neither listed nor opened with "given".
XF_TEST(backend_search_given_uses_no_other_folder) {
    const MadeUp plugin({"openblas"}, "cpu", "0");
    const Variable path("XF_BACKEND_PATH", plugin.folder());
    const auto path_in = [](const xf::Context &context) { return entry_of(context.registry(), "openblas")->path; };
    {
        const Settings given = {{"context.device", "cpu"}, {"context.backend_search", "given"}};
        const xf::Context context(options_of(given), nullptr);
        CHECK_EQ(context.active().name, "ref");
        CHECK_EQ(path_in(context), "");
        CHECK_EQ(entry_of(context.registry(), "openblas")->state, XF_BACKEND_ABSENT);
        CHECK(!plugin.opened("openblas"));
    }
    {
        const xf::Context context(options_of({{"context.device", "cpu:ref"}}), nullptr);
        CHECK_EQ(path_in(context), plugin.file("openblas"));
        CHECK_EQ(entry_of(context.registry(), "openblas")->state, XF_BACKEND_FOUND);
        CHECK(!plugin.opened("openblas"));
    }
    {
        const xf::Context context(options_of({{"context.device", "cpu"}}), nullptr);
        CHECK(plugin.opened("openblas"));
    }
    {  // A folder of the option is searched in either case.
        Settings given = plugin.device("cpu:ref");
        given["context.backend_search"] = "given";
        const xf::Context context(options_of(given), nullptr);
        CHECK_EQ(path_in(context), plugin.file("openblas"));
    }
}

XF_TEST(an_unknown_device_lists_the_existing_devices) {
    for (const char *device : {"gpu", "cpu:nothing", "cuda:7"}) {
        const MadeUp plugin({"cuda"}, "cuda", "0");
        std::string text = refusal(plugin.device(device));
        std::replace(text.begin(), text.end(), ';', ',');
        CHECK(holds(text, std::string("there is no device '") + device + "'"));
        for (const char *possible : {"auto", "cpu", "cpu:ref", "cuda"})
            CHECK(holds(text + ",", std::string(" ") + possible + ","));
        CHECK(!holds(text, "cuda:cuda"));
        CHECK_EQ(holds(text, "an NVIDIA GPU is 'cuda'"), std::string(device) == "gpu");
        if (std::string(device) == "cuda:7") CHECK(holds(text, " cuda:1"));
    }
}

XF_TEST(the_budget_is_named_when_it_is_the_reason) {
    const Settings settings = {{"context.device", "cpu:ref"}, {"context.memory_budget", "1000"}};
    xf::Context context(options_of(settings), nullptr);
    const int64_t held = context.heap().current();
    const std::string expected = xf::format("791552 bytes more would exceed context.memory_budget 1000 (%lld held)",
                                            static_cast<long long>(held));
    for (int round = 0; round < 2; ++round) {
        CHECK_REFUSED(xf::Buffer(context.device(), 791552), XF_ERROR_NO_MEMORY, expected);
        const xf::Buffer fits(context.device(), 100);
    }
    xf::Context free_of_budget(options_of({{"context.device", "cpu:ref"}}), nullptr);
    const auto found = xf_test::outcome_of([&] { xf::Buffer(free_of_budget.device(), SIZE_MAX / 16); });
    CHECK(found.status != XF_OK && !found.says("budget"));
}

#ifdef XF_TEST_LIBRARY
// A program may load the library by a relative name and then change its current folder.
XF_TEST(a_library_loaded_by_a_relative_name_finds_its_plugins) {
    const fs::path before = fs::current_path();
    const TempFolder folder;
    fs::copy_file(XF_TEST_LIBRARY, folder.folder("lib") + "/libxformer_copy.so");
    fs::copy_file(XF_TEST_PLUGIN, folder / "lib/libxformer_openblas.so");
    fs::current_path(folder.path());
    void *library = dlopen("lib/libxformer_copy.so", RTLD_NOW | RTLD_LOCAL);
    fs::current_path(folder.folder("empty"));
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
}
#endif

}  // namespace
