// Models and checkpoints as safetensors files.
//
// The same code reads and writes files, memory, file descriptors, and callbacks (core/file.h, core/output.h).
//
// Metadata: "format" ("xformer"), "format_version", "kind" ("model" or "checkpoint"), every option of the group
// "model." under its key, "tokenizer" (JSON, opaque here), the user's metadata as "user.KEY", and keys that the caller
// adds. Tensors: each parameter under its module path, F32, F16, or BF16. In an int8 model, matrices are I8, and an
// additional tensor NAME_scale, F32 [rows], contains the scales of the rows; vectors and tables of positions are F32. A
// checkpoint is F32 and contains additional blocks of the same shape with a prefix ("adam.m.").
//
// Files are untrusted: the names, shapes, and number of tensors are compared with the configuration before a model is
// allocated, and the checksum of all bytes is verified before the model is returned.
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

// An additional block with the shape of the parameter table: a moment of Adam, or the moving average.
struct ExtraBlock {
    const char *prefix;                                  // "adam.m."
    float *data;                                         // device memory
    float minimum = -std::numeric_limits<float>::max();  // a smaller value in a file is XF_ERROR_CORRUPT
};

inline constexpr char kModelFormat[] = "xformer", kModelFormatVersion[] = "1";

struct FileContents {
    std::string kind;                        // "model", "checkpoint"
    std::string tokenizer;                   // JSON; empty if there is none
    uint32_t weights_type = XF_WEIGHTS_NUM;  // of the matrices, which are rounded if needed
    Metadata extra;                          // additional keys
};

// The shape of a parameter in a file, and the name of the tensor of its scales.
std::vector<int64_t> tensor_shape(const Parameter &p);
std::string scale_name(const Parameter &p);
// The safetensors dtype of a type, and the reverse. Every dtype other than BF16, F16, and I8 maps to XF_WEIGHTS_NUM.
const char *tensor_dtype(uint32_t weights_type);
uint32_t dtype_type(std::string_view dtype);

// Writes and commits the file. Returns the checksum. `name` is that of the output, for messages.
std::string save_model(Output *output, const std::string &name, const Model &model, Stream &stream,
                       const FileContents &contents, const std::vector<ExtraBlock> &blocks, const Call &call = Call());

// An open file whose header is consistent with its configuration. Does not allocate memory for parameters.
class ModelFile {
public:
    explicit ModelFile(std::shared_ptr<const Input> input);
    explicit ModelFile(const std::string &path) : ModelFile(std::make_shared<InputFile>(path)) {}

    const std::string &kind() const { return contents_.kind; }
    const FileContents &contents() const { return contents_; }
    // Returns the value of a metadata key. Throws XF_ERROR_CORRUPT if the key is missing.
    const std::string &require(const std::string &key) const;
    // The options of the groups "model." and "train." in the file; all others have their defaults.
    const Options &options() const { return options_; }
    const std::string &path() const { return reader_.input().name(); }
    bool is_path() const { return reader_.input().is_path(); }
    uint64_t bytes() const { return reader_.input().size(); }
    // The type of the matrices; XF_WEIGHTS_NUM (fp32) if they have different types.
    uint32_t weights_type() const { return contents_.weights_type; }
    // The parameters of the configuration.
    const ParameterTable &table() const { return table_; }

    // Creates a model with the configuration and the metadata of the file. load() fills its parameters.
    std::shared_ptr<Model> make_model(std::shared_ptr<Context> context, uint32_t weights_type = XF_WEIGHTS_NUM) const;

    // Reads the parameters and the given blocks; skips other blocks. Verifies the checksum and that all values are
    // finite. Tensors whose type does not change are read directly to their final location. Otherwise one tensor at a
    // time is kept in addition, or all matrices if the file is int8 and the model is not. Reports the progress of
    // "load" in bytes.
    void load(const Model &model, Stream &stream, const std::vector<ExtraBlock> &blocks,
              const Call &call = Call()) const;

    // Verifies the checksum only.
    void verify() const { reader_.verify(); }

private:
    ParameterTable read_header();
    void add_user_metadata(std::string_view key, const std::string &value);
    const TensorInfo &tensor(const std::string &name, const std::vector<int64_t> &shape) const;
    void find_weights_type();
    void check_tensors();
    SafetensorsReader reader_;
    FileContents contents_;
    Options options_;
    UserMetadata user_;
    ParameterTable table_;  // last: its initialization fills the other members
};

}  // namespace xf
