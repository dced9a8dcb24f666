/* XF_ERROR_NOT_FOUND. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** There is no option, file, device or tensor of that name. */
public final class NotFoundException extends XformerException {
    private static final long serialVersionUID = 1L;

    NotFoundException(int nativeCode, String message) {
        super(Status.NOT_FOUND.code(), nativeCode, message);
    }
}
