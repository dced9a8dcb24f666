//! The functions of `lib/xformer.map`, header by header.
//!
//! What each takes, gives, owns and allows is in the C headers; here is their first sentence and their thread rule.
//
// SPDX-License-Identifier: Apache-2.0

use std::os::raw::{c_char, c_void};

use crate::constants::*;
use crate::types::*;

extern "C" {
    // status.h
    /// Names a status code. Threads: any.
    pub fn xf_status_name(status: i32) -> *const c_char;

    // version.h
    /// Returns the version of the loaded library, such as "0.1.0". Threads: any.
    pub fn xf_version() -> *const c_char;
    /// Returns the version of the loaded library in the form of XF_VERSION_NUM. Threads: any.
    pub fn xf_version_num() -> i32;
    /// Tells how the library was built: compiler, build type, utf8proc version. Threads: any.
    pub fn xf_build_info() -> *const c_char;

    // config.h
    /// Creates a config in which every option has its default. Threads: any.
    pub fn xf_config_create(out: *mut *mut xf_config, err: *mut xf_error) -> xf_status;
    /// Frees a config. Objects made from it are not affected. Threads: exclusive.
    pub fn xf_config_free(config: *mut xf_config);
    /// Copies a config with all its values. Threads: shared-read.
    pub fn xf_config_copy(config: *const xf_config, out: *mut *mut xf_config, err: *mut xf_error) -> xf_status;
    /// Sets the model and training options of a named preset; other options stay. Threads: exclusive.
    pub fn xf_config_preset(config: *mut xf_config, name: *const c_char, err: *mut xf_error) -> xf_status;
    /// Sets an option of any type from text, as from a command line. Threads: exclusive.
    pub fn xf_config_set(
        config: *mut xf_config,
        key: *const c_char,
        value: *const c_char,
        err: *mut xf_error,
    ) -> xf_status;
    /// Sets an integer option. Threads: exclusive.
    pub fn xf_config_set_i64(config: *mut xf_config, key: *const c_char, value: i64, err: *mut xf_error) -> xf_status;
    /// Sets a floating-point option. Threads: exclusive.
    pub fn xf_config_set_f64(config: *mut xf_config, key: *const c_char, value: f64, err: *mut xf_error) -> xf_status;
    /// Reads an integer option. Threads: shared-read.
    pub fn xf_config_get_i64(
        config: *const xf_config,
        key: *const c_char,
        value: *mut i64,
        err: *mut xf_error,
    ) -> xf_status;
    /// Reads a floating-point option. Threads: shared-read.
    pub fn xf_config_get_f64(
        config: *const xf_config,
        key: *const c_char,
        value: *mut f64,
        err: *mut xf_error,
    ) -> xf_status;
    /// Reads an option of any type as text, in the form that xf_config_set() reads. Threads: shared-read.
    pub fn xf_config_get(
        config: *const xf_config,
        key: *const c_char,
        value: *mut *const c_char,
        err: *mut xf_error,
    ) -> xf_status;
    /// Counts the rows of the option table. Threads: any.
    pub fn xf_option_count() -> usize;
    /// Reads one row of the option table. Threads: any.
    pub fn xf_option_get(index: usize, info: *mut xf_option_info, err: *mut xf_error) -> xf_status;

    // context.h
    /// Creates a context: loads the backends found beside the library and opens the device. Threads: any.
    pub fn xf_context_create(
        config: *const xf_config,
        allocator: *const xf_allocator,
        out: *mut *mut xf_context,
        err: *mut xf_error,
    ) -> xf_status;
    /// Frees the caller's hold on a context. It goes when the last object made from it is freed too. Threads:
    /// exclusive.
    pub fn xf_context_free(context: *mut xf_context);
    /// Sets who receives the log of this context. Without it nothing is printed anywhere. Threads: exclusive.
    pub fn xf_context_set_log(
        context: *mut xf_context,
        callback: xf_log_fn,
        user: *mut c_void,
        level: xf_log_level,
        err: *mut xf_error,
    ) -> xf_status;
    /// Asks the long call that runs on this context to stop, or the next one if none runs. Threads: any.
    pub fn xf_context_cancel(context: *mut xf_context);
    /// Tells what this context computes with, such as "openblas on cpu:0, AMD EPYC, avx512, own kernels only, 2
    /// threads". Threads: shared-read.
    pub fn xf_context_device(context: *const xf_context) -> *const c_char;
    /// Reads the memory account of a context. Threads: any.
    pub fn xf_context_get_memory(context: *const xf_context, stats: *mut xf_memory_stats, err: *mut xf_error) -> xf_status;

    // backend.h
    /// Loads a backend plugin from a file, beside those found at xf_context_create(). Threads: exclusive.
    pub fn xf_backend_load(context: *mut xf_context, path: *const c_char, err: *mut xf_error) -> xf_status;
    /// Counts the backends known to a context, available or not. Threads: shared-read.
    pub fn xf_backend_count(context: *const xf_context) -> usize;
    /// Describes one backend. Threads: shared-read.
    pub fn xf_backend_get(
        context: *const xf_context,
        index: usize,
        info: *mut xf_backend_info,
        err: *mut xf_error,
    ) -> xf_status;

    // data.h
    /// Opens a file of pairs, one a line: source TAB target, UTF-8. Threads: shared-read.
    pub fn xf_corpus_open(
        context: *mut xf_context,
        config: *const xf_config,
        path: *const c_char,
        out: *mut *mut xf_corpus,
        err: *mut xf_error,
    ) -> xf_status;
    /// Opens two parallel files, a sentence a line each. Threads: shared-read.
    pub fn xf_corpus_open_parallel(
        context: *mut xf_context,
        config: *const xf_config,
        source_path: *const c_char,
        target_path: *const c_char,
        out: *mut *mut xf_corpus,
        err: *mut xf_error,
    ) -> xf_status;
    /// Makes a corpus from text in memory, in the form of xf_corpus_open(). The text is copied. Threads: shared-
    /// read.
    pub fn xf_corpus_from_memory(
        context: *mut xf_context,
        config: *const xf_config,
        name: *const c_char,
        text: *const c_char,
        length: usize,
        out: *mut *mut xf_corpus,
        err: *mut xf_error,
    ) -> xf_status;
    /// Frees a corpus. Batchers keep what they need. Threads: exclusive.
    pub fn xf_corpus_free(corpus: *mut xf_corpus);
    /// Counts the pairs of a corpus. Threads: shared-read.
    pub fn xf_corpus_pair_count(corpus: *const xf_corpus) -> i64;
    /// Tells how many lines were read, kept and skipped, and why. Threads: shared-read.
    pub fn xf_corpus_get_stats(corpus: *const xf_corpus, stats: *mut xf_corpus_stats, err: *mut xf_error) -> xf_status;
    /// Gives the text of a pair. Not NUL-terminated; owned by the corpus, valid until it is freed. Threads: shared-
    /// read.
    pub fn xf_corpus_get_pair(
        corpus: *const xf_corpus,
        index: i64,
        source: *mut *const c_char,
        source_length: *mut usize,
        target: *mut *const c_char,
        target_length: *mut usize,
        err: *mut xf_error,
    ) -> xf_status;
    /// Makes a batcher: encodes the corpus and plans the first epoch. Threads: shared-read.
    pub fn xf_batcher_create(
        corpus: *const xf_corpus,
        tokenizer: *const xf_tokenizer,
        config: *const xf_config,
        out: *mut *mut xf_batcher,
        err: *mut xf_error,
    ) -> xf_status;
    /// Frees a batcher and the batch it last gave. Threads: exclusive.
    pub fn xf_batcher_free(batcher: *mut xf_batcher);
    /// Gives the next batch. Threads: exclusive.
    pub fn xf_batcher_next(batcher: *mut xf_batcher, batch: *mut xf_batch, err: *mut xf_error) -> xf_status;
    /// Tells where a batcher stands and what it holds. Threads: shared-read.
    pub fn xf_batcher_get_stats(
        batcher: *const xf_batcher,
        stats: *mut xf_batcher_stats,
        err: *mut xf_error,
    ) -> xf_status;
    /// Moves a batcher to a position, so that the next batch is the one that stood there. Threads: exclusive.
    pub fn xf_batcher_seek(batcher: *mut xf_batcher, epoch: i64, batch: i64, err: *mut xf_error) -> xf_status;

    // text.h
    /// Learns a vocabulary from both sides of a corpus. Threads: shared-read.
    pub fn xf_tokenizer_train(
        context: *mut xf_context,
        config: *const xf_config,
        corpus: *const xf_corpus,
        out: *mut *mut xf_tokenizer,
        err: *mut xf_error,
    ) -> xf_status;
    /// Loads a tokenizer that xf_tokenizer_save() wrote. The file is not trusted. Threads: shared-read.
    pub fn xf_tokenizer_load(
        context: *mut xf_context,
        path: *const c_char,
        out: *mut *mut xf_tokenizer,
        err: *mut xf_error,
    ) -> xf_status;
    /// Saves a tokenizer as one JSON file, replacing an old file at once or not at all. Threads: shared-read.
    pub fn xf_tokenizer_save(tokenizer: *const xf_tokenizer, path: *const c_char, err: *mut xf_error) -> xf_status;
    /// Frees a tokenizer. Models that use it keep it alive. Threads: exclusive.
    pub fn xf_tokenizer_free(tokenizer: *mut xf_tokenizer);
    /// Counts the ids of a tokenizer, V. Threads: shared-read.
    pub fn xf_tokenizer_vocab_size(tokenizer: *const xf_tokenizer) -> i32;
    /// Turns text into ids, without start and end symbols. Threads: shared-read.
    pub fn xf_tokenizer_encode(
        tokenizer: *const xf_tokenizer,
        text: *const c_char,
        length: usize,
        ids: *mut i32,
        capacity: usize,
        count: *mut usize,
        err: *mut xf_error,
    ) -> xf_status;
    /// Turns ids into text; start and end symbols give nothing. Threads: shared-read.
    pub fn xf_tokenizer_decode(
        tokenizer: *const xf_tokenizer,
        ids: *const i32,
        count: usize,
        text: *mut c_char,
        capacity: usize,
        length: *mut usize,
        err: *mut xf_error,
    ) -> xf_status;
    /// Names an id for people: "<s>", "</s>", "<0xC3>", or the piece with U+2581 for its leading space. Threads:
    /// shared-read.
    pub fn xf_tokenizer_get_piece(
        tokenizer: *const xf_tokenizer,
        id: i32,
        text: *mut c_char,
        capacity: usize,
        length: *mut usize,
        err: *mut xf_error,
    ) -> xf_status;

    // model.h
    /// Creates a model with fresh parameters. Threads: shared-read.
    pub fn xf_model_create(
        context: *mut xf_context,
        config: *const xf_config,
        tokenizer: *const xf_tokenizer,
        out: *mut *mut xf_model,
        err: *mut xf_error,
    ) -> xf_status;
    /// Loads a model that xf_model_save() or xf_trainer_save() wrote. The file is not trusted. Threads: shared-
    /// read.
    pub fn xf_model_load(
        context: *mut xf_context,
        path: *const c_char,
        out: *mut *mut xf_model,
        err: *mut xf_error,
    ) -> xf_status;
    /// Saves a model, replacing an old file at once or not at all; the old one stays as `<path>.prev`. Threads:
    /// shared-read.
    pub fn xf_model_save(model: *const xf_model, path: *const c_char, err: *mut xf_error) -> xf_status;
    /// Writes a model as the options of the group "file." say: "file.precision" fp16 or bf16 halves the file. Threads:
    /// shared-read.
    pub fn xf_model_export(
        model: *const xf_model,
        config: *const xf_config,
        path: *const c_char,
        err: *mut xf_error,
    ) -> xf_status;
    /// Loads several files of one model and averages their parameters, in double precision. Threads: shared-read.
    pub fn xf_model_average(
        context: *mut xf_context,
        paths: *const *const c_char,
        count: usize,
        out: *mut *mut xf_model,
        err: *mut xf_error,
    ) -> xf_status;
    /// Frees the caller's hold on a model. Trainers and decoders keep it alive. Threads: exclusive.
    pub fn xf_model_free(model: *mut xf_model);
    /// Gives the configuration the model was made with, "model.vocab_size" filled in. Threads: shared-read.
    pub fn xf_model_config(model: *const xf_model) -> *const xf_config;
    /// Gives the model's tokenizer. Threads: shared-read.
    pub fn xf_model_tokenizer(model: *const xf_model) -> *const xf_tokenizer;
    /// Counts the parameter tensors. Threads: shared-read.
    pub fn xf_model_tensor_count(model: *const xf_model) -> usize;
    /// Describes a parameter tensor. Threads: shared-read.
    pub fn xf_model_get_tensor(
        model: *const xf_model,
        index: usize,
        info: *mut xf_tensor_info,
        err: *mut xf_error,
    ) -> xf_status;
    /// Copies a parameter tensor out, row-major. Threads: shared-read.
    pub fn xf_model_read_tensor(
        model: *const xf_model,
        index: usize,
        values: *mut f32,
        count: usize,
        err: *mut xf_error,
    ) -> xf_status;
    /// Replaces a parameter tensor: for porting models and for tests. Threads: exclusive.
    pub fn xf_model_write_tensor(
        model: *mut xf_model,
        index: usize,
        values: *const f32,
        count: usize,
        err: *mut xf_error,
    ) -> xf_status;

    // train.h
    /// Creates a trainer at step 0. Threads: exclusive.
    pub fn xf_trainer_create(
        model: *mut xf_model,
        config: *const xf_config,
        out: *mut *mut xf_trainer,
        err: *mut xf_error,
    ) -> xf_status;
    /// Frees a trainer. Threads: exclusive.
    pub fn xf_trainer_free(trainer: *mut xf_trainer);
    /// Makes one update of the model from one batch, or from several whose gradients are added. Threads: exclusive.
    pub fn xf_train_step(
        trainer: *mut xf_trainer,
        batches: *const xf_batch,
        count: usize,
        stats: *mut xf_step_stats,
        err: *mut xf_error,
    ) -> xf_status;
    /// First half of a step: adds a batch's gradients to those that wait for xf_train_update(). Threads: exclusive.
    pub fn xf_train_accumulate(
        trainer: *mut xf_trainer,
        batch: *const xf_batch,
        stats: *mut xf_step_stats,
        err: *mut xf_error,
    ) -> xf_status;
    /// Second half of a step: updates the parameters from the gradients that wait. Threads: exclusive.
    pub fn xf_train_update(trainer: *mut xf_trainer, stats: *mut xf_step_stats, err: *mut xf_error) -> xf_status;
    /// Copies out a waiting gradient: that of the mean loss per target token so far. Threads: exclusive.
    pub fn xf_trainer_read_gradient(
        trainer: *mut xf_trainer,
        index: usize,
        values: *mut f32,
        count: usize,
        err: *mut xf_error,
    ) -> xf_status;
    /// Tells the number of updates made. Threads: shared-read.
    pub fn xf_trainer_step_count(trainer: *const xf_trainer) -> i64;
    /// Gives the trainer's model. Threads: shared-read.
    pub fn xf_trainer_model(trainer: *mut xf_trainer) -> *mut xf_model;
    /// Saves a checkpoint: model, tokenizer, options, moments, step, and a batcher's position. Threads: exclusive.
    pub fn xf_trainer_save(
        trainer: *mut xf_trainer,
        batcher: *const xf_batcher,
        path: *const c_char,
        err: *mut xf_error,
    ) -> xf_status;
    /// Continues from a checkpoint: makes a trainer and its model as they were when it was saved. Threads: shared-
    /// read.
    pub fn xf_trainer_resume(
        context: *mut xf_context,
        path: *const c_char,
        out: *mut *mut xf_trainer,
        err: *mut xf_error,
    ) -> xf_status;
    /// Tells the batcher position that was saved with the checkpoint; xf_trainer_seek() goes there. Threads:
    /// shared-read.
    pub fn xf_trainer_get_position(
        trainer: *const xf_trainer,
        epoch: *mut i64,
        batch: *mut i64,
        err: *mut xf_error,
    ) -> xf_status;
    /// Moves a batcher to the position that was saved with the checkpoint, when it would go on as the saved run.
    /// Threads: exclusive.
    pub fn xf_trainer_seek(trainer: *const xf_trainer, batcher: *mut xf_batcher, err: *mut xf_error) -> xf_status;
    /// Gives the "train." options the trainer works with, also after a resume. Threads: shared-read.
    pub fn xf_trainer_config(trainer: *const xf_trainer) -> *const xf_config;

    // decode.h
    /// Creates a decoder. Threads: shared-read.
    pub fn xf_decoder_create(
        model: *const xf_model,
        config: *const xf_config,
        out: *mut *mut xf_decoder,
        err: *mut xf_error,
    ) -> xf_status;
    /// Frees a decoder. Hypotheses it gave stay valid. Threads: exclusive.
    pub fn xf_decoder_free(decoder: *mut xf_decoder);
    /// Decodes source sentences given as ids. Threads: exclusive.
    pub fn xf_decode(
        decoder: *mut xf_decoder,
        batch: *const xf_batch,
        out: *mut *mut xf_hypotheses,
        err: *mut xf_error,
    ) -> xf_status;
    /// Translates text: encodes, decodes, turns the answers into text. Threads: exclusive.
    pub fn xf_translate(
        decoder: *mut xf_decoder,
        texts: *const *const c_char,
        lengths: *const usize,
        count: usize,
        out: *mut *mut xf_hypotheses,
        err: *mut xf_error,
    ) -> xf_status;
    /// Holds xf_decode() and xf_translate() to what a callback allows: a grammar, a given beginning, a lexicon.
    /// Threads: exclusive.
    pub fn xf_decoder_set_constraint(
        decoder: *mut xf_decoder,
        callback: xf_constraint_fn,
        user: *mut c_void,
        err: *mut xf_error,
    ) -> xf_status;
    /// Counts the sentences answered. Threads: shared-read.
    pub fn xf_hypotheses_sentence_count(hypotheses: *const xf_hypotheses) -> usize;
    /// Counts the answers to one sentence: 1 to "decode.n_best". Threads: shared-read.
    pub fn xf_hypotheses_answer_count(hypotheses: *const xf_hypotheses, sentence: usize) -> usize;
    /// Reads one answer. Threads: shared-read.
    pub fn xf_hypotheses_get(
        hypotheses: *const xf_hypotheses,
        sentence: usize,
        rank: usize,
        hypothesis: *mut xf_hypothesis,
        err: *mut xf_error,
    ) -> xf_status;
    /// Frees answers. Threads: exclusive.
    pub fn xf_hypotheses_free(hypotheses: *mut xf_hypotheses);
    /// Scores given targets: the log-probability of each target given its source, without dropout. Threads:
    /// exclusive.
    pub fn xf_score(
        decoder: *mut xf_decoder,
        batch: *const xf_batch,
        log_probabilities: *mut f64,
        err: *mut xf_error,
    ) -> xf_status;
    /// Measures loss and perplexity on pairs. Can be cancelled. Threads: exclusive.
    pub fn xf_evaluate(
        decoder: *mut xf_decoder,
        batches: *const xf_batch,
        count: usize,
        stats: *mut xf_eval_stats,
        err: *mut xf_error,
    ) -> xf_status;
    /// Gives the attention weights of one layer for one pair: what Figures 3 to 5 of the paper draw. Threads:
    /// exclusive.
    pub fn xf_attention_weights(
        decoder: *mut xf_decoder,
        pair: *const xf_batch,
        kind: i32,
        layer: i32,
        weights: *mut f32,
        capacity: usize,
        count: *mut usize,
        err: *mut xf_error,
    ) -> xf_status;

    // eval.h
    /// Computes corpus BLEU. Threads: any.
    pub fn xf_bleu(
        hypotheses: *const *const c_char,
        references: *const *const c_char,
        count: usize,
        tokenize: i32,
        score: *mut xf_bleu_score,
        err: *mut xf_error,
    ) -> xf_status;
    /// Computes corpus chrF2: character n-grams to 6, beta 2, white space removed. Threads: any.
    pub fn xf_chrf(
        hypotheses: *const *const c_char,
        references: *const *const c_char,
        count: usize,
        score: *mut f64,
        err: *mut xf_error,
    ) -> xf_status;
}
