/*
 * The span of one call on an object, in a try: the pointer is good, and nothing that collides runs beside it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

final class Call implements AutoCloseable {
    private final Handle handle;
    private final Guard.Claim[] claims;
    private final long pointer;

    Call(Handle handle, Guard.Claim... claims) {
        this.handle = handle;
        this.claims = claims;
        pointer = handle.begin();
        int taken = 0;
        try {
            for (; taken < claims.length; ++taken) claims[taken].guard().take(claims[taken].write());
        } catch (BusyException busy) {
            give(taken);
            handle.end();
            throw busy;
        }
    }

    long pointer() {
        return pointer;
    }

    private void give(int count) {
        for (int i = 0; i < count; ++i) claims[i].guard().give(claims[i].write());
    }

    @Override
    public void close() {
        give(claims.length);
        handle.end();
    }
}
