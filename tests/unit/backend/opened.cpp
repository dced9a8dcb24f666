// The test host, loading of plugins, and running a problem between guard words; see opened.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/opened.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "core/error.h"
#include "ref/ref.h"

namespace xf_test {
namespace {

constexpr size_t kGuard = 16;  // words, 64 bytes: keeps the alignment of the allocation
constexpr uint32_t kGuardWord = 0xFEEDF00Du;

void require(int32_t status, const xf_error &err, const char *what) {
    if (status != XF_OK) xf::fail(static_cast<xf_status>(status), "%s: %s", what, err.message);
}

}  // namespace

Host::Host(int32_t workers, const std::string &isa) : isa_(isa), workers_(workers) {
    table_.size = sizeof table_;
    table_.abi = XF_PLUGIN_ABI;
    table_.user = this;
    table_.parallel = parallel;
    table_.workers = [](void *user) { return static_cast<Host *>(user)->workers_; };
    table_.alloc = alloc;
    table_.free = free;
    table_.account = account;
    table_.log = [](void *, int32_t, const char *, const char *) {};
    table_.isa = isa_.c_str();
}

void Host::parallel(void *user, int64_t tasks, void (*body)(void *, int64_t, int32_t), void *arg) {
    const int32_t workers = static_cast<Host *>(user)->workers_;
    if (workers == 1) {
        for (int64_t task = 0; task < tasks; ++task) body(arg, task, 0);
        return;
    }
    // Many workers simulate a large machine, where work is split differently. Running them in sequence is enough.
    if (workers > 8) {
        for (int64_t task = tasks; task-- > 0;) body(arg, task, static_cast<int32_t>(task % workers));
        return;
    }
    // They start together (unless the machine is busy) and take turns, so that small calls overlap too and each
    // worker gets its share. Three workers take the tasks from the end.
    std::atomic<int32_t> waiting{workers};
    const auto latest = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    const auto work = [&](int32_t worker) {
        for (--waiting; waiting > 0 && std::chrono::steady_clock::now() < latest;) std::this_thread::yield();
        for (int64_t task = worker; task < tasks; task += workers)
            body(arg, workers == 3 ? tasks - 1 - task : task, worker);
    };
    std::vector<std::thread> threads;
    for (int32_t worker = 1; worker < workers; ++worker) threads.emplace_back(work, worker);
    work(0);
    for (std::thread &thread : threads) thread.join();
}

void *Host::alloc(void *user, size_t bytes) {
    Host *self = static_cast<Host *>(user);
    if (self->refuse_) return nullptr;
    void *ptr = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!ptr) return nullptr;
    std::memset(ptr, 0xFF, bytes);
    self->live_ += static_cast<int64_t>(bytes);
    return ptr;
}

void Host::free(void *user, void *ptr, size_t bytes) {
    static_cast<Host *>(user)->live_ -= static_cast<int64_t>(bytes);
    std::free(ptr);
}

int32_t Host::account(void *user, int64_t bytes) {
    Host *self = static_cast<Host *>(user);
    if (bytes > 0 && self->refuse_) return 0;
    self->live_ += bytes;
    return 1;
}

std::vector<Backend> load_backends() {
    std::vector<Backend> list = {{xf_ref_backend(), "base"}};
    const char *environment = std::getenv("XF_TEST_PLUGINS");
    std::istringstream paths(environment ? environment : XF_TEST_PLUGINS);
    int plugins = 0;
    for (std::string path; std::getline(paths, path, ':');) {
        if (path.empty()) continue;
        void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle) xf::fail(XF_ERROR_NOT_FOUND, "a plugin was named and can't be loaded: %s", dlerror());
        const auto init = reinterpret_cast<xf_plugin_init_fn>(dlsym(handle, XF_PLUGIN_INIT_NAME));
        xf_error err{};
        const xf_backend_v1 *table = init ? init(XF_PLUGIN_ABI, &err) : nullptr;
        if (!table) xf::fail(XF_ERROR_BACKEND, "%s gave no table: %s", path.c_str(), err.message);
        ++plugins;
        const bool cpu = std::strcmp(table->kind, "cpu") == 0;
        for (const char *isa : {"base", "avx2", "avx512", "avx512vnni", "neon", "neon-dot", "neon-i8mm", "auto"}) {
            if (!cpu && std::strcmp(isa, "base") != 0) continue;  // instruction sets are the CPU's
            for (const uint32_t dtype : {XF_FP32, XF_BF16}) {
                if ((table->dtypes & (1u << dtype)) == 0) continue;
                const Backend backend{table, isa, dtype};
                // The products of integers are tested with fp32, those of bf16 only with "auto".
                if (cpu && (dtype == XF_BF16 ? backend.only_int8() : backend.isa == "auto")) continue;
                try {
                    Opened opened(backend, 1);
                    std::printf("%s: %s\n", backend.name().c_str(), table->device_info(opened.device()));
                    list.push_back(backend);
                } catch (const xf::Error &error) {
                    std::printf("%s: NOT TESTED, refused: %s\n", backend.name().c_str(), error.what());
                }
            }
        }
    }
    if (!plugins) std::printf("no plugin was built or named in XF_TEST_PLUGINS: only ref is tested\n");
    return list;
}

Opened::Opened(const Backend &backend, int32_t workers)
    : host_(workers, backend.isa), table_(backend.table), dtype_(backend.dtype) {
    xf_error err{};
    require(table_->device_open(host_.table(), 0, &device_, &err), err, "device_open");
    const int32_t status = table_->stream_create(device_, dtype_, &stream_, &err);
    if (status != XF_OK) table_->device_close(device_);
    require(status, err, "stream_create");
}

Opened::~Opened() {
    table_->stream_free(stream_);
    table_->device_close(device_);
    if (host_.live_bytes() != 0) {
        std::fprintf(stderr, "%s leaks %lld bytes\n", table_->name, static_cast<long long>(host_.live_bytes()));
        std::_Exit(1);
    }
}

Placed::Placed(Opened &backend, const Problem &problem, int shift)
    : backend_(backend),
      problem_(problem),
      front_(kGuard + static_cast<size_t>(shift)),
      memory_(problem.buffers.size()),
      host_memory_(problem.buffers.size()),
      args_{problem.rows, {}} {
    xf_error err{};
    for (size_t b = 0; b < problem.buffers.size(); ++b) {
        const Buffer &buffer = problem.buffers[b];
        const size_t front = buffer.host ? kGuard : front_;
        std::vector<uint32_t> words(front + room(buffer) + kGuard, kGuardWord);
        for (size_t i = 0; i < buffer.words.size(); ++i) {
            if (!halved(buffer)) {
                words[front + i] = buffer.words[i];
                continue;
            }
            const auto half = static_cast<uint16_t>(to_bf16(buffer.words[i]) >> 16);
            std::memcpy(reinterpret_cast<char *>(words.data() + front) + 2 * i, &half, sizeof half);
        }
        if (buffer.host) {
            host_memory_[b] = words;
            args_.pointers[buffer.name] = host_memory_[b].data() + front;
            continue;
        }
        require(backend.table().mem_alloc(backend.device(), words.size() * 4, &memory_[b], &err), err, "mem_alloc");
        require(backend.table().mem_upload(backend.stream(), memory_[b], words.data(), words.size() * 4, &err), err,
                "mem_upload");
        args_.pointers[buffer.name] = static_cast<uint32_t *>(memory_[b]) + front;
    }
}

Placed::~Placed() {
    for (size_t b = 0; b < memory_.size(); ++b)
        if (memory_[b])
            backend_.table().mem_free(backend_.device(), memory_[b], (front_ + room(problem_.buffers[b]) + kGuard) * 4);
}

int32_t Placed::call(xf_error *err) {
    const int32_t status = problem_.call(backend_.table(), backend_.stream(), args_, err);
    return status == XF_OK ? backend_.table().stream_sync(backend_.stream(), err) : status;
}

Words Placed::read(std::string &trouble) {
    Words all;
    xf_error err{};
    for (size_t b = 0; b < problem_.buffers.size(); ++b) {
        const Buffer &buffer = problem_.buffers[b];
        const size_t front = buffer.host ? kGuard : front_;
        std::vector<uint32_t> words = host_memory_[b];
        if (!buffer.host) {
            words.resize(front + room(buffer) + kGuard);
            require(backend_.table().mem_download(backend_.stream(), words.data(), memory_[b], words.size() * 4, &err),
                    err, "mem_download");
        }
        const size_t end = front + room(buffer);
        for (size_t i = 0; i < words.size(); ++i)
            if ((i < front || i >= end) && words[i] != kGuardWord) trouble = buffer.name + ": written outside";
        if (!halved(buffer)) {
            all.emplace_back(words.begin() + static_cast<std::ptrdiff_t>(front),
                             words.begin() + static_cast<std::ptrdiff_t>(end));
            continue;
        }
        std::vector<uint16_t> halves(2 * room(buffer));
        if (!halves.empty()) std::memcpy(halves.data(), words.data() + front, 2 * halves.size());
        if (buffer.words.size() % 2 != 0 && halves.back() != kGuardWord >> 16)
            trouble = buffer.name + ": written outside";
        std::vector<uint32_t> wide(buffer.words.size());
        for (size_t i = 0; i < wide.size(); ++i) wide[i] = uint32_t{halves[i]} << 16;
        all.push_back(std::move(wide));
    }
    return all;
}

Result run(Opened &backend, const Problem &problem, int shift, bool no_memory) {
    Placed placed(backend, problem, shift);
    Result result;
    xf_error err{};
    backend.host().refuse(no_memory);
    result.status = placed.call(&err);
    backend.host().refuse(false);
    if (result.status != XF_OK) result.trouble = err.message;
    std::string trouble;
    result.words = placed.read(trouble);
    if (!trouble.empty()) result.trouble = trouble;
    for (size_t b = 0; b < problem.buffers.size(); ++b) {
        const Buffer &buffer = problem.buffers[b];
        const bool halved = backend.bf16() && buffer.num && buffer.type == Type::kFloat && !buffer.host;
        for (int64_t i = 0; i < static_cast<int64_t>(buffer.words.size()); ++i) {
            const bool may = buffer.out && i % buffer.ld < buffer.width &&
                             buffer.writes[static_cast<size_t>(i / buffer.ld)] != Write::kNo;
            const uint32_t before = buffer.words[static_cast<size_t>(i)];
            if (may || result.words[b][static_cast<size_t>(i)] == (halved ? to_bf16(before) : before)) continue;
            result.trouble = buffer.name + ": changed at row " + std::to_string(i / buffer.ld) + " column " +
                             std::to_string(i % buffer.ld) + ", which is no output";
        }
    }
    return result;
}

}  // namespace xf_test
