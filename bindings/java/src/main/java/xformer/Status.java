/* The numbers of xformer/status.h. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Status of a call of the library, as in {@code xformer/status.h}; the numbers never change. */
public enum Status {
    /** Success. */
    OK(0),
    /** Not an error: an iterator has nothing more to give. */
    DONE(1),
    /** A value that the parameter can't take. */
    INVALID_ARGUMENT(-1),
    /** The allocator said no, or the budget "context.memory_budget" would be exceeded. The objects go on. */
    NO_MEMORY(-2),
    /** There is no option, file, device or tensor of that name. */
    NOT_FOUND(-3),
    /** A number is outside its documented bounds. */
    OUT_OF_RANGE(-4),
    /** A buffer is too small. This package sizes its buffers itself, so it is not met in normal use. */
    BUFFER_TOO_SMALL(-5),
    /** The call is not allowed in the object's present state. */
    STATE(-6),
    /** Another call uses the object, or one that goes with it, in a way that this one can't share. Nothing was done. */
    BUSY(-7),
    /** The operating system refused to open, read or write; the native code is its errno. */
    IO(-20),
    /** The file is damaged. */
    CORRUPT(-21),
    /** The file or the input asks for more than the documented limits allow. */
    LIMIT(-22),
    /** The file or the plugin was written for another version of the library. */
    VERSION(-23),
    /** Text is not valid Unicode, or training data are not of the promised form. */
    DATA(-24),
    /** This build, backend or device can't do it. */
    UNSUPPORTED(-40),
    /** A backend failed; the native code is its own. */
    BACKEND(-41),
    /** Loss or gradients are not finite; weights and optimizer are as before the call. */
    NONFINITE(-42),
    /** The object belongs to a process from which this one was forked, which a JVM never is. */
    FORKED(-43),
    /** See {@link CancelledException}. */
    CANCELLED(-60),
    /** A callback asked to stop. What a listener or a {@link Constraint} throws is thrown as it is instead. */
    CALLBACK(-61),
    /** The option "decode.deadline_ms" passed before there was anything to give. */
    DEADLINE(-62),
    /** Another rank of a training job failed, ended or was silent for "context.comm_timeout". */
    PEER(-80),
    /** The ranks do not train the same thing: other options, data, versions or parameters. */
    DESYNC(-81),
    /** A defect of the library: please report it. */
    INTERNAL(-99),
    /** A number that this version of the package does not know. */
    UNKNOWN(Integer.MIN_VALUE);

    private final int code;

    Status(int code) {
        this.code = code;
    }

    /** {@return the number of C; of {@link #UNKNOWN} one that no status has} */
    public int code() {
        return code;
    }

    /** Finds the status of a number of C; {@link #UNKNOWN} for one that is new. */
    public static Status of(int code) {
        for (Status status : values()) {
            if (status.code == code) return status;
        }
        return UNKNOWN;
    }
}
