/* Who hears of the progress of training. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Hears of each step of {@link Trainer#train}. */
@FunctionalInterface
public interface StepListener {
    /** Receives what a step did; tells whether to go on. All objects may be used. What it throws ends the training. */
    boolean step(StepStats stats);
}
