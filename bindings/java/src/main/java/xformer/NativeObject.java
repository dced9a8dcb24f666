/* What the objects of a context have in common. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.function.LongConsumer;

/**
 * An object of the library: use it in a {@code try}, or call {@link #close()}. One that is forgotten is freed some time
 * after it became unreachable.
 */
public abstract sealed class NativeObject implements AutoCloseable
        permits Batcher, Context, Corpus, Decoder, Model, Tokenizer, Trainer {
    final Handle handle;
    // What C calls back; it lives as long as an object of its context does.
    final Services services;
    // Whose the pointer is, when it is not this object's own.
    private final NativeObject owner;

    private NativeObject(Services services, NativeObject owner, Handle given, Handle.Kind kind, Frame.Call maker) {
        this.services = services;
        this.owner = owner;
        handle = given == null ? Handle.of(this, kind, maker) : given;
    }

    NativeObject(Handle.Kind kind, Services services, Frame.Call maker) {
        this(services, null, null, kind, maker);
    }

    /** An object that goes with its owner. */
    NativeObject(Handle.Kind kind, NativeObject owner, long pointer) {
        this(owner.services, owner, Handle.borrowed(kind, pointer, owner.handle), kind, null);
    }

    /** Calls a function of C that can't fail. */
    final void act(LongConsumer function) {
        try (Frame f = new Frame()) {
            function.accept(f.use(this));
        }
    }

    /**
     * Gives up this object; again is allowed and does nothing. What was made from it goes on: the library keeps what
     * that needs. It does not wait: during a call of another thread it marks the object, which the call's end frees.
     */
    @Override
    public final void close() {
        handle.close();
    }

    /** {@return whether this object, or its owner, was closed: calls are then an {@link IllegalStateException}} */
    public final boolean isClosed() {
        return handle.closed();
    }
}
