/* XF_ERROR_CORRUPT. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** The file is damaged. */
public final class CorruptException extends XformerException {
    private static final long serialVersionUID = 1L;

    CorruptException(int nativeCode, String message) {
        super(Status.CORRUPT.code(), nativeCode, message);
    }
}
