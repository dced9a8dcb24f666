/* The base class of the objects of a context. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * An object of the library. Use it in a {@code try} statement, or call {@link #close()}. An object that is not closed is
 * freed some time after it becomes unreachable.
 */
public abstract sealed class NativeObject implements AutoCloseable
        permits Batcher, Context, Corpus, Decoder, Engine, Model, Tokenizer, Trainer {
    final Handle handle;
    // The callbacks of the context, which live as long as any of its objects.
    final Services services;
    // Keeps the owner of a borrowed pointer reachable.
    private final NativeObject owner;

    private NativeObject(Services services, NativeObject owner, Handle given, Handle.Kind kind, Frame.Output creator) {
        this.services = services;
        this.owner = owner;
        handle = given == null ? Handle.of(this, kind, creator) : given;
    }

    NativeObject(Handle.Kind kind, Services services, Frame.Output creator) {
        this(services, null, null, kind, creator);
    }

    /** An object whose pointer another object owns. */
    NativeObject(Handle.Kind kind, NativeObject owner, long pointer) {
        this(owner.services, owner, Handle.borrowed(kind, pointer, owner.handle), kind, null);
    }

    /**
     * Closes this object. Closing it again has no effect. Objects that were created from it remain usable. Does not
     * wait: if a call of another thread is using the object, it is freed when that call returns.
     */
    @Override
    public void close() {
        handle.close();
    }

    /** {@return whether this object, or its owner, was closed; calls then throw an {@link IllegalStateException}} */
    public final boolean isClosed() {
        return handle.closed();
    }
}
