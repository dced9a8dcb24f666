// Opening a file and checking its header. See model_file.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/model_file.h"

#include <string_view>

#include "core/error.h"

namespace xf {
namespace {

// The prefixes of the parameters and of the additional blocks of a checkpoint.
std::vector<std::string> prefixes(const std::string &kind, const Options &options) {
    if (kind != "checkpoint") return {""};
    if (options.f64("train.ema") > 0) return {"", "adam.m.", "adam.v.", "ema."};
    return {"", "adam.m.", "adam.v."};
}

std::string shown(const std::vector<int64_t> &shape) {
    std::string text = "[";
    for (const int64_t dimension : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(dimension);
    return text + "]";
}

bool is_option(std::string_view key) { return key.starts_with("model.") || key.starts_with("train."); }

}  // namespace

std::vector<int64_t> tensor_shape(const Parameter &p) {
    return p.vector ? std::vector<int64_t>{p.columns} : std::vector<int64_t>{p.rows, p.columns};
}

std::string scale_name(const Parameter &p) { return p.name + "_scale"; }

const char *tensor_dtype(uint32_t weights_type) {
    constexpr const char *kNames[] = {"F32", "BF16", "F16", "I8"};
    return kNames[weights_type];
}

uint32_t dtype_type(std::string_view dtype) {
    for (const uint32_t type : {XF_WEIGHTS_BF16, XF_WEIGHTS_FP16, XF_WEIGHTS_INT8})
        if (dtype == tensor_dtype(type)) return type;
    return XF_WEIGHTS_NUM;
}

ModelFile::ModelFile(std::shared_ptr<const Input> input) : reader_(std::move(input)), table_(read_header()) {
    check_tensors();
}

ParameterTable ModelFile::read_header() {
    const Metadata &metadata = reader_.metadata();
    const auto file_format = metadata.find("format");
    XF_CHECK(file_format != metadata.end() && file_format->second == kModelFormat, XF_ERROR_CORRUPT,
             "'%s' is a safetensors file of another program, expected metadata 'format' %s: convert it with python -m "
             "xformer.convert",
             path().c_str(), kModelFormat);
    XF_CHECK(require("format_version") == kModelFormatVersion, XF_ERROR_VERSION,
             "'%s' has format version %.32s, expected %s", path().c_str(), require("format_version").c_str(),
             kModelFormatVersion);
    contents_.kind = require("kind");
    XF_CHECK(kind() == "model" || kind() == "checkpoint", XF_ERROR_VERSION,
             "'%s' has the kind '%.32s', expected model or checkpoint", path().c_str(), kind().c_str());
    for (const auto &[key, value] : metadata) {
        if (key.starts_with(UserMetadata::kPrefix)) {
            add_user_metadata(key, value);
        } else if (is_option(key)) {
            try {
                options_.set(key, value);
            } catch (const Error &error) {
                fail(error.status() == XF_ERROR_NOT_FOUND ? XF_ERROR_VERSION : XF_ERROR_CORRUPT, "'%s': %s",
                     path().c_str(), error.what());
            }
        } else if (key == "tokenizer") {
            contents_.tokenizer = value;
        } else if (key != "format" && key != "format_version" && key != "kind" && key != kDigestKey) {
            contents_.extra[key] = value;
        }
    }
    // An invalid configuration is an error of the file, not of the caller.
    try {
        // Each layer has at least one tensor, so a file with fewer tensors is rejected before the table is allocated.
        const auto layers = options_.i64("model.encoder_layers") + options_.i64("model.decoder_layers");
        XF_CHECK(layers <= std::ssize(reader_.tensors()), XF_ERROR_CORRUPT,
                 "'%s' has %zu tensors, expected at least one for each of %" PRId64 " layers", path().c_str(),
                 reader_.tensors().size(), layers);
        return ParameterTable(ModelConfig::from(options_));
    } catch (const Error &error) {
        if (error.status() != XF_ERROR_INVALID_ARGUMENT) throw;
        throw Error(XF_ERROR_CORRUPT, format("'%s': %s", path().c_str(), error.what()));
    }
}

void ModelFile::add_user_metadata(std::string_view key, const std::string &value) {
    key.remove_prefix(std::string_view(UserMetadata::kPrefix).size());
    try {
        user_.set(key, value);
    } catch (const Error &error) {
        fail(error.status() == XF_ERROR_LIMIT ? XF_ERROR_LIMIT : XF_ERROR_CORRUPT, "'%s': metadata '%s%.32s': %s",
             path().c_str(), UserMetadata::kPrefix, std::string(key).c_str(), error.what());
    }
}

const std::string &ModelFile::require(const std::string &key) const {
    const auto found = reader_.metadata().find(key);
    XF_CHECK(found != reader_.metadata().end(), XF_ERROR_CORRUPT, "'%s' does not have the metadata '%s'",
             path().c_str(), key.c_str());
    return found->second;
}

const TensorInfo &ModelFile::tensor(const std::string &name, const std::vector<int64_t> &shape) const {
    const TensorInfo *tensor = reader_.find(name);
    XF_CHECK(tensor != nullptr, XF_ERROR_CORRUPT, "'%s' does not have the tensor '%s'", path().c_str(), name.c_str());
    XF_CHECK(tensor->shape == shape, XF_ERROR_CORRUPT, "'%s': tensor '%s' has the shape %s, expected %s",
             path().c_str(), name.c_str(), shown(tensor->shape).c_str(), shown(shape).c_str());
    return *tensor;
}

// int8 if any matrix is; otherwise fp32 if the types differ.
void ModelFile::find_weights_type() {
    bool first = true;
    for (const Parameter &p : table_.list) {
        if (!table_.is_matrix(p)) continue;
        const TensorInfo *const found = reader_.find(p.name);
        const uint32_t type = found != nullptr ? dtype_type(found->dtype) : uint32_t{XF_WEIGHTS_NUM};
        if (type == XF_WEIGHTS_INT8) {
            contents_.weights_type = type;
            return;
        }
        contents_.weights_type = first || contents_.weights_type == type ? type : uint32_t{XF_WEIGHTS_NUM};
        first = false;
    }
}

void ModelFile::check_tensors() {
    const bool is_model = kind() == "model";
    if (is_model) find_weights_type();
    const bool int8 = contents_.weights_type == XF_WEIGHTS_INT8;
    size_t expected = 0;
    for (const std::string &prefix : prefixes(kind(), options_)) {
        for (const Parameter &p : table_.list) {
            const TensorInfo &found = tensor(prefix + p.name, tensor_shape(p));
            const bool matrix = int8 && table_.is_matrix(p);
            const bool valid = matrix ? found.dtype == "I8"
                                      : found.dtype == "F32" || (is_model && !int8 && dtype_bytes(found.dtype) == 2);
            XF_CHECK(valid, XF_ERROR_CORRUPT, "'%s': tensor '%s%s' has type %s, expected %s", path().c_str(),
                     prefix.c_str(), p.name.c_str(), found.dtype.c_str(),
                     matrix              ? "I8, like the other matrices"
                     : is_model && !int8 ? "F32, F16, or BF16, or I8 for all matrices"
                                         : "F32");
            ++expected;
            if (!matrix) continue;
            check_int8_columns(p);
            const TensorInfo &scales = tensor(scale_name(p), {p.rows});
            XF_CHECK(scales.dtype == "F32", XF_ERROR_CORRUPT, "'%s': tensor '%s' has type %s, expected F32",
                     path().c_str(), scales.name.c_str(), scales.dtype.c_str());
            ++expected;
        }
    }
    XF_CHECK(reader_.tensors().size() == expected, XF_ERROR_CORRUPT,
             "'%s' has %zu tensors, expected %zu for its configuration", path().c_str(), reader_.tensors().size(),
             expected);
}

std::shared_ptr<Model> ModelFile::make_model(std::shared_ptr<Context> context, uint32_t weights_type) const {
    auto model = std::make_shared<Model>(std::move(context), options_, weights_type);
    model->metadata() = user_;
    return model;
}

}  // namespace xf
