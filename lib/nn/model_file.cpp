// See model_file.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/model_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/checked.h"
#include "core/error.h"
#include "core/half.h"

namespace xf {
namespace {

constexpr char kFormat[] = "xformer";
constexpr char kVersion[] = "1";
// What a file holds: the parameters, and a checkpoint's further blocks.
std::vector<std::string> prefixes(const std::string &kind, const Options &options) {
    if (kind != "checkpoint") return {""};
    if (options.f64("train.ema") > 0) return {"", "adam.m.", "adam.v.", "ema."};
    return {"", "adam.m.", "adam.v."};
}

std::vector<int64_t> shape_of(const Parameter &p) {
    return p.vector ? std::vector<int64_t>{p.columns} : std::vector<int64_t>{p.rows, p.columns};
}

std::string shown(const std::vector<int64_t> &shape) {
    std::string text = "[";
    for (const int64_t dimension : shape)
        text += format(text.size() > 1 ? ", %lld" : "%lld", static_cast<long long>(dimension));
    return text + "]";
}

bool is_narrow(std::string_view dtype) { return dtype == "F16" || dtype == "BF16"; }

void add_block(SafetensorsWriter *writer, Stream *stream, const ParameterTable &table, const std::string &prefix,
               const float *block) {
    for (const Parameter &p : table.list) {
        const char *data = reinterpret_cast<const char *>(block + p.offset);
        writer->add(prefix + p.name, "F32", shape_of(p), [stream, data](uint64_t offset, void *dst, size_t bytes) {
            stream->download(dst, data + offset, bytes);
        });
    }
}

// The same in 16 bits. The writer asks for any bytes, so a number may be cut in two.
void add_narrow(SafetensorsWriter *writer, Stream *stream, const ParameterTable &table, const std::string &dtype,
                const float *block) {
    const bool fp16 = dtype == "F16";
    for (const Parameter &p : table.list) {
        const float *data = block + p.offset;
        writer->add(p.name, dtype, shape_of(p), [stream, data, fp16, &p](uint64_t offset, void *dst, size_t bytes) {
            const uint16_t infinity = fp16 ? 0x7C00 : 0x7F80;
            const size_t first = offset / 2, last = (offset + bytes + 1) / 2;
            std::vector<float> wide(last - first);
            stream->download(wide.data(), data + first, wide.size() * sizeof(float));
            std::vector<uint16_t> halves(wide.size());
            for (size_t i = 0; i < wide.size(); ++i) {
                halves[i] = fp16 ? to_fp16(wide[i]) : to_bf16(wide[i]);
                // A file with it could not be loaded.
                XF_CHECK((halves[i] & infinity) != infinity, XF_ERROR_OUT_OF_RANGE,
                         "'%s' has the number %s, expected %s", p.name.c_str(),
                         number(static_cast<double>(wide[i])).c_str(),
                         fp16 ? "what fp16 holds, -65504 to 65504: bf16 reaches further"
                              : "what bf16 holds, -3.3895e38 to 3.3895e38");
            }
            std::memcpy(dst, reinterpret_cast<const char *>(halves.data()) + offset % 2, bytes);
        });
    }
}

// From least to the largest number; a NaN is outside.
bool all_within(const float *values, size_t count, float least) {
    bool good = true;
    for (size_t i = 0; i < count; ++i) good &= values[i] >= least && values[i] <= std::numeric_limits<float>::max();
    return good;
}

bool is_option(std::string_view key) { return key.starts_with("model.") || key.starts_with("train."); }

SafetensorsWriter make_writer(const Model &model, Stream *stream, const FileContents &contents,
                              const std::vector<ExtraBlock> &blocks) {
    SafetensorsWriter writer;
    writer.set_metadata("format", kFormat);
    writer.set_metadata("format_version", kVersion);
    writer.set_metadata("kind", contents.kind);
    if (!contents.tokenizer.empty()) writer.set_metadata("tokenizer", contents.tokenizer);
    for (size_t i = 0; i < option_count(); ++i)
        if (std::string_view(option(i).key).starts_with("model."))
            writer.set_metadata(option(i).key, model.options().text(option(i).key));
    for (const auto &[key, value] : contents.extra) writer.set_metadata(key, value);
    for (const auto &[key, value] : model.metadata().all()) writer.set_metadata(UserMetadata::kPrefix + key, value);
    if (is_narrow(contents.dtype))
        add_narrow(&writer, stream, model.table(), contents.dtype, model.params());
    else
        add_block(&writer, stream, model.table(), "", model.params());
    for (const ExtraBlock &block : blocks) add_block(&writer, stream, model.table(), block.prefix, block.data);
    return writer;
}

}  // namespace

std::string file_dtype(const Options &options) {
    const std::string &precision = options.str("file.precision");
    return precision == "fp16" ? "F16" : precision == "bf16" ? "BF16" : "F32";
}

std::string save_model_file(const std::string &path, const Model &model, Stream &stream, const FileContents &contents,
                            const std::vector<ExtraBlock> &blocks, const Call &call) {
    std::string digest = make_writer(model, &stream, contents, blocks).write(path, posix_io(), true, call);
    model.context().log(XF_LOG_INFO, "file", format("saved the %s '%s'", contents.kind.c_str(), path.c_str()));
    return digest;
}

size_t save_model_memory(void *buffer, size_t capacity, const Model &model, Stream &stream,
                         const FileContents &contents, const Call &call) {
    const SafetensorsWriter writer = make_writer(model, &stream, contents, {});
    const auto bytes = checked_cast<size_t>(writer.bytes("memory"), "the size of a model");
    if (bytes > capacity) return bytes;
    MemoryOutput output(buffer, capacity);
    writer.write(&output, "memory", call);
    return bytes;
}

ModelFile::ModelFile(std::shared_ptr<const Input> input) : reader_(std::move(input)), table_(read_header()) {
    check_tensors();
}

ParameterTable ModelFile::read_header() {
    const Metadata &metadata = reader_.metadata();
    const auto made_by = metadata.find("format");
    XF_CHECK(made_by != metadata.end() && made_by->second == kFormat, XF_ERROR_CORRUPT,
             "'%s' is a safetensors file but not one of a model of this library", path().c_str());
    XF_CHECK(require("format_version") == kVersion, XF_ERROR_VERSION, "'%s' has format version %.32s, expected %s",
             path().c_str(), require("format_version").c_str(), kVersion);
    contents_.kind = require("kind");
    XF_CHECK(kind() == "model" || kind() == "checkpoint", XF_ERROR_VERSION,
             "'%s' is of kind '%.32s', expected model or checkpoint", path().c_str(), kind().c_str());
    for (const auto &[key, value] : metadata) {
        if (key.starts_with(UserMetadata::kPrefix)) {
            take_user_text(key, value);
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
    // A damaged configuration is the file's fault, not the caller's.
    try {
        // A table has at least one tensor a layer: a file with fewer is refused before the table is made.
        const auto layers = options_.i64("model.encoder_layers") + options_.i64("model.decoder_layers");
        XF_CHECK(static_cast<uint64_t>(layers) <= reader_.tensors().size(), XF_ERROR_CORRUPT,
                 "'%s' has %zu tensors for %lld layers", path().c_str(), reader_.tensors().size(),
                 static_cast<long long>(layers));
        return ParameterTable(ModelConfig::from(options_));
    } catch (const Error &error) {
        if (error.status() != XF_ERROR_INVALID_ARGUMENT) throw;
        throw Error(XF_ERROR_CORRUPT, format("'%s': %s", path().c_str(), error.what()));
    }
}

void ModelFile::take_user_text(std::string_view key, const std::string &value) {
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
    XF_CHECK(found != reader_.metadata().end(), XF_ERROR_CORRUPT, "'%s' lacks the metadata '%s'", path().c_str(),
             key.c_str());
    return found->second;
}

void ModelFile::check_tensors() {
    const std::vector<std::string> blocks = prefixes(kind(), options_);
    XF_CHECK(reader_.tensors().size() == table_.list.size() * blocks.size(), XF_ERROR_CORRUPT,
             "'%s' has %zu tensors, expected %zu for its configuration", path().c_str(), reader_.tensors().size(),
             table_.list.size() * blocks.size());
    size_t widest = 0;
    for (const std::string &prefix : blocks) {
        for (const Parameter &p : table_.list) {
            const TensorInfo *tensor = reader_.find(prefix + p.name);
            XF_CHECK(tensor != nullptr, XF_ERROR_CORRUPT, "'%s' lacks the tensor '%s%s'", path().c_str(),
                     prefix.c_str(), p.name.c_str());
            XF_CHECK(tensor->shape == shape_of(p), XF_ERROR_CORRUPT,
                     "'%s': tensor '%s%s' has the shape %s, expected %s", path().c_str(), prefix.c_str(),
                     p.name.c_str(), shown(tensor->shape).c_str(), shown(shape_of(p)).c_str());
            XF_CHECK(tensor->dtype == "F32" || (kind() == "model" && is_narrow(tensor->dtype)), XF_ERROR_CORRUPT,
                     "'%s': tensor '%s%s' is of type %s, expected F32%s", path().c_str(), prefix.c_str(),
                     p.name.c_str(), tensor->dtype.c_str(), kind() == "model" ? ", F16 or BF16" : "");
            if (dtype_bytes(tensor->dtype) <= widest) continue;
            widest = dtype_bytes(tensor->dtype);
            contents_.dtype = tensor->dtype;
        }
    }
}

std::shared_ptr<Model> ModelFile::make_model(std::shared_ptr<Context> context) const {
    auto model = std::make_shared<Model>(std::move(context), options_);
    model->metadata() = user_;
    return model;
}

void ModelFile::load(const Model &model, Stream &stream, const std::vector<ExtraBlock> &blocks,
                     const Call &call) const {
    struct Destination {
        float *data;
        float least;
    };
    std::map<std::string, Destination> destinations;
    const auto add = [&](const ExtraBlock &block) {
        for (const Parameter &p : model.table().list)
            destinations[block.prefix + p.name] = {block.data + p.offset, block.least};
    };
    add({"", model.params()});
    for (const ExtraBlock &block : blocks) add(block);

    // Where device memory is not the host's, each tensor goes through a staging buffer; narrow ones are read into one.
    const bool direct = stream.device().host_memory();
    std::vector<float> staging;
    std::vector<uint16_t> halves;
    const TensorInfo *pending = nullptr;
    std::string bad;  // told after the checksum: most likely the file is damaged
    const auto finish = [&] {
        if (pending == nullptr) return;
        const Destination &to = destinations.at(pending->name);
        const bool narrow = is_narrow(pending->dtype);
        const size_t count = static_cast<size_t>(pending->end - pending->begin) / (narrow ? 2 : 4);
        float *values = direct ? to.data : staging.data();
        if (narrow)
            std::transform(halves.begin(), halves.end(), values, pending->dtype == "F16" ? from_fp16 : from_bf16);
        if (bad.empty() && !all_within(values, count, to.least)) bad = pending->name;
        if (!direct) stream.upload(to.data, values, count * sizeof(float));
        pending = nullptr;
    };
    const auto destination = [&](const TensorInfo &tensor) -> void * {
        finish();
        const auto found = destinations.find(tensor.name);
        if (found == destinations.end()) return nullptr;
        pending = &tensor;
        const auto bytes = static_cast<size_t>(tensor.end - tensor.begin);
        const bool narrow = is_narrow(tensor.dtype);
        if (!direct) staging.resize(bytes / (narrow ? 2 : 4));
        if (narrow) {
            halves.resize(bytes / 2);
            return halves.data();
        }
        return direct ? found->second.data : staging.data();
    };
    reader_.load_all(destination, call);
    finish();
    XF_CHECK(bad.empty(), XF_ERROR_CORRUPT, "'%s': tensor '%s' has a number that is not finite%s", path().c_str(),
             bad.c_str(), destinations.at(bad).least < 0 ? "" : " or negative");
    model.parameters_written(stream);
    stream.sync();
    model.context().log(XF_LOG_INFO, "file",
                        format("loaded the %s '%s', %llu bytes", kind().c_str(), path().c_str(),
                               static_cast<unsigned long long>(bytes())));
}

}  // namespace xf
