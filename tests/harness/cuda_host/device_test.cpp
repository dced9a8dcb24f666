// The CUDA plugin's devices, streams, memory, faults and graphs, on the emulated GPU: above all what happens when
// something isn't there, runs out or breaks.
//
// SPDX-License-Identifier: Apache-2.0

#include "cuda_host/device_fixture.hpp"

namespace {

using namespace xf_test;

constexpr int32_t kIllegalAddress = 700;

std::string missing_sentence() {
    xf_error err{};
    CHECK_EQ(table().device_count(&err), 0);
    CHECK_EQ(table().device_count(nullptr), 0);
    return err.message;
}

XF_TEST(a_missing_gpu_is_reported) {
    CHECK_EQ(table().device_count(nullptr), 1);
    {
        const Control none("devices", -35, 1);
        CHECK(says(missing_sentence(), "no NVIDIA driver"));
    }
    {
        const Control none("devices", 0, 1);
        CHECK(says(missing_sentence(), "no GPU"));
        Host host;
        xf_device *device = nullptr;
        xf_error err{};
        CHECK(table().device_open(&host.callbacks, 0, &device, &err) < 0);
        CHECK(device == nullptr);
        host.check_empty();
    }
    CHECK_EQ(table().device_count(nullptr), 1);
}

XF_TEST(the_table_is_complete_and_has_a_version) {
    CHECK_EQ(std::string(table().name), "cuda");
    CHECK_EQ(std::string(table().kind), "cuda");
    CHECK_EQ(table().dtypes, 1u << XF_FP32 | 1u << XF_BF16);
    CHECK(table().score > 100);
    CHECK(table().graph_begin && table().graph_end && table().graph_run && table().graph_free && table().beam_step);
    CHECK(std::strlen(table().device_name(0)) > 0 && std::strlen(table().device_name(1000)) > 0);
    Alone session;
    CHECK(says(table().device_info(session.device), "sm_"));
    xf_stream *stream = nullptr;
    xf_error err{};
    CHECK_EQ(table().stream_create(session.device, 7, &stream, &err), int32_t{XF_ERROR_UNSUPPORTED});
    CHECK(stream == nullptr);
    xf_device *second = nullptr;
    CHECK_EQ(table().device_open(&session.callbacks, 1, &second, &err), int32_t{XF_ERROR_NOT_FOUND});
    void *endless = nullptr;
    CHECK_EQ(table().mem_alloc(session.device, SIZE_MAX, &endless, &err), int32_t{XF_ERROR_NO_MEMORY});
    CHECK(endless == nullptr);
}

XF_TEST(copies_do_not_refer_to_the_memory_of_the_caller) {
    Alone session;
    constexpr size_t kCount = (size_t{9} << 20) / sizeof(float) + 3;  // more than passes through at once
    constexpr size_t kBytes = kCount * sizeof(float);
    void *a = session.alloc(kBytes), *b = session.alloc(kBytes);
    std::vector<float> data(kCount);
    for (size_t i = 0; i < kCount; ++i) data[i] = static_cast<float>(i % 65521);
    const std::vector<float> sent = data;
    session.write(a, data);
    std::memset(data.data(), 0, kBytes);
    for (int i = 0; i < 3; ++i) {
        std::vector<float> small(5, static_cast<float>(i));
        session.write(static_cast<float *>(a) + 5 * i, small);
        small.assign(5, -1.0f);
    }
    CHECK_EQ(table().mem_copy(session.stream, b, a, kBytes, nullptr), int32_t{XF_OK});
    const std::vector<float> got = session.read(b, kCount), head = session.read(b, 20);
    CHECK(std::memcmp(got.data() + 15, sent.data() + 15, kBytes - 15 * sizeof(float)) == 0);
    for (size_t i = 0; i < 15; ++i) CHECK(got[i] == static_cast<float>(i / 5) && head[i] == got[i]);
    CHECK_EQ(table().mem_zero(session.stream, b, 2 * sizeof(float), nullptr), int32_t{XF_OK});
    CHECK(session.read(b, 3) == (std::vector<float>{0.0f, 0.0f, 0.0f}));
    session.free(a, kBytes);
    session.free(b, kBytes);

    void *nothing = session.alloc(0);  // no bytes are legal everywhere
    CHECK_EQ(table().mem_upload(session.stream, nothing, nullptr, 0, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().mem_download(session.stream, nullptr, nothing, 0, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().mem_copy(session.stream, nothing, nothing, 0, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().mem_zero(session.stream, nothing, 0, nullptr), int32_t{XF_OK});
    session.free(nothing, 0);
}

// Opens, uploads and computes; the first failure is the result.
int32_t work(Host &host, xf_error *err) {
    xf_device *device = nullptr;
    xf_stream *stream = nullptr;
    void *memory = nullptr;
    constexpr int64_t kRows = 600;
    const std::vector<float> data(weights_bytes(kRows) / sizeof(float), 1.0f);
    int32_t status = table().device_open(&host.callbacks, 0, &device, err);
    if (status == XF_OK) status = table().stream_create(device, XF_FP32, &stream, err);
    if (status == XF_OK) status = table().mem_alloc(device, weights_bytes(kRows), &memory, err);
    if (status == XF_OK) status = table().mem_upload(stream, memory, data.data(), weights_bytes(kRows), err);
    const xf_linear_bwd_weights args = weights_args(static_cast<float *>(memory), kRows);
    xf_graph *graph = nullptr;
    if (status == XF_OK) status = table().linear_bwd_weights(stream, &args, err);
    if (status == XF_OK) status = table().graph_begin(stream, err);
    if (status == XF_OK) status = table().linear_bwd_weights(stream, &args, err);
    if (status == XF_OK) status = table().graph_end(stream, &graph, err);
    if (status == XF_OK) status = table().graph_run(stream, graph, err);
    if (status == XF_OK) status = table().stream_sync(stream, err);
    if (memory != nullptr) table().mem_free(device, memory, weights_bytes(kRows));
    table().stream_free(stream);  // with its graph
    table().device_close(device);
    return status;
}

// arrange(host, n) lets the request fail that comes after n others; done when work() needs no more than n.
void check_each_failure(const std::function<void(Host &, int64_t)> &arrange, const char *what) {
    for (int64_t n = 0; n < 100; ++n) {
        Host host;
        arrange(host, n);
        xf_error err{};
        const int32_t status = work(host, &err);
        set("malloc_fail_after", 0);
        host.check_empty();
        if (status == XF_OK) {
            CHECK(n >= 2);
            return;
        }
        CHECK_EQ(std::string(what) + ' ' + std::to_string(status),
                 std::string(what) + ' ' + std::to_string(XF_ERROR_NO_MEMORY));
        CHECK_EQ(err.status, status);
        CHECK(err.message[0] != 0);
    }
    CHECK(!"there was no end of allocations");
}

XF_TEST(each_allocation_may_fail_and_nothing_leaks) {
    check_each_failure([](Host &, int64_t n) { set("malloc_fail_after", n + 1); }, "GPU");
    check_each_failure([](Host &host, int64_t n) { host.allocs_left = n; }, "host");
    check_each_failure([](Host &host, int64_t n) { host.accounts_left = n; }, "budget");
}

XF_TEST(a_fault_is_permanent_and_closing_is_safe) {
    const Control fault("launch_fault_after", 0, 0);  // lasts until everything is closed
    Alone session;
    void *memory = session.alloc(weights_bytes(9));
    session.write(memory, std::vector<float>(weights_bytes(9) / sizeof(float), 1.0f));
    const xf_linear_bwd_weights args = weights_args(static_cast<float *>(memory), 9);
    CHECK_EQ(table().linear_bwd_weights(session.stream, &args, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().stream_sync(session.stream, nullptr), int32_t{XF_OK});
    set("launch_fault_after", 1);
    xf_error err{};
    int32_t status = table().linear_bwd_weights(session.stream, &args, &err);
    if (status == XF_OK) status = table().stream_sync(session.stream, &err);
    CHECK_EQ(status, int32_t{XF_ERROR_BACKEND});
    CHECK_EQ(err.native_code, kIllegalAddress);
    std::vector<float> guarded(4, 7.0f);
    void *more = nullptr;
    xf_stream *second = nullptr;
    xf_graph *graph = nullptr;
    const std::function<int32_t(xf_error *)> later[] = {
        [&](xf_error *e) { return table().mem_alloc(session.device, 16, &more, e); },
        [&](xf_error *e) { return table().stream_create(session.device, XF_FP32, &second, e); },
        [&](xf_error *e) { return table().mem_download(session.stream, guarded.data(), memory, 16, e); },
        [&](xf_error *e) { return table().mem_upload(session.stream, memory, guarded.data(), 16, e); },
        [&](xf_error *e) { return table().mem_copy(session.stream, memory, memory, 16, e); },
        [&](xf_error *e) { return table().mem_zero(session.stream, memory, 16, e); },
        [&](xf_error *e) { return table().linear_bwd_weights(session.stream, &args, e); },
        [&](xf_error *e) { return table().stream_sync(session.stream, e); },
        [&](xf_error *e) { return table().graph_begin(session.stream, e); },
        [&](xf_error *e) {
            return table().graph_end(session.stream, &graph, e) == XF_ERROR_STATE
                       ? table().stream_sync(session.stream, e)
                       : 1;
        }};
    CHECK_EQ(get("fault"), int64_t{kIllegalAddress});
    for (const auto &call : later) {
        err = {};
        CHECK_EQ(call(&err), int32_t{XF_ERROR_BACKEND});
        CHECK_EQ(err.native_code, kIllegalAddress);
        CHECK(says(err.message, "fault"));
    }
    CHECK(more == nullptr && second == nullptr && graph == nullptr);
    CHECK(guarded == std::vector<float>(4, 7.0f));
    session.free(memory, weights_bytes(9));
}

XF_TEST(a_graph_repeats_the_recorded_calls) {
    Alone session;
    constexpr int64_t kRows = 300;
    void *memory = session.alloc(weights_bytes(kRows));
    auto *numbers = static_cast<float *>(memory);
    session.write(memory, std::vector<float>(weights_bytes(kRows) / sizeof(float), 1.0f));
    const xf_linear_bwd_weights args = weights_args(numbers, kRows);
    float *const bias = args.diff_bias;
    CHECK_EQ(table().linear_bwd_weights(session.stream, &args, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().graph_begin(session.stream, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().mem_zero(session.stream, bias, sizeof(float), nullptr), int32_t{XF_OK});
    CHECK_EQ(table().linear_bwd_weights(session.stream, &args, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().mem_copy(session.stream, bias + 2, bias, sizeof(float), nullptr), int32_t{XF_OK});
    xf_graph *graph = nullptr;
    CHECK_EQ(table().graph_end(session.stream, &graph, nullptr), int32_t{XF_OK});
    CHECK(graph != nullptr);
    CHECK(session.read(bias, 3) == std::vector<float>(3, 301.0f));  // recorded is not run
    const int64_t launched = get("graph_launches");
    for (int i = 0; i < 2; ++i) CHECK_EQ(table().graph_run(session.stream, graph, nullptr), int32_t{XF_OK});
    CHECK(session.read(bias, 3) == (std::vector<float>{300.0f, 901.0f, 300.0f}));
    CHECK_EQ(get("graph_launches"), launched + 2);

    // Scratch that is outgrown later stays where the graph looks for it.
    xf_linear_bwd_weights more{};
    more.M = 10500, more.N = 512, more.K = 1;  // the same row over and over
    const size_t large_bytes = static_cast<size_t>(4 * more.N) * sizeof(float);
    auto *const large = static_cast<float *>(session.alloc(large_bytes));
    more.diff_weights = large, more.diff_bias = large + more.N;
    more.diff_dst = large + 2 * more.N, more.src = large + 3 * more.N;
    session.write(large, std::vector<float>(large_bytes / sizeof(float), 1.0f));
    const int64_t before = get("live_allocations");
    CHECK_EQ(table().linear_bwd_weights(session.stream, &more, nullptr), int32_t{XF_OK});
    CHECK_EQ(get("live_allocations"), before + 1);
    CHECK(session.read(more.diff_bias, 512) == std::vector<float>(512, 10501.0f));
    session.write(bias, {5.0f, 5.0f, 5.0f});
    CHECK_EQ(table().graph_run(session.stream, graph, nullptr), int32_t{XF_OK});
    CHECK(session.read(bias, 3) == (std::vector<float>{300.0f, 305.0f, 300.0f}));
    table().graph_free(session.stream, graph);
    table().graph_free(session.stream, nullptr);
    session.free(large, large_bytes);
    session.free(memory, weights_bytes(kRows));
}

XF_TEST(a_forbidden_call_ends_the_recording) {
    Alone session;
    void *memory = session.alloc(weights_bytes(9));
    session.write(memory, std::vector<float>(weights_bytes(9) / sizeof(float), 1.0f));
    const xf_linear_bwd_weights args = weights_args(static_cast<float *>(memory), 9);
    float number = 7.0f;
    const std::function<int32_t(xf_error *)> refused[] = {
        [&](xf_error *e) { return table().linear_bwd_weights(session.stream, &args, e); },  // needs scratch
        [&](xf_error *e) { return table().mem_upload(session.stream, memory, &number, 4, e); },
        [&](xf_error *e) { return table().mem_download(session.stream, &number, memory, 4, e); },
        [&](xf_error *e) { return table().stream_sync(session.stream, e); },
        [&](xf_error *e) { return table().graph_begin(session.stream, e); }};
    for (const auto &call : refused) {
        for (const bool with_error : {true, false}) {
            CHECK_EQ(table().graph_begin(session.stream, nullptr), int32_t{XF_OK});
            CHECK_EQ(table().mem_zero(session.stream, memory, 4, nullptr), int32_t{XF_OK});
            xf_error err{}, end{};
            CHECK_EQ(call(with_error ? &err : nullptr), int32_t{XF_ERROR_STATE});
            CHECK(!with_error || says(err.message, "record"));
            auto *graph = reinterpret_cast<xf_graph *>(&number);
            CHECK_EQ(table().graph_end(session.stream, &graph, &end), int32_t{XF_ERROR_STATE});
            CHECK(graph == nullptr);
            CHECK(says(end.message, "record"));
            CHECK(!with_error || std::strcmp(end.message, err.message) == 0);
            CHECK_EQ(number, 7.0f);
            CHECK(session.read(memory, 1)[0] == 1.0f);  // the stream works, and nothing recorded was run
            CHECK_EQ(table().graph_end(session.stream, &graph, &end), int32_t{XF_ERROR_STATE});
        }
    }
    CHECK_EQ(get("live_graphs"), 0);
    CHECK_EQ(table().linear_bwd_weights(session.stream, &args, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().graph_begin(session.stream, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().linear_bwd_weights(session.stream, &args, nullptr), int32_t{XF_OK});
    table().stream_free(session.stream);  // in the midst of a recording
    session.stream = nullptr;
    session.free(memory, weights_bytes(9));
}

XF_TEST(threads_work_on_separate_streams) {
    Host host;
    {
        Session first(host);
        xf_stream *second = nullptr;
        CHECK_EQ(table().stream_create(first.device, XF_FP32, &second, nullptr), int32_t{XF_OK});
        Session other(host);  // another context on the same GPU
        xf_stream *const streams[] = {first.stream, second, other.stream};
        xf_device *const devices[] = {first.device, first.device, other.device};
        std::vector<std::string> wrong(3);
        std::vector<std::thread> threads;
        for (size_t t = 0; t < 3; ++t)
            threads.emplace_back([&, t] {
                constexpr int64_t kRows = 40;
                std::vector<float> data(weights_bytes(kRows) / sizeof(float), static_cast<float>(t + 1));
                const auto add = static_cast<float>(kRows * static_cast<int64_t>(t + 1));
                void *memory = nullptr;
                xf_error err{};
                bool good = table().mem_alloc(devices[t], weights_bytes(kRows), &memory, &err) == XF_OK;
                const xf_linear_bwd_weights args = weights_args(static_cast<float *>(memory), kRows);
                for (int round = 0; good && round < 20; ++round) {
                    std::vector<float> bias(kSize);
                    xf_graph *graph = nullptr;
                    good = table().mem_upload(streams[t], memory, data.data(), weights_bytes(kRows), &err) == XF_OK &&
                           table().linear_bwd_weights(streams[t], &args, &err) == XF_OK &&
                           table().graph_begin(streams[t], &err) == XF_OK &&
                           table().linear_bwd_weights(streams[t], &args, &err) == XF_OK &&
                           table().graph_end(streams[t], &graph, &err) == XF_OK &&
                           table().graph_run(streams[t], graph, &err) == XF_OK &&
                           table().mem_download(streams[t], bias.data(), args.diff_bias, kSize * 4, &err) == XF_OK;
                    if (good && bias != std::vector<float>(kSize, static_cast<float>(t + 1) + 2 * add)) {
                        wrong[t] = "another's numbers";
                        good = false;
                    }
                    table().graph_free(streams[t], graph);
                }
                if (!good && wrong[t].empty()) wrong[t] = err.message;
                if (memory != nullptr) table().mem_free(devices[t], memory, weights_bytes(kRows));
            });
        for (std::thread &thread : threads) thread.join();
        for (const std::string &what : wrong) CHECK_EQ(what, "");
        table().stream_free(second);
    }
    host.check_empty();
}

}  // namespace
