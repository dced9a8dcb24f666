// A backend opened on a test host, and the one function through which the tests call it.
//
// The host runs tasks on plain threads (many workers in sequence), in an order that depends on the number of workers.
// It fills new memory with NaN and can simulate a lack of memory. run() puts guard words around every buffer and
// reports writes to anything except the outputs.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

#include "backend/problem.h"
#include "support/sanitized.h"

namespace xf_test {

class Host {
public:
    Host(int32_t workers, const std::string &isa);
    Host(const Host &) = delete;
    Host &operator=(const Host &) = delete;

    const xf_host_v1 *table() const { return &table_; }
    int64_t live_bytes() const { return live_; }
    void refuse(bool on) { refuse_ = on; }

private:
    static void parallel(void *user, int64_t tasks, void (*body)(void *, int64_t, int32_t), void *arg);
    static void *alloc(void *user, size_t bytes);
    static void free(void *user, void *ptr, size_t bytes);
    static int32_t account(void *user, int64_t bytes);

    xf_host_v1 table_{};
    std::string isa_;
    int32_t workers_;
    std::atomic<int64_t> live_{0};
    std::atomic<bool> refuse_{false};
};

// A backend table with an instruction set and a number type.
struct Backend {
    const xf_backend_v1 *table;
    std::string isa;
    uint32_t dtype = XF_FP32;

    bool bf16() const { return dtype == XF_BF16; }
    uint32_t flags() const { return bf16() ? uint32_t{kBf16} : 0u; }  // what its cases have beside their own
    bool emulated() const { return std::strstr(table->version, "emulated") != nullptr; }  // harness/cuda_host: slow
    // These differ from "avx512" and "neon" only with weights of 8 bits.
    bool only_int8() const { return isa == "avx512vnni" || isa == "neon-dot" || isa == "neon-i8mm"; }
    bool serves(const Case &c) const {
        return (table->weight_types >> c.weights & 1u) != 0 && (!only_int8() || c.weights == XF_WEIGHTS_INT8);
    }
    std::string name() const { return std::string(table->name) + '/' + isa + (bf16() ? "/bf16" : ""); }
};

// ref, and each plugin of XF_TEST_PLUGINS (paths with colons between; the environment before the build's list) with
// each instruction set and number type it accepts here. Prints what is missing or refused.
std::vector<Backend> load_backends();

// One device and one stream with this many workers. Throws xf::Error when it can't be opened.
class Opened {
public:
    Opened(const Backend &backend, int32_t workers);
    ~Opened();
    Opened(const Opened &) = delete;
    Opened &operator=(const Opened &) = delete;

    const xf_backend_v1 &table() const { return *table_; }
    xf_device *device() const { return device_; }
    xf_stream *stream() const { return stream_; }
    Host &host() { return host_; }
    bool bf16() const { return dtype_ == XF_BF16; }

private:
    Host host_;
    const xf_backend_v1 *table_;
    uint32_t dtype_;
    xf_device *device_ = nullptr;
    xf_stream *stream_ = nullptr;
};

struct Result {
    int32_t status = 0;
    std::string trouble = {};  // a forbidden write or the error message; empty if the call succeeded
    Words words = {};
};

// shift moves every device buffer by that many floats within its allocation. no_memory: allocations of the host fail
// during the call.
Result run(Opened &backend, const Problem &problem, int shift = 0, bool no_memory = false);

// Places a problem's buffers in memory once, for the speed mode. Calls call() as often as wanted.
class Placed {
public:
    Placed(Opened &backend, const Problem &problem, int shift);
    ~Placed();
    Placed(const Placed &) = delete;
    Placed &operator=(const Placed &) = delete;

    int32_t call(xf_error *err);
    Words read(std::string &trouble);  // contents; says which guard word changed

private:
    bool halved(const Buffer &buffer) const {  // lies in memory as bf16
        return backend_.bf16() && buffer.num && buffer.type == Type::kFloat && !buffer.host;
    }
    // Words of memory for the content of a buffer, without its guards.
    size_t room(const Buffer &buffer) const {
        return halved(buffer) ? (buffer.words.size() + 1) / 2 : buffer.words.size();
    }

    Opened &backend_;
    const Problem &problem_;
    size_t front_;
    std::vector<void *> memory_;
    std::vector<std::vector<uint32_t>> host_memory_;
    Args args_;
};

}  // namespace xf_test
