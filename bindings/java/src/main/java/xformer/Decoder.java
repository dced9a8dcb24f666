/* Translation and scoring. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Beam search over a model it shares with others. A decoder is for one thread at a time; for several threads make one
 * each: it copies no weights.
 */
public final class Decoder extends NativeObject {
    // Not read: it keeps the listener of the context's log as long as this lives.
    private final Context context;
    // Read and written within calls that have the decoder to themselves.
    private Asked asked;

    /**
     * Makes a decoder with all defaults: beam 4, length penalty 0.6.
     *
     * @param model the model
     */
    public Decoder(Model model) {
        this(model, Map.of());
    }

    /**
     * Makes a decoder.
     *
     * @param model the model
     * @param options of which the group "decode." is read, and for {@link #evaluate} "train.label_smoothing" and
     *        "train.label_smoothing_kind"
     */
    public Decoder(Model model, Map<String, ?> options) {
        super(Kind.DECODER, model.context.root(), model.context.peer.guard, model.peer.guard);
        context = model.context;
        try (Call m = model.peer.read();
                Config.Use config = Config.of(options)) {
            peer.open(Native.decoderCreate(m.pointer(), config.pointer()));
        }
    }

    /**
     * Translates a text.
     *
     * @param text the text
     * @return the best answer
     */
    public Hypothesis translate(String text) {
        return translate(List.of(text)).get(0).get(0);
    }

    /**
     * Translates texts, in one call of the library. Answers do not depend on what is translated together.
     *
     * @param texts any number
     * @return for each text, in their order, its "decode.n_best" answers, best first
     */
    public List<List<Hypothesis>> translate(List<String> texts) {
        Text.Packed packed = Text.packed(texts);
        try (Call decoder = peer.write()) {
            return answers(Native.translate(decoder.pointer(), packed.bytes(), packed.starts(), asked));
        }
    }

    /**
     * Decodes sources given as ids, in one call of the library.
     *
     * @param batch the sources; targets are not looked at
     * @return as {@link #translate(List)}
     */
    public List<List<Hypothesis>> decode(Batch batch) {
        Batch[] one = Batch.rows(List.of(batch));
        try (Call decoder = peer.write()) {
            return answers(Native.decode(decoder.pointer(), one, asked));
        }
    }

    private static List<List<Hypothesis>> answers(long found) {
        try {
            int sentences = Native.hypothesesCount(found);
            List<List<Hypothesis>> all = new ArrayList<>(sentences);
            for (int sentence = 0; sentence < sentences; ++sentence) {
                int size = Native.hypothesesSize(found, sentence);
                List<Hypothesis> answers = new ArrayList<>(size);
                for (int rank = 0; rank < size; ++rank) answers.add(answer(found, sentence, rank));
                all.add(answers);
            }
            return all;
        } finally {
            Native.hypothesesFree(found);
        }
    }

    private static Hypothesis answer(long found, int sentence, int rank) {
        byte[][] text = new byte[1][];
        double[] numbers = new double[3];
        int[] ids = Native.hypothesis(found, sentence, rank, text, numbers);
        String words = text[0] == null ? null : Text.string(text[0]);
        return new Hypothesis(words, ids, numbers[0], numbers[1], numbers[2] != 0);
    }

    /**
     * Holds {@code translate} and {@code decode} to what a constraint allows. It works inside beam search: a forbidden
     * token is never chosen, what is allowed competes as ever, and scores stay the model's own. A sentence without an
     * allowed answer has one that is not finished, with a logProbability of minus infinity.
     *
     * @param constraint says which tokens may follow; null takes it away
     */
    @SuppressWarnings("try") // the call is held, nothing is called
    public void setConstraint(Constraint constraint) {
        try (Call decoder = peer.write()) {
            asked = constraint == null ? null : new Asked(constraint);
        }
    }

    /**
     * Scores given targets.
     *
     * @param batch pairs
     * @return the natural logarithm of the probability of each target given its source, end symbol included
     */
    public double[] score(Batch batch) {
        Batch[] one = Batch.rows(List.of(batch));
        double[] scores = new double[batch.size()];
        try (Call decoder = peer.write()) {
            Native.score(decoder.pointer(), one, scores);
        }
        return scores;
    }

    /**
     * Gives the attention weights of one layer for one pair: what Figures 3 to 5 of the paper draw. Position i of the
     * decoder holds the token before target token i and predicts target token i. Each row sums to 1.
     *
     * @param pair a batch of one sentence with its target
     * @param kind which attention
     * @param layer from 0, the lowest
     * @return by head, query and key
     */
    public float[][][] attentionWeights(Batch pair, AttentionKind kind, int layer) {
        Batch[] one = Batch.rows(List.of(pair));
        float[] weights;
        try (Call decoder = peer.write()) {
            weights = Native.attentionWeights(decoder.pointer(), one, kind.ordinal(), layer);
        }
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

    /**
     * Measures loss and perplexity on pairs.
     *
     * @param batches pairs
     * @return over all batches together
     */
    public EvalStats evaluate(List<Batch> batches) {
        Batch[] rows = Batch.rows(batches);
        long[] n = new long[2];
        double[] x = new double[3];
        try (Call decoder = peer.write()) {
            Native.evaluate(decoder.pointer(), rows, n, x);
        }
        return new EvalStats(n[0], n[1], x[0], x[1], x[2]);
    }
}
