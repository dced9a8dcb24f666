/* The struct xf_batch of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.List;
import java.util.Map;

/**
 * Packed sentences: the concatenated ids of all sentences, and the offset at which each begins. Each sentence ends with
 * the end symbol, optionally followed by a language token; {@link Model#encode(Side, String)} returns ids in this form.
 * Targets have no start symbol. The offsets go from 0 to the number of ids, so there is one more than sentences.
 *
 * <p>Buffers are read from position to limit. Ids in a direct buffer with the native byte order are used in place, so
 * they must not change during a call. All other ids, and all offsets, are copied.
 */
public final class Batch {
    private static final long[] NONE = {};

    // tgtIds is null if there are no targets.
    private final IntBuffer srcIds;
    private final long[] srcOffsets;
    private final IntBuffer tgtIds;
    private final long[] tgtOffsets;
    private final long[] pairIndex;

    /** Packs sources, for decoding. */
    public Batch(int[] srcIds, long[] srcOffsets) {
        this(IntBuffer.wrap(srcIds), LongBuffer.wrap(srcOffsets));
    }

    /** Packs pairs, for training and scoring. */
    public Batch(int[] srcIds, long[] srcOffsets, int[] tgtIds, long[] tgtOffsets) {
        this(IntBuffer.wrap(srcIds), LongBuffer.wrap(srcOffsets), IntBuffer.wrap(tgtIds), LongBuffer.wrap(tgtOffsets));
    }

    /** Packs sources, for decoding. */
    public Batch(IntBuffer srcIds, LongBuffer srcOffsets) {
        this.srcIds = held(srcIds);
        this.srcOffsets = checked("srcOffsets", srcIds, srcOffsets);
        tgtIds = null;
        tgtOffsets = NONE;
        pairIndex = NONE;
    }

    /** Packs pairs, for training and scoring. */
    public Batch(IntBuffer srcIds, LongBuffer srcOffsets, IntBuffer tgtIds, LongBuffer tgtOffsets) {
        this.srcIds = held(srcIds);
        this.srcOffsets = checked("srcOffsets", srcIds, srcOffsets);
        this.tgtIds = held(tgtIds);
        this.tgtOffsets = checked("tgtOffsets", tgtIds, tgtOffsets);
        pairIndex = NONE;
        if (this.tgtOffsets.length != this.srcOffsets.length) {
            throw new IllegalArgumentException(
                    "found " + size() + " sources and " + (this.tgtOffsets.length - 1) + " targets, expected pairs");
        }
    }

    /** Copies a batch of a batcher. */
    Batch(Memory batch) {
        int size = batch.count(Abi.xf_batch.sentences);
        srcOffsets = batch.array(Abi.xf_batch.src_offsets, 8L * (size + 1)).longs();
        srcIds = IntBuffer.wrap(batch.array(Abi.xf_batch.src_ids, 4 * srcOffsets[size]).ints());
        tgtOffsets = batch.array(Abi.xf_batch.tgt_offsets, 8L * (size + 1)).longs();
        tgtIds = IntBuffer.wrap(batch.array(Abi.xf_batch.tgt_ids, 4 * tgtOffsets[size]).ints());
        pairIndex = batch.array(Abi.xf_batch.pair_index, 8L * size).longs();
    }

    void write(Frame f, Memory to) {
        to.set(Abi.xf_batch.struct_size, Abi.xf_batch.SIZE).set(Abi.xf_batch.sentences, size())
                .set(Abi.xf_batch.src_ids, f.ints(srcIds)).set(Abi.xf_batch.src_offsets, f.array(srcOffsets));
        if (tgtIds != null) {
            to.set(Abi.xf_batch.tgt_ids, f.ints(tgtIds)).set(Abi.xf_batch.tgt_offsets, f.array(tgtOffsets));
        }
    }

    /** Packs the ids of each source. */
    public static Batch fromIds(List<int[]> sources) {
        Packed src = new Packed(sources);
        return new Batch(src.ids, src.offsets);
    }

    /** Packs the ids of each source and each target. */
    public static Batch fromIds(List<int[]> sources, List<int[]> targets) {
        Packed src = new Packed(sources);
        Packed tgt = new Packed(targets);
        return new Batch(src.ids, src.offsets, tgt.ids, tgt.offsets);
    }

    /** Encodes sources for a model and packs them. */
    public static Batch fromTexts(Model model, List<String> sources) {
        return fromIds(encoded(model, Side.SOURCE, sources, Map.of()));
    }

    /** Encodes pairs for a model and packs them. */
    public static Batch fromTexts(Model model, List<String> sources, List<String> targets) {
        return fromTexts(model, sources, targets, Map.of());
    }

    /** Encodes pairs for a multilingual model, by "text.source_language" and "text.target_language". */
    public static Batch fromTexts(Model model, List<String> sources, List<String> targets, Map<String, ?> options) {
        return fromIds(encoded(model, Side.SOURCE, sources, options), encoded(model, Side.TARGET, targets, options));
    }

    private static List<int[]> encoded(Model model, Side side, List<String> texts, Map<String, ?> options) {
        return texts.stream().map(text -> model.encode(side, text, options)).toList();
    }

    /** Concatenated sentences. */
    static final class Packed {
        final int[] ids;
        final long[] offsets;

        Packed(List<int[]> sentences) {
            offsets = new long[sentences.size() + 1];
            for (int i = 0; i < sentences.size(); ++i) offsets[i + 1] = offsets[i] + sentences.get(i).length;
            ids = new int[Math.toIntExact(offsets[sentences.size()])];
            for (int i = 0; i < sentences.size(); ++i) {
                System.arraycopy(sentences.get(i), 0, ids, (int) offsets[i], sentences.get(i).length);
            }
        }
    }

    // The library trusts the offsets, so they are copied and checked.
    private static long[] checked(String name, IntBuffer ids, LongBuffer offsets) {
        int size = ids.remaining();
        long[] own = new long[offsets.remaining()];
        offsets.duplicate().get(own);
        if (own.length == 0 || own[0] != 0 || own[own.length - 1] != size) {
            throw new IllegalArgumentException(name + " must begin with 0 and end with the number of ids, " + size);
        }
        for (int i = 1; i < own.length; ++i) {
            if (own[i] < own[i - 1]) {
                throw new IllegalArgumentException(name + " decreases from " + own[i - 1] + " to " + own[i]);
            }
        }
        return own;
    }

    private static IntBuffer held(IntBuffer ids) {
        if (ids.isDirect() && ids.order() == ByteOrder.nativeOrder()) return ids.slice();
        int[] copy = new int[ids.remaining()];
        ids.duplicate().get(copy);
        return IntBuffer.wrap(copy);
    }

    /** {@return the number of sentences} */
    public int size() {
        return srcOffsets.length - 1;
    }

    /** {@return whether it has targets; otherwise it can only be decoded} */
    public boolean hasTargets() {
        return tgtIds != null;
    }

    /** {@return the ids of all sources, read-only} */
    public IntBuffer srcIds() {
        return srcIds.asReadOnlyBuffer();
    }

    /** {@return the offset of each source in the ids, and their number, read-only} */
    public LongBuffer srcOffsets() {
        return LongBuffer.wrap(srcOffsets).asReadOnlyBuffer();
    }

    /** {@return the ids of all targets, read-only; empty if it has no targets} */
    public IntBuffer tgtIds() {
        return (tgtIds == null ? IntBuffer.allocate(0) : tgtIds).asReadOnlyBuffer();
    }

    /** {@return the offset of each target in the ids, and their number, read-only; empty if it has no targets} */
    public LongBuffer tgtOffsets() {
        return LongBuffer.wrap(tgtOffsets).asReadOnlyBuffer();
    }

    /** {@return the index of each pair in its corpus, read-only; empty if the batch is not from a batcher} */
    public LongBuffer pairIndex() {
        return LongBuffer.wrap(pairIndex).asReadOnlyBuffer();
    }
}
