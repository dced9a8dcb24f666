/* The struct xf_eval_stats of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Quality of a model on held-out pairs, without dropout.
 *
 * @param sentences pairs
 * @param tgtTokens target tokens, end symbols counted
 * @param loss cross-entropy with "train.label_smoothing" of the decoder's options, nats per target token
 * @param nll un-smoothed cross-entropy, nats per target token
 * @param perplexity exp(nll)
 */
public record EvalStats(long sentences, long tgtTokens, double loss, double nll, double perplexity) {}
