/* The struct xf_chrf_score of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * A corpus chrF score.
 *
 * @param score 0 to 100
 * @param signature how the score was computed, in the form of sacreBLEU
 */
public record ChrfScore(double score, String signature) {}
