/* The xf_progress_fn of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Receives the progress of a call; see {@link Call#progress}. */
@FunctionalInterface
public interface ProgressListener {
    /**
     * Receives a report, about ten times a second and once at the end; calls that finish earlier do not report. Called
     * on the thread of the call. Must not use the objects of the call. An exception ends the call, which throws it.
     *
     * @param task "tokenizer", "encode", "load", "save", "average", "translate", "score", or "evaluate"
     * @param done completed units, from 0 to total; the unit depends on the task: bytes, sentences, or merges
     * @param total all units
     */
    void progress(String task, long done, long total);
}
