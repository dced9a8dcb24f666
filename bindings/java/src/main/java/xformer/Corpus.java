/* Sentence pairs as text. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.file.Path;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;

/**
 * Sentence pairs as text; immutable. Bad lines are skipped, counted in {@link #stats()} and told to the log; with the
 * option "data.strict" the first one is a {@link DataException}.
 */
public final class Corpus extends NativeObject implements Iterable<Pair> {
    final Context context;

    /** A function of C that makes a corpus. */
    @FunctionalInterface
    private interface Maker {
        long make(long context, long config);
    }

    private Corpus(Context context, Map<String, ?> options, Maker maker) {
        super(Kind.CORPUS, context.root(), context.peer.guard);
        this.context = context;
        try (Call c = context.peer.read();
                Config.Use config = Config.of(options)) {
            peer.open(maker.make(c.pointer(), config.pointer()));
        }
    }

    /**
     * Opens a file of lines "source TAB target".
     *
     * @param context the context
     * @param path file name
     * @return the corpus
     */
    public static Corpus open(Context context, Path path) {
        return open(context, path, Map.of());
    }

    /**
     * Opens a file of lines "source TAB target".
     *
     * @param context the context
     * @param path file name
     * @param options of which "data.max_bytes" and "data.strict" are read
     * @return the corpus
     */
    public static Corpus open(Context context, Path path, Map<String, ?> options) {
        byte[] name = Text.path(path);
        return new Corpus(context, options, (c, config) -> Native.corpusOpen(c, config, name));
    }

    /**
     * Opens two files with as many lines, a sentence each.
     *
     * @param context the context
     * @param source file name
     * @param target file name
     * @param options as in {@link #open(Context, Path, Map)}
     * @return the corpus
     */
    public static Corpus openParallel(Context context, Path source, Path target, Map<String, ?> options) {
        byte[] sources = Text.path(source);
        byte[] targets = Text.path(target);
        return new Corpus(context, options, (c, config) -> Native.corpusOpenParallel(c, config, sources, targets));
    }

    /**
     * Makes a corpus from lines "source TAB target" in memory.
     *
     * @param context the context
     * @param name what messages call it
     * @param utf8 the lines; copied
     * @param options as in {@link #open(Context, Path, Map)}
     * @return the corpus
     */
    public static Corpus fromText(Context context, String name, byte[] utf8, Map<String, ?> options) {
        byte[] called = Text.terminated(name);
        Objects.requireNonNull(utf8, "utf8");
        return new Corpus(context, options, (c, config) -> Native.corpusFromMemory(c, config, called, utf8));
    }

    /**
     * Makes a corpus from pairs.
     *
     * @param context the context
     * @param pairs pairs, which may not hold tabs or line ends
     * @return the corpus
     */
    public static Corpus fromPairs(Context context, Iterable<Pair> pairs) {
        return fromPairs(context, pairs, Map.of());
    }

    /**
     * Makes a corpus from pairs.
     *
     * @param context the context
     * @param pairs pairs, which may not hold tabs or line ends
     * @param options as in {@link #open(Context, Path, Map)}
     * @return the corpus
     */
    public static Corpus fromPairs(Context context, Iterable<Pair> pairs, Map<String, ?> options) {
        StringBuilder lines = new StringBuilder();
        int index = 0;
        for (Pair pair : pairs) {
            if ((pair.source() + pair.target()).chars().anyMatch(c -> c == '\t' || c == '\n' || c == '\r')) {
                throw new IllegalArgumentException("pair " + index + " holds a tab or a line end");
            }
            lines.append(pair.source()).append('\t').append(pair.target()).append('\n');
            ++index;
        }
        return fromText(context, "pairs", Text.utf8(lines.toString()), options);
    }

    /**
     * Counts the pairs.
     *
     * @return pairs
     */
    public long size() {
        try (Call corpus = peer.read()) {
            return Native.corpusSize(corpus.pointer());
        }
    }

    /**
     * Reads a pair.
     *
     * @param index from 0 to {@link #size()} - 1
     * @return the pair
     */
    public Pair get(long index) {
        byte[][] sides = new byte[2][];
        try (Call corpus = peer.read()) {
            long size = Native.corpusSize(corpus.pointer());
            if (index < 0 || index >= size) throw new IndexOutOfBoundsException("pair " + index + " of " + size);
            Native.corpusPair(corpus.pointer(), index, sides);
        }
        return new Pair(Text.string(sides[0]), Text.string(sides[1]));
    }

    /**
     * Goes over the pairs.
     *
     * @return an iterator from the first to the last
     */
    @Override
    public Iterator<Pair> iterator() {
        long size = size();
        return new Iterator<>() {
            private long next;

            @Override
            public boolean hasNext() {
                return next < size;
            }

            @Override
            public Pair next() {
                if (!hasNext()) throw new NoSuchElementException();
                return get(next++);
            }
        };
    }

    /**
     * Tells how many lines were read, kept and skipped, and why.
     *
     * @return the counts
     */
    public CorpusStats stats() {
        long[] n = new long[7];
        try (Call corpus = peer.read()) {
            Native.corpusStats(corpus.pointer(), n);
        }
        return new CorpusStats(n[0], n[1], n[2], n[3], n[4], n[5], n[6]);
    }
}
