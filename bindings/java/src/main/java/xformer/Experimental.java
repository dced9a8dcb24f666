/* The functions of xformer/experimental.h. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * Functions that may change or disappear in any minor version: constraints on hypotheses, attention weights, gradients,
 * and training in several processes.
 */
public final class Experimental {
    private Experimental() {}

    /**
     * A hypothesis whose next token is about to be selected.
     *
     * @param sentence index of its sentence in the batch or in the texts
     * @param ids its tokens so far, without the start symbol
     * @param remaining number of tokens that may still follow, including the end symbol; if it is 1 and the end symbol
     *        does not follow, the hypothesis is cut off
     * @param allowed a bit for each id, all set; clear those of forbidden tokens
     */
    public record Partial(int sentence, int[] ids, long remaining, BitSet allowed) {}

    /** Restricts the tokens that may follow each hypothesis, for example by a grammar or a lexicon. */
    @FunctionalInterface
    public interface Constraint {
        /**
         * Clears the bits of forbidden tokens in {@link Partial#allowed}. Called once per step of the search, on the
         * thread of the call, with the hypotheses of all sentences in an unspecified order. The result must depend only
         * on the ids and the sentence. Must not use the decoder. An exception ends the call, which throws it.
         *
         * @param vocabSize number of ids
         */
        void restrict(List<Partial> hypotheses, int vocabSize);
    }

    static void restrict(Constraint constraint, long address) {
        Memory step = Memory.at(address, Abi.xf_constraint_step.SIZE);
        int vocabSize = step.getInt(Abi.xf_constraint_step.vocab_size);
        int words = (vocabSize + 31) / 32;
        List<Partial> partials = new ArrayList<>();
        List<IntBuffer> masks = new ArrayList<>();
        long size = 8L * step.count(Abi.xf_constraint_step.count);
        for (long pointer : step.array(Abi.xf_constraint_step.partials, size).longs()) {
            Memory p = Memory.at(pointer, Abi.xf_partial.SIZE);
            BitSet allowed = new BitSet(vocabSize);
            allowed.set(0, vocabSize);
            int[] ids = p.array(Abi.xf_partial.ids, 4L * p.count(Abi.xf_partial.id_count)).ints();
            partials.add(new Partial(
                    p.count(Abi.xf_partial.sentence), ids, p.getLong(Abi.xf_partial.remaining), allowed));
            masks.add(p.array(Abi.xf_partial.allowed, 4L * words).buffer().asIntBuffer());
        }
        constraint.restrict(List.copyOf(partials), vocabSize);
        for (int i = 0; i < masks.size(); ++i) {
            long[] bits = partials.get(i).allowed().toLongArray();
            for (int word = 0; word < words; ++word) {
                int half = word / 2 < bits.length ? (int) (bits[word / 2] >>> 32 * (word % 2)) : 0;
                masks.get(i).put(word, masks.get(i).get(word) & half);
            }
        }
    }

    /** The three uses of attention (paper s. 3.2.3). */
    public enum AttentionKind {
        /** Encoder self-attention: queries and keys are the source tokens. */
        ENCODER,
        /**
         * Decoder self-attention: queries and keys are the target positions; a query attends only to earlier positions.
         */
        DECODER,
        /** Encoder-decoder attention: queries are the target positions, keys the source tokens. */
        CROSS
    }

    /**
     * Computes the attention weights of one layer for one pair, without dropout, as in Figures 3 to 5 of the paper.
     * Decoder position i holds the token before target token i and predicts target token i.
     *
     * @return weights by head, query, and key; each row sums to 1
     */
    public static float[][][] attentionWeights(Decoder decoder, Batch pair, AttentionKind kind, int layer) {
        float[] weights = Frame.fill(0, 4, (f, buffer, capacity, count) -> Native.xf_attention_weights(f.use(decoder),
                f.batch(pair), kind.ordinal() + 1, layer, buffer, capacity, count, f.err()), Memory::floats);
        int src = pair.srcIds().remaining();
        int tgt = pair.tgtIds().remaining();
        int queries = kind == AttentionKind.ENCODER ? src : tgt;
        int keys = kind == AttentionKind.DECODER ? tgt : src;
        float[][][] shaped = new float[weights.length / (queries * keys)][queries][];
        for (int row = 0; row < weights.length / keys; ++row) {
            shaped[row / queries][row % queries] = Arrays.copyOfRange(weights, row * keys, (row + 1) * keys);
        }
        return shaped;
    }

    /** Copies a pending gradient: that of the mean loss per target token so far, by the index of its tensor. */
    public static float[] gradient(Trainer trainer, int index) {
        float[] values = new float[Frame.get(
                f -> TensorInfo.read(Native.xf_trainer_model(f.use(trainer)), index).size())];
        gradient(trainer, index, FloatBuffer.wrap(values));
        return values;
    }

    /** Copies a pending gradient to a buffer, as {@link Model#read(int, FloatBuffer)} does. */
    public static void gradient(Trainer trainer, int index, FloatBuffer out) {
        Frame.get(f -> {
            long pointer = f.use(trainer);
            TensorInfo.read(Native.xf_trainer_model(pointer), index);
            return TensorInfo.fill(f, pointer, index, out, Native::xf_trainer_read_gradient);
        });
    }

    /**
     * Exchanges one number between all ranks of a training job, so that they can decide together, for example to stop.
     * Every rank makes this call at the same point of its sequence of collective calls.
     *
     * @return the numbers of all ranks, by rank
     */
    public static long[] allGather(Context context, long value, Call call) {
        return Frame.read(8 * context.info().rankCount(), (f, out) -> Native.xf_context_all_gather(
                f.use(context), value, f.call(call), out, f.err()), Memory::longs);
    }
}
