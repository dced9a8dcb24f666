/*
 * The exception of a failed call. It is unchecked because most failures are wrong arguments or damaged files, which the
 * caller cannot correct, and because checked exceptions do not pass through lambdas and iterators.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

/** A call of the library failed. The message is one sentence: what was found, what was expected, and what to do. */
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

    /** {@return the status; {@link Status#UNKNOWN} if a newer library returned a status that this package lacks} */
    public final Status status() {
        return Status.of(statusCode);
    }

    /** {@return the number of the status: an {@code xf_status} of C} */
    public final int statusCode() {
        return statusCode;
    }

    /** {@return the code of the layer below: an errno, a cudaError_t, or 0} */
    public final int nativeCode() {
        return nativeCode;
    }

    static XformerException of(int statusCode, int nativeCode, String message) {
        return statusCode == Abi.XF_ERROR_CANCELLED
                ? new CancelledException(nativeCode, message)
                : new XformerException(statusCode, nativeCode, message);
    }
}
