/* The struct xf_tokenizer_info of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Properties of a tokenizer.
 *
 * @param kind "bpe", "wordpiece", "unigram", "sentencepiece", or "pair"
 * @param vocabSize V: ids are 0 to V - 1; 0 for a pair
 * @param startToken id of the start symbol, the decoder's first input; -1: none, or a pair
 * @param endToken id of the end symbol of every source and target; -1: none, or a pair
 */
public record TokenizerInfo(String kind, int vocabSize, int startToken, int endToken) {}
