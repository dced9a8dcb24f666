/* A StateException of this package: two calls at once. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * The object is in another call, of another thread or of the one whose log line is being heard, that can't run beside
 * this one. Nothing was done.
 */
public final class BusyException extends StateException {
    private static final long serialVersionUID = 1L;

    BusyException(String kind) {
        super(0, "the " + kind + " is in another call");
    }
}
