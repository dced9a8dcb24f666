/* Packed sentences, as C takes them. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.List;

/**
 * Packed sentences: all ids one after the other, and where each sentence begins. Each sentence ends with the end
 * symbol; targets have no start symbol. There is one offset more than sentences, from 0 to the number of ids.
 *
 * <p>Buffers are read from position to limit. Ids in a direct buffer of the native byte order stay where they are: C
 * reads them in place, and sees later changes, which must not come while a call runs. All else is copied.
 */
public final class Batch {
    // Without targets tgtIds is null.
    private final IntBuffer srcIds;
    private final int[] srcOffsets;
    private final IntBuffer tgtIds;
    private final int[] tgtOffsets;
    private final long[] pairIndex;

    /** Packs sources, for decoding. */
    public Batch(int[] srcIds, int[] srcOffsets) {
        this(IntBuffer.wrap(srcIds), IntBuffer.wrap(srcOffsets));
    }

    /** Packs pairs, for training and scoring. */
    public Batch(int[] srcIds, int[] srcOffsets, int[] tgtIds, int[] tgtOffsets) {
        this(IntBuffer.wrap(srcIds), IntBuffer.wrap(srcOffsets), IntBuffer.wrap(tgtIds), IntBuffer.wrap(tgtOffsets));
    }

    /** Packs sources, for decoding. */
    public Batch(IntBuffer srcIds, IntBuffer srcOffsets) {
        this.srcIds = held(srcIds);
        this.srcOffsets = checked("srcOffsets", srcIds, srcOffsets);
        tgtIds = null;
        tgtOffsets = new int[0];
        pairIndex = new long[0];
    }

    /** Packs pairs, for training and scoring. */
    public Batch(IntBuffer srcIds, IntBuffer srcOffsets, IntBuffer tgtIds, IntBuffer tgtOffsets) {
        this.srcIds = held(srcIds);
        this.srcOffsets = checked("srcOffsets", srcIds, srcOffsets);
        this.tgtIds = held(tgtIds);
        this.tgtOffsets = checked("tgtOffsets", tgtIds, tgtOffsets);
        pairIndex = new long[0];
        if (tgtOffsets.remaining() != srcOffsets.remaining()) {
            throw new IllegalArgumentException(size() + " sources and " + (tgtOffsets.remaining() - 1) + " targets");
        }
    }

    /** Copies a batch of a batcher. */
    Batch(Words batch) {
        int size = batch.count(1);
        srcOffsets = batch.ints(3, size + 1);
        srcIds = IntBuffer.wrap(batch.ints(2, srcOffsets[size]));
        tgtOffsets = batch.ints(5, size + 1);
        tgtIds = IntBuffer.wrap(batch.ints(4, tgtOffsets[size]));
        pairIndex = new long[size];
        Words.at(batch.get(6), 8L * size).memory().asLongBuffer().get(pairIndex);
    }

    /** Writes the struct xf_batch from a word on. */
    void write(Frame f, Words to, int word) {
        to.set(word, 56).set(word + 1, size()).set(word + 2, f.ints(srcIds)).set(word + 3, f.ints(srcOffsets));
        if (tgtIds != null) to.set(word + 4, f.ints(tgtIds)).set(word + 5, f.ints(tgtOffsets));
    }

    /** Packs sources given apart: the ids of each, the end symbol last. */
    public static Batch fromIds(List<int[]> sources) {
        Side src = new Side(sources);
        return new Batch(src.ids, src.offsets);
    }

    /** Packs pairs given apart: the ids of each side, the end symbol last. */
    public static Batch fromIds(List<int[]> sources, List<int[]> targets) {
        Side src = new Side(sources);
        Side tgt = new Side(targets);
        return new Batch(src.ids, src.offsets, tgt.ids, tgt.offsets);
    }

    /** Encodes and packs sources. */
    public static Batch fromTexts(Tokenizer tokenizer, List<String> sources) {
        return fromIds(encoded(tokenizer, sources));
    }

    /** Encodes and packs pairs. */
    public static Batch fromTexts(Tokenizer tokenizer, List<String> sources, List<String> targets) {
        return fromIds(encoded(tokenizer, sources), encoded(tokenizer, targets));
    }

    private static List<int[]> encoded(Tokenizer tokenizer, List<String> texts) {
        return texts.stream().map(tokenizer::encodeSentence).toList();
    }

    /** Sentences one after the other. */
    static final class Side {
        final int[] ids;
        final int[] offsets;

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
    private static int[] checked(String name, IntBuffer ids, IntBuffer offsets) {
        int size = ids.remaining();
        int[] own = ints(offsets);
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

    private static IntBuffer held(IntBuffer ids) {
        return ids.isDirect() && ids.order() == ByteOrder.nativeOrder() ? ids.slice() : IntBuffer.wrap(ints(ids));
    }

    private static int[] ints(IntBuffer buffer) {
        int[] values = new int[buffer.remaining()];
        buffer.duplicate().get(values);
        return values;
    }

    /** {@return the number of sentences} */
    public int size() {
        return srcOffsets.length - 1;
    }

    /** {@return whether there are targets; else it can only be decoded} */
    public boolean hasTargets() {
        return tgtIds != null;
    }

    /** {@return the ids of all sources, read-only} */
    public IntBuffer srcIds() {
        return srcIds.asReadOnlyBuffer();
    }

    /** {@return where each source begins, and the end of the last, read-only} */
    public IntBuffer srcOffsets() {
        return IntBuffer.wrap(srcOffsets).asReadOnlyBuffer();
    }

    /** {@return the ids of all targets, read-only; none without targets} */
    public IntBuffer tgtIds() {
        return (tgtIds == null ? IntBuffer.allocate(0) : tgtIds).asReadOnlyBuffer();
    }

    /** {@return where each target begins, and the end of the last, read-only; none without targets} */
    public IntBuffer tgtOffsets() {
        return IntBuffer.wrap(tgtOffsets).asReadOnlyBuffer();
    }

    /** {@return which pairs of the corpus these are, read-only; none when no batcher made this} */
    public LongBuffer pairIndex() {
        return LongBuffer.wrap(pairIndex).asReadOnlyBuffer();
    }
}
