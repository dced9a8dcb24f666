/* Makes batches from a corpus. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Turns a corpus into batches: {@code for (Batch batch : batcher)} gives what is left of an epoch, and the next loop
 * the next epoch. Corpus and tokenizer are not needed afterwards. Batches own their numbers and stay valid.
 */
public final class Batcher extends NativeObject implements Iterable<Batch> {
    /** Encodes a corpus and plans the first epoch, with all defaults. */
    public Batcher(Corpus corpus, Tokenizer tokenizer) {
        this(corpus, tokenizer, Map.of());
    }

    /** Encodes a corpus and plans the first epoch, by the options of the group "data.". */
    public Batcher(Corpus corpus, Tokenizer tokenizer, Map<String, ?> options) {
        super(Handle.Kind.BATCHER, corpus.services, (f, out) -> Native.xf_batcher_create(
                f.use(corpus), f.use(tokenizer), f.config(options), out, f.err()));
    }

    /** Plans the first epoch of a corpus of ids, by the same options. */
    public Batcher(Corpus corpus, Map<String, ?> options) {
        super(Handle.Kind.BATCHER, corpus.services, (f, out) ->
                Native.xf_batcher_create(f.use(corpus), 0, f.config(options), out, f.err()));
    }

    /** {@return the next batch; empty at the end of an epoch, after which the next epoch begins} */
    public Optional<Batch> next() {
        return Frame.get(f -> {
            Words batch = f.struct(7);
            int status = f.check(Native.xf_batcher_next(f.use(this), batch.address(), f.err()));
            return status == Status.DONE.code() ? Optional.empty() : Optional.of(new Batch(batch));
        });
    }

    /** {@return an iterator over what is left of the epoch, whose {@code hasNext()} takes a batch from here} */
    @Override
    public Iterator<Batch> iterator() {
        return Stream.generate(this::next).takeWhile(Optional::isPresent).map(Optional::get).iterator();
    }

    /** {@return where it stands and what it holds} */
    public BatcherStats stats() {
        return Frame.read(9, (f, out) -> Native.xf_batcher_get_stats(f.use(this), out, f.err()),
                s -> new BatcherStats(s.get(1), s.get(2), s.get(3), s.get(4), s.get(5), s.get(6), s.get(7), s.get(8)));
    }

    /** Moves to a position, both from 0, so that the next batch is the one that stood there. */
    public void seek(long epoch, long batch) {
        Frame.run(f -> Native.xf_batcher_seek(f.use(this), epoch, batch, f.err()));
    }
}
