/*
 * A pointer of C and when it is freed: once, when it is closed and no call has it. The library itself keeps an object
 * whose call runs; what is left to do here is that nobody frees a pointer between its reading and that call. This is
 * what the Cleaner keeps, so it knows nothing of the object it belongs to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.lang.ref.Cleaner;
import java.util.Locale;
import java.util.function.LongConsumer;

final class Handle implements Runnable {
    /** What a pointer points to, and how it is freed. */
    enum Kind {
        BATCHER(Native::xf_batcher_free),
        CONFIG(Native::xf_config_free),
        CONTEXT(Native::xf_context_free),
        CORPUS(Native::xf_corpus_free),
        DECODER(Native::xf_decoder_free),
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

    /** What a call has made for an object, which frees it. */
    static Handle of(Object object, Kind kind, long pointer) {
        Handle made = new Handle(kind, pointer, null);
        made.cleanable = CLEANER.register(object, made);
        return made;
    }

    static Handle of(Object object, Kind kind, Frame.Call call) {
        try (Frame f = new Frame()) {
            Words out = f.words(1);
            int status = call.in(f, out.address());
            // A listener may have thrown in a call that went well.
            if (f.failed(status)) kind.free.accept(out.get(0));
            f.check(status);
            return of(object, kind, out.get(0));
        }
    }

    /** A pointer that goes with another one. */
    static Handle borrowed(Kind kind, long pointer, Handle owner) {
        return new Handle(kind, pointer, owner);
    }

    /** Begins a call: until its end the pointer is good. */
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

    /** What close() and the Cleaner do. */
    @Override
    public void run() {
        synchronized (this) {
            closed = true;
        }
        free();
    }

    // Not under the lock: freeing a context waits for its threads.
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

    /** Whether a call has it. */
    synchronized boolean used() {
        return calls > 0;
    }

    synchronized boolean freed() {
        return pointer == 0;
    }
}
