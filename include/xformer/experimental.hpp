/*
 * xformer/experimental.hpp - experimental.h for C++: ranks, constraints, attention weights, gradients.
 *
 * Everything in this header may change or disappear in any minor version. xformer.hpp does not include it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_EXPERIMENTAL_HPP
#define XFORMER_EXPERIMENTAL_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "xformer/base.hpp"
#include "xformer/call.hpp"
#include "xformer/context.hpp"
#include "xformer/decode.hpp"
#include "xformer/experimental.h"
#include "xformer/range.hpp"
#include "xformer/train.hpp"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief Owns the transport of one rank. It is closed by this object, or by the context that was created with it. */
class Comm {
public:
    /** @brief Creates an empty object. */
    Comm() noexcept = default;
    /** @brief Takes ownership of a transport. @param comm [in] filled by its implementation */
    explicit Comm(const xf_comm &comm) noexcept : comm_(comm), taken_(false) {}
    /** @brief Moves a transport. @param other [in,out] empty afterwards */
    Comm(Comm &&other) noexcept : comm_(other.comm_), taken_(std::exchange(other.taken_, true)) {}
    /** @brief Closes the transport and moves another. @param other [in,out] empty afterwards @return this */
    Comm &operator=(Comm &&other) noexcept {
        Comm moved(std::move(other));
        std::swap(comm_, moved.comm_);
        std::swap(taken_, moved.taken_);
        return *this;
    }
    Comm(const Comm &) = delete;
    Comm &operator=(const Comm &) = delete;
    ~Comm() {
        if (!taken_ && comm_.close != nullptr) comm_.close(comm_.user);
    }

    /** @brief Returns whether this object owns a transport. @return false if it is empty or a context owns the
     *  transport */
    explicit operator bool() const noexcept { return !taken_; }
    /** @brief Returns the struct of the C API. @return owned by this object */
    const xf_comm &get() const noexcept { return comm_; }
    /** @brief Converts for Host::comm. @return refers to this object, which must exist until the context is created */
    operator CommRef() noexcept { return taken_ ? CommRef{} : CommRef{&comm_, &taken_}; }

    /** @brief Connects threads of this process as ranks. @param size [in] number of ranks @return one Comm for each
     *  rank */
    static std::vector<Comm> loopback(std::uint16_t size) {
        std::vector<Comm> ranks(size);
        std::vector<xf_comm> comms(size);
        xf_comm none = XF_COMM_INIT;  // for 0 ranks, which the library rejects
        detail::call(xf_comm_loopback, size != 0 ? comms.data() : &none, std::int32_t{size});
        for (std::size_t i = 0; i < size; ++i) ranks[i] = Comm(comms[i]);
        return ranks;
    }

private:
    xf_comm comm_ = XF_COMM_INIT;
    bool taken_ = true;  // nothing to close
};

/** @brief Exchanges one number between all ranks. All ranks make this call. @param context [in] the context
 *  @param value [in] the number of this rank @param call [in] parameters of the call @return the numbers of all ranks,
 *  by rank */
inline std::vector<std::int64_t> all_gather(const Context &context, std::int64_t value, const Call &call = {}) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(context.info().rank_count));
    detail::call(xf_context_all_gather, context.get(), value, detail::CallStruct(call).get(), values.data());
    return values;
}

/** @brief The tokens that may follow a hypothesis; initially all tokens. */
class TokenSet {
public:
    /** @brief Refers to a bit set. @param words [in,out] xf_partial::allowed @param size [in] V */
    TokenSet(std::uint32_t *words, std::size_t size) noexcept : words_(words), size_(size) {}
    /** @brief Returns the number of ids. @return V */
    std::size_t size() const noexcept { return size_; }
    /** @brief Returns whether a token is allowed. @param id [in] less than size() @return true if so */
    bool contains(std::int32_t id) const { return (word(id) & bit(id)) != 0; }
    /** @brief Allows a token. @param id [in] less than size() */
    void insert(std::int32_t id) const { word(id) |= bit(id); }
    /** @brief Forbids a token. @param id [in] less than size() */
    void erase(std::int32_t id) const { word(id) &= ~bit(id); }
    /** @brief Forbids all tokens. */
    void clear() const noexcept {
        for (std::size_t i = 0; i < (size_ + 31) / 32; ++i) words_[i] = 0;
    }

private:
    static std::uint32_t bit(std::int32_t id) noexcept { return std::uint32_t{1} << (id % 32); }
    std::uint32_t &word(std::int32_t id) const {
        if (id < 0 || static_cast<std::size_t>(id) >= size_)
            throw Error(XF_ERROR_OUT_OF_RANGE,
                        "token " + std::to_string(id) + ", expected 0 to " + std::to_string(size_ - 1));
        return words_[id / 32];
    }
    std::uint32_t *words_;
    std::size_t size_;
};

/** @brief A hypothesis whose next token is about to be selected. */
struct Partial {
    std::size_t sentence;         /**< index of its sentence */
    span<const std::int32_t> ids; /**< its tokens so far, without the start symbol */
    std::size_t remaining;        /**< number of tokens that may still follow, including the end symbol */
    TokenSet allowed;             /**< the tokens that may follow */
};

/** @cond INTERNAL */
namespace detail {
struct PartialAt {
    const xf_constraint_step *step = nullptr;
    Partial operator()(std::size_t index) const {
        const xf_partial &partial = *step->partials[index];
        return {partial.sentence,
                {partial.ids, partial.id_count},
                partial.remaining,
                {partial.allowed, static_cast<std::size_t>(step->vocab_size)}};
    }
};
}  // namespace detail
/** @endcond */

/** @brief The live hypotheses at one step of the search: a range of Partial. */
using ConstraintStep = Range<detail::PartialAt>;

/** @brief Restricts the tokens that may follow each hypothesis; see xf_constraint_fn.
 *  An exception stops the call, which then throws it. */
using ConstraintFunction = std::function<void(const ConstraintStep &)>;

/** @brief A constraint for DecodeParams::constraint.
 *
 *     const xformer::Constraint constraint([](const xformer::ConstraintStep &step) {
 *         for (const xformer::Partial &partial : step) partial.allowed.erase(7);
 *     });
 *     params.constraint = constraint.get();
 */
class Constraint {
public:
    /** @brief Creates a constraint. @param function [in] called once per step of the search */
    explicit Constraint(ConstraintFunction function) : function_(std::move(function)) {
        constraint_.function = &Constraint::call;
        constraint_.user = &function_;
    }
    Constraint(const Constraint &) = delete;
    Constraint &operator=(const Constraint &) = delete;
    /** @brief Returns the struct of the C API. @return owned by this object */
    const xf_constraint *get() const noexcept { return &constraint_; }

private:
    static std::int32_t call(void *user, const xf_constraint_step *step) noexcept {
        return detail::Guard::protect(
                   [=] { (*static_cast<const ConstraintFunction *>(user))(ConstraintStep(step->count, {step})); })
                   ? 0
                   : 1;
    }
    ConstraintFunction function_;
    xf_constraint constraint_ = XF_CONSTRAINT_INIT;
};

/** @brief Computes the attention weights of one layer for one pair.
 *  @param decoder [in,out] the decoder
 *  @param pair [in] a batch of one sentence with its target
 *  @param kind [in] one of XF_ATTENTION_...
 *  @param layer [in] from 0, the lowest
 *  @return [heads, queries, keys] */
inline std::vector<float> attention_weights(Decoder &decoder, const Batch &pair, std::int32_t kind,
                                            std::int32_t layer) {
    std::vector<float> weights;
    detail::fit(weights, [&](std::vector<float> &room, std::size_t *count, xf_error *error) {
        return xf_attention_weights(decoder.get(), &pair, kind, layer, room.data(), room.size(), count, error);
    });
    return weights;
}

/** @brief Copies a pending gradient. @param trainer [in] Trainer::accumulate() was called
 *  @param index [in] index of the tensor
 *  @param values [out] room for all elements */
inline void read_gradient(Trainer &trainer, std::size_t index, span<float> values) {
    detail::call(xf_trainer_read_gradient, trainer.get(), index, values.data(), values.size());
}
/** @brief Copies a pending gradient. @param trainer [in] Trainer::accumulate() was called
 *  @param index [in] index of the tensor
 *  @return its elements, row-major */
inline std::vector<float> read_gradient(Trainer &trainer, std::size_t index) {
    return detail::all_of(trainer.model().get(), index,
                          [&](std::size_t at, span<float> values) { read_gradient(trainer, at, values); });
}

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_EXPERIMENTAL_HPP */
