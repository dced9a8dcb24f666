/* Sentence pairs, as text or as ids. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * Sentence pairs, as text or as ids; immutable. Bad lines are skipped, counted in {@link #stats()}, and logged; with
 * the option "data.strict" the first one is an error with {@link Status#DATA}.
 */
public final class Corpus extends NativeObject implements Iterable<Pair> {
    /**
     * The two parts of a corpus.
     *
     * @param rest the pairs for training
     * @param heldOut the held-out pairs
     */
    public record Split(Corpus rest, Corpus heldOut) {}

    private Corpus(Services services, Frame.Output creator) {
        super(Handle.Kind.CORPUS, services, creator);
    }

    private Corpus(Services services, long pointer) {
        this(services, (f, out) -> {
            Memory.at(out, 8).set(0, pointer);
            return Abi.XF_OK;
        });
    }

    /** Opens a file, or a folder of files, with a pair per line (source TAB target). */
    public static Corpus open(Context context, Path path) {
        return open(context, path, Map.of());
    }

    /** Opens pairs. Reads the options "data.max_bytes" and "data.strict". */
    public static Corpus open(Context context, Path path, Map<String, ?> options) {
        return open(context, path, options, new Call());
    }

    /** Opens pairs, as {@link #open(Context, Path, Map)}. */
    public static Corpus open(Context context, Path path, Map<String, ?> options, Call call) {
        return new Corpus(context.services, (f, out) -> Native.xf_corpus_open(
                f.use(context), f.path(path), 0, f.config(options), f.call(call), out, f.err()));
    }

    /** Opens two parallel files, or folders of files, with a sentence per line. */
    public static Corpus openParallel(Context context, Path source, Path target, Map<String, ?> options) {
        return openParallel(context, source, target, options, new Call());
    }

    /** Opens two parallel files or folders, as {@link #openParallel(Context, Path, Path, Map)}. */
    public static Corpus openParallel(Context context, Path source, Path target, Map<String, ?> options, Call call) {
        return new Corpus(context.services, (f, out) -> Native.xf_corpus_open(f.use(context), f.path(source),
                f.path(target), f.config(options), f.call(call), out, f.err()));
    }

    /**
     * Encodes pairs and writes an encoded corpus, which may be larger than memory. Continues what an earlier call has
     * begun. {@link #open(Context, Path)} opens the folder.
     */
    public static void encode(Context context, Path path, Tokenizer tokenizer, Path folder, Map<String, ?> options,
            Call call) {
        Frame.run(f -> Native.xf_corpus_encode(f.use(context), f.path(path), 0, f.use(tokenizer), f.config(options),
                f.call(call), f.path(folder), f.err()));
    }

    /** Encodes two parallel files or folders, as {@link #encode(Context, Path, Tokenizer, Path, Map, Call)}. */
    public static void encodeParallel(Context context, Path source, Path target, Tokenizer tokenizer, Path folder,
            Map<String, ?> options, Call call) {
        Frame.run(f -> Native.xf_corpus_encode(f.use(context), f.path(source), f.path(target), f.use(tokenizer),
                f.config(options), f.call(call), f.path(folder), f.err()));
    }

    /** Creates a corpus from pairs, which may contain tabs and line ends. */
    public static Corpus fromPairs(Context context, Iterable<Pair> pairs) {
        return fromPairs(context, pairs, Map.of());
    }

    /** Creates a corpus from pairs. Reads the options of {@link #open(Context, Path, Map)}. */
    public static Corpus fromPairs(Context context, Iterable<Pair> pairs, Map<String, ?> options) {
        return fromPairs(context, pairs, options, new Call());
    }

    /** Creates a corpus from pairs, as {@link #fromPairs(Context, Iterable, Map)}. */
    public static Corpus fromPairs(Context context, Iterable<Pair> pairs, Map<String, ?> options, Call call) {
        List<String> sources = new ArrayList<>();
        List<String> targets = new ArrayList<>();
        for (Pair pair : pairs) {
            sources.add(pair.source());
            targets.add(pair.target());
        }
        return new Corpus(context.services, (f, out) -> {
            Frame.Texts s = f.texts(sources);
            Frame.Texts t = f.texts(targets);
            return Native.xf_corpus_from_pairs(f.use(context), s.pointers(), s.lengths(), t.pointers(), t.lengths(),
                    s.count(), f.config(options), f.call(call), out, f.err());
        });
    }

    /** Creates a corpus of ids, for programs with their own tokenizer. It contains no text. */
    public static Corpus fromIds(Context context, Batch pairs) {
        return fromIds(context, pairs, new Call());
    }

    /** Creates a corpus of ids, as {@link #fromIds(Context, Batch)}. */
    public static Corpus fromIds(Context context, Batch pairs, Call call) {
        return new Corpus(context.services, (f, out) ->
                Native.xf_corpus_from_ids(f.use(context), f.batch(pairs), f.call(call), out, f.err()));
    }

    /** Creates a corpus from some pairs, at least one, in the given order. An index may be repeated. */
    public Corpus subset(long... indices) {
        return new Corpus(services, (f, out) ->
                Native.xf_corpus_subset(f.use(this), f.array(indices), indices.length, out, f.err()));
    }

    /** Splits the corpus at random. Both parts keep the order. {@code heldOut} is from 1 to {@link #size()} - 1. */
    public Split split(long heldOut, long seed) {
        return Frame.read(16, (f, out) -> Native.xf_corpus_split(f.use(this), heldOut, seed, out, out + 8, f.err()),
                parts -> new Split(new Corpus(services, parts.getLong(0)), new Corpus(services, parts.getLong(8))));
    }

    /** {@return the number of pairs} */
    public long size() {
        return Frame.get(f -> Native.xf_corpus_pair_count(f.use(this)));
    }

    /** Returns a pair. */
    public Pair get(long index) {
        return Frame.get(f -> {
            long corpus = f.use(this);
            long size = Native.xf_corpus_pair_count(corpus);
            if (index < 0 || index >= size) throw new IndexOutOfBoundsException("pair " + index + " of " + size);
            Memory out = f.memory(32);
            long at = out.address();
            f.check(Native.xf_corpus_get_pair(corpus, index, at, at + 8, at + 16, at + 24, f.err()));
            return new Pair(Text.string(out.array(0, out.getLong(8)).bytes()),
                    Text.string(out.array(16, out.getLong(24)).bytes()));
        });
    }

    /** {@return an iterator over all pairs} */
    @Override
    public Iterator<Pair> iterator() {
        return LongStream.range(0, size()).mapToObj(this::get).iterator();
    }

    /** {@return the numbers of lines that were read, kept, and skipped} */
    public CorpusStats stats() {
        return Frame.read(Abi.xf_corpus_stats.SIZE,
                (f, out) -> Native.xf_corpus_get_stats(f.use(this), out, f.err()),
                s -> new CorpusStats(s.getLong(Abi.xf_corpus_stats.lines), s.getLong(Abi.xf_corpus_stats.kept),
                        s.getLong(Abi.xf_corpus_stats.bad_columns), s.getLong(Abi.xf_corpus_stats.empty_side),
                        s.getLong(Abi.xf_corpus_stats.too_long), s.getLong(Abi.xf_corpus_stats.invalid_utf8),
                        s.getLong(Abi.xf_corpus_stats.nul_byte)));
    }
}
