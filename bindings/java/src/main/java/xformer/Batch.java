/* Packed sentences, as C takes them. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Packed sentences: all ids one after the other, and where each sentence begins. Each sentence ends with the end
 * symbol; targets have no start symbol. There is one offset more than there are sentences: the first is 0, the last the
 * number of ids.
 *
 * <p>Arrays of ids and direct buffers in the native byte order are used as they are, so later changes are seen; they
 * must not be changed while a call runs. Of a direct buffer the C library reads the very memory; other buffers are
 * copied, and so are offsets.
 */
public final class Batch {
    // Read by the glue: ids are an int[] or a direct IntBuffer, all of it.
    final Object srcIds;
    final int[] srcOffsets;
    final Object tgtIds;
    final int[] tgtOffsets;
    private final long[] pairIndex;

    /**
     * Packs sources, for decoding.
     *
     * @param srcIds ids of all sources
     * @param srcOffsets where each begins
     */
    public Batch(int[] srcIds, int[] srcOffsets) {
        this(srcIds, srcOffsets, null, null, null);
    }

    /**
     * Packs pairs, for training and scoring.
     *
     * @param srcIds ids of all sources
     * @param srcOffsets where each begins
     * @param tgtIds ids of all targets
     * @param tgtOffsets where each begins
     */
    public Batch(int[] srcIds, int[] srcOffsets, int[] tgtIds, int[] tgtOffsets) {
        this(srcIds, srcOffsets, Objects.requireNonNull(tgtIds), Objects.requireNonNull(tgtOffsets), null);
    }

    /**
     * Packs sources, for decoding.
     *
     * @param srcIds ids of all sources, from position to limit
     * @param srcOffsets where each begins, from position to limit
     */
    public Batch(IntBuffer srcIds, IntBuffer srcOffsets) {
        this(held(srcIds), ints(srcOffsets), null, null, null);
    }

    /**
     * Packs pairs, for training and scoring.
     *
     * @param srcIds ids of all sources, from position to limit
     * @param srcOffsets where each begins, from position to limit
     * @param tgtIds ids of all targets, from position to limit
     * @param tgtOffsets where each begins, from position to limit
     */
    public Batch(IntBuffer srcIds, IntBuffer srcOffsets, IntBuffer tgtIds, IntBuffer tgtOffsets) {
        this(held(srcIds), ints(srcOffsets), held(tgtIds), ints(tgtOffsets), null);
    }

    /** The glue calls this for batches of a batcher. */
    private Batch(Object srcIds, int[] srcOffsets, Object tgtIds, int[] tgtOffsets, long[] pairIndex) {
        this.srcIds = srcIds;
        this.srcOffsets = checked("srcOffsets", srcIds, srcOffsets);
        this.tgtIds = tgtIds;
        this.tgtOffsets = tgtIds == null ? null : checked("tgtOffsets", tgtIds, tgtOffsets);
        this.pairIndex = pairIndex == null ? new long[0] : pairIndex;
        if (tgtIds != null && tgtOffsets.length != srcOffsets.length) {
            throw new IllegalArgumentException(
                    (srcOffsets.length - 1) + " sources and " + (tgtOffsets.length - 1) + " targets");
        }
    }

    /**
     * Packs sources given apart.
     *
     * @param sources ids of each, the end symbol last
     * @return the batch
     */
    public static Batch fromIds(List<int[]> sources) {
        Side src = new Side(sources);
        return new Batch(src.ids, src.offsets);
    }

    /**
     * Packs pairs given apart.
     *
     * @param sources ids of each, the end symbol last
     * @param targets ids of each, the end symbol last
     * @return the batch
     */
    public static Batch fromIds(List<int[]> sources, List<int[]> targets) {
        Side src = new Side(sources);
        Side tgt = new Side(targets);
        return new Batch(src.ids, src.offsets, tgt.ids, tgt.offsets);
    }

    /**
     * Encodes and packs sources.
     *
     * @param tokenizer the tokenizer
     * @param sources texts
     * @return the batch
     */
    public static Batch fromTexts(Tokenizer tokenizer, List<String> sources) {
        return fromIds(encoded(tokenizer, sources));
    }

    /**
     * Encodes and packs pairs.
     *
     * @param tokenizer the tokenizer
     * @param sources texts
     * @param targets texts
     * @return the batch
     */
    public static Batch fromTexts(Tokenizer tokenizer, List<String> sources, List<String> targets) {
        return fromIds(encoded(tokenizer, sources), encoded(tokenizer, targets));
    }

    private static List<int[]> encoded(Tokenizer tokenizer, List<String> texts) {
        List<int[]> ids = new ArrayList<>(texts.size());
        for (String text : texts) ids.add(tokenizer.encodeSentence(text));
        return ids;
    }

    /** Sentences one after the other. */
    private static final class Side {
        private final int[] ids;
        private final int[] offsets;

        Side(List<int[]> sentences) {
            offsets = new int[sentences.size() + 1];
            for (int i = 0; i < sentences.size(); ++i) {
                offsets[i + 1] = Math.addExact(offsets[i], sentences.get(i).length);
            }
            ids = new int[offsets[sentences.size()]];
            for (int i = 0; i < sentences.size(); ++i) {
                System.arraycopy(sentences.get(i), 0, ids, offsets[i], sentences.get(i).length);
            }
        }
    }

    // Offsets are this object's own and checked here once: C follows them.
    private static int[] checked(String name, Object ids, int[] offsets) {
        int size = ids instanceof IntBuffer buffer ? buffer.remaining() : ((int[]) ids).length;
        int[] own = offsets.clone();
        if (own.length == 0 || own[0] != 0 || own[own.length - 1] != size) {
            throw new IllegalArgumentException(name + " has to go from 0 to the number of ids, " + size);
        }
        for (int i = 1; i < own.length; ++i) {
            if (own[i] < own[i - 1]) {
                throw new IllegalArgumentException(name + " falls from " + own[i - 1] + " to " + own[i]);
            }
        }
        return own;
    }

    private static Object held(IntBuffer ids) {
        return ids.isDirect() && ids.order() == ByteOrder.nativeOrder() ? ids.slice() : ints(ids);
    }

    private static int[] ints(IntBuffer buffer) {
        int[] values = new int[buffer.remaining()];
        buffer.duplicate().get(values);
        return values;
    }

    private static IntBuffer view(Object ids) {
        if (ids == null) return IntBuffer.allocate(0).asReadOnlyBuffer();
        return (ids instanceof IntBuffer buffer ? buffer : IntBuffer.wrap((int[]) ids)).asReadOnlyBuffer();
    }

    /** What the glue is given, so that it never meets a null. */
    static Batch[] rows(List<Batch> batches) {
        Batch[] rows = batches.toArray(Batch[]::new);
        for (int i = 0; i < rows.length; ++i) Objects.requireNonNull(rows[i], "batch " + i);
        return rows;
    }

    /**
     * Counts the sentences.
     *
     * @return sentences
     */
    public int size() {
        return srcOffsets.length - 1;
    }

    /**
     * Tells whether there are targets.
     *
     * @return false for a batch that can only be decoded
     */
    public boolean hasTargets() {
        return tgtIds != null;
    }

    /**
     * Gives the ids of all sources.
     *
     * @return a read-only view
     */
    public IntBuffer srcIds() {
        return view(srcIds);
    }

    /**
     * Tells where each source begins, and the end of the last.
     *
     * @return a read-only view
     */
    public IntBuffer srcOffsets() {
        return view(srcOffsets);
    }

    /**
     * Gives the ids of all targets.
     *
     * @return a read-only view; empty without targets
     */
    public IntBuffer tgtIds() {
        return view(tgtIds);
    }

    /**
     * Tells where each target begins, and the end of the last.
     *
     * @return a read-only view; empty without targets
     */
    public IntBuffer tgtOffsets() {
        return view(tgtOffsets);
    }

    /**
     * Tells which pairs of the corpus these are.
     *
     * @return a read-only view; empty when no batcher made this
     */
    public LongBuffer pairIndex() {
        return LongBuffer.wrap(pairIndex).asReadOnlyBuffer();
    }
}
