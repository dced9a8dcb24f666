/*
 * The memory layout and the numbers of the ABI, frozen: a program compiled against 0.1 relies on each of them. Structs
 * that begin with struct_size grow at their end only: then a line is added here and none is changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "xformer/xformer.h"

#define AT(type, member, offset) _Static_assert(offsetof(type, member) == (offset), #type "." #member " has moved")
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " has another size")
#define AT_LEAST(type, size) _Static_assert(sizeof(type) >= (size), #type " has become smaller")
#define IS(name, number) _Static_assert((name) == (number), #name " has another value")

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "the numbers below are of 64-bit systems");

SIZE(xf_error, 256);
AT(xf_error, status, 0);
AT(xf_error, native_code, 4);
AT(xf_error, message, 8);
IS(XF_ERROR_MESSAGE_SIZE, 248);

AT_LEAST(xf_host, 104);
AT(xf_host, struct_size, 0);
AT(xf_host, alloc_user, 8);
AT(xf_host, alloc, 16);
AT(xf_host, free, 24);
AT(xf_host, log_user, 32);
AT(xf_host, log, 40);
AT(xf_host, log_level, 48);
AT(xf_host, reserved, 52);
AT(xf_host, progress_user, 56);
AT(xf_host, progress, 64);
AT(xf_host, parallel_user, 72);
AT(xf_host, parallel, 80);
AT(xf_host, release_user, 88);
AT(xf_host, release, 96);
AT(xf_host, comm, 104);

AT_LEAST(xf_comm, 48);
AT(xf_comm, struct_size, 0);
AT(xf_comm, user, 8);
AT(xf_comm, rank, 16);
AT(xf_comm, size, 20);
AT(xf_comm, exchange, 24);
AT(xf_comm, abort, 32);
AT(xf_comm, close, 40);

SIZE(xf_comm_part, 24);
AT(xf_comm_part, rank, 0);
AT(xf_comm_part, reserved, 4);
AT(xf_comm_part, data, 8);
AT(xf_comm_part, size, 16);

AT_LEAST(xf_memory_stats, 40);
AT(xf_memory_stats, struct_size, 0);
AT(xf_memory_stats, current, 8);
AT(xf_memory_stats, peak, 16);
AT(xf_memory_stats, budget, 24);
AT(xf_memory_stats, allocations, 32);

AT_LEAST(xf_option_info, 80);
AT(xf_option_info, struct_size, 0);
AT(xf_option_info, key, 8);
AT(xf_option_info, type, 16);
AT(xf_option_info, reserved, 20);
AT(xf_option_info, default_value, 24);
AT(xf_option_info, minimum, 32);
AT(xf_option_info, maximum, 40);
AT(xf_option_info, choices, 48);
AT(xf_option_info, doc, 56);
AT(xf_option_info, paper, 64);
AT(xf_option_info, since, 72);

AT_LEAST(xf_backend_info, 56);
AT(xf_backend_info, struct_size, 0);
AT(xf_backend_info, name, 8);
AT(xf_backend_info, version, 16);
AT(xf_backend_info, path, 24);
AT(xf_backend_info, kind, 32);
AT(xf_backend_info, state, 40);
AT(xf_backend_info, device_count, 44);
AT(xf_backend_info, reason, 48);

AT_LEAST(xf_corpus_stats, 64);
AT(xf_corpus_stats, struct_size, 0);
AT(xf_corpus_stats, lines, 8);
AT(xf_corpus_stats, kept, 16);
AT(xf_corpus_stats, bad_columns, 24);
AT(xf_corpus_stats, empty_side, 32);
AT(xf_corpus_stats, too_long, 40);
AT(xf_corpus_stats, invalid_utf8, 48);
AT(xf_corpus_stats, nul_byte, 56);

AT_LEAST(xf_batch, 56);
AT(xf_batch, struct_size, 0);
AT(xf_batch, sentences, 8);
AT(xf_batch, src_ids, 16);
AT(xf_batch, src_offsets, 24);
AT(xf_batch, tgt_ids, 32);
AT(xf_batch, tgt_offsets, 40);
AT(xf_batch, pair_index, 48);

AT_LEAST(xf_batcher_stats, 72);
AT(xf_batcher_stats, struct_size, 0);
AT(xf_batcher_stats, epoch, 8);
AT(xf_batcher_stats, batch, 16);
AT(xf_batcher_stats, batches, 24);
AT(xf_batcher_stats, pairs, 32);
AT(xf_batcher_stats, too_long, 40);
AT(xf_batcher_stats, empty, 48);
AT(xf_batcher_stats, src_tokens, 56);
AT(xf_batcher_stats, tgt_tokens, 64);

AT_LEAST(xf_tensor_info, 32);
AT(xf_tensor_info, struct_size, 0);
AT(xf_tensor_info, name, 8);
AT(xf_tensor_info, rows, 16);
AT(xf_tensor_info, columns, 24);

AT_LEAST(xf_step_stats, 72);
AT(xf_step_stats, struct_size, 0);
AT(xf_step_stats, step, 8);
AT(xf_step_stats, sentences, 16);
AT(xf_step_stats, src_tokens, 24);
AT(xf_step_stats, tgt_tokens, 32);
AT(xf_step_stats, loss, 40);
AT(xf_step_stats, nll, 48);
AT(xf_step_stats, learning_rate, 56);
AT(xf_step_stats, gradient_norm, 64);

AT_LEAST(xf_decode_params, 64);
AT(xf_decode_params, struct_size, 0);
AT(xf_decode_params, config, 8);
AT(xf_decode_params, prefixes, 16);
AT(xf_decode_params, prefix_lengths, 24);
AT(xf_decode_params, prefix_ids, 32);
AT(xf_decode_params, prefix_offsets, 40);
AT(xf_decode_params, constraint, 48);
AT(xf_decode_params, constraint_user, 56);

AT_LEAST(xf_hypothesis, 72);
AT(xf_hypothesis, struct_size, 0);
AT(xf_hypothesis, ids, 8);
AT(xf_hypothesis, length, 16);
AT(xf_hypothesis, text, 24);
AT(xf_hypothesis, text_length, 32);
AT(xf_hypothesis, token_log_probabilities, 40);
AT(xf_hypothesis, log_probability, 48);
AT(xf_hypothesis, score, 56);
AT(xf_hypothesis, finished, 64);
AT(xf_hypothesis, complete, 68);

AT_LEAST(xf_eval_stats, 48);
AT(xf_eval_stats, struct_size, 0);
AT(xf_eval_stats, sentences, 8);
AT(xf_eval_stats, tgt_tokens, 16);
AT(xf_eval_stats, loss, 24);
AT(xf_eval_stats, nll, 32);
AT(xf_eval_stats, perplexity, 40);

AT_LEAST(xf_bleu_score, 168);
AT(xf_bleu_score, struct_size, 0);
AT(xf_bleu_score, score, 8);
AT(xf_bleu_score, precisions, 16);
AT(xf_bleu_score, brevity_penalty, 48);
AT(xf_bleu_score, hypothesis_length, 56);
AT(xf_bleu_score, reference_length, 64);
AT(xf_bleu_score, signature, 72);

/* Enumerations are int-sized in every call. */
SIZE(enum xf_status, 4);
SIZE(enum xf_log_level, 4);
IS(XF_OK, 0);
IS(XF_DONE, 1);
IS(XF_ERROR_INVALID_ARGUMENT, -1);
IS(XF_ERROR_NO_MEMORY, -2);
IS(XF_ERROR_NOT_FOUND, -3);
IS(XF_ERROR_OUT_OF_RANGE, -4);
IS(XF_ERROR_BUFFER_TOO_SMALL, -5);
IS(XF_ERROR_STATE, -6);
IS(XF_ERROR_IO, -20);
IS(XF_ERROR_CORRUPT, -21);
IS(XF_ERROR_LIMIT, -22);
IS(XF_ERROR_VERSION, -23);
IS(XF_ERROR_DATA, -24);
IS(XF_ERROR_UNSUPPORTED, -40);
IS(XF_ERROR_BACKEND, -41);
IS(XF_ERROR_NONFINITE, -42);
IS(XF_ERROR_FORKED, -43);
IS(XF_ERROR_CANCELLED, -60);
IS(XF_ERROR_CALLBACK, -61);
IS(XF_ERROR_PEER, -80);
IS(XF_ERROR_DESYNC, -81);
IS(XF_ERROR_INTERNAL, -99);
IS(XF_LOG_ERROR, 0);
IS(XF_LOG_WARNING, 1);
IS(XF_LOG_INFO, 2);
IS(XF_LOG_DEBUG, 3);
IS(XF_OPTION_I64, 1);
IS(XF_OPTION_F64, 2);
IS(XF_OPTION_BOOL, 3);
IS(XF_OPTION_STR, 4);
IS(XF_BLEU_13A, 0);
IS(XF_BLEU_NONE, 1);
IS(XF_TOKEN_START, 0);
IS(XF_TOKEN_END, 1);

/* Every initialiser names its own type. */
#define INIT(type, value)                                  \
    do {                                                   \
        const type object = value;                         \
        if (object.struct_size != sizeof object) return 1; \
    } while (0)

int main(void) {
    INIT(xf_host, XF_HOST_INIT);
    INIT(xf_comm, XF_COMM_INIT);
    INIT(xf_memory_stats, XF_MEMORY_STATS_INIT);
    INIT(xf_option_info, XF_OPTION_INFO_INIT);
    INIT(xf_backend_info, XF_BACKEND_INFO_INIT);
    INIT(xf_corpus_stats, XF_CORPUS_STATS_INIT);
    INIT(xf_batch, XF_BATCH_INIT);
    INIT(xf_batcher_stats, XF_BATCHER_STATS_INIT);
    INIT(xf_tensor_info, XF_TENSOR_INFO_INIT);
    INIT(xf_step_stats, XF_STEP_STATS_INIT);
    INIT(xf_decode_params, XF_DECODE_PARAMS_INIT);
    INIT(xf_hypothesis, XF_HYPOTHESIS_INIT);
    INIT(xf_eval_stats, XF_EVAL_STATS_INIT);
    INIT(xf_bleu_score, XF_BLEU_SCORE_INIT);
    return 0;
}
