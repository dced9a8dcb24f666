// Models and checkpoints as safetensors files.
//
// They come from and go to a file, memory, a descriptor or a callback (core/input.h, core/output.h) by the same code.
//
// Metadata: "format" "xformer", "format_version", "kind" ("model" or "checkpoint"), every option of the group "model."
// by its key, "tokenizer" (its JSON, opaque here), the host's texts as "user.KEY", and what the caller adds. Tensors:
// each parameter under its module path: F32, or F16 or BF16 in a narrow model. In an int8 model each matrix is I8, and
// a further tensor NAME_scale, F32 [rows], holds what its rows are multiplied with; vectors and tables of positions
// are F32. A checkpoint is F32 and holds further blocks of the same shape under a prefix ("adam.m.").
//
// A file is hostile until proved: names, shapes and the number of tensors are compared with what the configuration
// calls for before a model is allocated, and the checksum over all bytes is compared before the model is given out.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/safetensors.h"
#include "nn/model.h"

namespace xf {

// A block of the parameter table's shape beside the parameters: Adam's moments, the moving average.
struct ExtraBlock {
    const char *prefix;                                // "adam.m."
    float *data;                                       // device memory
    float least = -std::numeric_limits<float>::max();  // a smaller number in a file is XF_ERROR_CORRUPT
};

inline constexpr char kModelFormat[] = "xformer", kModelFormatVersion[] = "1";

struct FileContents {
    std::string kind;                        // "model", "checkpoint"
    std::string tokenizer;                   // JSON, empty when there is none
    uint32_t weights_type = XF_WEIGHTS_NUM;  // of the parameters; narrow ones are rounded
    Metadata extra;                          // further keys
};

// What "file.precision" of the options asks for.
uint32_t file_weights_type(const Options &options);

// A parameter's tensor in a file, and that of its scales.
std::vector<int64_t> tensor_shape(const Parameter &p);
std::string scale_name(const Parameter &p);
// The dtype of numbers of a type, and the other way: XF_WEIGHTS_NUM for what is not narrow.
const char *tensor_dtype(uint32_t weights_type);
uint32_t dtype_type(std::string_view dtype);

// Returns the checksum.
std::string save_model_file(const std::string &path, const Model &model, Stream &stream, const FileContents &contents,
                            const std::vector<ExtraBlock> &blocks, const Call &call = Call());

// The bytes of such a file, into memory of so many bytes or more; gives their number. With less memory nothing is
// written or read.
size_t save_model_memory(void *buffer, size_t capacity, const Model &model, Stream &stream,
                         const FileContents &contents, const Call &call = Call());

// An opened file whose header agrees with a model of its configuration; nothing large is allocated yet.
class ModelFile {
public:
    explicit ModelFile(std::shared_ptr<const Input> input);
    explicit ModelFile(const std::string &path) : ModelFile(std::make_shared<InputFile>(path)) {}

    const std::string &kind() const { return contents_.kind; }
    const FileContents &contents() const { return contents_; }
    // The value of a metadata key; XF_ERROR_CORRUPT when it is missing.
    const std::string &require(const std::string &key) const;
    // The options of the groups "model." and "train." that the file names; others have their defaults.
    const Options &options() const { return options_; }
    const std::string &path() const { return reader_.input().name(); }
    uint64_t bytes() const { return reader_.input().size(); }
    // Of its matrices; the widest where they differ.
    uint32_t weights_type() const { return contents_.weights_type; }
    // What a model of its configuration has.
    const ParameterTable &table() const { return table_; }

    // A model of its configuration with the host's texts, without parameters until load().
    std::shared_ptr<Model> make_model(std::shared_ptr<Context> context, uint32_t weights_type = XF_WEIGHTS_NUM) const;

    // Reads the parameters, and the blocks when they are given (else they are skipped); checks the checksum, and that
    // all numbers are finite. What the model has in the file's own type is read to where it stays; beside it one tensor
    // is held at most, but an int8 file that becomes wider is held whole. call hears "load", in bytes.
    void load(const Model &model, Stream &stream, const std::vector<ExtraBlock> &blocks,
              const Call &call = Call()) const;

    // The checksum alone; nothing is kept of what is read.
    void verify() const { reader_.verify(); }

private:
    ParameterTable read_header();
    void take_user_text(std::string_view key, const std::string &value);
    const TensorInfo &tensor(const std::string &name, const std::vector<int64_t> &shape) const;
    void find_weights_type();
    void check_tensors();
    SafetensorsReader reader_;
    FileContents contents_;
    Options options_;
    UserMetadata user_;
    ParameterTable table_;  // last: it is made of what is read into the others
};

}  // namespace xf
