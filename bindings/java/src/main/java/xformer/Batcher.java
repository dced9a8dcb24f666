/* Makes batches from a corpus. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;

/**
 * Turns a corpus into batches: {@code for (Batch batch : batcher)} gives what is left of an epoch, and the next loop
 * the next epoch. Corpus and tokenizer are not needed afterwards. Batches own their numbers and stay valid.
 */
public final class Batcher extends NativeObject implements Iterable<Batch> {
    // Not read: it keeps the listener of the context's log as long as this lives.
    private final Context context;

    /**
     * Encodes a corpus and plans the first epoch, with all defaults.
     *
     * @param corpus the corpus
     * @param tokenizer the tokenizer
     */
    public Batcher(Corpus corpus, Tokenizer tokenizer) {
        this(corpus, tokenizer, Map.of());
    }

    /**
     * Encodes a corpus and plans the first epoch.
     *
     * @param corpus the corpus
     * @param tokenizer the tokenizer
     * @param options of which "data.batch_tokens", "data.max_tokens", "data.shuffle" and "data.seed" are read
     */
    public Batcher(Corpus corpus, Tokenizer tokenizer, Map<String, ?> options) {
        super(Kind.BATCHER, corpus.context.root(), corpus.context.peer.guard);
        context = corpus.context;
        try (Call pairs = corpus.peer.read();
                Call words = tokenizer.peer.read();
                Config.Use config = Config.of(options)) {
            peer.open(Native.batcherCreate(pairs.pointer(), words.pointer(), config.pointer()));
        }
    }

    /**
     * Gives the next batch.
     *
     * @return the batch; empty at the end of an epoch, after which the next epoch begins
     */
    public Optional<Batch> next() {
        try (Call batcher = peer.write()) {
            return Optional.ofNullable(Native.batcherNext(batcher.pointer()));
        }
    }

    /**
     * Goes over what is left of the epoch.
     *
     * @return an iterator that works as it is asked: {@code hasNext()} takes a batch from here
     */
    @Override
    public Iterator<Batch> iterator() {
        return new Iterator<>() {
            private Optional<Batch> taken = Optional.empty();
            private boolean ended;

            @Override
            public boolean hasNext() {
                if (taken.isEmpty() && !ended) {
                    taken = Batcher.this.next();
                    ended = taken.isEmpty();
                }
                return taken.isPresent();
            }

            @Override
            public Batch next() {
                if (!hasNext()) throw new NoSuchElementException();
                Batch batch = taken.get();
                taken = Optional.empty();
                return batch;
            }
        };
    }

    /**
     * Tells where it stands and what it holds.
     *
     * @return position and counts
     */
    public BatcherStats stats() {
        long[] n = new long[8];
        try (Call batcher = peer.read()) {
            Native.batcherStats(batcher.pointer(), n);
        }
        return new BatcherStats(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]);
    }

    /**
     * Moves to a position, so that the next batch is the one that stood there.
     *
     * @param epoch from 0
     * @param batch from 0 to the number of batches in that epoch
     */
    public void seek(long epoch, long batch) {
        try (Call batcher = peer.write()) {
            Native.batcherSeek(batcher.pointer(), epoch, batch);
        }
    }
}
