/*
 * The native side of an object: its handle, what its calls claim, and the Cleaner as a net below close().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.lang.ref.Cleaner;
import xformer.Guard.Claim;

final class Peer {
    private static final Cleaner CLEANER = Cleaner.create();

    final Handle handle;
    final Guard guard;
    private final Claim[] reading;
    private final Claim[] writing;
    private final Runnable closing;

    /** An object of its own; others: guards of the native objects it stands on, which each of its calls reads. */
    Peer(Object object, Kind kind, Root root, Guard... others) {
        this(new Handle(kind, root, null), new Guard(kind), object, others);
    }

    private Peer(Handle handle, Guard guard, Object object, Guard... others) {
        this.handle = handle;
        this.guard = guard;
        reading = claims(new Claim(guard, false), others);
        writing = claims(new Claim(guard, true), others);
        closing = object == null ? handle : CLEANER.register(object, handle)::clean;
    }

    /** An object that belongs to another, which frees it; guard: null for one of its own. */
    static Peer borrowed(Kind kind, Peer owner, long pointer, Guard guard, Guard... others) {
        Guard own = guard == null ? new Guard(kind) : guard;
        Peer peer = new Peer(new Handle(kind, null, owner.handle), own, null, others);
        peer.open(pointer);
        return peer;
    }

    private static Claim[] claims(Claim own, Guard... others) {
        Claim[] all = new Claim[1 + others.length];
        all[0] = own;
        for (int i = 0; i < others.length; ++i) all[i + 1] = new Claim(others[i], false);
        return all;
    }

    void open(long pointer) {
        handle.open(pointer);
    }

    /** A call marked "shared-read" in the headers. */
    Call read() {
        return new Call(handle, reading);
    }

    /** A call marked "exclusive"; what the object merely stands on is read. */
    Call write() {
        return new Call(handle, writing);
    }

    /** An exclusive call that has another object to itself as well. */
    Call write(Guard other) {
        Claim[] all = new Claim[writing.length + 1];
        System.arraycopy(writing, 0, all, 0, writing.length);
        all[writing.length] = new Claim(other, true);
        return new Call(handle, all);
    }

    /** A call marked "any": beside whatever else runs. */
    Call any() {
        return new Call(handle);
    }

    void close() {
        closing.run();
    }

    boolean closed() {
        return handle.closed();
    }
}
