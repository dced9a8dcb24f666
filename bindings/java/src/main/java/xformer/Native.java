/*
 * The functions of C under their names: build.sh makes of this list what glue.cpp implements. A long is a number or an
 * address in memory of C, which Frame provides; an int is an enum xf_status.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.nio.Buffer;
import java.nio.ByteBuffer;

final class Native {
    /** For callback(). */
    static final int LOG = 0;
    static final int PROGRESS = 1;
    static final int PARALLEL = 2;
    static final int QUESTION = 3;

    static {
        Library.load();
        Library.check(headerVersion(), (int) xf_version_num());
    }

    private Native() {}

    static native int headerVersion();
    /** Zeroed memory; 0 when there is none. */
    static native long allocate(long size);
    static native void release(long address);
    static native ByteBuffer view(long address, long size);
    /** Of a direct buffer. */
    static native long address(Buffer buffer);
    /** Bytes up to the first NUL. */
    static native long length(long text);
    /** The address of one of C's callbacks. */
    static native long callback(int which);
    static native void runTask(long task, long arg, int index);

    static native long xf_version();
    static native long xf_version_num();
    static native long xf_build_info();
    static native long xf_status_name(long status);

    static native int xf_config_create(long out, long err);
    static native void xf_config_free(long config);
    static native int xf_config_copy(long config, long out, long err);
    static native int xf_config_preset(long config, long name, long err);
    static native int xf_config_set(long config, long key, long value, long err);
    static native int xf_config_set_i64(long config, long key, long value, long err);
    static native int xf_config_set_f64(long config, long key, double value, long err);
    static native int xf_config_get_i64(long config, long key, long value, long err);
    static native int xf_config_get_f64(long config, long key, long value, long err);
    static native int xf_config_get(long config, long key, long value, long err);
    static native long xf_option_count();
    static native int xf_option_get(long index, long info, long err);

    static native int xf_context_create(long config, long host, long out, long err);
    static native void xf_context_free(long context);
    static native void xf_context_cancel(long context);
    static native long xf_context_device(long context);
    static native int xf_context_get_memory(long context, long stats, long err);
    static native long xf_backend_count(long context);
    static native int xf_backend_get(long context, long index, long info, long err);

    static native int xf_corpus_open(long context, long config, long path, long out, long err);
    static native int xf_corpus_open_parallel(long context, long config, long sourcePath, long targetPath, long out,
            long err);
    static native int xf_corpus_from_memory(long context, long config, long name, long text, long length, long out,
            long err);
    static native int xf_corpus_from_pairs(long context, long config, long sources, long sourceLengths, long targets,
            long targetLengths, long count, long out, long err);
    static native int xf_corpus_from_ids(long context, long pairs, long out, long err);
    static native int xf_corpus_subset(long corpus, long indices, long count, long out, long err);
    static native int xf_corpus_split(long corpus, long heldOutCount, long seed, long rest, long heldOut, long err);
    static native void xf_corpus_free(long corpus);
    static native long xf_corpus_pair_count(long corpus);
    static native int xf_corpus_get_stats(long corpus, long stats, long err);
    static native int xf_corpus_get_pair(long corpus, long index, long source, long sourceLength, long target,
            long targetLength, long err);
    static native int xf_batcher_create(long corpus, long tokenizer, long config, long out, long err);
    static native void xf_batcher_free(long batcher);
    static native int xf_batcher_next(long batcher, long batch, long err);
    static native int xf_batcher_get_stats(long batcher, long stats, long err);
    static native int xf_batcher_seek(long batcher, long epoch, long batch, long err);

    static native int xf_tokenizer_train(long context, long config, long corpus, long out, long err);
    static native int xf_tokenizer_load(long context, long path, long out, long err);
    static native int xf_tokenizer_save(long tokenizer, long path, long err);
    static native void xf_tokenizer_free(long tokenizer);
    static native long xf_tokenizer_vocab_size(long tokenizer);
    static native int xf_tokenizer_encode(long tokenizer, long text, long length, long ids, long capacity,
            long count, long err);
    static native int xf_tokenizer_decode(long tokenizer, long ids, long count, long text, long capacity,
            long length, long err);
    static native int xf_tokenizer_get_piece(long tokenizer, long id, long text, long capacity, long length, long err);

    static native int xf_model_create(long context, long config, long tokenizer, long out, long err);
    static native int xf_model_load(long context, long path, long out, long err);
    static native int xf_model_load_from(long context, long source, long out, long err);
    static native int xf_model_inspect(long context, long config, long source, long summary, long err);
    static native int xf_model_save(long model, long config, long path, long err);
    static native int xf_model_save_memory(long model, long config, long buffer, long capacity, long size, long err);
    static native int xf_model_average(long models, long count, long out, long err);
    static native int xf_model_average_files(long context, long paths, long count, long out, long err);
    static native int xf_model_copy(long model, long context, long out, long err);
    static native void xf_model_free(long model);
    static native long xf_model_config(long model);
    static native long xf_model_tokenizer(long model);
    static native int xf_model_set_metadata(long model, long key, long value, long err);
    static native long xf_model_metadata(long model, long key);
    static native long xf_model_metadata_key(long model, long index);
    static native long xf_model_tensor_count(long model);
    static native int xf_model_get_tensor(long model, long index, long info, long err);
    static native int xf_model_read_tensor(long model, long index, long values, long count, long err);
    static native int xf_model_write_tensor(long model, long index, long values, long count, long err);

    static native int xf_trainer_create(long model, long config, long out, long err);
    static native void xf_trainer_free(long trainer);
    static native int xf_train_step(long trainer, long batches, long count, long stats, long err);
    static native int xf_train_next(long trainer, long batcher, long stats, long err);
    static native void xf_trainer_cancel(long trainer);
    static native int xf_train_accumulate(long trainer, long batch, long stats, long err);
    static native int xf_train_update(long trainer, long stats, long err);
    static native int xf_trainer_read_gradient(long trainer, long index, long values, long count, long err);
    static native long xf_trainer_step_count(long trainer);
    static native long xf_trainer_model(long trainer);
    static native int xf_trainer_ema(long trainer, long out, long err);
    static native int xf_trainer_save(long trainer, long batcher, long path, long err);
    static native int xf_trainer_resume(long context, long path, long config, long out, long err);
    static native int xf_trainer_get_position(long trainer, long epoch, long batch, long err);
    static native int xf_trainer_seek(long trainer, long batcher, long err);
    static native long xf_trainer_config(long trainer);

    static native int xf_decoder_create(long model, long config, long out, long err);
    static native void xf_decoder_free(long decoder);
    static native void xf_decoder_cancel(long decoder);
    static native int xf_decode(long decoder, long batch, long params, long out, long err);
    static native int xf_translate(long decoder, long texts, long lengths, long count, long params, long out, long err);
    static native long xf_hypotheses_sentence_count(long hypotheses);
    static native int xf_hypotheses_status(long hypotheses, long sentence, long err);
    static native long xf_hypotheses_answer_count(long hypotheses, long sentence);
    static native int xf_hypotheses_get(long hypotheses, long sentence, long rank, long hypothesis, long err);
    static native void xf_hypotheses_free(long hypotheses);
    static native int xf_score(long decoder, long batch, long logProbabilities, long err);
    static native int xf_evaluate(long decoder, long batches, long count, long stats, long err);
    static native int xf_evaluate_batcher(long decoder, long batcher, long stats, long err);
    static native int xf_attention_weights(long decoder, long pair, long kind, long layer, long weights,
            long capacity, long count, long err);

    static native int xf_bleu(long hypotheses, long references, long count, long tokenize, long score, long err);
    static native int xf_chrf(long hypotheses, long references, long count, long score, long err);
}
