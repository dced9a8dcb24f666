// Sums of gradients on the device: the numbers that the core makes in host memory, to the bit; and steps of several
// ranks on the emulated GPU, which are one rank's.
//
// SPDX-License-Identifier: Apache-2.0

#include "comm/sharded_runs.hpp"
#include "cuda_host/emulated.hpp"
#include "ranks/block_math.h"

namespace {

using namespace xf_test;

// Numbers of every kind, among them ties of the rounding to bf16.
std::vector<float> numbers(size_t count, uint32_t seed) {
    std::vector<float> values(count);
    uint32_t bits = seed;
    for (size_t i = 0; i < count; ++i) {
        bits = bits * 1664525u + 1013904223u;
        const uint32_t exponent = (bits >> 8 & 31u) + 110u;
        const uint32_t fraction = i % 3 == 0 ? (bits & 0x7F0000u) | 0x8000u : bits & 0x7FFFFFu;
        const uint32_t word = (bits & 0x80000000u) | exponent << 23 | fraction;
        std::memcpy(&values[i], &word, sizeof word);
    }
    return values;
}

// The operations of BlockMath: sums, rounded sums, conversion to and from bf16, and squares by chunks.
struct Made {
    std::vector<uint32_t> words;
    std::vector<double> squares;
};

Made make(const std::shared_ptr<xf::Context> &context, size_t count, size_t shift, std::vector<float> a,
          const std::vector<float> &b) {
    xf::Device &device = context->device();
    xf::Stream stream(device);
    xf::BlockMath math(*context);
    const size_t bytes = (count + shift) * sizeof(float);
    const xf::Buffer left(device, bytes), right(device, bytes), half(device, bytes);
    float *const x = left.floats() + shift, *const y = right.floats() + shift;
    const auto n = static_cast<int64_t>(count);
    Made made;
    std::vector<uint32_t> got(count);
    for (const bool round_bf16 : {false, true}) {
        stream.upload(x, a.data(), count * sizeof(float));
        stream.upload(y, b.data(), count * sizeof(float));
        math.add(stream, x, y, n, round_bf16);
        stream.download(got.data(), x, count * sizeof(float));
        made.words.insert(made.words.end(), got.begin(), got.end());
    }
    char *const z = static_cast<char *>(half.data()) + 2 * shift;
    math.to_bf16(stream, z, y, n);
    math.from_bf16(stream, x, z, n);
    stream.download(got.data(), x, count * sizeof(float));
    made.words.insert(made.words.end(), got.begin(), got.end());
    math.copy(stream, x, y, n);
    for (const int64_t chunk : {16, 48, 4096}) {
        std::vector<double> squares((count + static_cast<size_t>(chunk) - 1) / static_cast<size_t>(chunk));
        math.chunk_squares(stream, x, n, chunk, squares.data());
        made.squares.insert(made.squares.end(), squares.begin(), squares.end());
    }
    return made;
}

XF_TEST(sums_on_device_and_host_are_equal) {
    const auto host = any_device(), cuda = open_device({"cuda", "auto", true}, 1);
    for (const size_t count : {size_t{1}, size_t{7}, size_t{1023}, size_t{40000}})
        for (const size_t shift : {size_t{0}, size_t{1}}) {
            const auto a = numbers(count, 1), b = numbers(count, 77);
            const Made want = make(host, count, shift, a, b), got = make(cuda, count, shift, a, b);
            CHECK(want.words == got.words);
            CHECK(want.squares == got.squares);
            CHECK(std::isfinite(want.squares.front()));
        }
    std::vector<float> bad(100, 1.0f);
    bad[50] = std::numeric_limits<float>::infinity();
    CHECK(std::isinf(make(cuda, 100, 0, bad, bad).squares[3]));
}

XF_TEST(fingerprints_match_their_definition) {
    const auto context = open_device({"cuda", "auto", true}, 1);
    xf::Stream stream(context->device());
    const std::vector<float> data = numbers(40000, 5);
    const xf::Buffer words(context->device(), data.size() * sizeof(float)), sum(context->device(), sizeof(uint64_t));
    stream.upload(words.data(), data.data(), data.size() * sizeof(float));
    for (const size_t bytes :
         {size_t{1}, size_t{2}, size_t{4}, size_t{7}, size_t{130}, size_t{65536}, size_t{160000}}) {
        uint64_t want = 17, got = 17;
        for (size_t i = 0; i < bytes; i += 4) {
            uint32_t word = 0;
            std::memcpy(&word, reinterpret_cast<const char *>(data.data()) + i, std::min<size_t>(4, bytes - i));
            uint64_t x = (word + (static_cast<uint64_t>(i / 4) << 32)) ^ 99;
            x += 0x9E3779B97F4A7C15u;
            x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
            x = (x ^ x >> 27) * 0x94D049BB133111EBu;
            want += x ^ x >> 31;
        }
        stream.upload(sum.data(), &got, sizeof got);
        stream.run(xf_fingerprint{static_cast<int64_t>(bytes), words.data(), 99, static_cast<uint64_t *>(sum.data())});
        stream.download(&got, sum.data(), sizeof got);
        CHECK_EQ(got, want);
    }
}

XF_TEST(ranks_on_the_device_compute_the_same_steps) {
    const Settings cuda = {{"context.device", "cuda"}};
    for (const char *precision : {"fp32", "bf16"}) {
        const Settings settings = with(kFull, {{"train.reduce_precision", precision}});
        const Run one = run(1, settings, 4, 1, 2, cuda);
        for (const int ranks : {2, 4}) check_same(one, run(ranks, settings, 4, 1, 2, cuda), std::to_string(ranks));
    }
    check_nothing_lives("at the end");
}

}  // namespace
