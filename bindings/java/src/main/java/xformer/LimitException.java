/* XF_ERROR_LIMIT. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** The file or the input asks for more than the documented limits allow. */
public final class LimitException extends XformerException {
    private static final long serialVersionUID = 1L;

    LimitException(int nativeCode, String message) {
        super(Status.LIMIT.code(), nativeCode, message);
    }
}
