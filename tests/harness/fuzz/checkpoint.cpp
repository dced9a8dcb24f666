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

xf_status step(xf_trainer *trainer, fuzz::Judge *judge) {
    const int32_t ids[] = {2, 3, 1, 66, 1};
    const int64_t offsets[] = {0, 3, 5};
    const xf_batch batch = {sizeof batch, 2, ids, offsets, ids, offsets, nullptr, nullptr, 0};
    xf_step_stats stats = XF_STEP_STATS_INIT;
    const int64_t before = xf_trainer_step_count(trainer);
    const xf_status status =
        judge->of(xf_train_step(trainer, &batch, 1, nullptr, &stats, judge->fresh()), "xf_train_step");
    const int64_t made = xf_trainer_step_count(trainer) - before;
    const bool updated = status == XF_OK && stats.outcome == XF_STEP_UPDATED;
    if (made != (updated ? 1 : 0) && stats.outcome != XF_STEP_ROLLED_BACK)
        fuzz::defect("%s, and the step number grew by %ld", xf_status_name(status), made);
    return status;
}

void train(World &world, fuzz::Judge *judge) {
    fuzz::Trainer trainer, second;
    if (judge->of(resume_trainer(world.context, world.given.path(), nullptr, trainer.out(), judge->fresh()),
                  "xf_trainer_resume") != XF_OK)
        return;
    fuzz::Batcher batcher;
    if (judge->of(
            xf_batcher_create(world.corpus, world.tokenizer, world.config, nullptr, batcher.out(), judge->fresh()),
            "xf_batcher_create") == XF_OK)
        judge->of(xf_batcher_resume(batcher, trainer, nullptr, judge->fresh()), "xf_trainer_seek");
    step(trainer, judge);
    xf_status status = save_trainer(trainer, batcher, world.saved.path(), judge->fresh());
    if (judge->of(status, "xf_trainer_save") != XF_OK) return;
    const std::string bytes = world.saved.read();
    status = resume_trainer(world.context, world.saved.path(), nullptr, second.out(), judge->fresh());
    if (judge->of(status, "xf_trainer_resume") == XF_ERROR_NO_MEMORY) return;
    if (status != XF_OK) fuzz::defect("a checkpoint that was saved is refused: %s", judge->error().message);
    if (xf_trainer_step_count(second) != xf_trainer_step_count(trainer))
        fuzz::defect("another step number after saving");
    status = save_trainer(second, batcher, world.saved.path(), judge->fresh());
    if (judge->of(status, "xf_trainer_save") != XF_OK) return;
    if (world.saved.read() != bytes) fuzz::defect("a checkpoint that was saved and resumed is saved to other bytes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static World world;
    world.given.write({reinterpret_cast<const char *>(data), size});
    const size_t before = world.host.held();
    fuzz::Judge judge;
    {
        const fuzz::Shortage shortage(data, size);
        try {
            train(world, &judge);
        } catch (const std::bad_alloc &) {
            if (!fuzz::Shortage::happened()) throw;
        }
    }
    if (world.host.held() != before)
        fuzz::defect("%zu bytes are held for a trainer that is gone", world.host.held() - before);
    return 0;
}
