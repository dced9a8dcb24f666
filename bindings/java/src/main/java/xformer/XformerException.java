/*
 * What a call throws when the library refuses it. Unchecked: most failures are a wrong argument or a broken file that
 * no caller mends on the spot, and a checked exception can't pass through lambdas and iterators.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

/**
 * A call of the library failed. Each status has a subclass, so that a program catches what it can mend. The message is
 * one sentence: the value found and the value expected.
 */
public abstract class XformerException extends RuntimeException {
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

    /**
     * Tells why.
     *
     * @return the status; {@link Status#UNKNOWN} when the library is newer than this package and has a new one
     */
    public final Status status() {
        return Status.of(statusCode);
    }

    /**
     * Tells why, as a number.
     *
     * @return the number of the status, an {@code enum xf_status} of C
     */
    public final int statusCode() {
        return statusCode;
    }

    /**
     * Tells the code of the layer below.
     *
     * @return an errno or a cudaError_t, or 0
     */
    public final int nativeCode() {
        return nativeCode;
    }

    static XformerException of(int statusCode, int nativeCode, String message) {
        Status.Maker maker = Status.of(statusCode).maker();
        return maker == null
                ? new UnknownStatusException(statusCode, nativeCode, message)
                : maker.make(nativeCode, message);
    }

    /**
     * What the glue throws after a call: the exception of a listener or constraint, which stands first, or that of the
     * library.
     */
    static Throwable afterCall(int statusCode, int nativeCode, byte[] message, Throwable thrown) {
        XformerException failure = statusCode < 0 ? of(statusCode, nativeCode, Text.string(message)) : null;
        if (thrown == null) return failure;
        // That a callback stopped the call is what its exception says already.
        if (failure != null && !(failure instanceof CallbackException)) thrown.addSuppressed(failure);
        return thrown;
    }
}
