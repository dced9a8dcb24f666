// Saving: every tensor is asked for in pieces and made from the model as it stands. See model_file.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "core/checked.h"
#include "nn/model_file.h"

namespace xf {
namespace {

// Gives bytes of numbers that make(first, count, numbers) has. The writer asks for any, so one may be cut in two.
template <class T, class Make>
void give(uint64_t offset, void *dst, size_t bytes, const Make &make) {
    const auto first = static_cast<int64_t>(offset / sizeof(T));
    const auto end = static_cast<int64_t>((offset + bytes + sizeof(T) - 1) / sizeof(T));
    std::vector<T> numbers(static_cast<size_t>(end - first));
    make(first, end - first, numbers.data());
    std::memcpy(dst, reinterpret_cast<const char *>(numbers.data()) + offset % sizeof(T), bytes);
}

// A file that no one could load must not take the place of one that they can.
void check_finite(const std::string &name, const void *numbers, size_t bytes) {
    const char *const at = static_cast<const char *>(numbers);
    bool finite = true;
    for (size_t i = 0; i + sizeof(uint32_t) <= bytes; i += sizeof(uint32_t)) {
        uint32_t bits;
        std::memcpy(&bits, at + i, sizeof bits);
        finite &= (bits & 0x7F800000u) != 0x7F800000u;
    }
    XF_CHECK(finite, XF_ERROR_NONFINITE, "'%s' has a number that is not finite: nothing was saved", name.c_str());
}

std::vector<float> read(const Model &model, Stream *stream, const Parameter &p, int64_t first, int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    model.read(*stream, p, first, count, values.data());
    check_finite(p.name, values.data(), values.size() * sizeof(float));
    return values;
}

// Numbers of the device that are given as they lie.
void add_floats(SafetensorsWriter *writer, Stream *stream, const std::string &name, const Parameter &p,
                const float *numbers) {
    const char *data = reinterpret_cast<const char *>(numbers);
    writer->add(name, "F32", tensor_shape(p), [stream, data, name](uint64_t offset, void *dst, size_t bytes) {
        stream->download(dst, data + offset, bytes);
        check_finite(name, dst, bytes);
    });
}

void add_fp32(SafetensorsWriter *writer, Stream *stream, const Model &model, const Parameter &p) {
    if (model.narrow() == nullptr) return add_floats(writer, stream, p.name, p, model.params() + p.offset);
    writer->add(p.name, "F32", tensor_shape(p), [stream, &model, &p](uint64_t offset, void *dst, size_t bytes) {
        give<float>(offset, dst, bytes,
                    [&](int64_t first, int64_t count, float *values) { model.read(*stream, p, first, count, values); });
    });
}

void add_half(SafetensorsWriter *writer, Stream *stream, const Model &model, const Parameter &p, uint32_t type) {
    const char *const dtype = tensor_dtype(type);
    writer->add(p.name, dtype, tensor_shape(p), [stream, &model, &p, type](uint64_t offset, void *dst, size_t bytes) {
        give<uint16_t>(offset, dst, bytes, [&](int64_t first, int64_t count, uint16_t *halves) {
            for (const float value : read(model, stream, p, first, count)) *halves++ = narrowed(p, type, value);
        });
    });
}

// A matrix and its scales. Those of an int8 model are given as they are; else each is rounded when it is asked for.
void add_int8(SafetensorsWriter *writer, Stream *stream, const Model &model, const Parameter &p) {
    check_int8_columns(p);
    const NarrowWeights *const own = model.weights_type() == XF_WEIGHTS_INT8 ? model.narrow() : nullptr;
    // Rows first .. first + count - 1; q and scales: one may be null.
    const auto make = [stream, &model, &p, own](int64_t first, int64_t count, int8_t *q, float *scales) {
        if (own != nullptr) {
            if (q != nullptr) own->read_rows(*stream, p, first, count, q);
            if (scales != nullptr)
                std::memcpy(scales, own->scales(p) + first, static_cast<size_t>(count) * sizeof(float));
            return;
        }
        std::vector<int8_t> unwanted(q == nullptr ? static_cast<size_t>(p.columns) : 0);
        for (int64_t i = 0; i < count; ++i) {
            const std::vector<float> row = read(model, stream, p, (first + i) * p.columns, p.columns);
            const float scale = quantized(p, row.data(), q != nullptr ? q + i * p.columns : unwanted.data());
            if (scales != nullptr) scales[i] = scale;
        }
    };
    writer->add(p.name, "I8", tensor_shape(p), [make, &p](uint64_t offset, void *dst, size_t bytes) {
        const auto begin = static_cast<int64_t>(offset), end = static_cast<int64_t>(offset + bytes);
        const int64_t first = begin / p.columns, last = (end + p.columns - 1) / p.columns;
        std::vector<int8_t> rows(static_cast<size_t>((last - first) * p.columns));
        make(first, last - first, rows.data(), nullptr);
        std::memcpy(dst, rows.data() + (begin - first * p.columns), bytes);
    });
    writer->add(scale_name(p), "F32", {p.rows}, [make](uint64_t offset, void *dst, size_t bytes) {
        give<float>(offset, dst, bytes,
                    [&](int64_t first, int64_t count, float *scales) { make(first, count, nullptr, scales); });
    });
}

SafetensorsWriter make_writer(const Model &model, Stream *stream, const FileContents &contents,
                              const std::vector<ExtraBlock> &blocks) {
    SafetensorsWriter writer;
    writer.set_metadata("format", kModelFormat);
    writer.set_metadata("format_version", kModelFormatVersion);
    writer.set_metadata("kind", contents.kind);
    if (!contents.tokenizer.empty()) writer.set_metadata("tokenizer", contents.tokenizer);
    for (size_t i = 0; i < option_count(); ++i)
        if (std::string_view(option(i).key).starts_with("model."))
            writer.set_metadata(option(i).key, model.options().text(option(i).key));
    for (const auto &[key, value] : contents.extra) writer.set_metadata(key, value);
    for (const auto &[key, value] : model.metadata().all()) writer.set_metadata(UserMetadata::kPrefix + key, value);
    const uint32_t type = contents.weights_type;
    for (const Parameter &p : model.table().list) {
        if (type == XF_WEIGHTS_INT8 && model.table().is_matrix(p))
            add_int8(&writer, stream, model, p);
        else if (type == XF_WEIGHTS_BF16 || type == XF_WEIGHTS_FP16)
            add_half(&writer, stream, model, p, type);
        else
            add_fp32(&writer, stream, model, p);
    }
    for (const ExtraBlock &block : blocks)
        for (const Parameter &p : model.table().list)
            add_floats(&writer, stream, block.prefix + p.name, p, block.data + p.offset);
    return writer;
}

}  // namespace

uint32_t file_weights_type(const Options &options) {
    const std::string &precision = options.str("file.precision");
    for (const uint32_t type : {XF_WEIGHTS_BF16, XF_WEIGHTS_FP16, XF_WEIGHTS_INT8})
        if (precision == weights_name(type)) return type;
    return XF_WEIGHTS_NUM;
}

std::string save_model_file(const std::string &path, const Model &model, Stream &stream, const FileContents &contents,
                            const std::vector<ExtraBlock> &blocks, const Call &call) {
    std::string digest = make_writer(model, &stream, contents, blocks).write(path, posix_io(), true, call);
    model.context().log(XF_LOG_INFO, "file", "saved the %s '%s'", contents.kind.c_str(), path.c_str());
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

}  // namespace xf
