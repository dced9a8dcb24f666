/* The struct xf_step_stats of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * What a training step did. Losses are nats per target token, under dropout; tokens count end symbols.
 *
 * @param step number of the update, from 1
 * @param sentences pairs used
 * @param srcTokens source tokens
 * @param tgtTokens target tokens
 * @param loss label-smoothed cross-entropy
 * @param nll un-smoothed cross-entropy
 * @param learningRate of the update
 * @param gradientNorm L2 norm of the gradient of the mean loss
 */
public record StepStats(long step, long sentences, long srcTokens, long tgtTokens, double loss, double nll,
        double learningRate, double gradientNorm) {
    static StepStats of(long[] n, double[] x) {
        return new StepStats(n[0], n[1], n[2], n[3], x[0], x[1], x[2], x[3]);
    }
}
