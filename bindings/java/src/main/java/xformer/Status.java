/* The status codes of xformer/status.h. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Result of a call, as in {@code xformer/status.h}. The numbers never change. */
public enum Status {
    /** Success. */
    OK(Abi.XF_OK),
    /** Not an error: an iterator has reached its end. */
    DONE(Abi.XF_DONE),
    /** A value that the parameter does not accept. */
    INVALID_ARGUMENT(Abi.XF_ERROR_INVALID_ARGUMENT),
    /** An allocation failed, or the budget "context.memory_budget" would be exceeded. The objects remain usable. */
    NO_MEMORY(Abi.XF_ERROR_NO_MEMORY),
    /** No option, file, backend, tensor, or metadata of that name exists. */
    NOT_FOUND(Abi.XF_ERROR_NOT_FOUND),
    /** A number is outside the documented bounds, or a word is not one of the allowed words. */
    OUT_OF_RANGE(Abi.XF_ERROR_OUT_OF_RANGE),
    /** The buffer of {@link Sink#of(java.nio.ByteBuffer)} is too small. The package enlarges its own buffers. */
    BUFFER_TOO_SMALL(Abi.XF_ERROR_BUFFER_TOO_SMALL),
    /** The current state of the object does not allow the call. */
    STATE(Abi.XF_ERROR_STATE),
    /** Another call is using the object, or an object that belongs to it. Nothing was done. */
    BUSY(Abi.XF_ERROR_BUSY),
    /** The operating system failed to open, read, or write; the native code is errno. */
    IO(Abi.XF_ERROR_IO),
    /** The file is damaged. */
    CORRUPT(Abi.XF_ERROR_CORRUPT),
    /** The file or the input exceeds a documented limit. */
    LIMIT(Abi.XF_ERROR_LIMIT),
    /** The file or the plugin was written for another version of the library. */
    VERSION(Abi.XF_ERROR_VERSION),
    /** Text is not valid Unicode, or training data do not have the documented form. */
    DATA(Abi.XF_ERROR_DATA),
    /** This build, backend, or device does not support the request. */
    UNSUPPORTED(Abi.XF_ERROR_UNSUPPORTED),
    /** A backend failed; the native code is its own. */
    BACKEND(Abi.XF_ERROR_BACKEND),
    /** The loss or the gradient is not finite. Parameters and optimizer state are unchanged. */
    NONFINITE(Abi.XF_ERROR_NONFINITE),
    /** The object was created in a process from which the current process was forked. A JVM does not fork itself. */
    FORKED(Abi.XF_ERROR_FORKED),
    /** The call was cancelled; see {@link CancelledException}. */
    CANCELLED(Abi.XF_ERROR_CANCELLED),
    /** A callback requested to stop. A call throws the exception of the callback instead. */
    CALLBACK(Abi.XF_ERROR_CALLBACK),
    /** The deadline of the {@link Call} passed before the call had a result. The object remains usable. */
    DEADLINE(Abi.XF_ERROR_DEADLINE),
    /** Another rank failed, ended, or did not respond within "context.comm_timeout". */
    PEER(Abi.XF_ERROR_PEER),
    /** The ranks do not train the same model: options, data, versions, or parameters differ. */
    DESYNC(Abi.XF_ERROR_DESYNC),
    /** A defect of the library. Please report it. */
    INTERNAL(Abi.XF_ERROR_INTERNAL),
    /** A number that this version of the package does not define. */
    UNKNOWN(Integer.MIN_VALUE);

    private final int code;

    Status(int code) {
        this.code = code;
    }

    /** {@return the number of the status in C} */
    public int code() {
        return code;
    }

    /** {@return the status with a number of C; {@link #UNKNOWN} if this version does not define it} */
    public static Status of(int code) {
        for (Status status : values()) {
            if (status.code == code) return status;
        }
        return UNKNOWN;
    }
}
