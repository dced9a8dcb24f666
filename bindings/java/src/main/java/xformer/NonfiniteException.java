/* XF_ERROR_NONFINITE. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Loss or gradients are not finite; weights and optimizer are as before the call. */
public final class NonfiniteException extends XformerException {
    private static final long serialVersionUID = 1L;

    NonfiniteException(int nativeCode, String message) {
        super(Status.NONFINITE.code(), nativeCode, message);
    }
}
