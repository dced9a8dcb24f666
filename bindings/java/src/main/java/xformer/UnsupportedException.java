/* XF_ERROR_UNSUPPORTED. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** This build, backend or device can't do it. */
public final class UnsupportedException extends XformerException {
    private static final long serialVersionUID = 1L;

    UnsupportedException(int nativeCode, String message) {
        super(Status.UNSUPPORTED.code(), nativeCode, message);
    }
}
