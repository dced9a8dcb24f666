// SPDX-License-Identifier: Apache-2.0
#include "decode/engine.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/float_state.h"
#include "core/os/process.h"
#include "core/utf8.h"
#include "decode/translator.h"

namespace xf {
namespace {

using Clock = std::chrono::steady_clock;

// Source tokens of one encoder pass, except that one sentence may have more. The pass delays the active requests.
constexpr int64_t kEncoderTokens = 256;
// The number of steps for which a request of the next lower priority must have waited to begin first.
constexpr int64_t kStepsPerPriority = 64;
// Models that requests use at the same time.
constexpr size_t kMaxModels = 8;
// A longer time is no limit, and its end might not be a time of the clock.
constexpr int64_t kLongestMs = int64_t{1} << 40;
// The time between two checks of a cancel flag, which cannot wake a thread.
constexpr std::chrono::milliseconds kPoll{20};

// Removes the end of a text that a further token could change: an incomplete character, or its replacement.
void keep_whole_characters(std::string *text) {
    constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
    while (!text->empty()) {
        size_t begin = text->size() - 1;
        while (begin > 0 && text->size() - begin < 4 && (static_cast<unsigned char>((*text)[begin]) & 0xC0) == 0x80)
            --begin;
        const CodePoint c = decode_utf8(*text, begin);
        if (c.valid && begin + c.size == text->size() && !text->ends_with(kReplacement)) return;
        text->resize(begin);
    }
}

}  // namespace

// A model, or several that decode together, and the requests that it decodes. The thread that computes uses the decoder
// and the list.
struct Engine::Served {
    Served(const DecodeModels &given, std::shared_ptr<const Tokenizer> its_tokenizer, const Options &options)
        : models(given),
          use(models),
          tokenizer(std::move(its_tokenizer)),
          decoder(models, options, tokenizer.get()),
          hash(models.hash()) {
        active.reserve(options.i64("engine.max_requests"));
    }

    const DecodeModels models;  // outlive `use`, which does not keep them
    const ModelsUse use;
    const std::shared_ptr<const Tokenizer> tokenizer;  // may be null
    Decoder decoder;
    const uint64_t hash;
    uint64_t number = 0;  // models of an engine have different numbers
    std::vector<Request *> active;
    int64_t most = INT64_MAX;  // requests that may be active; lower after memory was exhausted
};

struct Engine::Request : EngineRequest {
    explicit Request(EngineRequest &&request) : EngineRequest(std::move(request)) {
        if (!constraint) return;
        // An error of the callback must not end the search of other requests.
        constraint = [this, callback = std::move(constraint)](std::span<const Partial> partials) {
            try {
                callback(partials);
            } catch (const Error &error) {
                callback_error = std::make_unique<Error>(error);
            }
        };
    }
    bool is_cancelled() const { return cancelled.load(std::memory_order_relaxed) || source->count() != cancellations; }
    bool expired() const { return deadline_ms > 0 && Clock::now() >= deadline; }
    int64_t rows() const { return config.beam.width(); }
    TokenTemplates templates(const Served &served) const {
        const ModelConfig &model = served.decoder.model().config();
        return TokenTemplates(model.tokens, model.languages, config.languages);
    }
    DecodeTask task() { return {0, &config, ids, prefix_ids, constrained ? &constrained : nullptr, &outcome}; }
    // Cannot fail if the message has at most 15 bytes.
    void fail_with(xf_status status, const char *message) {
        outcome.hypotheses.clear();
        outcome.message = message;
        outcome.status = status;
    }

    uint64_t id = 0;
    Clock::time_point deadline{};
    const CancelSource *source = nullptr;
    uint32_t cancellations = 0;  // of the context before submit()
    std::atomic<bool> cancelled{false};
    std::unique_ptr<Error> callback_error;
    uint64_t model_number = 0;  // config, ids, and prefix_ids are for this model
    bool has_text = false;
    DecodeConfig config{};
    Constraint constrained{};  // config.constrained(constraint)
    Queue::node_type place{};  // in the queue, while the request is active
    bool restart = false;      // it begins again later
    SentenceOutcome outcome{};
    std::optional<Hypothesis> certain{};  // the next partial event, of the thread that computes
    size_t certain_tokens = 0, certain_bytes = 0;

    // Guarded by the mutex.
    std::optional<Hypothesis> partial{};  // of the event in the list
    bool ended = false, listed = false;
    uint64_t model_hash = 0;
    Request *next = nullptr;  // in the list of events
};

Engine::Engine(const DecodeModels &models, std::shared_ptr<const Tokenizer> tokenizer, const Options &options)
    : context_(models.model->context_ptr()),
      options_(options),
      max_requests_(options.i64("engine.max_requests")),
      max_rows_(options.i64("decode.batch_sentences") * options.i64("decode.beam")),
      vocab_size_(static_cast<int32_t>(models.model->config().V)),
      process_(process_id()) {
    served_.reserve(kMaxModels);
    current_.reserve(kMaxModels);
    starting_.reserve(max_requests_);
    tasks_.reserve(max_requests_);
    set_models(models, std::move(tokenizer));
    if (options.boolean("engine.thread")) start();
}

void Engine::start() {
    const SignalsBlocked blocked;
    bool started = false, ready = false;
    thread_ = std::thread([this, &started, &ready] {
        const FloatState float_state;
        const CancelState cancel_state;
        const bool is_ready = thread_ready();
        {
            const std::lock_guard lock(mutex_);
            ready = is_ready;
            started = true;
            event_.notify_all();
        }
        if (is_ready) run();
    });
    {
        std::unique_lock lock(mutex_);
        event_.wait(lock, [&] { return started; });
    }
    if (ready) return;
    thread_.join();
    fail(XF_ERROR_NO_MEMORY, "out of memory");
}

Engine::~Engine() { close(); }

void Engine::close() noexcept {
    if (process_ != process_id()) {
        // The thread does not exist here, and the C library may reuse its id.
        ::new (static_cast<void *>(&thread_)) std::thread();
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        work_.notify_all();
        event_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void Engine::set_models(const DecodeModels &models, std::shared_ptr<const Tokenizer> tokenizer) {
    const auto &model = models.model;
    XF_CHECK(model->context_ptr() == context_, XF_ERROR_INVALID_ARGUMENT,
             "the model belongs to another context than the engine");
    XF_CHECK(model->config().V == vocab_size_, XF_ERROR_INVALID_ARGUMENT,
             "the model has %" PRId64 " target tokens, expected %d as before", model->config().V, vocab_size_);
    auto served = std::make_shared<Served>(models, std::move(tokenizer), options_);
    std::shared_ptr<Served> unused;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    if (!stepping_ && !served_.empty() && served_.back()->active.empty()) {
        unused = std::move(served_.back());
        served_.pop_back();
    }
    XF_CHECK(served_.size() < kMaxModels, XF_ERROR_BUSY, "requests still use %zu earlier models, the maximum",
             kMaxModels - 1);
    served->number = ++last_model_;
    served_.push_back(std::move(served));
}

// Resolves the options of a request and encodes its text, or settles its outcome.
void Engine::prepare(Request *request, const Served &served) {
    request->model_number = served.number;
    request->has_text = served.tokenizer != nullptr;
    try {
        request->config = served.decoder.config(request->options ? &*request->options : nullptr);
        request->constrained = request->config.constrained(request->constraint);
        if (request->is_text) {
            XF_CHECK(served.tokenizer != nullptr, XF_ERROR_STATE, "the model has no tokenizer; submit ids");
            served.decoder.model().config().languages.check_set(request->config.languages);
            EncodeScratch scratch;
            request->ids.clear();
            request->prefix_ids.clear();
            encode_text(*served.tokenizer, request->templates(served).source, request->text, request->prefix,
                        &request->ids, &request->prefix_ids, &scratch, &request->outcome);
        }
        if (!request->outcome.settled()) served.decoder.check(request->task());
    } catch (const Error &error) {
        request->fail_with(error.status(), error.what());
    }
}

uint64_t Engine::submit(EngineRequest given) {
    auto owner = std::make_unique<Request>(std::move(given));
    Request *const request = owner.get();
    request->deadline = Clock::now() + std::chrono::milliseconds(std::min(request->deadline_ms, kLongestMs));
    request->source = &context_->cancel_source();
    request->cancellations = request->source->count();
    std::unique_lock lock(mutex_);
    const auto check_room = [&] {
        XF_CHECK(std::ssize(requests_) < max_requests_, XF_ERROR_BUSY,
                 "the engine has %" PRId64 " requests, the maximum (engine.max_requests)", max_requests_);
    };
    check_room();
    const std::shared_ptr<Served> served = served_.back();
    lock.unlock();
    prepare(request, *served);  // if the model is replaced before the request begins, choose() does it again
    lock.lock();
    check_room();
    request->id = last_id_ + 1;
    const Order order{stats_.steps - request->priority * kStepsPerPriority, request->id};
    waiting_.emplace(order, request);
    try {
        requests_.emplace(request->id, std::move(owner));
    } catch (...) {
        waiting_.erase(order);
        throw;
    }
    ++stats_.submitted;
    work_.notify_one();
    return ++last_id_;
}

bool Engine::cancel(uint64_t id) {
    const std::lock_guard lock(mutex_);
    XF_CHECK(id > 0 && id <= last_id_, XF_ERROR_NOT_FOUND, "the engine has no request %" PRIu64, id);
    const auto found = requests_.find(id);
    if (found == requests_.end() || found->second->ended) return false;
    found->second->cancelled.store(true, std::memory_order_relaxed);
    return true;
}

void Engine::run() {
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            work_.wait(lock, [&] { return closed_ || has_work(); });
            if (closed_) return;
        }
        run_step();
    }
}

bool Engine::step() {
    XF_CHECK(!options_.boolean("engine.thread"), XF_ERROR_STATE,
             "the engine computes on its own thread (engine.thread)");
    return run_step();
}

bool Engine::run_step() {
    {
        const std::lock_guard lock(mutex_);
        XF_CHECK(!stepping_, XF_ERROR_BUSY, "another thread computes a step of the engine");
        if (closed_ || !has_work()) return false;
        stepping_ = true;
        remove_waiting();
        choose(served_.back().get());
        current_.clear();
        for (const auto &served : served_) current_.push_back(served.get());
    }
    for (Served *served : current_) advance(served);
    std::shared_ptr<Served> unused[kMaxModels];  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    stepping_ = false;
    publish();
    for (size_t i = 0; i + 1 < served_.size(); ++i)
        if (served_[i]->active.empty()) unused[i] = std::move(served_[i]);
    std::erase(served_, nullptr);
    return has_work();
}

// Ends waiting requests that were cancelled, whose deadline has passed, or that are invalid.
void Engine::remove_waiting() {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        Request *const request = at->second;
        const bool cancelled = request->is_cancelled();
        if (!cancelled && !request->expired() && !request->outcome.settled()) {
            ++at;
            continue;
        }
        if (cancelled)
            request->fail_with(XF_ERROR_CANCELLED, "cancelled");
        else if (!request->outcome.settled())
            request->fail_with(XF_ERROR_DEADLINE, "deadline passed");
        at = waiting_.erase(at);
        end(request);
    }
}

// Selects the waiting requests that begin in this step.
void Engine::choose(Served *served) {
    starting_.clear();
    int64_t rows = 0, tokens = 0;
    for (const auto &other : served_)
        for (const Request *request : other->active) rows += request->rows();
    // With many active requests, several begin together, because the encoder reads its weights once per pass.
    if (rows * 4 > max_rows_ * 3) return;
    while (!waiting_.empty()) {
        Request *const request = waiting_.begin()->second;
        try {
            if (request->model_number != served->number) prepare(request, *served);
        } catch (const std::exception &) {
            request->fail_with(XF_ERROR_NO_MEMORY, "out of memory");
        }
        const auto length = std::ssize(request->ids);
        if (!request->outcome.settled() && rows > 0) {
            if (rows + request->rows() > max_rows_) break;
            if (std::ssize(served->active) + std::ssize(starting_) >= served->most) break;
            if (!starting_.empty() && tokens + length > kEncoderTokens) break;
        }
        request->place = waiting_.extract(waiting_.begin());
        if (request->outcome.settled()) {
            end(request);
            continue;
        }
        request->model_hash = served->hash;
        starting_.push_back(request);
        rows += request->rows();
        tokens += length;
    }
}

// Computes one step of the requests of a model.
void Engine::advance(Served *served) {
    const auto guarded = [&](const auto &work) {
        try {
            work();
            return true;
        } catch (const Error &error) {
            recover(served, error.status(), error.what());
        } catch (const std::bad_alloc &) {
            recover(served, XF_ERROR_NO_MEMORY, "out of memory");
        } catch (const std::exception &error) {
            recover(served, XF_ERROR_INTERNAL, error.what());
        }
        return false;
    };
    guarded([&] {
        if (served == current_.back()) begin(served);
        served->decoder.step(Call());
    }) &&
        guarded([&] {
            stop_ended(served);
            served->decoder.align_ended(Call());
        });
    for (Request *request : served->active) read_result(served, request);
}

void Engine::begin(Served *served) {
    if (starting_.empty()) return;
    tasks_.clear();
    for (Request *request : starting_) {
        tasks_.push_back(request->task());
        served->active.push_back(request);
    }
    served->decoder.begin(tasks_, Call());
}

// Ends the search of active requests that were cancelled, whose deadline has passed, or whose constraint failed.
void Engine::stop_ended(Served *served) {
    for (Request *request : served->active) {
        const bool failed = request->callback_error != nullptr;
        if (!failed && (request->outcome.settled() || !(request->is_cancelled() || request->expired()))) continue;
        if (!request->outcome.settled()) served->decoder.stop(&request->outcome);
        if (failed)
            request->fail_with(request->callback_error->status(), request->callback_error->what());
        else if (request->is_cancelled())
            request->fail_with(XF_ERROR_CANCELLED, "cancelled");
    }
}

// After an error. If memory was exhausted, the requests begin again later, fewer at a time; their results are the same.
// Other errors end them.
void Engine::recover(Served *served, xf_status status, const char *reason) noexcept {
    served->decoder.clear();
    int64_t count = 0;
    for (const Request *request : served->active) count += request->outcome.settled() ? 0 : 1;
    const bool again = status == XF_ERROR_NO_MEMORY && count > 1;
    if (again) served->most = std::max<int64_t>(1, count / 2);
    for (Request *request : served->active) {
        if (request->outcome.settled()) continue;
        request->restart = again;
        if (again) continue;
        try {
            request->fail_with(status, reason);
        } catch (...) {
            request->fail_with(status, "out of memory");
        }
    }
}

// Detokenizes the result of a request that has ended, or the certain tokens of another one.
void Engine::read_result(Served *served, Request *request) {
    try {
        if (!request->outcome.settled()) {
            if (request->stream && !request->restart) read_certain(served, request);
        } else if (served->tokenizer != nullptr) {
            write_texts(*served->tokenizer, &request->outcome);
            if (request->is_text && request->config.alignment)
                write_source_ends(*served->tokenizer, request->templates(*served).source, request->text, request->ids,
                                  &request->outcome);
        }
    } catch (const std::exception &) {
        // A partial event is optional: a later one also has its tokens.
        if (request->outcome.settled()) request->fail_with(XF_ERROR_NO_MEMORY, "out of memory");
    }
}

void Engine::read_certain(Served *served, Request *request) {
    if (served->tokenizer != nullptr && !served->tokenizer->decodes_in_parts()) return;
    Hypothesis certain = served->decoder.common_prefix(&request->outcome);
    if (certain.ids.size() <= request->certain_tokens) return;
    request->certain_tokens = certain.ids.size();
    if (served->tokenizer != nullptr) {
        certain.text = served->tokenizer->decode(certain.ids.data(), certain.ids.size());
        keep_whole_characters(&certain.text);
        if (certain.text.size() <= request->certain_bytes) return;
        request->certain_bytes = certain.text.size();
    }
    request->certain = std::move(certain);
}

// Makes the results of a step visible.
void Engine::publish() {
    ++stats_.steps;
    stats_.encoder_passes += starting_.empty() ? 0 : 1;
    stats_.active = 0;
    for (Served *served : current_) {
        for (const Request *request : served->active) stats_.rows += request->rows();
        std::erase_if(served->active, [&](Request *request) {
            if (request->outcome.settled()) {
                if (request->outcome.status == XF_OK && served->most < INT64_MAX) ++served->most;
                end(request);
                return true;
            }
            if (request->restart) {
                ++stats_.restarts;
                request->restart = false;
                waiting_.insert(std::move(request->place));
                return true;
            }
            if (request->certain) {
                request->partial = std::move(request->certain);
                request->certain.reset();
                add_event(request);
            }
            return false;
        });
        stats_.active += std::ssize(served->active);
    }
}

void Engine::end(Request *request) {
    request->ended = true;
    const xf_status status = request->outcome.status;
    ++(status == XF_OK ? stats_.completed : status == XF_ERROR_CANCELLED ? stats_.cancelled : stats_.failed);
    add_event(request);
}

void Engine::add_event(Request *request) {
    if (request->listed) return;  // the last event replaces a partial one, and a later partial event an earlier one
    request->listed = true;
    (last_event_ != nullptr ? last_event_->next : first_event_) = request;
    last_event_ = request;
    readable_.set(true);
    event_.notify_one();
}

bool Engine::next(int64_t timeout_ms, const Call &call, EngineEvent *event) {
    const Clock::time_point began = Clock::now();
    std::unique_lock lock(mutex_);
    for (;;) {
        XF_CHECK(!closed_, XF_ERROR_STATE, "the engine was freed");
        call.check();
        if (first_event_ != nullptr) break;
        auto wait = std::chrono::duration_cast<Clock::duration>(kPoll);
        if (timeout_ms >= 0 && timeout_ms < kLongestMs) {
            const auto left = std::chrono::milliseconds(timeout_ms) - (Clock::now() - began);
            if (left <= left.zero()) return false;
            wait = std::min(wait, left);
        }
        event_.wait_for(lock, wait);
    }
    Request *const request = first_event_;
    EngineEvent own{request->id, request->user, request->model_hash, request->ended, request->has_text, {}};
    if (request->ended)
        own.outcome = std::move(request->outcome);
    else
        own.outcome.hypotheses.push_back(std::move(*request->partial));
    *event = std::move(own);
    first_event_ = request->next;
    if (first_event_ == nullptr) last_event_ = nullptr;
    request->next = nullptr;
    request->listed = false;
    readable_.set(first_event_ != nullptr);
    if (request->ended) requests_.erase(request->id);
    return true;
}

EngineStats Engine::stats() {
    const std::lock_guard lock(mutex_);
    EngineStats stats = stats_;
    stats.waiting = std::ssize(waiting_);
    for (const Request *request = first_event_; request != nullptr; request = request->next) ++stats.events;
    stats.models = std::ssize(served_);
    stats.model_hash = served_.back()->hash;
    return stats;
}

}  // namespace xf
