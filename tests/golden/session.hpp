// Shared by the tests of this folder: the golden files, the error measure, and owning handles of the public API.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/safetensors.h"
#include "xformer/xformer.h"

namespace xf_golden {

// Throws if a call fails; the test program reports the exception.
template <class Call>
void ok(const char *what, Call call) {
    xf_error err{};
    const xf_status status = call(&err);
    if (status != XF_OK) xf::fail(status, "%s: %s", what, err.message);
}
#define XF_GOLDEN_OK(function, ...) \
    ::xf_golden::ok(#function, [&](xf_error *err) { return function(__VA_ARGS__, err); })

template <class T, void (*Free)(T *)>
struct Freer {
    void operator()(T *handle) const { Free(handle); }
};
template <class T, void (*Free)(T *)>
using Handle = std::unique_ptr<T, Freer<T, Free>>;
using Config = Handle<xf_config, xf_config_free>;
using Context = Handle<xf_context, xf_context_free>;
using Model = Handle<xf_model, xf_model_free>;
using Trainer = Handle<xf_trainer, xf_trainer_free>;
using Decoder = Handle<xf_decoder, xf_decoder_free>;
using Hypotheses = Handle<xf_hypotheses, xf_hypotheses_free>;

// Options by key, as text.
using Settings = std::map<std::string, std::string>;

inline Config make_config(const Settings &settings) {
    xf_config *raw = nullptr;
    XF_GOLDEN_OK(xf_config_create, &raw);
    Config config(raw);
    for (const auto &pair : settings) XF_GOLDEN_OK(xf_config_set, raw, pair.first.c_str(), pair.second.c_str());
    return config;
}

// A file that make_golden.py wrote. It has no checksum.
class Golden {
public:
    explicit Golden(const std::string &path) : reader_(std::make_shared<xf::InputFile>(path)) {}

    const std::vector<xf::TensorInfo> &tensors() const { return reader_.tensors(); }
    std::vector<float> floats(const std::string &name) const { return read<float>(name, "F32"); }
    std::vector<int32_t> ints(const std::string &name) const { return read<int32_t>(name, "I32"); }

    Settings options() const {
        Settings settings;
        for (const auto &[key, value] : reader_.metadata())
            if (key.starts_with("model.") || key.starts_with("train.")) settings[key] = value;
        return settings;
    }

    // The options of each beam search. The tensors "decode.i.*" have the results of search i.
    std::vector<Settings> searches() const {
        std::vector<Settings> list;
        for (;;) {
            const auto found = reader_.metadata().find("decode." + std::to_string(list.size()));
            if (found == reader_.metadata().end()) return list;
            Settings settings;
            std::istringstream words(found->second);
            for (std::string word; words >> word;)
                settings[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
            list.push_back(std::move(settings));
        }
    }

private:
    template <class T>
    std::vector<T> read(const std::string &name, const char *dtype) const {
        const xf::TensorInfo *info = reader_.find(name);
        if (info == nullptr || info->dtype != dtype)
            xf::fail(XF_ERROR_NOT_FOUND, "no %s tensor %s", dtype, name.c_str());
        std::vector<T> values((info->end - info->begin) / sizeof(T));
        const xf::Input &file = reader_.input();
        const uint64_t data = file.size() - tensors().back().end;  // the tensors cover the file to its end
        file.read_at(data + info->begin, values.data(), info->end - info->begin);
        return values;
    }

    xf::SafetensorsReader reader_;
};

constexpr const char *kFiles[] = {"post", "shapes", "pre", "swish", "gelu", "gated", "rms"};
inline Golden open(const char *file) { return Golden(std::string(XF_GOLDEN_FOLDER "/") + file + ".safetensors"); }

constexpr double kTolerance = 1e-4;
// max|found - expected| / max|expected|
template <class T>
double relative_error(const std::vector<T> &found, const std::vector<float> &expected) {
    if (found.size() != expected.size()) return INFINITY;
    double difference = 0, scale = 0;
    for (size_t i = 0; i < found.size(); ++i) {
        const double d = std::fabs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
        difference = d <= difference ? difference : d;  // so that a NaN is kept
        scale = std::max(scale, std::fabs(static_cast<double>(expected[i])));
    }
    return scale > 0 ? difference / scale : difference;
}

}  // namespace xf_golden
