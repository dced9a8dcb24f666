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
    /** Makes a decoder with all defaults: beam 4, length penalty 0.6. */
    public Decoder(Model model) {
        this(model, Map.of());
    }

    /** Makes a decoder by "decode." and, for {@link #evaluate}, "train.label_smoothing" and its kind. */
    public Decoder(Model model, Map<String, ?> options) {
        super(Handle.Kind.DECODER, model.services, (f, out) ->
                Native.xf_decoder_create(f.use(model), f.config(options), out, f.err()));
    }

    /**
     * Cancels the call that runs on this decoder at the moment, which ends in a {@link CancelledException}; others of
     * the context go on. While nothing runs it does nothing. May be called from any thread, and from listeners.
     */
    public void cancel() {
        act(Native::xf_decoder_cancel);
    }

    /** Translates a text; what can't be translated is an exception. */
    public Hypothesis translate(String text) {
        return translate(List.of(text)).get(0).best();
    }

    /**
     * Translates texts, in one call of the library. Answers do not depend on what is translated together. A text that
     * can't be translated does not fail the others: its {@link Answer} has the exception.
     *
     * @return for each text, in their order, its "decode.n_best" hypotheses, best first
     */
    public List<Answer> translate(List<String> texts) {
        return translate(texts, new DecodeParams());
    }

    /** Translates texts, with what holds for this call alone. */
    public List<Answer> translate(List<String> texts, DecodeParams params) {
        return answers((f, out) -> {
            Frame.Texts all = f.texts(Text.utf8(texts));
            return Native.xf_translate(f.use(this), all.pointers(), all.lengths(), all.count(),
                    params.write(f, all.count(), true), out, f.err());
        });
    }

    /** Decodes sources given as ids, in one call of the library; targets are not looked at. */
    public List<Answer> decode(Batch batch) {
        return decode(batch, new DecodeParams());
    }

    /** Decodes sources given as ids, with what holds for this call alone. */
    public List<Answer> decode(Batch batch, DecodeParams params) {
        return answers((f, out) -> Native.xf_decode(
                f.use(this), f.batch(batch), params.write(f, batch.size(), false), out, f.err()));
    }

    private static List<Answer> answers(Frame.Call call) {
        return Frame.get(f -> {
            Words out = f.words(1);
            int status = call.in(f, out.address());
            long found = out.get(0);
            try {
                f.check(status);
                int count = (int) Native.xf_hypotheses_sentence_count(found);
                List<Answer> all = new ArrayList<>(count);
                Words h = f.struct(9);
                for (int i = 0; i < count; ++i) all.add(answer(f, found, i, h));
                return all;
            } finally {
                Native.xf_hypotheses_free(found);
            }
        });
    }

    private static Answer answer(Frame f, long found, int sentence, Words h) {
        int status = Native.xf_hypotheses_status(found, sentence, f.err());
        if (status < 0) return new Answer(List.of(), f.failure(status));
        long count = Native.xf_hypotheses_answer_count(found, sentence);
        List<Hypothesis> all = new ArrayList<>((int) count);
        for (long rank = 0; rank < count; ++rank) {
            f.check(Native.xf_hypotheses_get(found, sentence, rank, h.address(), f.err()));
            int length = h.count(2);
            String text = h.get(3) == 0 ? null : Text.string(h.bytes(3, h.count(4)));
            all.add(new Hypothesis(text, h.ints(1, length), h.floats(5, length + h.low(8)), h.real(6), h.real(7),
                    h.low(8) != 0, h.high(8) != 0));
        }
        return new Answer(List.copyOf(all), null);
    }

    /** Gives the natural logarithm of the probability of each target given its source, end symbol included. */
    public double[] score(Batch batch) {
        int count = batch.size();
        return Frame.read(count + 1, (f, out) -> Native.xf_score(f.use(this), f.batch(batch), out, f.err()), all -> {
            double[] scores = new double[count];
            all.memory().asDoubleBuffer().get(scores);
            return scores;
        });
    }

    /**
     * Gives the attention weights of one layer for one pair: what Figures 3 to 5 of the paper draw. Position i of the
     * decoder holds the token before target token i and predicts target token i. Each row sums to 1.
     */
    public float[][][] attentionWeights(Batch pair, AttentionKind kind, int layer) {
        float[] weights = Frame.fill(0, 4, (f, buffer, capacity, count) -> Native.xf_attention_weights(
                f.use(this), f.batch(pair), kind.ordinal(), layer, buffer, capacity, count, f.err()), Words::floats);
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

    /** Measures loss and perplexity on pairs. */
    public EvalStats evaluate(List<Batch> batches) {
        return evaluated((f, out) ->
                Native.xf_evaluate(f.use(this), f.batches(batches), batches.size(), out, f.err()));
    }

    /** Measures loss and perplexity on all pairs of a batcher, once; it stands afterwards where it stood. */
    public EvalStats evaluate(Batcher batcher) {
        return evaluated((f, out) -> Native.xf_evaluate_batcher(f.use(this), f.use(batcher), out, f.err()));
    }

    private static EvalStats evaluated(Frame.Call call) {
        return Frame.read(6, call, s -> new EvalStats(s.get(1), s.get(2), s.real(3), s.real(4), s.real(5)));
    }
}
