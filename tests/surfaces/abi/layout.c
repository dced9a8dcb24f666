/*
 * The memory layout and the numbers of the ABI, frozen: a program compiled against 0.1 relies on each of them. Structs
 * that begin with struct_size grow at their end only: then a line is added here and none is changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "xformer/experimental.h"
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

AT_LEAST(xf_progress, 32);
AT(xf_progress, struct_size, 0);
AT(xf_progress, task, 8);
AT(xf_progress, done, 16);
AT(xf_progress, total, 24);

AT_LEAST(xf_call, 40);
AT(xf_call, struct_size, 0);
AT(xf_call, cancelled, 8);
AT(xf_call, deadline_ms, 16);
AT(xf_call, progress, 24);
AT(xf_call, user, 32);

AT_LEAST(xf_log_line, 32);
AT(xf_log_line, struct_size, 0);
AT(xf_log_line, level, 8);
AT(xf_log_line, reserved, 12);
AT(xf_log_line, component, 16);
AT(xf_log_line, message, 24);

AT_LEAST(xf_job, 32);
AT(xf_job, struct_size, 0);
AT(xf_job, run, 8);
AT(xf_job, arg, 16);
AT(xf_job, count, 24);
AT(xf_job, reserved, 28);

AT_LEAST(xf_host, 96);
AT(xf_host, struct_size, 0);
AT(xf_host, alloc_user, 8);
AT(xf_host, alloc, 16);
AT(xf_host, free, 24);
AT(xf_host, log_user, 32);
AT(xf_host, log, 40);
AT(xf_host, log_level, 48);
AT(xf_host, reserved, 52);
AT(xf_host, parallel_user, 56);
AT(xf_host, parallel, 64);
AT(xf_host, release_user, 72);
AT(xf_host, release, 80);
AT(xf_host, comm, 88);

AT_LEAST(xf_context_info, 56);
AT(xf_context_info, struct_size, 0);
AT(xf_context_info, description, 8);
AT(xf_context_info, backend, 16);
AT(xf_context_info, device, 24);
AT(xf_context_info, arithmetic, 32);
AT(xf_context_info, precision, 40);
AT(xf_context_info, threads, 44);
AT(xf_context_info, rank, 48);
AT(xf_context_info, rank_count, 52);

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

AT_LEAST(xf_source, 56);
AT(xf_source, struct_size, 0);
AT(xf_source, kind, 8);
AT(xf_source, fd, 12);
AT(xf_source, path, 16);
AT(xf_source, data, 24);
AT(xf_source, size, 32);
AT(xf_source, read, 40);
AT(xf_source, user, 48);

AT_LEAST(xf_sink, 64);
AT(xf_sink, struct_size, 0);
AT(xf_sink, kind, 8);
AT(xf_sink, fd, 12);
AT(xf_sink, path, 16);
AT(xf_sink, data, 24);
AT(xf_sink, capacity, 32);
AT(xf_sink, write, 40);
AT(xf_sink, user, 48);
AT(xf_sink, size, 56);

AT_LEAST(xf_corpus_stats, 64);
AT(xf_corpus_stats, struct_size, 0);
AT(xf_corpus_stats, lines, 8);
AT(xf_corpus_stats, kept, 16);
AT(xf_corpus_stats, bad_columns, 24);
AT(xf_corpus_stats, empty_side, 32);
AT(xf_corpus_stats, too_long, 40);
AT(xf_corpus_stats, invalid_utf8, 48);
AT(xf_corpus_stats, nul_byte, 56);

AT_LEAST(xf_batch, 72);
AT(xf_batch, struct_size, 0);
AT(xf_batch, sentences, 8);
AT(xf_batch, src_ids, 16);
AT(xf_batch, src_offsets, 24);
AT(xf_batch, tgt_ids, 32);
AT(xf_batch, tgt_offsets, 40);
AT(xf_batch, pair_index, 48);
AT(xf_batch, src_features, 56);
AT(xf_batch, src_feature_width, 64);

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

AT_LEAST(xf_tokenizer_info, 32);
AT(xf_tokenizer_info, struct_size, 0);
AT(xf_tokenizer_info, kind, 8);
AT(xf_tokenizer_info, vocab_size, 16);
AT(xf_tokenizer_info, start_token, 20);
AT(xf_tokenizer_info, end_token, 24);
AT(xf_tokenizer_info, reserved, 28);

AT_LEAST(xf_model_summary, 64);
AT(xf_model_summary, struct_size, 0);
AT(xf_model_summary, parameters, 8);
AT(xf_model_summary, vocab_size, 16);
AT(xf_model_summary, file_bytes, 24);
AT(xf_model_summary, decode_bytes, 32);
AT(xf_model_summary, train_bytes, 40);
AT(xf_model_summary, step, 48);
AT(xf_model_summary, has_tokenizer, 56);
AT(xf_model_summary, weights, 60);

AT_LEAST(xf_tensor_info, 56);
AT(xf_tensor_info, struct_size, 0);
AT(xf_tensor_info, name, 8);
AT(xf_tensor_info, type, 16);
AT(xf_tensor_info, dims, 20);
AT(xf_tensor_info, shape, 24);

AT_LEAST(xf_decode_params, 56);
AT(xf_decode_params, struct_size, 0);
AT(xf_decode_params, config, 8);
AT(xf_decode_params, prefixes, 16);
AT(xf_decode_params, prefix_lengths, 24);
AT(xf_decode_params, prefix_ids, 32);
AT(xf_decode_params, prefix_offsets, 40);
AT(xf_decode_params, constraint, 48);

AT_LEAST(xf_sentence_info, 32);
AT(xf_sentence_info, struct_size, 0);
AT(xf_sentence_info, status, 8);
AT(xf_sentence_info, reserved, 12);
AT(xf_sentence_info, message, 16);
AT(xf_sentence_info, hypothesis_count, 24);

AT_LEAST(xf_hypothesis, 72);
AT(xf_hypothesis, struct_size, 0);
AT(xf_hypothesis, ids, 8);
AT(xf_hypothesis, id_count, 16);
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

AT_LEAST(xf_chrf_score, 112);
AT(xf_chrf_score, struct_size, 0);
AT(xf_chrf_score, score, 8);
AT(xf_chrf_score, signature, 16);

AT_LEAST(xf_step_stats, 80);
AT(xf_step_stats, struct_size, 0);
AT(xf_step_stats, step, 8);
AT(xf_step_stats, sentences, 16);
AT(xf_step_stats, src_tokens, 24);
AT(xf_step_stats, tgt_tokens, 32);
AT(xf_step_stats, loss, 40);
AT(xf_step_stats, nll, 48);
AT(xf_step_stats, learning_rate, 56);
AT(xf_step_stats, gradient_norm, 64);
AT(xf_step_stats, outcome, 72);
AT(xf_step_stats, reserved, 76);

/* experimental.h is outside the ABI promise: these lines may change. */
SIZE(xf_comm_part, 24);
AT(xf_comm_part, rank, 0);
AT(xf_comm_part, reserved, 4);
AT(xf_comm_part, data, 8);
AT(xf_comm_part, size, 16);

AT_LEAST(xf_comm, 48);
AT(xf_comm, struct_size, 0);
AT(xf_comm, user, 8);
AT(xf_comm, rank, 16);
AT(xf_comm, size, 20);
AT(xf_comm, exchange, 24);
AT(xf_comm, abort, 32);
AT(xf_comm, close, 40);

AT_LEAST(xf_partial, 48);
AT(xf_partial, struct_size, 0);
AT(xf_partial, sentence, 8);
AT(xf_partial, ids, 16);
AT(xf_partial, id_count, 24);
AT(xf_partial, remaining, 32);
AT(xf_partial, allowed, 40);

AT_LEAST(xf_constraint_step, 32);
AT(xf_constraint_step, struct_size, 0);
AT(xf_constraint_step, partials, 8);
AT(xf_constraint_step, count, 16);
AT(xf_constraint_step, vocab_size, 24);
AT(xf_constraint_step, reserved, 28);

AT_LEAST(xf_constraint, 24);
AT(xf_constraint, struct_size, 0);
AT(xf_constraint, function, 8);
AT(xf_constraint, user, 16);

IS(XF_ERROR_MESSAGE_SIZE, 248);

/* No enumeration occurs in a call or a struct; constants are numbers of 32 bits. */
SIZE(xf_status, 4);
IS(XF_OK, 0);
IS(XF_DONE, 1);
IS(XF_ERROR_INVALID_ARGUMENT, -1);
IS(XF_ERROR_NO_MEMORY, -2);
IS(XF_ERROR_NOT_FOUND, -3);
IS(XF_ERROR_OUT_OF_RANGE, -4);
IS(XF_ERROR_BUFFER_TOO_SMALL, -5);
IS(XF_ERROR_STATE, -6);
IS(XF_ERROR_BUSY, -7);
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
IS(XF_ERROR_DEADLINE, -62);
IS(XF_ERROR_PEER, -80);
IS(XF_ERROR_DESYNC, -81);
IS(XF_ERROR_INTERNAL, -99);
IS(XF_LOG_ERROR, 1);
IS(XF_LOG_WARNING, 2);
IS(XF_LOG_INFO, 3);
IS(XF_LOG_DEBUG, 4);
IS(XF_TYPE_FP32, 1);
IS(XF_TYPE_FP16, 2);
IS(XF_TYPE_BF16, 3);
IS(XF_TYPE_INT8, 4);
IS(XF_OPTION_INTEGER, 1);
IS(XF_OPTION_REAL, 2);
IS(XF_OPTION_BOOL, 3);
IS(XF_OPTION_TEXT, 4);
IS(XF_BACKEND_ABSENT, 1);
IS(XF_BACKEND_FOUND, 2);
IS(XF_BACKEND_UNUSABLE, 3);
IS(XF_BACKEND_USABLE, 4);
IS(XF_BACKEND_ACTIVE, 5);
IS(XF_IO_PATH, 1);
IS(XF_IO_MEMORY, 2);
IS(XF_IO_DESCRIPTOR, 3);
IS(XF_IO_CALLBACK, 4);
IS(XF_SIDE_SOURCE, 1);
IS(XF_SIDE_TARGET, 2);
IS(XF_BLEU_13A, 0);
IS(XF_BLEU_NONE, 1);
IS(XF_BLEU_SPLIT_HYPHENS, 2);
IS(XF_STEP_UPDATED, 1);
IS(XF_STEP_SKIPPED, 2);
IS(XF_STEP_ROLLED_BACK, 3);
IS(XF_ATTENTION_ENCODER, 1);
IS(XF_ATTENTION_DECODER, 2);
IS(XF_ATTENTION_CROSS, 3);

/* Every initializer names its own type. */
#define INIT(type, value)                                  \
    do {                                                   \
        const type object = value;                         \
        if (object.struct_size != sizeof object) return 1; \
    } while (0)

int main(void) {
    INIT(xf_call, XF_CALL_INIT);
    INIT(xf_host, XF_HOST_INIT);
    INIT(xf_context_info, XF_CONTEXT_INFO_INIT);
    INIT(xf_memory_stats, XF_MEMORY_STATS_INIT);
    INIT(xf_option_info, XF_OPTION_INFO_INIT);
    INIT(xf_backend_info, XF_BACKEND_INFO_INIT);
    INIT(xf_source, XF_SOURCE_INIT);
    INIT(xf_sink, XF_SINK_INIT);
    INIT(xf_corpus_stats, XF_CORPUS_STATS_INIT);
    INIT(xf_batch, XF_BATCH_INIT);
    INIT(xf_batcher_stats, XF_BATCHER_STATS_INIT);
    INIT(xf_tokenizer_info, XF_TOKENIZER_INFO_INIT);
    INIT(xf_model_summary, XF_MODEL_SUMMARY_INIT);
    INIT(xf_tensor_info, XF_TENSOR_INFO_INIT);
    INIT(xf_decode_params, XF_DECODE_PARAMS_INIT);
    INIT(xf_sentence_info, XF_SENTENCE_INFO_INIT);
    INIT(xf_hypothesis, XF_HYPOTHESIS_INIT);
    INIT(xf_eval_stats, XF_EVAL_STATS_INIT);
    INIT(xf_bleu_score, XF_BLEU_SCORE_INIT);
    INIT(xf_chrf_score, XF_CHRF_SCORE_INIT);
    INIT(xf_step_stats, XF_STEP_STATS_INIT);
    INIT(xf_comm, XF_COMM_INIT);
    INIT(xf_constraint, XF_CONSTRAINT_INIT);
    INIT(xf_source, XF_SOURCE_PATH("a file"));
    INIT(xf_sink, XF_SINK_PATH("a file"));
    return 0;
}
