// Shared by the tests of nn, train, and decode: the devices of this machine, tiny models of every kind, random
// sentences, and a network whose losses and gradients can be read.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/context.h"
#include "core/error.h"
#include "core/output.h"
#include "core/philox.h"
#include "nn/model_file.h"
#include "nn/transformer.h"
#include "support/test.hpp"

namespace xf_test {

struct DeviceName {
    const char *device, *isa;
    bool required;  // part of this build, so it must open
    const char *precision = "fp32";
    bool graphs = true;
    std::string text() const { return std::string(device) + "/" + isa + (bf16() ? "/bf16" : ""); }
    bool fast() const { return std::string_view(device) != "cpu:ref"; }
    bool bf16() const { return std::string_view(precision) == "bf16"; }
    bool cuda() const { return std::string_view(device) == "cuda"; }
};

#ifndef XF_HAVE_OPENBLAS
#define XF_HAVE_OPENBLAS false
#endif
inline constexpr DeviceName kDevices[] = {
    {"cpu:ref", "auto", true},
#if XF_TEST_SANITIZED  // backend_ops runs the kernels of each instruction set, with all shapes
    {"cpu:openblas", "auto", XF_HAVE_OPENBLAS},
#else
    {"cpu:openblas", "base", XF_HAVE_OPENBLAS},
    {"cpu:openblas", "avx2", false},
    {"cpu:openblas", "avx512", false},
    {"cpu:openblas", "neon", false},
#endif
    {"cuda", "auto", false},
    {"cuda", "auto", false, "bf16"},
    {"cpu:openblas", "auto", XF_HAVE_OPENBLAS, "bf16"},
};

using Settings = std::map<std::string, std::string>;

inline xf::Options options_of(const Settings &settings) {
    xf::Options options;
    for (const auto &[key, value] : settings) options.set(key, value);
    return options;
}

// "KEY=VALUE ..."_set
inline Settings operator""_set(const char *text, size_t size) {
    Settings settings;
    std::istringstream words(std::string(text, size));
    for (std::string word; words >> word;) settings[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    return settings;
}

inline Settings with(Settings settings, const Settings &more) {
    for (const auto &[key, value] : more) settings[key] = value;
    return settings;
}

// Prints the reason and returns null if this machine does not have the device.
inline std::shared_ptr<xf::Context> open_device(const DeviceName &name, int threads, const xf_host *host = nullptr) {
    try {
        const auto context = std::make_shared<xf::Context>(options_of({{"context.device", name.device},
                                                                       {"context.isa", name.isa},
                                                                       {"context.precision", name.precision},
                                                                       {"context.threads", std::to_string(threads)}}),
                                                           host);
        if (!name.graphs) context->disable_graphs();
        return context;
    } catch (const xf::Error &error) {
        if (name.required) throw;
        static std::set<std::string> told;
        if (told.insert(name.text()).second) std::printf("skipped: %s: %s\n", name.text().c_str(), error.what());
        return nullptr;
    }
}

// XF_TEST_DEVICES ("cpu", "cuda") excludes devices of another kind.
inline bool wanted(const DeviceName &name) {
    const char *const kind = std::getenv("XF_TEST_DEVICES");
    return kind == nullptr || std::string_view(name.device).rfind(kind, 0) == 0;
}

// Calls test(context, name) on every selected device that opens; a GPU that XF_TEST_DEVICES requires must open.
template <class Test>
void on_each_device(int threads, Test test) {
    for (DeviceName name : kDevices) {
        if (!wanted(name)) continue;
        if (name.cuda() && std::getenv("XF_TEST_DEVICES") != nullptr) name.required = true;
        const auto context = open_device(name, threads);
        if (context == nullptr) continue;
        std::fprintf(stderr, "on %s\n", name.text().c_str());  // the device of the failures that follow
        test(context, name);
    }
}

// The best device, for tests that do not depend on it.
inline std::shared_ptr<xf::Context> any_device(int threads = 2) {
    return std::make_shared<xf::Context>(
        options_of({{"context.device", "cpu"}, {"context.threads", std::to_string(threads)}}), nullptr);
}

// The memory of a host. An allocation fails if accepts(size) returns false.
class HostMemory {
public:
    explicit HostMemory(std::function<bool(size_t)> accepts) : accepts_(std::move(accepts)) {}
    xf_host host() {
        xf_host services = XF_HOST_INIT;
        services.alloc_user = this;
        services.alloc = [](void *user, size_t size, size_t alignment) -> void * {
            if (!static_cast<HostMemory *>(user)->accepts_(size)) return nullptr;
            return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
        };
        services.free = [](void *, void *block, size_t) { std::free(block); };
        return services;
    }

private:
    std::function<bool(size_t)> accepts_;
};

// A tiny model, and the variants in which layers differ.
inline const Settings kTinyModel =
    "model.encoder_layers=1 model.decoder_layers=1 model.d_model=16 model.d_ff=24 model.heads=2 "
    "model.d_k=8 model.d_v=8 model.vocab_size=19 model.max_length=96 model.seed=7"_set;
struct Variant {
    const char *name;
    Settings changes;
    Settings settings() const { return with(kTinyModel, changes); }
};
inline const Variant kVariants[] = {
    {"post", {{"model.encoder_layers", "2"}}},
    {"pre", {{"model.norm", "pre"}, {"model.decoder_layers", "2"}}},
    {"odd widths, learned positions",
     {{"model.d_k", "5"}, {"model.d_v", "7"}, {"model.heads", "3"}, {"model.positions", "learned"}}},
    {"pre, window", {{"model.norm", "pre"}, {"model.window", "4"}, {"model.d_k", "3"}, {"model.encoder_layers", "3"}}},
    {"post, window, learned", {{"model.window", "2"}, {"model.positions", "learned"}, {"model.decoder_layers", "3"}}},
    {"swish, biases, fixed positions",
     "model.activation=swish model.attention_bias=true model.output_bias=true "
     "model.positions=fixed model.embedding_norm=true model.d_v=5"_set},
    {"pre, rms, gates, embeddings of their own",
     "model.norm=pre_rms model.activation=geglu model.attention_bias=true "
     "model.embedding_norm=true model.embedding_scale=false model.tie=none "
     "model.source_vocab_size=23"_set},
};

inline std::shared_ptr<xf::Model> make_model(const std::shared_ptr<xf::Context> &context, const Settings &settings) {
    auto model = std::make_shared<xf::Model>(context, options_of(settings));
    model->initialize();
    return model;
}

// The bytes of the file of a model.
inline std::vector<char> file_of(const xf::Model &model, xf::Stream &stream, const xf::FileContents &contents) {
    std::vector<char> bytes;
    const auto write = [](void *user, uint64_t offset, const void *src, size_t count) {
        auto *const to = static_cast<std::vector<char> *>(user);
        to->resize(std::max<size_t>(to->size(), offset + count));
        std::memcpy(to->data() + offset, src, count);
        return 0;
    };
    xf::CallbackOutput output(write, &bytes);
    xf::save_model(&output, "memory", model, stream, contents, {});
    return bytes;
}

// Pseudorandom numbers, the same on every machine.
class Draw {
public:
    explicit Draw(uint64_t key) : key_(key) {}
    uint32_t bits() { return xf::philox(key_, next_++, 0, 0, 0x54455354).word[0]; }
    int64_t between(int64_t low, int64_t high) { return low + bits() % (high - low + 1); }
    template <class T>
    void shuffle(std::vector<T> *values) {
        for (size_t i = values->size(); i > 1; --i) std::swap((*values)[i - 1], (*values)[bits() % i]);
    }

private:
    uint64_t key_;
    uint32_t next_ = 0;
};

using Ids = std::vector<int32_t>;

// The default special tokens.
constexpr int32_t kStartToken = 0, kEndToken = 1;

// Random ids from 2 to V - 1, followed by the end symbol.
inline Ids sentence(Draw *draw, int64_t shortest, int64_t longest, int64_t V) {
    Ids ids(static_cast<size_t>(draw->between(shortest, longest)));
    for (int32_t &id : ids) id = static_cast<int32_t>(draw->between(2, V - 1));
    ids.push_back(kEndToken);
    return ids;
}

struct Pairs {
    std::vector<Ids> src, tgt;
    size_t size() const { return src.size(); }
    Pairs pick(const std::vector<size_t> &which) const {
        Pairs picked;
        for (const size_t i : which) picked.src.push_back(src[i]), picked.tgt.push_back(tgt[i]);
        return picked;
    }
};

inline Pairs random_pairs(uint64_t seed, size_t count, int64_t longest, int64_t V) {
    Draw draw(seed);
    Pairs pairs;
    for (size_t i = 0; i < count; ++i) {
        pairs.src.push_back(sentence(&draw, 0, longest - 1, V));
        pairs.tgt.push_back(sentence(&draw, 0, longest - 1, V));
    }
    return pairs;
}

// The target is the reversed source, a task that a tiny model learns in seconds.
inline Pairs reversal_pairs(uint64_t seed, size_t count, int64_t shortest, int64_t longest, int64_t V) {
    Draw draw(seed);
    Pairs pairs;
    for (size_t i = 0; i < count; ++i) {
        pairs.src.push_back(sentence(&draw, shortest, longest, V));
        Ids reversed(pairs.src.back().rbegin() + 1, pairs.src.back().rend());
        reversed.push_back(kEndToken);
        pairs.tgt.push_back(std::move(reversed));
    }
    return pairs;
}

// Pairs as an xf_batch that owns its arrays.
class Batch {
public:
    explicit Batch(const Pairs &pairs) : Batch(pairs.src, pairs.tgt) {}
    explicit Batch(const std::vector<Ids> &src, const std::vector<Ids> &tgt = {})
        : sentences_(static_cast<int64_t>(src.size())) {
        pack(src, &src_ids_, &src_offsets_);
        pack(tgt, &tgt_ids_, &tgt_offsets_);
    }
    xf_batch view() const {
        xf_batch batch = XF_BATCH_INIT;
        batch.sentences = sentences_;
        batch.src_ids = src_ids_.data();
        batch.src_offsets = src_offsets_.data();
        batch.tgt_ids = tgt_ids_.data();
        batch.tgt_offsets = tgt_offsets_.data();
        return batch;
    }

private:
    static void pack(const std::vector<Ids> &side, Ids *ids, std::vector<int64_t> *offsets) {
        offsets->push_back(0);
        for (const Ids &one : side) {
            ids->insert(ids->end(), one.begin(), one.end());
            offsets->push_back(static_cast<int64_t>(ids->size()));
        }
    }
    int64_t sentences_;
    Ids src_ids_, tgt_ids_;
    std::vector<int64_t> src_offsets_, tgt_offsets_;
};

// Dropout rates and key.
struct Dropout {
    float rate = 0, attention_rate = 0, activation_rate = 0;
    uint64_t seed = 0;
    uint32_t step = 0, batch = 0;
};

// A model and everything that a pass over a batch needs.
class Net {
public:
    Net(const std::shared_ptr<xf::Context> &context, const Settings &settings)
        : model(make_model(context, settings)),
          stream(context->device(), context->dtype()),
          network_(*model, stream),
          grads_(context->device(), bytes()) {}

    // The loss of each target token, sentence by sentence.
    std::vector<std::vector<float>> losses(const Pairs &pairs, const Dropout &key = {}, bool invariant = false,
                                           xf::PassKind mode = xf::PassKind::kTraining) {
        forward(pairs, key, invariant, mode, nullptr);
        return by_sentence(pairs, network_.token_loss());
    }

    // The same without label smoothing or dropout.
    std::vector<std::vector<float>> nlls(const Pairs &pairs) {
        forward(pairs, {}, false, xf::PassKind::kInference, nullptr);
        return by_sentence(pairs, network_.token_nll());
    }

    // The outputs of the two stacks without dropout: [S, D] and [T, D].
    struct Outputs {
        std::vector<float> encoder, decoder;
    };
    Outputs outputs(const Pairs &pairs, bool invariant) {
        const xf::Pass pass = load(pairs, {}, invariant, xf::PassKind::kInference, nullptr);
        const int64_t D = model->config().D;
        Outputs out{std::vector<float>(static_cast<size_t>(packed_.src.tokens * D)),
                    std::vector<float>(static_cast<size_t>(packed_.tgt.tokens * D))};
        read_numbers(network_.encode(pass, packed_), &out.encoder);
        read_numbers(network_.decode(pass, packed_), &out.decoder);
        return out;
    }

    double loss(const Pairs &pairs, const Dropout &key = {}) {
        double sum = 0;
        for (const auto &one : losses(pairs, key)) sum = std::accumulate(one.begin(), one.end(), sum);
        return sum;
    }

    // The gradient of loss() as a block of the parameter table.
    std::vector<float> gradient(const Pairs &pairs, const Dropout &key = {}) {
        stream.zero(grads_.data(), bytes());
        const xf::Pass pass = forward(pairs, key, false, xf::PassKind::kTraining, grads_.floats());
        network_.backward(pass, packed_);
        return gradient_so_far();
    }
    std::vector<float> gradient_so_far() {
        std::vector<float> block(static_cast<size_t>(model->table().total));
        stream.download(block.data(), grads_.data(), bytes());
        return block;
    }

    std::vector<float> params() {
        std::vector<float> block(static_cast<size_t>(model->table().total));
        stream.download(block.data(), model->params(), bytes());
        return block;
    }
    void set_params(const std::vector<float> &block) {
        stream.upload(model->params(), block.data(), bytes());
        model->parameters_written(stream);
    }

    const std::shared_ptr<xf::Model> model;
    xf::Stream stream;

private:
    size_t bytes() const { return static_cast<size_t>(model->table().total) * sizeof(float); }

    // Downloads values of the type of the stream as floats.
    void read_numbers(const void *from, std::vector<float> *values) {
        if (model->dtype() == XF_FP32) return stream.download(values->data(), from, values->size() * sizeof(float));
        std::vector<uint16_t> halves(values->size());
        stream.download(halves.data(), from, halves.size() * sizeof(uint16_t));
        for (size_t i = 0; i < halves.size(); ++i) {
            const uint32_t word = uint32_t{halves[i]} << 16;
            std::memcpy(&(*values)[i], &word, sizeof word);
        }
    }

    std::vector<std::vector<float>> by_sentence(const Pairs &pairs, const float *values) {
        std::vector<std::vector<float>> split;
        for (const Ids &one : pairs.tgt) {
            split.emplace_back(one.size());
            stream.download(split.back().data(), values, one.size() * sizeof(float));
            values += one.size();
        }
        return split;
    }

    xf::Pass load(const Pairs &pairs, const Dropout &key, bool invariant, xf::PassKind mode, float *grads) {
        const Batch batch(pairs);
        packed_.load(stream, model->config(), batch.view(), xf::PackedBatch::Sides::kBoth, true, {key.step, key.batch});
        if (key.activation_rate > 0) mode = xf::PassKind::kInnerDropout;
        network_.prepare(packed_, mode, true);
        xf::Pass pass{*model, stream, call_};
        pass.grads = grads;
        pass.invariant = invariant;
        pass.dropout = {key.rate, key.attention_rate, key.activation_rate, key.seed, packed_.when};
        return pass;
    }

    xf::Pass forward(const Pairs &pairs, const Dropout &key, bool invariant, xf::PassKind mode, float *grads) {
        const xf::Pass pass = load(pairs, key, invariant, mode, grads);
        network_.encode(pass, packed_);
        network_.decode(pass, packed_);
        network_.loss(pass, packed_, 0.1f, false);
        return pass;
    }

    const xf::Call call_;
    xf::Transformer network_;
    xf::Buffer grads_;
    xf::PackedBatch packed_;
};

}  // namespace xf_test
