/*
 * xformer/engine.hpp - engine.h for C++: requests that arrive at any time, partial results, and replacing the model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_ENGINE_HPP
#define XFORMER_ENGINE_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "xformer/decode.hpp"
#include "xformer/engine.h"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief One sentence to decode: text or source_ids. submit() copies the data, except the constraint. */
struct Request {
    std::string_view text{};                   /**< text to translate; UTF-8 */
    std::string_view prefix{};                 /**< text with which the translation begins; empty: none */
    span<const std::int32_t> source_ids{};     /**< source ids including the end symbol */
    span<const std::int32_t> prefix_ids{};     /**< ids with which the hypotheses begin; only with source_ids */
    ConfigView config{};                       /**< its "decode." and "text." options override those of the engine */
    const xf_constraint *constraint = nullptr; /**< see experimental.hpp; must remain valid until the last event */
    std::chrono::milliseconds deadline{0};     /**< time limit from the submission; 0: no deadline */
    std::int32_t priority = 0;                 /**< from -1000 to 1000; a higher one begins earlier */
    bool stream = false;                       /**< true: report partial events */
    void *user = nullptr;                      /**< returned in the events */
};

/** @brief An event of a request. */
struct Event {
    std::uint64_t id = 0;              /**< the request */
    void *user = nullptr;              /**< Request::user */
    Hypotheses hypotheses{nullptr};    /**< one sentence; in a partial event, the tokens that are certain so far */
    std::uint64_t model_hash = 0;      /**< of the model that decodes the request; 0 if it never began */
    bool last = false;                 /**< false: a partial event */
    xf_status status = XF_ERROR_STATE; /**< status of the request */

    /** @brief Returns the text of the best hypothesis. @return owned by hypotheses; throws if the request failed */
    std::string_view text() const { return hypotheses[0].front().text; }
};

/** @brief Decodes requests as they arrive. Any thread may call its functions. */
class Engine : public Owner<View<xf_engine>, xf_engine, xf_engine_free> {
public:
    using Owner::Owner;
    /** @brief Creates an engine. @param model [in] kept alive; cannot be trained while the engine uses it
     *  @param config [in] options "engine.", "decode.", and "text."
     *  @param more [in] an ensemble or a draft, kept alive */
    explicit Engine(ModelView model, ConfigView config = {}, const DecodeModels &more = {})
        : Engine(detail::make<Engine>(xf_engine_create, model.get(), detail::ModelsStruct(more).get(), config.get())) {}

    /** @brief Submits a request; never waits for the computation. @param request [in] copied @return its id */
    std::uint64_t submit(const Request &request) {
        xf_request given = XF_REQUEST_INIT;
        // With length 0, the library reads up to a NUL, which an empty string_view need not have.
        given.text = request.text.data() != nullptr && request.text.empty() ? "" : request.text.data();
        given.text_length = request.text.size();
        given.prefix = request.prefix.empty() ? nullptr : request.prefix.data();
        given.prefix_length = request.prefix.size();
        given.source_ids = request.source_ids.data();
        given.source_id_count = request.source_ids.size();
        given.prefix_ids = request.prefix_ids.data();
        given.prefix_id_count = request.prefix_ids.size();
        given.config = request.config.get();
        given.constraint = request.constraint;
        given.deadline_ms = request.deadline.count();
        given.priority = request.priority;
        given.stream = request.stream ? 1 : 0;
        given.user = request.user;
        std::uint64_t id = 0;
        detail::call(xf_engine_submit, get(), &given, &id);
        return id;
    }
    /** @brief Cancels a request. @param id [in] from submit() @return false if it has already ended */
    bool cancel(std::uint64_t id) { return detail::call(xf_engine_cancel, get(), id) == XF_OK; }
    /** @brief Waits for the next event.
     *  @param timeout [in] maximum time to wait; 0: does not wait; negative: no limit
     *  @param call [in] cancels the wait @return the event; empty if none arrived in time */
    std::optional<Event> next(std::chrono::milliseconds timeout = std::chrono::milliseconds(-1),
                              const Call &call = {}) {
        xf_event event = XF_EVENT_INIT;
        if (detail::call(xf_engine_next, get(), std::int64_t{timeout.count()}, detail::CallStruct(call).get(),
                         &event) == XF_DONE)
            return std::nullopt;
        return Event{event.id,         event.user,      Hypotheses(event.hypotheses),
                     event.model_hash, event.last != 0, event.status};
    }
    /** @brief Computes one step on the calling thread. Requires "engine.thread" false.
     *  @return false if nothing remains to decode */
    bool step() { return detail::call(xf_engine_step, get()) == XF_OK; }
    /** @brief Replaces the model for requests that begin later. @param model [in] kept alive; of the same context
     *  @param more [in] an ensemble or a draft, kept alive */
    void set_model(ModelView model, const DecodeModels &more = {}) {
        detail::call(xf_engine_set_model, get(), static_cast<const xf_model *>(model.get()),
                     detail::ModelsStruct(more).get());
    }
    /** @brief Reports the state. @return counters, the hash of the model, and the file descriptor */
    xf_engine_info info() const {
        return detail::fill(xf_engine_info XF_ENGINE_INFO_INIT, xf_engine_get_info,
                            static_cast<const xf_engine *>(get()));
    }
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_ENGINE_HPP */
