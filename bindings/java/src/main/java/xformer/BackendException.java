/* XF_ERROR_BACKEND. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** A backend failed; {@link #nativeCode()} is its own code. */
public final class BackendException extends XformerException {
    private static final long serialVersionUID = 1L;

    BackendException(int nativeCode, String message) {
        super(Status.BACKEND.code(), nativeCode, message);
    }
}
