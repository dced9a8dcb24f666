/*
 * A pointer of C and when it is freed: once, when it is closed and in no call. This is what the Cleaner keeps, so it
 * knows nothing of the object it belongs to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

final class Handle implements Runnable {
    private final Kind kind;
    private final Root root;
    private final Handle owner;
    private long pointer;
    private int calls;
    private boolean closed;

    /** root: null for what belongs to no context. owner: whose the pointer is, when it is not this one's to free. */
    Handle(Kind kind, Root root, Handle owner) {
        this.kind = kind;
        this.root = root;
        this.owner = owner;
    }

    synchronized void open(long created) {
        pointer = created;
        if (root != null && owner == null) root.retain();
    }

    /** Begins a call: until its end the pointer is good. */
    synchronized long begin() {
        if (closed) throw new ClosedException(kind.toString());
        if (owner != null) owner.begin();
        ++calls;
        return pointer;
    }

    void end() {
        long unused;
        synchronized (this) {
            --calls;
            unused = taken();
        }
        free(unused);
        if (owner != null) owner.end();
    }

    /** Closes it; again is allowed. */
    @Override
    public void run() {
        long unused;
        synchronized (this) {
            closed = true;
            unused = taken();
        }
        free(unused);
    }

    synchronized boolean closed() {
        return closed || owner != null && owner.closed();
    }

    /** Whether the native object is gone, which it is not while a call runs. */
    synchronized boolean freed() {
        return pointer == 0;
    }

    private long taken() {
        if (!closed || calls > 0) return 0;
        long given = pointer;
        pointer = 0;
        return given;
    }

    // Not under the lock: freeing a context waits for its threads.
    private void free(long unused) {
        if (unused == 0 || owner != null) return;
        try {
            kind.free(unused);
        } finally {
            if (root != null) root.release();
        }
    }
}
