/* XF_ERROR_OUT_OF_RANGE. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** A number is outside its documented bounds. */
public final class OutOfRangeException extends XformerException {
    private static final long serialVersionUID = 1L;

    OutOfRangeException(int nativeCode, String message) {
        super(Status.OUT_OF_RANGE.code(), nativeCode, message);
    }
}
