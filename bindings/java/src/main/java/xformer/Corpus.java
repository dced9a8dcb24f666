/* Sentence pairs, as text or as ids. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * Sentence pairs, as text or as ids; immutable. Bad lines are skipped, counted in {@link #stats()} and told to the log;
 * with the option "data.strict" the first one is an error of status DATA.
 */
public final class Corpus extends NativeObject implements Iterable<Pair> {
    /**
     * The two parts of a corpus.
     *
     * @param rest all pairs that are not held out
     * @param heldOut the pairs held out
     */
    public record Split(Corpus rest, Corpus heldOut) {}

    private Corpus(Services services, Frame.Call maker) {
        super(Handle.Kind.CORPUS, services, maker);
    }

    private Corpus(Services services, long made) {
        this(services, (f, out) -> {
            Words.at(out, 8).set(0, made);
            return 0;
        });
    }

    /** Opens a file of lines "source TAB target". */
    public static Corpus open(Context context, Path path) {
        return open(context, path, Map.of());
    }

    /** Opens a file of lines "source TAB target", by "data.max_bytes" and "data.strict". */
    public static Corpus open(Context context, Path path, Map<String, ?> options) {
        return new Corpus(context.services, (f, out) ->
                Native.xf_corpus_open(f.use(context), f.config(options), f.path(path), out, f.err()));
    }

    /** Opens two files with as many lines, a sentence each, by the same options. */
    public static Corpus openParallel(Context context, Path source, Path target, Map<String, ?> options) {
        return new Corpus(context.services, (f, out) -> Native.xf_corpus_open_parallel(
                f.use(context), f.config(options), f.path(source), f.path(target), out, f.err()));
    }

    /** Makes a corpus of a copy of lines "source TAB target" in memory, which messages call by the name. */
    public static Corpus fromText(Context context, String name, byte[] utf8, Map<String, ?> options) {
        return new Corpus(context.services, (f, out) -> Native.xf_corpus_from_memory(
                f.use(context), f.config(options), f.name(name), f.bytes(utf8), utf8.length, out, f.err()));
    }

    /** Makes a corpus from pairs, in which tabs and line ends are text. */
    public static Corpus fromPairs(Context context, Iterable<Pair> pairs) {
        return fromPairs(context, pairs, Map.of());
    }

    /** Makes a corpus from pairs, by the options of {@link #open(Context, Path, Map)}. */
    public static Corpus fromPairs(Context context, Iterable<Pair> pairs, Map<String, ?> options) {
        List<byte[]> sources = new ArrayList<>();
        List<byte[]> targets = new ArrayList<>();
        for (Pair pair : pairs) {
            sources.add(Text.utf8(pair.source()));
            targets.add(Text.utf8(pair.target()));
        }
        return new Corpus(context.services, (f, out) -> {
            Frame.Texts s = f.texts(sources);
            Frame.Texts t = f.texts(targets);
            return Native.xf_corpus_from_pairs(f.use(context), f.config(options), s.pointers(), s.lengths(),
                    t.pointers(), t.lengths(), s.count(), out, f.err());
        });
    }

    /** Makes a corpus, without text, of a copy of ids: for a program with a tokenizer of its own. */
    public static Corpus fromIds(Context context, Batch pairs) {
        return new Corpus(context.services, (f, out) ->
                Native.xf_corpus_from_ids(f.use(context), f.batch(pairs), out, f.err()));
    }

    /** Makes a corpus of some of these pairs, at least one, in the order wanted, again perhaps. Text is shared. */
    public Corpus subset(long... indices) {
        return new Corpus(services, (f, out) ->
                Native.xf_corpus_subset(f.use(this), f.array(indices), indices.length, out, f.err()));
    }

    /** Splits these pairs at random, by the seed: 1 to {@link #size()} - 1 are held out. Both parts keep the order. */
    public Split split(long heldOut, long seed) {
        return Frame.read(2, (f, out) -> Native.xf_corpus_split(f.use(this), heldOut, seed, out, out + 8, f.err()),
                parts -> new Split(new Corpus(services, parts.get(0)), new Corpus(services, parts.get(1))));
    }

    /** {@return the number of pairs} */
    public long size() {
        return Frame.get(f -> Native.xf_corpus_pair_count(f.use(this)));
    }

    /** Reads a pair. */
    public Pair get(long index) {
        return Frame.get(f -> {
            long corpus = f.use(this);
            long size = Native.xf_corpus_pair_count(corpus);
            if (index < 0 || index >= size) throw new IndexOutOfBoundsException("pair " + index + " of " + size);
            Words w = f.words(4);
            long at = w.address();
            f.check(Native.xf_corpus_get_pair(corpus, index, at, at + 8, at + 16, at + 24, f.err()));
            return new Pair(Text.string(w.bytes(0, w.count(1))), Text.string(w.bytes(2, w.count(3))));
        });
    }

    /** {@return an iterator from the first pair to the last} */
    @Override
    public Iterator<Pair> iterator() {
        return LongStream.range(0, size()).mapToObj(this::get).iterator();
    }

    /** {@return how many lines were read, kept and skipped, and why} */
    public CorpusStats stats() {
        return Frame.read(8, (f, out) -> Native.xf_corpus_get_stats(f.use(this), out, f.err()),
                s -> new CorpusStats(s.get(1), s.get(2), s.get(3), s.get(4), s.get(5), s.get(6), s.get(7)));
    }
}
