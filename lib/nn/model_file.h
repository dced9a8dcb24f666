// Models and checkpoints as safetensors files.
//
// Metadata: "format" "xformer", "format_version", "kind" ("model" or "checkpoint"), every option of the group "model."
// by its key, "tokenizer" (its JSON, opaque here), and what the caller adds. Tensors: each parameter under its module
// path: F32, or F16 or BF16 in an exported model. A checkpoint is F32 and holds further blocks of the same shape under
// a prefix ("adam.m.").
//
// A file is hostile until proved: names, shapes and the number of tensors are compared with what the configuration
// calls for before a model is allocated, and the checksum over all bytes is compared before the model is given out.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/safetensors.h"
#include "nn/model.h"

namespace xf {

// A block of the parameter table's shape beside the parameters: Adam's moments.
struct ExtraBlock {
    const char *prefix;                                // "adam.m."
    float *data;                                       // device memory
    float least = -std::numeric_limits<float>::max();  // a smaller number in a file is XF_ERROR_CORRUPT
};

struct FileContents {
    std::string kind;           // "model", "checkpoint"
    std::string tokenizer;      // JSON, empty when there is none
    std::string dtype = "F32";  // of the parameters; F16 and BF16 round them
    Metadata extra;             // further keys
};

void save_model_file(const std::string &path, const Model &model, Stream &stream, const FileContents &contents,
                     const std::vector<ExtraBlock> &blocks);

// An opened file whose header agrees with a model of its configuration; nothing large is allocated yet.
class ModelFile {
public:
    explicit ModelFile(const std::string &path);

    const std::string &kind() const { return contents_.kind; }
    const FileContents &contents() const { return contents_; }
    // The value of a metadata key; XF_ERROR_CORRUPT when it is missing.
    const std::string &require(const std::string &key) const;
    // The options of the groups "model." and "train." that the file names; others have their defaults.
    const Options &options() const { return options_; }
    const std::string &path() const { return path_; }

    // Reads the parameters, and the blocks when they are given (else they are skipped); checks the checksum, and that
    // all numbers are finite.
    void load(const Model &model, Stream &stream, const std::vector<ExtraBlock> &blocks) const;

private:
    void check_tensors() const;
    std::string path_;
    SafetensorsReader reader_;
    FileContents contents_;
    Options options_;
};

}  // namespace xf
