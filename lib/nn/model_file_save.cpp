// Saving: tensors are produced in chunks on request of the writer. See model_file.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "nn/model_file.h"

namespace xf {
namespace {

// Adds a tensor whose elements make(first, count, elements) produces. The writer requests ranges of bytes, which may
// begin and end within an element.
template <class T, class Make>
void add_elements(SafetensorsWriter *writer, const std::string &name, const char *dtype, std::vector<int64_t> shape,
                  Make make) {
    writer->add(name, dtype, std::move(shape), [make](uint64_t offset, void *dst, size_t bytes) {
        const int64_t first = offset / sizeof(T), end = (offset + bytes + sizeof(T) - 1) / sizeof(T);
        std::vector<T> elements(end - first);
        make(first, end - first, elements.data());
        std::memcpy(dst, reinterpret_cast<const char *>(elements.data()) + offset % sizeof(T), bytes);
    });
}

// A file that cannot be loaded must not replace one that can.
void check_finite(const std::string &name, const void *elements, size_t bytes) {
    const char *const at = static_cast<const char *>(elements);
    bool finite = true;
    for (size_t i = 0; i + sizeof(uint32_t) <= bytes; i += sizeof(uint32_t)) {
        uint32_t bits;
        std::memcpy(&bits, at + i, sizeof bits);
        finite &= (bits & 0x7F800000u) != 0x7F800000u;
    }
    XF_CHECK(finite, XF_ERROR_NONFINITE,
             "'%s' contains a value that is not finite, expected finite values: nothing was saved", name.c_str());
}

std::vector<float> read(const Model &model, Stream *stream, const Parameter &p, int64_t first, int64_t count) {
    std::vector<float> values(count);
    model.read(*stream, p, first, count, values.data());
    check_finite(p.name, values.data(), values.size() * sizeof(float));
    return values;
}

// Adds device memory without conversion.
void add_floats(SafetensorsWriter *writer, Stream *stream, const std::string &name, const Parameter &p,
                const float *elements) {
    const char *data = reinterpret_cast<const char *>(elements);
    writer->add(name, "F32", tensor_shape(p), [stream, data, name](uint64_t offset, void *dst, size_t bytes) {
        stream->download(dst, data + offset, bytes);
        check_finite(name, dst, bytes);
    });
}

void add_fp32(SafetensorsWriter *writer, Stream *stream, const Model &model, const Parameter &p) {
    if (model.low_precision() == nullptr) return add_floats(writer, stream, p.name, p, model.params() + p.offset);
    add_elements<float>(
        writer, p.name, "F32", tensor_shape(p),
        [=, &model, &p](int64_t first, int64_t count, float *dst) { model.read(*stream, p, first, count, dst); });
}

void add_half(SafetensorsWriter *writer, Stream *stream, const Model &model, const Parameter &p, uint32_t type) {
    const auto make = [=, &model, &p](int64_t first, int64_t count, uint16_t *halves) {
        for (const float value : read(model, stream, p, first, count)) *halves++ = to_half(p, type, value);
    };
    add_elements<uint16_t>(writer, p.name, tensor_dtype(type), tensor_shape(p), make);
}

// Adds a matrix and its scales. Those of an int8 model are copied; others are quantized on request.
void add_int8(SafetensorsWriter *writer, Stream *stream, const Model &model, const Parameter &p) {
    check_int8_columns(p);
    const LowPrecisionWeights *const int8 = model.weights_type() == XF_WEIGHTS_INT8 ? model.low_precision() : nullptr;
    // Rows [first, first + count). q or scales may be null.
    const auto make = [stream, &model, &p, int8](int64_t first, int64_t count, int8_t *q, float *scales) {
        if (int8 != nullptr) {
            if (q != nullptr) int8->read_rows(*stream, p, first, count, q);
            if (scales != nullptr) std::memcpy(scales, int8->scales(p) + first, count * sizeof(float));
            return;
        }
        std::vector<int8_t> unused(q == nullptr ? p.columns : 0);
        for (int64_t i = 0; i < count; ++i) {
            const std::vector<float> row = read(model, stream, p, (first + i) * p.columns, p.columns);
            const float scale = quantize(p, row.data(), q != nullptr ? q + i * p.columns : unused.data());
            if (scales != nullptr) scales[i] = scale;
        }
    };
    writer->add(p.name, "I8", tensor_shape(p), [make, &p](uint64_t offset, void *dst, size_t bytes) {
        const int64_t begin = offset, end = offset + bytes;
        const int64_t first = begin / p.columns, last = (end + p.columns - 1) / p.columns;
        std::vector<int8_t> rows((last - first) * p.columns);
        make(first, last - first, rows.data(), nullptr);
        std::memcpy(dst, rows.data() + (begin - first * p.columns), bytes);
    });
    add_elements<float>(writer, scale_name(p), "F32", {p.rows},
                        [make](int64_t first, int64_t count, float *scales) { make(first, count, nullptr, scales); });
}

SafetensorsWriter make_writer(const Model &model, Stream *stream, const FileContents &contents,
                              const std::vector<ExtraBlock> &blocks) {
    SafetensorsWriter writer;
    writer.set_metadata("format", kModelFormat);
    writer.set_metadata("format_version", kModelFormatVersion);
    writer.set_metadata("kind", contents.kind);
    if (!contents.tokenizer.empty()) writer.set_metadata("tokenizer", contents.tokenizer);
    for (size_t i = 0; i < option_count(); ++i)
        if (const std::string_view key = option(i).key; key.starts_with("model.") && key != "model.weights")
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

std::string save_model(Output *output, const std::string &name, const Model &model, Stream &stream,
                       const FileContents &contents, const std::vector<ExtraBlock> &blocks, const Call &call) {
    std::string digest = make_writer(model, &stream, contents, blocks).write(output, name, call);
    output->commit();
    model.context().log(XF_LOG_INFO, "file", "saved the %s '%s'", contents.kind.c_str(), name.c_str());
    return digest;
}

}  // namespace xf
