// Shared by the tests of this folder: the golden files and the error measure.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../unit/nn/fixture.hpp"
#include "core/safetensors.h"

namespace xf_golden {

using namespace xf_test;

// A file that make_golden.py wrote. It has no checksum.
class Golden {
public:
    explicit Golden(const std::string &path) : reader_(std::make_shared<xf::InputFile>(path)) {}

    const std::vector<xf::TensorInfo> &tensors() const { return reader_.tensors(); }
    std::vector<float> floats(const std::string &name) const { return read<float>(name, "F32"); }
    std::vector<int32_t> ints(const std::string &name) const { return read<int32_t>(name, "I32"); }

    // The sentences of a side of a batch, or of other tensors name + "ids" and name + "offsets".
    std::vector<Ids> sentences(const std::string &name) const {
        const std::vector<int32_t> all = ints(name + "ids"), offsets = ints(name + "offsets");
        std::vector<Ids> split;
        for (size_t i = 1; i < offsets.size(); ++i)
            split.emplace_back(all.begin() + offsets[i - 1], all.begin() + offsets[i]);
        return split;
    }
    Pairs pairs(const std::string &batch) const { return {sentences(batch + ".src_"), sentences(batch + ".tgt_")}; }

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
            list.push_back(operator""_set(found->second.data(), found->second.size()));
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
