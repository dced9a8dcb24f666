/* Who hears of the progress of training. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Hears of each step of {@link Trainer#train}. */
@FunctionalInterface
public interface StepListener {
    /**
     * Receives what a step did, between two steps, so all objects may be used; tells whether to go on. What it throws
     * ends the training.
     */
    boolean step(StepStats stats);
}
