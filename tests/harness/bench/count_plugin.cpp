// A backend around libxformer_openblas.so that runs every task on the calling thread and times it: count_tasks.c.
//
// The plugin's host is replaced by one that reports the requested number of workers and runs the tasks of a parallel
// region sequentially, each with the number of the worker that would have run it. The time of a step on P processors
// follows from the measured times: the tasks of a region are assigned in order, each to the worker that is free first;
// code between regions is serial. Times are processor time of the thread, so the load of the machine hardly matters.
//
// SPDX-License-Identifier: Apache-2.0
#include "count_plugin.h"

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <queue>
#include <vector>

#include "backend/plugin_abi.h"

namespace {

enum Op : int {
    kBetween,
#define COUNT_NUMBER(name, type) k_##name,
    XF_FOR_EACH_OP(COUNT_NUMBER)
#undef COUNT_NUMBER
        kOps
};
constexpr const char *kNames[] = {"between operations",
#define COUNT_NAME(name, type) #name,
                                  XF_FOR_EACH_OP(COUNT_NAME)
#undef COUNT_NAME
};

struct Region {
    Op op;
    size_t begin, end;  // of its tasks
};

const xf_backend_v1 *real;
xf_backend_v1 table;
xf_host_v1 host;

bool on;
int32_t cut_for = 1;
Op current = kBetween;
double mark;                         // where the part of no task began
std::vector<double> times, earlier;  // of this round; the least of those before
std::vector<Region> regions;
double serial[kOps], earlier_serial[kOps];
count_op results[kOps];

double now() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void note_serial() {
    const double t = now();
    serial[current] += t - mark;
    mark = t;
}

// The workers of a region by when they are free.
class Workers {
public:
    explicit Workers(int32_t count) {
        for (int32_t i = 0; i < count; ++i) free_.push({0.0, i});
    }
    int32_t next() const { return free_.top().second; }
    void take(double time) {
        auto [at, worker] = free_.top();
        free_.pop();
        free_.push({at + time, worker});
        end_ = std::max(end_, at + time);
    }
    double end() const { return end_; }

private:
    using Free = std::pair<double, int32_t>;
    std::priority_queue<Free, std::vector<Free>, std::greater<Free>> free_;
    double end_ = 0.0;
};

void run_in_turn(void *, int64_t tasks, void (*body)(void *arg, int64_t task, int32_t worker), void *arg) {
    if (on) note_serial();
    const size_t begin = times.size();
    Workers workers(cut_for);
    for (int64_t task = 0; task < tasks; ++task) {
        const double start = now();
        body(arg, task, workers.next());
        const double time = now() - start;
        workers.take(time);
        if (on) times.push_back(time);
    }
    if (!on) return;
    regions.push_back({current, begin, times.size()});
    mark = now();
}

#define COUNT_FORWARD(name, type)                                                \
    int32_t forward_##name(xf_stream *stream, const type *args, xf_error *err) { \
        if (on) note_serial();                                                   \
        current = k_##name;                                                      \
        const int32_t status = real->name(stream, args, err);                    \
        if (on) note_serial();                                                   \
        current = kBetween;                                                      \
        return status;                                                           \
    }
XF_FOR_EACH_OP(COUNT_FORWARD)
#undef COUNT_FORWARD

int32_t device_open(const xf_host_v1 *given, int32_t index, xf_device **device, xf_error *err) {
    host = *given;
    host.parallel = run_in_turn;
    host.workers = [](void *) { return cut_for; };
    return real->device_open(&host, index, device, err);
}

}  // namespace

extern "C" {

const xf_backend_v1 *xf_plugin_init(uint32_t abi, xf_error *err) {
    void *library = dlopen(COUNT_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    const auto init = library ? reinterpret_cast<xf_plugin_init_fn>(dlsym(library, XF_PLUGIN_INIT_NAME)) : nullptr;
    if (init == nullptr) {
        std::snprintf(err->message, sizeof err->message, "cannot load %s", COUNT_PLUGIN);
        return nullptr;
    }
    real = init(abi, err);
    if (real == nullptr) return nullptr;
    table = *real;
    table.device_open = device_open;
#define COUNT_REPLACE(name, type) \
    if (real->name != nullptr) table.name = forward_##name;
    XF_FOR_EACH_OP(COUNT_REPLACE)
#undef COUNT_REPLACE
    return &table;
}

void count_start(int32_t workers) {
    cut_for = workers;
    times.clear();
    earlier.clear();
    regions.clear();
    std::fill(std::begin(serial), std::end(serial), 0.0);
    std::fill(std::begin(earlier_serial), std::end(earlier_serial), 0.0);
    mark = now();
    on = true;
}

void count_again() {
    earlier = std::move(times);
    times.clear();
    regions.clear();
    std::copy(std::begin(serial), std::end(serial), std::begin(earlier_serial));
    std::fill(std::begin(serial), std::end(serial), 0.0);
    mark = now();
    on = true;
}

void count_pause() {
    if (on) note_serial();
}

void count_resume() { mark = now(); }

int32_t count_stop() {
    note_serial();
    on = false;
    if (earlier.empty()) return 0;
    if (earlier.size() != times.size()) return 1;
    for (size_t i = 0; i < times.size(); ++i) times[i] = std::min(times[i], earlier[i]);
    for (int i = 0; i < kOps; ++i) serial[i] = std::min(serial[i], earlier_serial[i]);
    return 0;
}

int32_t count_summary(int32_t workers, const count_op **ops) {
    for (int i = 0; i < kOps; ++i) results[i] = {kNames[i], 0, 0, serial[i], 0.0, 0.0, 0.0};
    for (const Region &region : regions) {
        count_op &op = results[region.op];
        Workers free(workers);
        for (size_t i = region.begin; i < region.end; ++i) {
            free.take(times[i]);
            op.work += times[i];
            op.longest = std::max(op.longest, times[i]);
        }
        op.length += free.end();
        op.tasks += static_cast<int64_t>(region.end - region.begin);
        ++op.regions;
    }
    *ops = results;
    return kOps;
}

}  // extern "C"
