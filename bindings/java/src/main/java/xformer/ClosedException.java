/* A StateException of this package: use after close(). SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** The object was closed before. */
public final class ClosedException extends StateException {
    private static final long serialVersionUID = 1L;

    ClosedException(String kind) {
        super(0, "the " + kind + " is closed");
    }
}
