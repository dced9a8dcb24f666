// Several decoders on one model at the same time, and trainers on separate contexts, compute the same results as a
// single run. Intended also for builds with XF_SANITIZE=thread.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/decoding.hpp"

namespace {

using namespace xf_test;

// Runs body(t) on four threads. A body that returns false or throws fails the test.
void on_four_threads(const std::function<bool(int)> &body) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            try {
                wrong += body(t) ? 0 : 1;
            } catch (const std::exception &) {
                ++wrong;
            }
        });
    for (std::thread &thread : threads) thread.join();
    CHECK_EQ(wrong.load(), 0);
}

XF_TEST(decoders_share_a_model) {
    on_each_device(3, [](const auto &context, const DeviceName &device) {
        const Pairs pairs = random_pairs(9, device.cuda() ? 10 : 20, 12, kReverserIds);
        const int rounds = device.cuda() ? 2 : 5;  // a GPU may be emulated
        const auto model = make_reverser(context);
        const xf::Options options = options_of({{"decode.batch_sentences", "7"}, {"decode.max_extra_tokens", "10"}});
        xf::Decoder lone(model, options);
        const Answers expected = decode(&lone, pairs.src);
        const std::vector<double> scores = score(&lone, pairs);
        on_four_threads([&](int) {
            xf::Decoder decoder(model, options);
            for (int round = 0; round < rounds; ++round)
                if (!same(decode(&decoder, pairs.src), expected) || score(&decoder, pairs) != scores) return false;
            return true;
        });
    });
}

XF_TEST(trainings_run_concurrently) {
    on_each_device(2, [](const auto &context, const DeviceName &name) {
        const int steps = name.cuda() ? 4 : 10;
        const std::vector<float> expected = train_reverser(context, steps, 8);
        // Two share a context, two have separate ones.
        on_four_threads(
            [&](int t) { return train_reverser(t < 2 ? context : open_device(name, t), steps, 8) == expected; });
    });
}

}  // namespace
