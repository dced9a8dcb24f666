// Structures of the headers, for the macro structs! of lib.rs and that of tests/abi.rs, which compares them. Those that
// have an initialiser begin with struct_size, which is not written here; what of it is not zero stands in parentheses.
//
// SPDX-License-Identifier: Apache-2.0

structs! {
    "status.h" xf_error {
        status, native_code: i32;
        message: [c_char; XF_ERROR_MESSAGE_SIZE];
    }
    "config.h" xf_option_info = XF_OPTION_INFO_INIT() {
        key: *const c_char;
        type_, reserved: i32;
        default_value: *const c_char;
        minimum, maximum: f64;
        choices, doc, paper, since: *const c_char;
    }
    "context.h" xf_host = XF_HOST_INIT(log_level = XF_LOG_WARNING as i32) {
        alloc_user: *mut c_void;
        alloc: Option<unsafe extern "C" fn(user: *mut c_void, size: usize, alignment: usize) -> *mut c_void>;
        free: Option<unsafe extern "C" fn(user: *mut c_void, ptr: *mut c_void, size: usize)>;
        log_user: *mut c_void;
        log: xf_log_fn;
        log_level, reserved: i32;
        progress_user: *mut c_void;
        progress: xf_progress_fn;
        parallel_user: *mut c_void;
        parallel: xf_parallel_fn;
        release_user: *mut c_void;
        release: Option<unsafe extern "C" fn(user: *mut c_void)>;
    }
    "context.h" xf_memory_stats = XF_MEMORY_STATS_INIT() {
        current, peak, budget, allocations: i64;
    }
    "backend.h" xf_backend_info = XF_BACKEND_INFO_INIT() {
        name, version, path, kind: *const c_char;
        state, device_count: i32;
        reason: *const c_char;
    }
    "data.h" xf_corpus_stats = XF_CORPUS_STATS_INIT() {
        lines, kept, bad_columns, empty_side, too_long, invalid_utf8, nul_byte: i64;
    }
    "data.h" xf_batch = XF_BATCH_INIT() {
        sentences: i64;
        src_ids, src_offsets, tgt_ids, tgt_offsets: *const i32;
        pair_index: *const i64;
    }
    "data.h" xf_batcher_stats = XF_BATCHER_STATS_INIT() {
        epoch, batch, batches, pairs, too_long, empty, src_tokens, tgt_tokens: i64;
    }
    "model.h" xf_source = XF_SOURCE_INIT(fd = -1) {
        path: *const c_char;
        data: *const c_void;
        size: u64;
        read: Option<unsafe extern "C" fn(user: *mut c_void, offset: u64, dst: *mut c_void, bytes: usize) -> i32>;
        read_user: *mut c_void;
        fd, reserved: i32;
    }
    "model.h" xf_model_summary = XF_MODEL_SUMMARY_INIT() {
        parameters, vocab_size, file_bytes, decode_bytes, train_bytes, step: i64;
        has_tokenizer, reserved: i32;
        precision: [c_char; 16];
    }
    "model.h" xf_tensor_info = XF_TENSOR_INFO_INIT() {
        name: *const c_char;
        rows, columns: i64;
    }
    "train.h" xf_step_stats = XF_STEP_STATS_INIT() {
        step, sentences, src_tokens, tgt_tokens: i64;
        loss, nll, learning_rate, gradient_norm: f64;
        outcome, reserved: i32;
    }
    "decode.h" xf_prefix {
        struct_size, sentence: usize;
        ids: *const i32;
        length, remaining: i64;
        vocab_size, reserved: i32;
    }
    "decode.h" xf_decode_params = XF_DECODE_PARAMS_INIT() {
        config: *const xf_config;
        prefixes: *const *const c_char;
        prefix_lengths: *const usize;
        prefix_ids, prefix_offsets: *const i32;
        constraint: xf_constraint_fn;
        constraint_user: *mut c_void;
    }
    "decode.h" xf_hypothesis = XF_HYPOTHESIS_INIT() {
        ids: *const i32;
        length: i64;
        text: *const c_char;
        text_length: usize;
        token_log_probabilities: *const f32;
        log_probability, score: f64;
        finished, complete: i32;
    }
    "decode.h" xf_eval_stats = XF_EVAL_STATS_INIT() {
        sentences, tgt_tokens: i64;
        loss, nll, perplexity: f64;
    }
    "eval.h" xf_bleu_score = XF_BLEU_SCORE_INIT() {
        score: f64;
        precisions: [f64; 4];
        brevity_penalty: f64;
        hypothesis_length, reference_length: i64;
        signature: [c_char; 96];
    }
}
