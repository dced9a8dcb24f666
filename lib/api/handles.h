// The opaque handles, except those that only decode.cpp uses. Each begins with a magic word, so that a wrong or freed
// handle is an error and not a crash (as far as freed memory can tell), and holds its parents by count, so that handles
// may be freed in any order. Its usage word records the calls that use it (guard.h).
//
// A handle that is part of another (the tokenizer of a model) is a separate object: a call that uses it while its owner
// is freed keeps it until the end of the call.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/options.h"
#include "core/usage.h"
#include "xformer/data.h"

namespace xf {

// Each file of lib/api includes the classes that it uses. A shared_ptr can destroy a class that is only declared here.
class Batcher;
class Context;
class Corpus;
class Model;
class Tokenizer;
class Trainer;
struct Batch;

constexpr uint32_t kFreedMagic = 0xDEADF4EEu;

template <uint32_t Magic>
struct Handle {
    static constexpr uint32_t kMagic = Magic;
    std::atomic<uint32_t> magic{Magic};
    mutable Usage usage;
};

// Frees a handle now, or at the end of the last call that uses it.
template <class T>
void let_go(T *handle) noexcept {
    handle->magic.store(kFreedMagic, std::memory_order_relaxed);
    if (handle->usage.let_go()) delete handle;
}

struct LetGo {
    template <class T>
    void operator()(T *handle) const noexcept {
        let_go(handle);
    }
};
// A handle that is part of another.
template <class T>
using Part = std::unique_ptr<T, LetGo>;

}  // namespace xf

struct xf_config : xf::Handle<0x58460001u> {
    static constexpr const char *kKind = "a config";
    bool borrowed = false;  // owned by another handle: freeing it has no effect
    xf::Options options;
};

struct xf_context : xf::Handle<0x58460002u> {
    static constexpr const char *kKind = "a context";
    std::shared_ptr<xf::Context> context;
};

struct xf_tokenizer : xf::Handle<0x58460003u> {
    static constexpr const char *kKind = "a tokenizer";
    bool borrowed = false;  // owned by another handle: freeing it has no effect
    std::shared_ptr<const xf::Tokenizer> tokenizer;
    std::shared_ptr<const xf::Options> model;  // of the model that owns it; null if none does
    xf::Part<xf_tokenizer> source, target;     // of a pair; otherwise null
};

struct xf_corpus : xf::Handle<0x58460004u> {
    static constexpr const char *kKind = "a corpus";
    std::shared_ptr<xf::Context> context;
    std::shared_ptr<const xf::Corpus> corpus;
};

struct xf_batcher : xf::Handle<0x58460005u> {
    static constexpr const char *kKind = "a batcher";
    std::shared_ptr<xf::Context> context;
    std::shared_ptr<xf::Batcher> batcher;
    std::shared_ptr<xf::Batch> batch;  // what xf_batcher_next() returned
};

struct xf_model : xf::Handle<0x58460006u> {
    static constexpr const char *kKind = "a model";
    bool borrowed = false;  // owned by a trainer: freeing it has no effect
    std::shared_ptr<xf::Context> context;
    std::shared_ptr<xf::Model> model;
    xf::Part<xf_tokenizer> tokenizer;  // null when the model has none
    xf::Part<xf_config> config;        // a copy for the caller to look at
};

struct xf_trainer : xf::Handle<0x58460007u> {
    static constexpr const char *kKind = "a trainer";
    std::shared_ptr<xf::Context> context;
    std::shared_ptr<xf::Trainer> trainer;
    std::vector<xf_batch> batches;  // of the call that runs; kept, so that a step allocates nothing
    xf::Part<xf_model> model;
    xf::Part<xf_config> config;
};
