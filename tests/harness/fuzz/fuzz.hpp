// Shared by the fuzzers: parsing an input, judging the result of every call, and a host with failing allocations.
//
// A target is one file that defines LLVMFuzzerTestOneInput(), which libFuzzer and AFL++ call; in ordinary builds
// replay.cpp calls it for each stored input. A finding prints one line and calls abort().
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "xformer/xformer.h"

namespace fuzz {

[[noreturn]] void defect(const char *format, ...) __attribute__((format(printf, 1, 2)));

// An input as a sequence of small choices, and the rest as it is. When it has ended all choices are 0.
class Choices {
public:
    Choices(const uint8_t *data, size_t size) : at_(data), left_(size) {}

    size_t left() const { return left_; }
    bool any() const { return left_ > 0; }
    uint8_t byte();
    uint64_t number(size_t bytes);  // little endian
    size_t below(size_t end) { return end < 2 ? 0 : number(end > 256 ? 4 : 1) % end; }
    bool flip() { return (byte() & 1) != 0; }
    int64_t integer();                                 // small, or at the edge of some type, or any
    std::string_view bytes(size_t count);              // as many as there are, at most
    std::string_view text() { return bytes(byte()); }  // up to 255 bytes
    std::string_view rest() { return bytes(left_); }

private:
    const uint8_t *at_;
    size_t left_;
};

// The error object of the calls of this thread, and what holds for each of them.
class Judge {
public:
    xf_error *fresh();
    // Returns the status. Defects: XF_ERROR_INTERNAL, an error without a message, a message that is not one line of
    // UTF-8, and errors that were not injected (no memory, forked, backend).
    xf_status of(xf_status status, const char *call);
    const char *message() const { return error_.message; }

private:
    xf_error error_;
};
extern thread_local Judge judge;
// JUDGED(function, arguments without the error): the status of the call.
#define JUDGED(function, ...) fuzz::judge.of(function(__VA_ARGS__, fuzz::judge.fresh()), #function)

// Failing allocations in programs with failing.cpp: the hash of the input selects the allocation, so both kinds of
// programs use the same inputs. Counts operator new and the host's allocator on this thread while the object lives.
class Shortage {
public:
    Shortage(const uint8_t *data, size_t size);
    ~Shortage();
    static bool happened();  // since the last Shortage began
    static void end();       // from now on there is memory again
};
extern bool (*take_one)(size_t bytes);  // false: no memory; null where nothing fails

class Host;
// The body of a target: without memory where the input says, and nothing of the host's is held at the end.
void run(const Host &host, const uint8_t *data, size_t size, const std::function<void()> &body);

// For calls that may take long: checks their progress.
extern const xf_call watched;

// A host whose allocator checks its arguments and fails as Shortage says.
class Host {
public:
    Host();
    ~Host();  // all must have been freed
    const xf_host *get() const { return &host_; }
    xf_host *edit() { return &host_; }
    size_t held() const { return held_; }

private:
    xf_host host_;
    std::atomic<size_t> held_{0};
    friend struct HostCalls;
};

template <class T, void (*release)(T *)>
class Handle {
public:
    using Object = T;
    Handle() = default;
    Handle(Handle &&other) noexcept : it_(other.it_) { other.it_ = nullptr; }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { release(it_); }
    T **out() {
        release(it_);
        it_ = nullptr;
        return &it_;
    }
    T **raw() { return &it_; }
    operator T *() const { return it_; }

private:
    T *it_ = nullptr;
};
using Config = Handle<xf_config, xf_config_free>;
using Context = Handle<xf_context, xf_context_free>;
using Tokenizer = Handle<xf_tokenizer, xf_tokenizer_free>;
using Corpus = Handle<xf_corpus, xf_corpus_free>;
using Batcher = Handle<xf_batcher, xf_batcher_free>;
using Model = Handle<xf_model, xf_model_free>;
using Trainer = Handle<xf_trainer, xf_trainer_free>;
using Decoder = Handle<xf_decoder, xf_decoder_free>;
using Hypotheses = Handle<xf_hypotheses, xf_hypotheses_free>;

// Two sentences as they are in a batch.
inline constexpr int32_t kIds[] = {2, 3, 1, 66, 1};
inline constexpr int64_t kOffsets[] = {0, 3, 5};
inline constexpr xf_batch kBatch = {sizeof kBatch, 2, kIds, kOffsets, kIds, kOffsets, nullptr, nullptr, 0};

// Pairs that seeds and targets train and read.
inline constexpr char kPairs[] = "one two\teins zwei\nthe house\tdas Haus\nthe caf\xC3\xA9\tdas Caf\xC3\xA9\n";

// Options of the smallest context and model: the plain kernels, one thread, 64 MiB.
void set_small(xf_config *config);

// Created once by each target: the smallest options and a context.
struct World {
    Host host;
    Config config;
    Context context;
    explicit World(const char *memory_budget = "67108864");
};

// The same with kPairs and a tokenizer learnt from them.
struct TextWorld : World {
    Corpus corpus;
    Tokenizer tokenizer;
    TextWorld();
};

// A file in memory, whose name the library can open. Its folder is /dev/shm, or TMPDIR where there is none.
class ScratchFile {
public:
    explicit ScratchFile(const char *name);
    ~ScratchFile();
    const char *path() const { return path_.c_str(); }
    void write(std::string_view bytes) const;
    std::string read() const;

private:
    std::string path_;
};

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
