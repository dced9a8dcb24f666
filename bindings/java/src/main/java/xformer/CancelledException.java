/* XF_ERROR_CANCELLED, and the interrupt of a thread that trains. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** A call was cancelled, or {@link Trainer#train(Batcher, long, StepListener)} was interrupted. */
public final class CancelledException extends XformerException {
    private static final long serialVersionUID = 1L;

    CancelledException(int nativeCode, String message) {
        super(Status.CANCELLED.code(), nativeCode, message);
    }
}
