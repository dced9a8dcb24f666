/* Batches of a corpus. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Produces batches from a corpus. {@code for (Batch batch : batcher)} returns the remaining batches of an epoch, and
 * the next loop those of the next epoch. Corpus and tokenizer may be closed after the batcher has been created. Batches
 * are copies and remain valid.
 */
public final class Batcher extends NativeObject implements Iterable<Batch> {
    /** Encodes a corpus and plans the first epoch, with all defaults. */
    public Batcher(Corpus corpus, Tokenizer tokenizer) {
        this(corpus, tokenizer, Map.of());
    }

    /** Encodes a corpus and plans the first epoch. Reads the options of the group "data.". */
    public Batcher(Corpus corpus, Tokenizer tokenizer, Map<String, ?> options) {
        this(corpus, tokenizer, options, new Call());
    }

    /**
     * Encodes a corpus and plans the first epoch. If the tokenizer is that of a model ({@link Model#tokenizer()}),
     * texts are framed for this model.
     */
    public Batcher(Corpus corpus, Tokenizer tokenizer, Map<String, ?> options, Call call) {
        super(Handle.Kind.BATCHER, corpus.services, (f, out) -> Native.xf_batcher_create(
                f.use(corpus), f.use(tokenizer), f.config(options), f.call(call), out, f.err()));
    }

    /** Plans the first epoch of a corpus of ids. */
    public Batcher(Corpus corpus, Map<String, ?> options) {
        super(Handle.Kind.BATCHER, corpus.services, (f, out) ->
                Native.xf_batcher_create(f.use(corpus), 0, f.config(options), 0, out, f.err()));
    }

    /** {@return the next batch; empty at the end of an epoch, after which the next epoch begins} */
    public Optional<Batch> next() {
        return next(new Call());
    }

    /** Returns the next batch as {@link #next()}. With "data.sampling", beginning an epoch may take long. */
    public Optional<Batch> next(Call call) {
        return Frame.get(f -> {
            Memory batch = f.struct(Abi.xf_batch.SIZE);
            int status = f.check(Native.xf_batcher_next(f.use(this), f.call(call), batch.address(), f.err()));
            return status == Abi.XF_DONE ? Optional.empty() : Optional.of(new Batch(batch));
        });
    }

    /** {@return an iterator over the remaining batches of the epoch; its {@code hasNext()} advances the batcher} */
    @Override
    public Iterator<Batch> iterator() {
        return Stream.generate(this::next).takeWhile(Optional::isPresent).map(Optional::get).iterator();
    }

    /** {@return the position and the contents of the batcher} */
    public BatcherStats stats() {
        return Frame.read(Abi.xf_batcher_stats.SIZE,
                (f, out) -> Native.xf_batcher_get_stats(f.use(this), out, f.err()),
                s -> new BatcherStats(s.getLong(Abi.xf_batcher_stats.epoch), s.getLong(Abi.xf_batcher_stats.batch),
                        s.getLong(Abi.xf_batcher_stats.batches), s.getLong(Abi.xf_batcher_stats.pairs),
                        s.getLong(Abi.xf_batcher_stats.too_long), s.getLong(Abi.xf_batcher_stats.empty),
                        s.getLong(Abi.xf_batcher_stats.src_tokens), s.getLong(Abi.xf_batcher_stats.tgt_tokens)));
    }

    /** Moves to a position. Both numbers count from 0. */
    public void seek(long epoch, long batch) {
        seek(epoch, batch, new Call());
    }

    /** Moves to a position, as {@link #seek(long, long)}. */
    public void seek(long epoch, long batch, Call call) {
        Frame.run(f -> Native.xf_batcher_seek(f.use(this), epoch, batch, f.call(call), f.err()));
    }

    /**
     * Moves to the position that was saved in a checkpoint, so that training continues where it stopped. The batcher
     * must have the same corpus, tokenizer, and options as in the saved run; with another "data.batch_tokens" it moves
     * to the same fraction of the epoch.
     *
     * @param trainer from {@link Trainer#resume(Context, java.nio.file.Path)}
     */
    public void resume(Trainer trainer) {
        resume(trainer, new Call());
    }

    /** Moves to the position that was saved in a checkpoint, as {@link #resume(Trainer)}. */
    public void resume(Trainer trainer, Call call) {
        Frame.run(f -> Native.xf_batcher_resume(f.use(this), f.use(trainer), f.call(call), f.err()));
    }
}
