// The position of a batcher in its data, as stored in a checkpoint.
//
// A position is valid only for the same pairs in the same order, so both are stored with it. If data.batch_tokens has
// changed, the batches differ; the position is then the same fraction of the epoch, or of the chunk (data/batcher.h).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "data/batcher.h"
#include "nn/model_file.h"

namespace xf {

struct DataPosition {
    Batcher::Position at;
    int64_t batches = 0;       // of that chunk
    uint64_t fingerprint = 0;  // of the encoded corpus; 0: the checkpoint has no position
    Metadata order;            // the options that determine the order of batches, such as "data.seed"

    static DataPosition of(const Batcher &batcher);

    void write(Metadata *metadata) const;
    static DataPosition read(const ModelFile &file);

    // Moves a batcher to this position. Returns false if it is the same fraction of the chunk instead. Throws, and does
    // not move the batcher, if its pairs or their order differ.
    bool seek(Batcher *batcher, const Call &call) const;
};

// Returns a number from the metadata of a file. Throws XF_ERROR_CORRUPT if it is not a number from 0 to 2^53.
int64_t read_count(const ModelFile &file, const std::string &key);

}  // namespace xf
