/* XF_ERROR_DATA. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Text is not valid Unicode, or training data are not of the promised form. */
public final class DataException extends XformerException {
    private static final long serialVersionUID = 1L;

    DataException(int nativeCode, String message) {
        super(Status.DATA.code(), nativeCode, message);
    }
}
