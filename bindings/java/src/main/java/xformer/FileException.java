/* XF_ERROR_IO. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** The operating system refused to open, read or write; {@link #nativeCode()} is its errno. */
public final class FileException extends XformerException {
    private static final long serialVersionUID = 1L;

    FileException(int nativeCode, String message) {
        super(Status.IO.code(), nativeCode, message);
    }
}
