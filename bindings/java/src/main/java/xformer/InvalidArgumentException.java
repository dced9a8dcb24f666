/* XF_ERROR_INVALID_ARGUMENT. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** A value that the parameter can't take. */
public final class InvalidArgumentException extends XformerException {
    private static final long serialVersionUID = 1L;

    InvalidArgumentException(int nativeCode, String message) {
        super(Status.INVALID_ARGUMENT.code(), nativeCode, message);
    }
}
