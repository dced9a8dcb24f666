/* The struct xf_eval_stats of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Quality of a model on held-out pairs, without dropout.
 *
 * @param sentences number of pairs
 * @param tgtTokens target tokens, including end symbols
 * @param loss cross-entropy with the decoder's "train.label_smoothing", in nats per target token
 * @param nll cross-entropy without label smoothing, in nats per target token
 * @param perplexity exp(nll)
 */
public record EvalStats(long sentences, long tgtTokens, double loss, double nll, double perplexity) {}
