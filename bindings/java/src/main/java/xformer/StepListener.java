/* Reports of training. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Receives the statistics of each step of {@link Trainer#train(Batcher, long, StepListener)}. */
@FunctionalInterface
public interface StepListener {
    /** Receives a step; returns whether to continue. May use all objects. An exception ends the training. */
    boolean step(StepStats stats);
}
