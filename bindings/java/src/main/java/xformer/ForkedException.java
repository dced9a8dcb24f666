/* XF_ERROR_FORKED. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** The object belongs to a process from which this one was forked, which a JVM never is. */
public final class ForkedException extends XformerException {
    private static final long serialVersionUID = 1L;

    ForkedException(int nativeCode, String message) {
        super(Status.FORKED.code(), nativeCode, message);
    }
}
