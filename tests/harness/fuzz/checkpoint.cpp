// A whole checkpoint: resumed, one step, saved, resumed again, saved to the same bytes; and its place in a corpus
// found.
//
// SPDX-License-Identifier: Apache-2.0
#include "../../support/api.h"
#include "fuzz.hpp"

namespace {

struct World : fuzz::TextWorld {
    fuzz::ScratchFile given{"given"}, saved{"saved"};
};

xf_status step(xf_trainer *trainer) {
    xf_step_stats stats = XF_STEP_STATS_INIT;
    const int64_t before = xf_trainer_step_count(trainer);
    const xf_status status = JUDGED(xf_train_step, trainer, &fuzz::kBatch, 1, nullptr, &stats);
    const int64_t made = xf_trainer_step_count(trainer) - before;
    const bool updated = status == XF_OK && stats.outcome == XF_STEP_UPDATED;
    if (made != (updated ? 1 : 0) && stats.outcome != XF_STEP_ROLLED_BACK)
        fuzz::defect("%s, and the step number grew by %ld", xf_status_name(status), made);
    return status;
}

void train(World &world) {
    fuzz::Trainer trainer, second;
    if (JUDGED(resume_trainer, world.context, world.given.path(), nullptr, trainer.out()) != XF_OK) return;
    fuzz::Batcher batcher;
    if (JUDGED(xf_batcher_create, world.corpus, world.tokenizer, world.config, nullptr, batcher.out()) == XF_OK)
        JUDGED(xf_batcher_resume, batcher, trainer, nullptr);
    step(trainer);
    xf_status status = JUDGED(save_trainer, trainer, batcher, world.saved.path());
    if (status != XF_OK) return;
    const std::string bytes = world.saved.read();
    status = JUDGED(resume_trainer, world.context, world.saved.path(), nullptr, second.out());
    if (status == XF_ERROR_NO_MEMORY) return;
    if (status != XF_OK) fuzz::defect("a checkpoint that was saved is refused: %s", fuzz::judge.message());
    if (xf_trainer_step_count(second) != xf_trainer_step_count(trainer))
        fuzz::defect("another step number after saving");
    status = JUDGED(save_trainer, second, batcher, world.saved.path());
    if (status != XF_OK) return;
    if (world.saved.read() != bytes) fuzz::defect("a checkpoint that was saved and resumed is saved to other bytes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static World world;
    world.given.write({reinterpret_cast<const char *>(data), size});
    fuzz::run(world.host, data, size, [] { train(world); });
    return 0;
}
