/* What the objects of a context have in common. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * An object of the library: use it in a {@code try}, or call {@link #close()}. One that is forgotten is freed some time
 * after it became unreachable.
 */
public abstract sealed class NativeObject implements AutoCloseable
        permits Batcher, Context, Corpus, Decoder, Model, Tokenizer, Trainer {
    final Peer peer;

    NativeObject(Kind kind, Root root, Guard... others) {
        peer = new Peer(this, kind, root, others);
    }

    NativeObject(Peer peer) {
        this.peer = peer;
    }

    /**
     * Gives up this object; again is allowed and does nothing. What was made from it goes on: the library keeps what
     * that needs. It does not wait: during a call of another thread it marks the object, and the end of that call frees
     * it.
     */
    @Override
    public final void close() {
        peer.close();
    }

    /**
     * Tells whether this object, or the one it belongs to, was closed.
     *
     * @return true when calls on it are a {@link ClosedException}
     */
    public final boolean isClosed() {
        return peer.closed();
    }
}
