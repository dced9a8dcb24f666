// Ranks of which one has no memory, at any point of any call that they make together: none waits for another, all know
// why, and the next call is right. See starved.hpp. With XF_TEST_EVERY at each point, else at some.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/starved.hpp"

namespace {

using namespace xf_test;

const Settings kEarly = {{"context.comm_buckets", "3"}};

// XF_TEST_EVERY: each allocation. A sanitizer takes long for each.
int stride(int usual) { return std::getenv("XF_TEST_EVERY") != nullptr ? 1 : usual * (XF_TEST_SANITIZED ? 3 : 1); }

XF_TEST(a_first_step) {
    Starving("the first step", {{}, next_of}).run(stride(11));
    Starving("the first step, in buckets", {{}, next_of}, kEarly).run(stride(23));
}

XF_TEST(a_later_step) {
    Starving("the second step", {one_step, next_of}).run(stride(2));
    Starving("the second step, in buckets", {one_step, next_of}, kEarly).run(stride(2));
    Starving("a step that compares", {one_step, next_of}, {}, {{"train.compare_steps", "1"}}).run(stride(5));
    Starving("a step in bf16", {{}, next_of}, {}, {{"train.reduce_precision", "bf16"}}).run(stride(29));
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

// What can be seen before the file is read leaves all where they were; who reads half of it asks for a resume.
XF_TEST(a_return_to_a_checkpoint) {
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
