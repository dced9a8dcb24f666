/* The flag xf_call::cancelled of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A request to cancel calls. {@link Call#cancel} passes it to a call. Each call with a cancelled token ends with a
 * {@link CancelledException}, whether it was already running or begins later. A token cannot be reset; create a new
 * one.
 */
public final class CancelToken {
    private static final VarHandle FLAG =
            MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    private final ByteBuffer flag = ByteBuffer.allocateDirect(4);

    /** Creates a token that is not cancelled. */
    public CancelToken() {}

    /** Cancels all calls that have this token. May be called from any thread and any listener, also repeatedly. */
    public void cancel() {
        FLAG.setVolatile(flag, 0, 1);
    }

    /** Clears the token, so that it can be used for later calls. */
    public void reset() {
        FLAG.setVolatile(flag, 0, 0);
    }

    /** {@return whether {@link #cancel} was called} */
    public boolean isCancelled() {
        return (int) FLAG.getVolatile(flag, 0) != 0;
    }

    /** The address of the flag, valid while this object is reachable. */
    long address() {
        return Native.address(flag);
    }
}
