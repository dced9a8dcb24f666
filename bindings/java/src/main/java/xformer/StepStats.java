/* The struct xf_step_stats of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Statistics of a training step. Losses are in nats per target token, with dropout; numbers of tokens include end
 * symbols.
 *
 * @param step number of updates so far, including this one
 * @param sentences sentence pairs used
 * @param srcTokens source tokens
 * @param tgtTokens target tokens
 * @param loss label-smoothed cross-entropy
 * @param nll cross-entropy without label smoothing
 * @param learningRate learning rate of the update
 * @param gradientNorm L2 norm of the gradient of the mean loss, before "train.clip_norm"
 * @param outcome whether the parameters were updated
 */
public record StepStats(long step, long sentences, long srcTokens, long tgtTokens, double loss, double nll,
        double learningRate, double gradientNorm, Outcome outcome) {
    /** Outcome of a training step: the constants XF_STEP_... of C. */
    public enum Outcome {
        /** The parameters were updated. */
        UPDATED,
        /** The loss or the gradient was not finite and "train.on_nonfinite" is skip: the batches were skipped. */
        SKIPPED,
        /** The same with rollback: parameters, moments, and step were restored from the last checkpoint. */
        ROLLED_BACK
    }

    static StepStats of(Memory s) {
        return new StepStats(s.getLong(Abi.xf_step_stats.step), s.getLong(Abi.xf_step_stats.sentences),
                s.getLong(Abi.xf_step_stats.src_tokens), s.getLong(Abi.xf_step_stats.tgt_tokens),
                s.getDouble(Abi.xf_step_stats.loss), s.getDouble(Abi.xf_step_stats.nll),
                s.getDouble(Abi.xf_step_stats.learning_rate), s.getDouble(Abi.xf_step_stats.gradient_norm),
                s.constant(Abi.xf_step_stats.outcome, Outcome.values()));
    }

    static StepStats read(Frame.Output call) {
        return Frame.read(Abi.xf_step_stats.SIZE, call, StepStats::of);
    }
}
