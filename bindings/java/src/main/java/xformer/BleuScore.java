/* The struct xf_bleu_score of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.List;

/**
 * A corpus BLEU score and its parts.
 *
 * @param score 0 to 100
 * @param precisions n-gram precisions in percent, n = 1 to 4, smoothed like sacreBLEU's "exp", except for
 *        {@link Metrics.Tokenize#SPLIT_HYPHENS}
 * @param brevityPenalty 0 to 1
 * @param hypothesisLength number of words of all hypotheses
 * @param referenceLength number of words of all references
 * @param signature how the score was computed, in the form of sacreBLEU
 */
public record BleuScore(double score, List<Double> precisions, double brevityPenalty, long hypothesisLength,
        long referenceLength, String signature) {}
