/*
 * xformer/experimental.h - functions outside the ABI guarantee.
 *
 * Everything in this header may change or disappear in any minor version: training in several processes, constraints on
 * hypotheses, attention weights, and gradients. xformer.h does not include it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_EXPERIMENTAL_H
#define XFORMER_EXPERIMENTAL_H

#include "xformer/context.h"
#include "xformer/decode.h"
#include "xformer/status.h"
#include "xformer/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup experimental Experimental
 * @brief Functions outside the ABI guarantee.
 * @{
 */

/**
 * @name Ranks
 *
 * A training job may have any number of ranks: processes, usually one per GPU, or threads of one process with a context
 * each. Each rank computes some of the shards ("train.shards") of a step; the result is bit-identical to that of a
 * single rank. The ranks need a transport for messages, an xf_comm: MPI (selected by the option "context.comm"),
 * xf_comm_loopback(), or an implementation of the host.
 *
 * Messages are not trusted. Each has a sequence number and a checksum; a message that is lost, truncated, duplicated,
 * reordered, or changed causes an error, never a wrong sum. If a rank dies or stops responding, every other rank
 * returns XF_ERROR_PEER within "context.comm_timeout", with a message that names that rank. After that error the ranks
 * cannot be reconnected: end the process and resume from the last checkpoint. If only one rank has an error (no memory,
 * cancelled), the others return XF_ERROR_PEER with its message. All ranks are then as before the call, and training can
 * continue with the next call.
 * @{
 */

/** @brief A memory block to send to a rank or to receive from it. @since 0.1 */
typedef struct xf_comm_part {
    /** The other rank; never the caller's own. */
    int32_t rank;
    /** Not used, 0. */
    int32_t reserved;
    /** Host memory. Blocks to send are only read. */
    void *data;
    /** Size in bytes, at least 1; equal for sender and receiver. */
    size_t size;
} xf_comm_part;

/**
 * @brief The transport of one rank. A host fills it and passes it in xf_host::comm; it is copied.
 *
 * The functions are called one at a time, on the thread that makes the call. They must not throw or longjmp.
 *
 * @since 0.1
 */
typedef struct xf_comm {
    /** sizeof(xf_comm) of the caller. */
    size_t struct_size;
    /** Passed to the functions. */
    void *user;
    /** This rank, from 0. */
    int32_t rank;
    /** Number of ranks, at least 1. */
    int32_t size;
    /**
     * Sends and receives the given blocks concurrently. Blocks from one rank to another arrive in the order in which
     * they were sent. Returns XF_OK when every receive is complete and every sent block may be overwritten;
     * XF_ERROR_PEER if nothing was transferred for timeout seconds, or another rank has ended or aborted;
     * XF_ERROR_BACKEND if the transport itself failed. The time starts again with each piece that arrives, so a slow
     * connection is not an error. A transport may also count signs of life of a rank that is busy elsewhere; the MPI
     * transport does. On an error, it fills err and does not access the blocks after it returns.
     */
    int32_t (*exchange)(void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                        size_t receive_count, double timeout, xf_error *err);
    /**
     * Called once when this rank aborts communication; the calls of the other ranks should then fail soon, with the
     * reason as the message of their error. The reason names the rank that failed first; it is valid UTF-8, shorter
     * than XF_ERROR_MESSAGE_SIZE, and valid during this call. May be NULL: the other ranks then wait until their
     * timeout.
     */
    void (*abort)(void *user, const char *reason);
    /**
     * Called once after the context has been destroyed; no other function is called afterwards. Not called if
     * xf_context_create() fails. May be NULL.
     */
    void (*close)(void *user);
    /**
     * Number of ranks of each machine, if ranks 0 to ranks_per_machine - 1 run on one machine, the next as many on
     * another, and so on. Gradients are then added within each machine before they are sent to other machines, so each
     * machine sends a sum once and not once per rank. A divisor of size and the same on all ranks; 0: not known. It
     * does not change the result.
     */
    int32_t ranks_per_machine;
    /** Not used, 0. */
    int32_t reserved;
} xf_comm;

/** @brief An xf_comm with its struct_size. @since 0.1 */
#define XF_COMM_INIT \
    { sizeof(xf_comm), NULL, 0, 0, NULL, NULL, NULL, 0, 0 }

/**
 * @brief Connects threads of this process as ranks, through memory.
 *
 * Each rank needs its own context, created with its xf_comm in xf_host, and its own thread. After the context of a rank
 * has been destroyed, the other ranks cannot communicate with that rank.
 *
 * @param comms [out] [size] filled, including struct_size. A context closes the xf_comm that it was created with; the
 * caller must close each other one once, with close(user)
 * @param size [in] 1 to 1024
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (size), XF_ERROR_NO_MEMORY
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_comm_loopback(xf_comm *comms, int32_t size, xf_error *err);

/**
 * @brief Exchanges one number between all ranks, so that they can decide together, for example to stop or to save.
 *
 * Every rank makes this call at the same point of its sequence of collective calls and waits for the others; see
 * "context.comm_timeout" and "context.comm_work_timeout".
 *
 * @param context [in] the context
 * @param value [in] the number of this rank
 * @param call [in] NULL: defaults
 * @param values [out] [xf_context_info::rank_count] the numbers of all ranks, by rank
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT; XF_ERROR_BUSY (another collective call of this context is running);
 *         XF_ERROR_PEER (a rank has ended, did not respond, or makes a different collective call; the ranks cannot be
 *         reconnected), XF_ERROR_NO_MEMORY
 * @threads any; one collective call of the context at a time
 * @since 0.1
 */
XF_API xf_status xf_context_all_gather(xf_context *context, int64_t value, const xf_call *call, int64_t *values,
                                       xf_error *err);
/** @} */

/**
 * @name Constraints
 * @{
 */

/**
 * @brief A hypothesis whose next token is about to be selected. Filled by the library; valid during the callback.
 * @since 0.1
 */
typedef struct xf_partial {
    /** sizeof(xf_partial) of the library. */
    size_t struct_size;
    /** Index of its sentence in the batch or in the texts. */
    size_t sentence;
    /** [id_count] its tokens so far, without the start symbol. */
    const int32_t *ids;
    /** Number of ids. */
    size_t id_count;
    /**
     * Number of tokens that may still follow, including the end symbol; if it is 1 and the end symbol is not selected,
     * the hypothesis is cut off.
     */
    size_t remaining;
    /**
     * Bit set of the tokens that may follow: token id is bit id % 32 of allowed[id / 32]. Before the call, all bits are
     * set, but that of the end symbol may be clear while "decode.min_tokens" forbids it. The callback clears the bits
     * of forbidden tokens. The start symbol is never selected.
     */
    uint32_t *allowed;
} xf_partial;

/** @brief One step of the search. Filled by the library; valid during the callback. @since 0.1 */
typedef struct xf_constraint_step {
    /** sizeof(xf_constraint_step) of the library. */
    size_t struct_size;
    /**
     * [count] the unfinished hypotheses of all sentences that are being searched, in an unspecified order. Hypotheses
     * that are shorter than their prefix are omitted.
     */
    const xf_partial *const *partials;
    /** Number of hypotheses. */
    size_t count;
    /** V: number of ids; a bit set has (V + 31) / 32 words. */
    int32_t vocab_size;
    /** Not used, 0. */
    int32_t reserved;
} xf_constraint_step;

/**
 * @brief Restricts the tokens that may follow each hypothesis, for example by a grammar or a lexicon.
 *
 * A forbidden token is never selected. The remaining tokens compete as usual; probabilities are not renormalized, so
 * scores are comparable with those of unconstrained hypotheses. A hypothesis for which every token is forbidden is
 * dropped. If all hypotheses of a sentence are dropped and none has finished, the sentence has one hypothesis with
 * finished 0 and a log_probability of minus infinity.
 *
 * Called on the thread that decodes, once per step of the search. Must not throw, longjmp, or use the decoder. The
 * result must depend only on the ids and the sentence. On a GPU each step waits for the callback.
 *
 * @return 0 to continue; any other value stops the call with XF_ERROR_CALLBACK
 * @since 0.1
 */
typedef int32_t (*xf_constraint_fn)(void *user, const xf_constraint_step *step);

/** @brief A constraint; see xf_decode_params::constraint. @since 0.1 */
typedef struct xf_constraint {
    /** sizeof(xf_constraint) of the caller. */
    size_t struct_size;
    /** The callback; must not be NULL. */
    xf_constraint_fn function;
    /** Passed to function. */
    void *user;
} xf_constraint;

/** @brief An xf_constraint with its struct_size. @since 0.1 */
#define XF_CONSTRAINT_INIT \
    { sizeof(xf_constraint), NULL, NULL }
/** @} */

/**
 * @name Attention and gradients
 * @{
 */

/** @brief The three uses of attention (paper s. 3.2.3). @since 0.1 */
enum {
    /** Encoder self-attention: queries and keys are the source tokens. */
    XF_ATTENTION_ENCODER = 1,
    /**
     * Decoder self-attention: queries and keys are the target positions; a query attends only to its own and earlier
     * positions.
     */
    XF_ATTENTION_DECODER = 2,
    /** Encoder-decoder attention: queries are the target positions, keys the source tokens. */
    XF_ATTENTION_CROSS = 3
};

/**
 * @brief Computes the attention weights of one layer for one pair, as in Figures 3 to 5 of the paper. No dropout.
 *
 * The target is part of the pair, for example the ids of a hypothesis with the end symbol. Decoder position i holds the
 * token before target token i (the start symbol at 0) and predicts target token i. The weights of each query sum to 1;
 * masked keys have weight 0.
 *
 * @param decoder [in,out] the decoder
 * @param pair [in] a batch of one sentence, source and target with their end symbols
 * @param kind [in] one of XF_ATTENTION_...
 * @param layer [in] from 0, the lowest
 * @param weights [out] [heads, queries, keys]; may be NULL if capacity is 0
 * @param capacity [in] number of weights that fit
 * @param count [out] number of weights, also if they do not fit
 * @param err [out] may be NULL
 * @return as xf_score(); XF_ERROR_OUT_OF_RANGE also for layer and kind, XF_ERROR_BUFFER_TOO_SMALL (only *count is
 *         written)
 * @threads exclusive
 * @par Source
 * Vaswani et al. 2017, eq. 1, s. 3.2.3
 * @since 0.1
 */
XF_API xf_status xf_attention_weights(xf_decoder *decoder, const xf_batch *pair, int32_t kind, int32_t layer,
                                      float *weights, size_t capacity, size_t *count, xf_error *err);

/**
 * @brief Copies the pending gradient of one tensor: the gradient of the mean loss per target token of the accumulated
 * batches.
 * @param trainer [in] the trainer; xf_train_accumulate() was called
 * @param index [in] parameter tensor, as in xf_model_get_tensor()
 * @param values [out] room for count numbers, row-major
 * @param count [in] must be the product of the tensor's shape
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_STATE (no gradients are pending), XF_ERROR_OUT_OF_RANGE (index), XF_ERROR_INVALID_ARGUMENT,
 *         XF_ERROR_BACKEND
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_trainer_read_gradient(xf_trainer *trainer, size_t index, float *values, size_t count,
                                          xf_error *err);
/** @} */

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_EXPERIMENTAL_H */
