/*
 * What a call throws when the library refuses it. Unchecked: most failures are a wrong argument or a broken file that
 * no caller mends on the spot, and a checked exception can't pass through lambdas and iterators.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

/**
 * A call of the library failed: {@link #status()} says why, and the message is one sentence with the value found and
 * the value expected. {@link CancelledException} has a class of its own, as it is asked for and no failure.
 */
public sealed class XformerException extends RuntimeException permits CancelledException {
    private static final long serialVersionUID = 1L;

    /** Number of the status. */
    private final int statusCode;
    /** Code of the layer below. */
    private final int nativeCode;

    XformerException(int statusCode, int nativeCode, String message) {
        super(message);
        this.statusCode = statusCode;
        this.nativeCode = nativeCode;
    }

    /** {@return why; {@link Status#UNKNOWN} when the library is newer than this package and has a new status} */
    public final Status status() {
        return Status.of(statusCode);
    }

    /** {@return why, as a number: an {@code enum xf_status} of C} */
    public final int statusCode() {
        return statusCode;
    }

    /** {@return the code of the layer below: an errno, a cudaError_t, or 0} */
    public final int nativeCode() {
        return nativeCode;
    }

    static XformerException of(int statusCode, int nativeCode, String message) {
        return statusCode == Status.CANCELLED.code()
                ? new CancelledException(nativeCode, message)
                : new XformerException(statusCode, nativeCode, message);
    }

    static XformerException of(Status status, String message) {
        return of(status.code(), 0, message);
    }
}
