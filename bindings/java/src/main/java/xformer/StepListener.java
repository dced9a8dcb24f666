/* Who hears of the progress of training. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Hears of each step of {@link Trainer#train}. */
@FunctionalInterface
public interface StepListener {
    /**
     * Receives what a step did: between two steps, so all objects may be used. What it throws ends the training.
     *
     * @param stats what the step did
     * @return whether to go on
     */
    boolean step(StepStats stats);
}
