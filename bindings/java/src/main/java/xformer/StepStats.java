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
 * @param gradientNorm L2 norm of the gradient of the mean loss, before "train.clip_norm"
 * @param outcome what became of the step
 */
public record StepStats(long step, long sentences, long srcTokens, long tgtTokens, double loss, double nll,
        double learningRate, double gradientNorm, Outcome outcome) {
    /** What became of a step: the enum xf_step_outcome of C. */
    public enum Outcome {
        /** The parameters were updated. */
        UPDATED,
        /** Loss or gradient was not finite and "train.on_nonfinite" is skip: the batches were left out. */
        SKIPPED,
        /** The same with rollback: parameters, moments and step are those of the last checkpoint again. */
        ROLLED_BACK
    }

    static StepStats of(Words s) {
        return new StepStats(s.get(1), s.get(2), s.get(3), s.get(4), s.real(5), s.real(6), s.real(7), s.real(8),
                Outcome.values()[s.low(9)]);
    }

    static StepStats read(Frame.Call call) {
        return Frame.read(10, call, StepStats::of);
    }
}
