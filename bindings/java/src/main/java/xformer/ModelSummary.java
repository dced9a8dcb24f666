/* The struct xf_model_summary of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Contents and memory requirements of a model file.
 *
 * @param parameters number of parameters
 * @param vocabSize size of the target vocabulary
 * @param fileBytes size of the file
 * @param decodeBytes upper estimate of the bytes to load it and to translate one group of sentences
 * @param trainBytes upper estimate of the bytes to train it with batches of "data.batch_tokens"
 * @param step number of updates of a checkpoint; -1 for a model
 * @param hasTokenizer whether the file contains a tokenizer
 * @param weights type of the matrices
 */
public record ModelSummary(long parameters, long vocabSize, long fileBytes, long decodeBytes, long trainBytes,
        long step, boolean hasTokenizer, DataType weights) {}
