/*
 * A pointer of C. It is freed once, when it is closed and no call uses it. The library keeps an object alive during a
 * call; this class ensures that no pointer is freed after it was read and before that call begins. The Cleaner refers
 * to the handle, so the handle does not refer to its object.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.lang.ref.Cleaner;
import java.util.Locale;
import java.util.function.LongConsumer;

final class Handle implements Runnable {
    /** The type of an object, and how it is freed. */
    enum Kind {
        BATCHER(Native::xf_batcher_free),
        CONFIG(Native::xf_config_free),
        CONTEXT(Native::xf_context_free),
        CORPUS(Native::xf_corpus_free),
        DECODER(Native::xf_decoder_free),
        ENGINE(Native::xf_engine_free),
        MODEL(Native::xf_model_free),
        TOKENIZER(Native::xf_tokenizer_free),
        TRAINER(Native::xf_trainer_free);

        private final LongConsumer free;

        Kind(LongConsumer free) {
            this.free = free;
        }
    }

    static final Cleaner CLEANER = Cleaner.create();

    private final Kind kind;
    private final Handle owner;
    private long pointer;
    private int calls;
    private boolean closed;
    private Cleaner.Cleanable cleanable;

    private Handle(Kind kind, long pointer, Handle owner) {
        this.kind = kind;
        this.pointer = pointer;
        this.owner = owner;
    }

    /** A handle for a pointer that the object owns. */
    static Handle of(Object object, Kind kind, long pointer) {
        Handle made = new Handle(kind, pointer, null);
        made.cleanable = CLEANER.register(object, made);
        return made;
    }

    static Handle of(Object object, Kind kind, Frame.Output call) {
        try (Frame f = new Frame()) {
            Memory out = f.memory(8);
            int status = call.call(f, out.address());
            // A listener may have thrown in a call that succeeded.
            if (f.failed(status)) kind.free.accept(out.getLong(0));
            f.check(status);
            return of(object, kind, out.getLong(0));
        }
    }

    /** A handle for a pointer that the object of another handle owns. */
    static Handle borrowed(Kind kind, long pointer, Handle owner) {
        return new Handle(kind, pointer, owner);
    }

    /** Begins a call. The pointer is valid until end(). */
    synchronized long begin() {
        if (closed) throw new IllegalStateException("the " + kind.name().toLowerCase(Locale.ROOT) + " is closed");
        if (owner != null) owner.begin();
        ++calls;
        return pointer;
    }

    void end() {
        synchronized (this) {
            --calls;
        }
        free();
        if (owner != null) owner.end();
    }

    void close() {
        if (cleanable == null) run();
        else cleanable.clean();
    }

    /** Marks the handle as closed, for close() and the Cleaner. */
    @Override
    public void run() {
        synchronized (this) {
            closed = true;
        }
        free();
    }

    // Frees without the lock, because freeing a context waits for its threads.
    private void free() {
        long unused;
        synchronized (this) {
            if (!closed || calls > 0) return;
            unused = pointer;
            pointer = 0;
        }
        if (owner == null) kind.free.accept(unused);
    }

    synchronized boolean closed() {
        return closed || owner != null && owner.closed();
    }

    /** Returns true while a call uses it. */
    synchronized boolean used() {
        return calls > 0;
    }

    synchronized boolean freed() {
        return pointer == 0;
    }
}
