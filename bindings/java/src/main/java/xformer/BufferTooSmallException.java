/* XF_ERROR_BUFFER_TOO_SMALL. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** A buffer is too small. This package sizes its buffers itself, so it is not met in normal use. */
public final class BufferTooSmallException extends XformerException {
    private static final long serialVersionUID = 1L;

    BufferTooSmallException(int nativeCode, String message) {
        super(Status.BUFFER_TOO_SMALL.code(), nativeCode, message);
    }
}
