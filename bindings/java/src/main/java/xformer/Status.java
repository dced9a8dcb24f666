/* The numbers of xformer/status.h, and the exception of each. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Status of a call of the library, as in {@code xformer/status.h}; the numbers never change. */
public enum Status {
    /** Success. */
    OK(0, null),
    /** Not an error: an iterator has nothing more to give. */
    DONE(1, null),
    /** See {@link InvalidArgumentException}. */
    INVALID_ARGUMENT(-1, InvalidArgumentException::new),
    /** See {@link NoMemoryException}. */
    NO_MEMORY(-2, NoMemoryException::new),
    /** See {@link NotFoundException}. */
    NOT_FOUND(-3, NotFoundException::new),
    /** See {@link OutOfRangeException}. */
    OUT_OF_RANGE(-4, OutOfRangeException::new),
    /** See {@link BufferTooSmallException}. */
    BUFFER_TOO_SMALL(-5, BufferTooSmallException::new),
    /** See {@link StateException}. */
    STATE(-6, StateException::new),
    /** See {@link FileException}. */
    IO(-20, FileException::new),
    /** See {@link CorruptException}. */
    CORRUPT(-21, CorruptException::new),
    /** See {@link LimitException}. */
    LIMIT(-22, LimitException::new),
    /** See {@link VersionException}. */
    VERSION(-23, VersionException::new),
    /** See {@link DataException}. */
    DATA(-24, DataException::new),
    /** See {@link UnsupportedException}. */
    UNSUPPORTED(-40, UnsupportedException::new),
    /** See {@link BackendException}. */
    BACKEND(-41, BackendException::new),
    /** See {@link NonfiniteException}. */
    NONFINITE(-42, NonfiniteException::new),
    /** See {@link ForkedException}. */
    FORKED(-43, ForkedException::new),
    /** See {@link CancelledException}. */
    CANCELLED(-60, CancelledException::new),
    /** See {@link CallbackException}. */
    CALLBACK(-61, CallbackException::new),
    /** See {@link InternalException}. */
    INTERNAL(-99, InternalException::new),
    /** A number that this version of the package does not know. See {@link UnknownStatusException}. */
    UNKNOWN(Integer.MIN_VALUE, null);

    /** Makes the exception of a status. */
    @FunctionalInterface
    interface Maker {
        XformerException make(int nativeCode, String message);
    }

    private final int code;
    private final Maker maker;

    Status(int code, Maker maker) {
        this.code = code;
        this.maker = maker;
    }

    /**
     * Gives the number of C.
     *
     * @return an {@code enum xf_status}; of {@link #UNKNOWN} a number that no status has
     */
    public int code() {
        return code;
    }

    /**
     * Finds the status of a number.
     *
     * @param code an {@code enum xf_status}
     * @return its status, or {@link #UNKNOWN}
     */
    public static Status of(int code) {
        for (Status status : values()) {
            if (status.code == code) return status;
        }
        return UNKNOWN;
    }

    Maker maker() {
        return maker;
    }
}
