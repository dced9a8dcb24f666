/* The struct xf_model_summary of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * What a model file holds and needs, told without loading it.
 *
 * @param parameters numbers in all parameter tensors
 * @param vocabSize V
 * @param fileBytes bytes of the file
 * @param decodeBytes bytes of the context's account to load it and to translate one group of sentences, at most
 * @param trainBytes bytes to train it with batches of "data.batch_tokens", at most
 * @param step updates made, of a checkpoint; -1 of a model
 * @param hasTokenizer whether a tokenizer is inside
 * @param precision type of the matrices in the file: "fp32", "fp16", "bf16" or "int8"
 */
public record ModelSummary(long parameters, long vocabSize, long fileBytes, long decodeBytes, long trainBytes,
        long step, boolean hasTokenizer, String precision) {}
