// Where a batcher stands, as a checkpoint keeps it, and how another batcher gets there.
//
// A position means something in the same pairs and the same order only, so both are kept with it. With another
// "data.batch_tokens" the batches are others: then the share of the epoch is what is found again.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "data/batcher.h"
#include "nn/model_file.h"

namespace xf {

struct DataPosition {
    int64_t epoch = 0, batch = 0;
    int64_t batches = 0;       // of that epoch
    uint64_t fingerprint = 0;  // of the encoded corpus; 0: none was saved
    Metadata order;            // the options that fix which batches come when, by key: "data.seed" and its like

    static DataPosition of(const Batcher &batcher, uint64_t fingerprint, const Metadata &order);

    void write(Metadata *metadata) const;
    static DataPosition read(const ModelFile &file);

    // Moves a batcher there. False when it is the same share of the epoch rather than the same place. Throws, and
    // leaves the batcher as it was, when its pairs or their order are others.
    bool seek(Batcher *batcher, uint64_t fingerprint_now, const Metadata &order_now, const Call &call = Call()) const;
};

// A number of a file's metadata, 0 to 2^53; XF_ERROR_CORRUPT when it isn't.
int64_t read_count(const ModelFile &file, const std::string &key);

}  // namespace xf
