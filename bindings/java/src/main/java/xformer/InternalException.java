/* XF_ERROR_INTERNAL. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** A defect of the library: please report it. */
public final class InternalException extends XformerException {
    private static final long serialVersionUID = 1L;

    InternalException(int nativeCode, String message) {
        super(Status.INTERNAL.code(), nativeCode, message);
    }
}
