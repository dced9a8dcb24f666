// Allocation failures on one rank in each collective call: no rank waits for another, all return the reason, and the
// next call succeeds. See starved.hpp. With XF_TEST_EVERY every allocation fails in turn, otherwise some.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/starved.hpp"

namespace {

using namespace xf_test;

// Sanitizers are slow, so they fail fewer allocations.
int stride(int usual) { return std::getenv("XF_TEST_EVERY") != nullptr ? 1 : usual * (XF_TEST_SANITIZED ? 3 : 1); }

XF_TEST(a_first_step) { Starving("the first step", {{}, next_of}).run(stride(11)); }

XF_TEST(a_later_step) {
    Starving("the second step", {one_step, next_of}).run(stride(2), 0);  // the steady state allocates nothing
    const auto then_compare = [](xf::Trainer *trainer, xf::Batcher *batcher, const std::string &path) {
        one_step(trainer, batcher, path);
        trainer->set_compare_steps(1);
    };
    Starving("a step that compares", {then_compare, next_of}).run(stride(5));
    Starving("a step in bf16", {{}, next_of}, {{"train.reduce_precision", "bf16"}}).run(stride(29));
}

XF_TEST(the_end_of_an_epoch) {
    const auto to_its_end = [](xf::Trainer *trainer, xf::Batcher *batcher, const std::string &path) {
        while (batcher->position().batch < batcher->batches_in_epoch()) one_step(trainer, batcher, path);
    };
    Starving("the end of an epoch", {to_its_end, next_of}).run(stride(3));
}

XF_TEST(saving) {
    Starving("a save before the first step", {{}, save_of}).run(stride(97));
    Starving("a save", {one_step, save_of}).run(stride(97));
}

XF_TEST(averages) {
    Starving("an average before the first step", {{}, average_of}).run(stride(11));
    Starving("an average", {one_step, average_of}).run(stride(11));
}

// An error before the file is read changes nothing; an error while it is read requires a resume.
XF_TEST(rollback_to_a_checkpoint) {
    const auto diverge = [](xf::Trainer *trainer, xf::Batcher *batcher, const std::string &path) {
        one_step(trainer, batcher, path);
        save_of(trainer, batcher, path);
        trainer->model()->params()[3] = 1e30f;
    };
    const auto back = [](xf::Trainer *trainer, xf::Batcher *batcher, const std::string &path) {
        return next_of(trainer, batcher, path).substr(0, 2);
    };
    Starving("a return to a checkpoint", {diverge, back}).run(stride(307));
}

}  // namespace
