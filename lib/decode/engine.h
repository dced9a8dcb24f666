// An engine: a queue of requests that one thread decodes together.
//
// Any thread may submit requests, which wait in the order of their priorities. Between two steps of the search, waiting
// requests begin and finished ones are removed. Each request has its own options, and its result has the same bits as
// without other requests. See docs/adr/0009-engine.md for the rule by which requests begin.
//
// Only one thread at a time computes: that of the engine, or a caller of step(). It uses the decoders without a lock;
// the mutex guards the queues. After submit() has returned, the last event of a request needs no allocation, so every
// request gets a last event.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/os/readable.h"
#include "decode/decoder.h"
#include "text/tokenizer.h"

namespace xf {

// A request, with copies of everything that it needs.
struct EngineRequest {
    bool is_text = false;
    std::string text{}, prefix{};
    std::vector<int32_t> ids{}, prefix_ids{};  // if is_text, the engine fills them
    std::optional<Options> options{};          // those that are set override the options of the engine
    Constraint constraint{};
    int64_t deadline_ms = 0;  // after submit(); 0: none
    int32_t priority = 0;
    bool stream = false;  // with partial events
    void *user = nullptr;
};

struct EngineEvent {
    uint64_t id = 0;
    void *user = nullptr;
    uint64_t model_hash = 0;
    bool last = false;  // no other event of the request follows
    bool has_text = false;
    SentenceOutcome outcome{};  // of a partial event: one hypothesis, the tokens that are certain
};

struct EngineStats {
    int64_t waiting = 0, active = 0, events = 0;  // events: requests with an event that has not been received
    int64_t submitted = 0, completed = 0, failed = 0, cancelled = 0;  // since the engine was created
    int64_t steps = 0, rows = 0, encoder_passes = 0, restarts = 0;
    int64_t models = 0;  // the current one, and earlier ones that requests still use
    uint64_t model_hash = 0;
};

class Engine {
public:
    // options: the groups "decode.", "text.", and "engine.". Throws XF_ERROR_BUSY if a trainer uses a model.
    Engine(const DecodeModels &models, std::shared_ptr<const Tokenizer> tokenizer, const Options &options);
    // Waits for the current step.
    ~Engine();
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    // Queues a request and returns its id. Throws XF_ERROR_BUSY if the engine already holds "engine.max_requests"
    // requests.
    uint64_t submit(EngineRequest request);
    // Ends a request with XF_ERROR_CANCELLED before the next step, or after the current one. Returns false if it has
    // already ended.
    bool cancel(uint64_t id);
    // Waits for an event, at most timeout_ms; a negative value is no limit. Returns false if no event arrived in this
    // time. Throws XF_ERROR_CANCELLED or XF_ERROR_DEADLINE for the call, and XF_ERROR_STATE after close().
    bool next(int64_t timeout_ms, const Call &call, EngineEvent *event);
    // Runs one step on this thread. Returns whether requests remain. Throws XF_ERROR_STATE if the engine has a thread.
    bool step();
    // Requests that begin later use these models.
    void set_models(const DecodeModels &models, std::shared_ptr<const Tokenizer> tokenizer);
    EngineStats stats();
    // The target vocabulary size, which is the same for all models.
    int32_t vocab_size() const { return vocab_size_; }
    // Readable while next() has an event.
    int descriptor() const { return readable_.descriptor(); }
    // Ends the computation and all calls of next(). In a forked child, abandons the thread, which does not exist there.
    void close() noexcept;

private:
    struct Request;
    struct Served;
    // Waiting requests, the next one first. One level of priority counts as much as kStepsPerPriority steps of waiting,
    // so the order never changes, and every request begins eventually.
    using Order = std::pair<int64_t, uint64_t>;
    using Queue = std::map<Order, Request *>;

    void start();
    void run();
    bool run_step();
    static void prepare(Request *request, const Served &served);
    // These functions require the mutex.
    bool has_work() const { return !waiting_.empty() || stats_.active > 0; }
    void remove_waiting();
    void choose(Served *served);
    void publish();
    void end(Request *request);
    void add_event(Request *request);
    // These functions are called without the mutex.
    void advance(Served *served);
    void begin(Served *served);
    static void stop_ended(Served *served);
    static void recover(Served *served, xf_status status, const char *reason) noexcept;
    static void read_result(Served *served, Request *request);
    static void read_certain(Served *served, Request *request);

    const std::shared_ptr<Context> context_;
    const Options options_;
    const int64_t max_requests_, max_rows_;
    const int32_t vocab_size_;
    const int process_;
    Readable readable_;

    std::mutex mutex_;
    std::condition_variable work_, event_;
    std::unordered_map<uint64_t, std::unique_ptr<Request>> requests_;
    Queue waiting_;
    std::vector<std::shared_ptr<Served>> served_;  // the newest last
    Request *first_event_ = nullptr, *last_event_ = nullptr;
    uint64_t last_id_ = 0, last_model_ = 0;
    EngineStats stats_;
    bool closed_ = false;
    bool stepping_ = false;

    // Of the thread that computes.
    std::vector<Served *> current_;    // the models of this step
    std::vector<Request *> starting_;  // requests that begin in this step
    std::vector<DecodeTask> tasks_;
    std::thread thread_;
};

}  // namespace xf
