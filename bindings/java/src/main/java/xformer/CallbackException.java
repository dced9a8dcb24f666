/* XF_ERROR_CALLBACK. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** A callback asked to stop. What a {@link LogListener} or {@link Constraint} throws is thrown as it is instead. */
public final class CallbackException extends XformerException {
    private static final long serialVersionUID = 1L;

    CallbackException(int nativeCode, String message) {
        super(Status.CALLBACK.code(), nativeCode, message);
    }
}
