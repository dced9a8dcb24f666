// The functions of lib/xformer.map, for the macro functions! of lib.rs and that of tests/abi.rs, which compares them.
// Those after `try` take an `err: *mut xf_error` at the end and give an `xf_status`.
//
// SPDX-License-Identifier: Apache-2.0

functions! {
    "status.h":
    fn xf_status_name(status: i32) -> *const c_char;
    "version.h":
    fn xf_version() -> *const c_char;
    fn xf_version_num() -> i32;
    fn xf_build_info() -> *const c_char;
    "config.h":
    try xf_config_create(out: *mut *mut xf_config);
    fn xf_config_free(config: *mut xf_config);
    try xf_config_copy(config: *const xf_config, out: *mut *mut xf_config);
    try xf_config_preset(config: *mut xf_config, name: *const c_char);
    try xf_config_set(config: *mut xf_config, key: *const c_char, value: *const c_char);
    try xf_config_set_i64(config: *mut xf_config, key: *const c_char, value: i64);
    try xf_config_set_f64(config: *mut xf_config, key: *const c_char, value: f64);
    try xf_config_get_i64(config: *const xf_config, key: *const c_char, value: *mut i64);
    try xf_config_get_f64(config: *const xf_config, key: *const c_char, value: *mut f64);
    try xf_config_get(config: *const xf_config, key: *const c_char, value: *mut *const c_char);
    fn xf_option_count() -> usize;
    try xf_option_get(index: usize, info: *mut xf_option_info);
    "context.h":
    try xf_context_create(config: *const xf_config, host: *const xf_host, out: *mut *mut xf_context);
    fn xf_context_free(context: *mut xf_context);
    fn xf_context_cancel(context: *mut xf_context);
    fn xf_context_device(context: *const xf_context) -> *const c_char;
    try xf_context_get_memory(context: *const xf_context, stats: *mut xf_memory_stats);
    "backend.h":
    fn xf_backend_count(context: *const xf_context) -> usize;
    try xf_backend_get(context: *const xf_context, index: usize, info: *mut xf_backend_info);
    "data.h":
    try xf_corpus_open(
        context: *mut xf_context, config: *const xf_config, path: *const c_char, out: *mut *mut xf_corpus
    );
    try xf_corpus_open_parallel(
        context: *mut xf_context, config: *const xf_config, source_path: *const c_char, target_path: *const c_char,
        out: *mut *mut xf_corpus
    );
    try xf_corpus_from_memory(
        context: *mut xf_context, config: *const xf_config, name: *const c_char, text: *const c_char, length: usize,
        out: *mut *mut xf_corpus
    );
    try xf_corpus_from_pairs(
        context: *mut xf_context, config: *const xf_config, sources: *const *const c_char, source_lengths: *const usize,
        targets: *const *const c_char, target_lengths: *const usize, count: usize, out: *mut *mut xf_corpus
    );
    try xf_corpus_from_ids(context: *mut xf_context, pairs: *const xf_batch, out: *mut *mut xf_corpus);
    try xf_corpus_subset(corpus: *const xf_corpus, indices: *const i64, count: usize, out: *mut *mut xf_corpus);
    try xf_corpus_split(
        corpus: *const xf_corpus, held_out_count: i64, seed: i64, rest: *mut *mut xf_corpus,
        held_out: *mut *mut xf_corpus
    );
    fn xf_corpus_free(corpus: *mut xf_corpus);
    fn xf_corpus_pair_count(corpus: *const xf_corpus) -> i64;
    try xf_corpus_get_stats(corpus: *const xf_corpus, stats: *mut xf_corpus_stats);
    try xf_corpus_get_pair(
        corpus: *const xf_corpus, index: i64, source: *mut *const c_char, source_length: *mut usize,
        target: *mut *const c_char, target_length: *mut usize
    );
    try xf_batcher_create(
        corpus: *const xf_corpus, tokenizer: *const xf_tokenizer, config: *const xf_config, out: *mut *mut xf_batcher
    );
    fn xf_batcher_free(batcher: *mut xf_batcher);
    try xf_batcher_next(batcher: *mut xf_batcher, batch: *mut xf_batch);
    try xf_batcher_get_stats(batcher: *const xf_batcher, stats: *mut xf_batcher_stats);
    try xf_batcher_seek(batcher: *mut xf_batcher, epoch: i64, batch: i64);
    "text.h":
    try xf_tokenizer_train(
        context: *mut xf_context, config: *const xf_config, corpus: *const xf_corpus, out: *mut *mut xf_tokenizer
    );
    try xf_tokenizer_load(context: *mut xf_context, path: *const c_char, out: *mut *mut xf_tokenizer);
    try xf_tokenizer_save(tokenizer: *const xf_tokenizer, path: *const c_char);
    fn xf_tokenizer_free(tokenizer: *mut xf_tokenizer);
    fn xf_tokenizer_vocab_size(tokenizer: *const xf_tokenizer) -> i32;
    try xf_tokenizer_encode(
        tokenizer: *const xf_tokenizer, text: *const c_char, length: usize, ids: *mut i32, capacity: usize,
        count: *mut usize
    );
    try xf_tokenizer_decode(
        tokenizer: *const xf_tokenizer, ids: *const i32, count: usize, text: *mut c_char, capacity: usize,
        length: *mut usize
    );
    try xf_tokenizer_get_piece(
        tokenizer: *const xf_tokenizer, id: i32, text: *mut c_char, capacity: usize, length: *mut usize
    );
    "model.h":
    try xf_model_create(
        context: *mut xf_context, config: *const xf_config, tokenizer: *const xf_tokenizer, out: *mut *mut xf_model
    );
    try xf_model_load(context: *mut xf_context, path: *const c_char, out: *mut *mut xf_model);
    try xf_model_load_from(context: *mut xf_context, source: *const xf_source, out: *mut *mut xf_model);
    try xf_model_inspect(
        context: *mut xf_context, config: *const xf_config, source: *const xf_source, summary: *mut xf_model_summary
    );
    try xf_model_save(model: *const xf_model, config: *const xf_config, path: *const c_char);
    try xf_model_save_memory(
        model: *const xf_model, config: *const xf_config, buffer: *mut c_void, capacity: usize, size: *mut usize
    );
    try xf_model_average(models: *const *const xf_model, count: usize, out: *mut *mut xf_model);
    try xf_model_average_files(
        context: *mut xf_context, paths: *const *const c_char, count: usize, out: *mut *mut xf_model
    );
    try xf_model_copy(model: *const xf_model, context: *mut xf_context, out: *mut *mut xf_model);
    fn xf_model_free(model: *mut xf_model);
    fn xf_model_config(model: *const xf_model) -> *const xf_config;
    fn xf_model_tokenizer(model: *const xf_model) -> *const xf_tokenizer;
    try xf_model_set_metadata(model: *mut xf_model, key: *const c_char, value: *const c_char);
    fn xf_model_metadata(model: *const xf_model, key: *const c_char) -> *const c_char;
    fn xf_model_metadata_key(model: *const xf_model, index: usize) -> *const c_char;
    fn xf_model_tensor_count(model: *const xf_model) -> usize;
    try xf_model_get_tensor(model: *const xf_model, index: usize, info: *mut xf_tensor_info);
    try xf_model_read_tensor(model: *const xf_model, index: usize, values: *mut f32, count: usize);
    try xf_model_write_tensor(model: *mut xf_model, index: usize, values: *const f32, count: usize);
    "train.h":
    try xf_trainer_create(model: *mut xf_model, config: *const xf_config, out: *mut *mut xf_trainer);
    fn xf_trainer_free(trainer: *mut xf_trainer);
    try xf_train_step(trainer: *mut xf_trainer, batches: *const xf_batch, count: usize, stats: *mut xf_step_stats);
    try xf_train_next(trainer: *mut xf_trainer, batcher: *mut xf_batcher, stats: *mut xf_step_stats);
    fn xf_trainer_cancel(trainer: *mut xf_trainer);
    try xf_train_accumulate(trainer: *mut xf_trainer, batch: *const xf_batch, stats: *mut xf_step_stats);
    try xf_train_update(trainer: *mut xf_trainer, stats: *mut xf_step_stats);
    try xf_trainer_read_gradient(trainer: *mut xf_trainer, index: usize, values: *mut f32, count: usize);
    fn xf_trainer_step_count(trainer: *const xf_trainer) -> i64;
    fn xf_trainer_model(trainer: *mut xf_trainer) -> *mut xf_model;
    try xf_trainer_ema(trainer: *const xf_trainer, out: *mut *mut xf_model);
    try xf_trainer_save(trainer: *mut xf_trainer, batcher: *const xf_batcher, path: *const c_char);
    try xf_trainer_resume(
        context: *mut xf_context, path: *const c_char, config: *const xf_config, out: *mut *mut xf_trainer
    );
    try xf_trainer_get_position(trainer: *const xf_trainer, epoch: *mut i64, batch: *mut i64);
    try xf_trainer_seek(trainer: *const xf_trainer, batcher: *mut xf_batcher);
    fn xf_trainer_config(trainer: *const xf_trainer) -> *const xf_config;
    "decode.h":
    try xf_decoder_create(model: *const xf_model, config: *const xf_config, out: *mut *mut xf_decoder);
    fn xf_decoder_free(decoder: *mut xf_decoder);
    fn xf_decoder_cancel(decoder: *mut xf_decoder);
    try xf_decode(
        decoder: *mut xf_decoder, batch: *const xf_batch, params: *const xf_decode_params, out: *mut *mut xf_hypotheses
    );
    try xf_translate(
        decoder: *mut xf_decoder, texts: *const *const c_char, lengths: *const usize, count: usize,
        params: *const xf_decode_params, out: *mut *mut xf_hypotheses
    );
    fn xf_hypotheses_sentence_count(hypotheses: *const xf_hypotheses) -> usize;
    try xf_hypotheses_status(hypotheses: *const xf_hypotheses, sentence: usize);
    fn xf_hypotheses_answer_count(hypotheses: *const xf_hypotheses, sentence: usize) -> usize;
    try xf_hypotheses_get(
        hypotheses: *const xf_hypotheses, sentence: usize, rank: usize, hypothesis: *mut xf_hypothesis
    );
    fn xf_hypotheses_free(hypotheses: *mut xf_hypotheses);
    try xf_score(decoder: *mut xf_decoder, batch: *const xf_batch, log_probabilities: *mut f64);
    try xf_evaluate(decoder: *mut xf_decoder, batches: *const xf_batch, count: usize, stats: *mut xf_eval_stats);
    try xf_evaluate_batcher(decoder: *mut xf_decoder, batcher: *mut xf_batcher, stats: *mut xf_eval_stats);
    try xf_attention_weights(
        decoder: *mut xf_decoder, pair: *const xf_batch, kind: i32, layer: i32, weights: *mut f32, capacity: usize,
        count: *mut usize
    );
    "eval.h":
    try xf_bleu(
        hypotheses: *const *const c_char, references: *const *const c_char, count: usize, tokenize: i32,
        score: *mut xf_bleu_score
    );
    try xf_chrf(hypotheses: *const *const c_char, references: *const *const c_char, count: usize, score: *mut f64);
}
