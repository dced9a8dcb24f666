// The CUDA plugin inside another program: the current device of the caller is preserved, a forked child does not use
// the GPU of its parent, and memory that CUDA itself allocates is part of the account.
//
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_host/device_fixture.hpp"

namespace {

using namespace xf_test;

constexpr int64_t kRows = 9;

// Each call of the table that may touch a device, in an order that makes sense; after each the caller's context must be
// the one that it was.
void check_each_call(int32_t index, int64_t context) {
    Host host;
    xf_device *device = nullptr;
    xf_stream *stream = nullptr;
    xf_graph *graph = nullptr;
    void *memory = nullptr;
    const size_t bytes = weights_bytes(kRows);
    std::vector<float> data(bytes / sizeof(float), 1.0f), bias(kSize);
    xf_error err{};
    const auto work = [&] {
        const xf_linear_bwd_weights args = weights_args(static_cast<float *>(memory), kRows);
        return table().linear_bwd_weights(stream, &args, &err);
    };
    const struct {
        const char *name;
        std::function<int32_t()> call;
    } calls[] = {
        {"device_open", [&] { return table().device_open(&host.callbacks, index, &device, &err); }},
        {"stream_create", [&] { return table().stream_create(device, XF_FP32, &stream, &err); }},
        {"mem_alloc", [&] { return table().mem_alloc(device, bytes, &memory, &err); }},
        {"mem_upload", [&] { return table().mem_upload(stream, memory, data.data(), bytes, &err); }},
        {"linear_bwd_weights", work},
        {"graph_begin", [&] { return table().graph_begin(stream, &err); }},
        {"linear_bwd_weights, recorded", work},
        {"graph_end", [&] { return table().graph_end(stream, &graph, &err); }},
        {"graph_run", [&] { return table().graph_run(stream, graph, &err); }},
        {"mem_zero", [&] { return table().mem_zero(stream, memory, 4, &err); }},
        {"mem_copy", [&] { return table().mem_copy(stream, memory, static_cast<float *>(memory) + 1, 4, &err); }},
        {"mem_download",
         [&] {
             const float *from = static_cast<float *>(memory) + kSize * kSize;
             return table().mem_download(stream, bias.data(), from, kSize * sizeof(float), &err);
         }},
        {"stream_sync", [&] { return table().stream_sync(stream, &err); }},
        {"a call that fails",
         [&] { return table().stream_create(device, 7, &stream, &err) == XF_ERROR_UNSUPPORTED ? XF_OK : -1; }},
        {"graph_free", [&] { return table().graph_free(stream, graph), XF_OK; }},
        {"mem_free", [&] { return table().mem_free(device, memory, bytes), XF_OK; }},
        {"stream_free", [&] { return table().stream_free(stream), XF_OK; }},
        {"device_close", [&] { return table().device_close(device), XF_OK; }},
    };
    for (const auto &[name, call] : calls) {
        const int32_t status = call();
        CHECK_EQ(std::string(name) + (status == XF_OK ? "" : std::string(": ") + err.message), name);
        CHECK_EQ(std::string(name) + ' ' + std::to_string(get("context")),
                 std::string(name) + ' ' + std::to_string(context));
    }
    CHECK_EQ(get("last_malloc_device"), index);
    CHECK(bias == std::vector<float>(kSize, 1.0f + 2 * kRows));
    host.check_empty();
}

XF_TEST(the_callers_device_stays_current) {
    const Control two("devices", 2, 1);
    CHECK_EQ(table().device_count(nullptr), 2);
    for (const int64_t context : {0, 1, 2})  // none, of the first GPU, of the second
        for (const int32_t index : {0, 1}) {
            set("context", context);
            check_each_call(index, context);
        }
    set("context", 0);
}

XF_TEST(two_devices_work_at_the_same_time) {
    const Control two("devices", 2, 1);
    Host host;
    {
        Session first(host, XF_FP32, 0), second(host, XF_FP32, 1);
        Session *const sessions[] = {&first, &second};
        float *memory[2];
        for (int turn = 0; turn < 2; ++turn) {
            memory[turn] = static_cast<float *>(sessions[turn]->alloc(weights_bytes(kRows)));
            CHECK_EQ(get("last_malloc_device"), turn);
            sessions[turn]->write(memory[turn], std::vector<float>(weights_bytes(kRows) / sizeof(float), 1.0f));
        }
        for (int turn = 0; turn < 6; ++turn) {
            const xf_linear_bwd_weights args = weights_args(memory[turn % 2], kRows);
            CHECK_EQ(table().linear_bwd_weights(sessions[turn % 2]->stream, &args, nullptr), int32_t{XF_OK});
        }
        for (int turn = 0; turn < 2; ++turn) {
            CHECK(sessions[turn]->read(memory[turn] + kSize * kSize, kSize) ==
                  std::vector<float>(kSize, 1.0f + 3 * kRows));
            sessions[turn]->free(memory[turn], weights_bytes(kRows));
        }
    }
    host.check_empty();
}

XF_TEST(a_forked_child_does_not_free_gpu_memory) {
    Alone session;
    void *memory = session.alloc(weights_bytes(kRows));
    const std::vector<float> data(weights_bytes(kRows) / sizeof(float), 1.0f);
    session.write(memory, data);
    const xf_linear_bwd_weights args = weights_args(static_cast<float *>(memory), kRows);
    xf_graph *graph = nullptr;
    CHECK_EQ(table().linear_bwd_weights(session.stream, &args, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().graph_begin(session.stream, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().linear_bwd_weights(session.stream, &args, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().graph_end(session.stream, &graph, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().graph_begin(session.stream, nullptr), int32_t{XF_OK});  // and another is being made
    const auto counters = [] {
        std::string text;
        for (const char *name :
             {"live_bytes", "live_allocations", "live_pinned", "live_streams", "live_graphs", "launches", "context"})
            text += std::to_string(get(name)) + ' ';
        return text;
    };
    const pid_t child = fork();
    if (child == 0) {
        const std::string before = counters();
        session.free(memory, weights_bytes(kRows));
        table().graph_free(session.stream, graph);
        table().stream_free(session.stream);
        table().device_close(session.device);
        _exit(counters() != before ? 1 : !session.live.empty() || session.wrong || session.held != 0 ? 2 : 0);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(table().graph_end(session.stream, &graph, nullptr), int32_t{XF_OK});
    CHECK(session.read(args.diff_bias, kSize) == std::vector<float>(kSize, 1.0f + kRows));
    session.free(memory, weights_bytes(kRows));
}

XF_TEST(graphs_are_counted_in_the_memory_account) {
    Alone session;
    void *memory = session.alloc(16);
    const auto recorded = [&](int calls, xf_graph **graph) {
        CHECK_EQ(table().graph_begin(session.stream, nullptr), int32_t{XF_OK});
        for (int i = 0; i < calls; ++i) CHECK_EQ(table().mem_zero(session.stream, memory, 16, nullptr), int32_t{XF_OK});
        xf_error err{};
        return table().graph_end(session.stream, graph, &err);
    };
    const int64_t before = session.held;
    xf_graph *small = nullptr, *large = nullptr;
    CHECK_EQ(recorded(1, &small), int32_t{XF_OK});
    const int64_t one = session.held - before;
    CHECK_EQ(recorded(601, &large), int32_t{XF_OK});
    const int64_t more = session.held - before - 2 * one;
    CHECK(one >= 1 << 16);
    CHECK_EQ(more, int64_t{600} * 2048);
    table().graph_free(session.stream, large);
    CHECK_EQ(session.held, before + one);
    session.budget = session.held + one - 1;
    CHECK_EQ(recorded(1, &large), int32_t{XF_ERROR_NO_MEMORY});
    CHECK(large == nullptr);
    CHECK_EQ(session.held, before + one);
    CHECK_EQ(get("live_graphs"), 1);
    CHECK_EQ(table().graph_run(session.stream, small, nullptr), int32_t{XF_OK});  // the stream works on
    CHECK_EQ(table().stream_sync(session.stream, nullptr), int32_t{XF_OK});
    session.budget = INT64_MAX;
    session.free(memory, 16);
}

}  // namespace
