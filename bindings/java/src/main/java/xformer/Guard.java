/*
 * Who is in a call on one native object: many readers or one writer. The library adds no locks on handles, so a mistake
 * has to be an exception here. It outlives the closing of its object, since a trainer goes on with a closed model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.util.concurrent.atomic.AtomicInteger;

final class Guard {
    private static final int WRITER = -1;

    private final Kind kind;
    private final AtomicInteger users = new AtomicInteger();

    Guard(Kind kind) {
        this.kind = kind;
    }

    void take(boolean write) {
        boolean taken = write
                ? users.compareAndSet(0, WRITER)
                : users.getAndUpdate(n -> n == WRITER ? n : n + 1) != WRITER;
        if (!taken) throw new BusyException(kind.toString());
    }

    void give(boolean write) {
        if (write) {
            users.set(0);
        } else {
            users.decrementAndGet();
        }
    }

    /** A guard and how a call takes it. */
    record Claim(Guard guard, boolean write) {}
}
