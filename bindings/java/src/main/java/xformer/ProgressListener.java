/* The xf_progress_fn of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Hears how far a long call has come: at most about ten times a second, and once at its end. */
@FunctionalInterface
public interface ProgressListener {
    /**
     * Receives a report, under the rules of {@link LogListener#log}, but that an exception ends the call at once.
     *
     * @param task "tokenizer", "encode", "load", "save", "average", "translate" or "evaluate"
     * @param total in units of the task: bytes, sentences, merges
     */
    void progress(String task, long done, long total);
}
