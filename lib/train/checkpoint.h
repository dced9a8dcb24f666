// Saving a trainer's state, and returning to the last checkpoint of a run that has diverged.
//
// A checkpoint records where it was computed ("run.backend", "run.isa", "run.precision"): a run that continues on other
// hardware has different bits, which a resumed trainer logs.
//
// With several ranks, rank 0 collects the slices of all ranks and writes the same file that one rank would write.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nn/model_file.h"
#include "train/gradient_sum.h"
#include "train/position.h"
#include "train/rank_protocol.h"

namespace xf {

// The destination of a checkpoint.
struct CheckpointTarget {
    using Write = std::function<void(Output *output)>;

    std::string name;                              // for messages
    std::string path;                              // empty if it is not a file name: the trainer cannot return to it
    std::function<void(const Write &write)> save;  // opens the destination and calls write, which also commits
};

class Checkpoint : private TrainPart {
public:
    // options: of the trainer. sum: its block of gradients is scratch memory while ranks exchange slices. ranks: null
    // for one rank.
    Checkpoint(const TrainPart &part, const Options &options, Optimizer &optimizer, GradientSum &sum,
               RankProtocol *ranks);

    // Writes a checkpoint. own: the error of this rank before the call, if it has one.
    void save(const CheckpointTarget &target, const std::string &tokenizer, const DataPosition &position,
              DeferredError *own, const Call &call);

    // Loads the state of a checkpoint, whose model exists already, and remembers it for roll_back().
    void resume(const ModelFile &file, const Call &call);

    // Returns whether a checkpoint was saved to a path or resumed from one.
    bool exists() const { return !path_.empty(); }
    const std::string &path() const { return path_; }
    // Returns to it. On an error before the file is read, everything is as before.
    void roll_back();

private:
    // Whole blocks, with several ranks: each rank takes its slice.
    struct Blocks {
        Buffer m, v, average;
    };
    // The moments and the average in device memory.
    struct State {
        float *m, *v, *average;
    };

    FileContents contents(const std::string &tokenizer, const DataPosition &position) const;
    std::vector<ExtraBlock> tensors(const State &state) const;
    Blocks allocate_blocks(bool average) const;
    void exchange_status(const DeferredError &own, std::string *text);
    void gather(DeferredError *own, const Blocks &blocks, State *state);
    void load(const ModelFile &file, const Blocks &blocks, const Call &call);
    void verify(const ModelFile &file) const;

    const Options &options_;
    Optimizer &optimizer_;
    GradientSum &sum_;
    RankProtocol *ranks_;
    std::string path_, digest_;  // of the last checkpoint with a path
};

}  // namespace xf
