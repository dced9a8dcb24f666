/* Translation and scoring. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.stream.LongStream;

/**
 * Beam search with a model. A decoder serves one call at a time. It does not copy parameters, so create one for each
 * thread that translates.
 */
public final class Decoder extends NativeObject {
    /** Creates a decoder with all defaults: beam 4, length penalty 0.6. */
    public Decoder(Model model) {
        this(model, Map.of());
    }

    /**
     * Creates a decoder. Reads the options of the groups "decode." and "text."; for {@link #evaluate(Batcher)} also
     * "train.label_smoothing" and "train.label_smoothing_kind".
     */
    public Decoder(Model model, Map<String, ?> options) {
        this(model, options, new DecodeModels());
    }

    /**
     * Creates a decoder, as {@link #Decoder(Model, Map)}, with an ensemble or a draft. Throws an exception with
     * {@link Status#INVALID_ARGUMENT} for models that cannot decode together, or for an ensemble with a draft.
     */
    public Decoder(Model model, Map<String, ?> options, DecodeModels more) {
        super(Handle.Kind.DECODER, model.services, (f, out) ->
                Native.xf_decoder_create(f.use(model), more.write(f), f.config(options), out, f.err()));
    }

    /** Translates a text. Throws an exception if it cannot be translated. */
    public Hypothesis translate(String text) {
        return translate(List.of(text)).get(0).best();
    }

    /** Translates texts, as {@link #translate(List, DecodeParams, Call)}. */
    public List<Translation> translate(List<String> texts) {
        return translate(texts, new DecodeParams());
    }

    /** Translates texts, as {@link #translate(List, DecodeParams, Call)}. */
    public List<Translation> translate(List<String> texts, DecodeParams params) {
        return translate(texts, params, new Call());
    }

    /**
     * Translates texts. The result for a text does not depend on the other texts. A text that cannot be translated does
     * not fail the call: its {@link Translation} contains the exception.
     *
     * @return for each text its "decode.n_best" hypotheses, best first
     */
    public List<Translation> translate(List<String> texts, DecodeParams params, Call call) {
        return results((f, out) -> {
            Frame.Texts all = f.texts(texts);
            return Native.xf_translate(f.use(this), all.pointers(), all.lengths(), all.count(),
                    params.write(f, all.count(), true), f.call(call), out, f.err());
        });
    }

    /**
     * Translates texts on an executor. Canceling the future cancels the call, and also the token of {@code call} if it
     * has one. Use an executor with one thread per decoder: a call that finds its decoder in use fails with
     * {@link Status#BUSY}.
     */
    public CompletableFuture<List<Translation>> translateAsync(
            List<String> texts, DecodeParams params, Call call, Executor executor) {
        Call cancellable = call.withToken();
        CompletableFuture<List<Translation>> future = new CompletableFuture<>();
        future.whenComplete((result, error) -> {
            if (future.isCancelled()) cancellable.token().cancel();
        });
        executor.execute(() -> {
            try {
                if (!future.isDone()) future.complete(translate(texts, params, cancellable));
            } catch (Throwable error) {
                future.completeExceptionally(error);
            }
        });
        return future;
    }

    /** Decodes sources that are given as ids, as {@link #decode(Batch, DecodeParams, Call)}. */
    public List<Translation> decode(Batch batch) {
        return decode(batch, new DecodeParams());
    }

    /** Decodes sources that are given as ids, as {@link #decode(Batch, DecodeParams, Call)}. */
    public List<Translation> decode(Batch batch, DecodeParams params) {
        return decode(batch, params, new Call());
    }

    /** Decodes sources that are given as ids. Targets are ignored. */
    public List<Translation> decode(Batch batch, DecodeParams params, Call call) {
        return results((f, out) -> Native.xf_decode(f.use(this), f.batch(batch),
                params.write(f, batch.size(), false), f.call(call), out, f.err()));
    }

    private static List<Translation> results(Frame.Output call) {
        return Frame.get(f -> {
            Memory out = f.memory(8);
            int status = call.call(f, out.address());
            long found = out.getLong(0);
            try {
                f.check(status);
                long count = Native.xf_hypotheses_sentence_count(found);
                List<Translation> all = new ArrayList<>((int) count);
                Memory info = f.struct(Abi.xf_sentence_info.SIZE);
                Memory hypothesis = f.struct(Abi.xf_hypothesis.SIZE);
                for (long i = 0; i < count; ++i) all.add(result(f, found, i, info, hypothesis));
                return all;
            } finally {
                Native.xf_hypotheses_free(found);
            }
        });
    }

    static Translation result(Frame f, long found, long sentence, Memory info, Memory h) {
        f.check(Native.xf_hypotheses_get_sentence(found, sentence, info.address(), f.err()));
        int status = info.getInt(Abi.xf_sentence_info.status);
        if (status < 0) {
            return new Translation(List.of(), XformerException.of(status, 0, info.text(Abi.xf_sentence_info.message)),
                    List.of());
        }
        long count = info.getLong(Abi.xf_sentence_info.hypothesis_count);
        List<Hypothesis> all = new ArrayList<>((int) count);
        for (long index = 0; index < count; ++index) {
            f.check(Native.xf_hypotheses_get(found, sentence, index, h.address(), f.err()));
            long ids = h.getLong(Abi.xf_hypothesis.id_count);
            boolean finished = h.getBoolean(Abi.xf_hypothesis.finished);
            String text = h.getLong(Abi.xf_hypothesis.text) == 0 ? null
                    : Text.string(h.array(Abi.xf_hypothesis.text, h.getLong(Abi.xf_hypothesis.text_length)).bytes());
            long aligned = h.getLong(Abi.xf_hypothesis.alignment) == 0 ? 0 : ids;
            long ends = h.getLong(Abi.xf_hypothesis.text_ends) == 0 ? 0 : ids;
            all.add(new Hypothesis(text, h.array(Abi.xf_hypothesis.ids, 4 * ids).ints(),
                    h.array(Abi.xf_hypothesis.token_log_probabilities, 4 * (ids + (finished ? 1 : 0))).floats(),
                    h.getDouble(Abi.xf_hypothesis.log_probability), h.getDouble(Abi.xf_hypothesis.score), finished,
                    h.getBoolean(Abi.xf_hypothesis.complete), h.array(Abi.xf_hypothesis.alignment, 4 * aligned).ints(),
                    h.array(Abi.xf_hypothesis.text_ends, 8 * ends).longs()));
        }
        long tokens = info.getLong(Abi.xf_sentence_info.source_token_count);
        long[] sourceEnds = info.array(Abi.xf_sentence_info.source_ends, 8 * tokens).longs();
        return new Translation(List.copyOf(all), null, LongStream.of(sourceEnds).boxed().toList());
    }

    /** Scores given targets, as {@link #score(Batch, Call)}. */
    public double[] score(Batch batch) {
        return score(batch, new Call());
    }

    /** Returns the natural logarithm of the probability of each target given its source, including the end symbol. */
    public double[] score(Batch batch, Call call) {
        return Frame.get(f -> {
            long size = 8L * batch.size();
            long out = f.allocate(size);
            f.check(Native.xf_score(f.use(this), f.batch(batch), f.call(call), out, f.err()));
            return Memory.at(out, size).doubles();
        });
    }

    /** Scores given translations. A pair that cannot be scored fails the call. */
    public double[] scoreTexts(List<String> sources, List<String> targets) {
        return scoreTexts(sources, targets, null, new Call());
    }

    /**
     * Scores given translations: {@link #score(Batch, Call)} for texts.
     *
     * @param statuses receives the status of each pair, and a pair that cannot be scored has the score NaN; null: the
     *        first pair that cannot be scored fails the call
     */
    public double[] scoreTexts(List<String> sources, List<String> targets, Status[] statuses, Call call) {
        int count = sources.size();
        if (targets.size() != count || statuses != null && statuses.length != count) {
            throw new IllegalArgumentException("found " + count + " sources, " + targets.size() + " targets, and "
                    + (statuses == null ? "no" : statuses.length) + " statuses, expected equal numbers");
        }
        return Frame.get(f -> {
            long out = f.allocate(8L * count);
            long codes = statuses == null ? 0 : f.allocate(4L * count);
            Frame.Texts s = f.texts(sources);
            Frame.Texts t = f.texts(targets);
            f.check(Native.xf_score_texts(f.use(this), s.pointers(), s.lengths(), t.pointers(), t.lengths(), count,
                    f.call(call), out, codes, f.err()));
            if (statuses != null) {
                int[] numbers = Memory.at(codes, 4L * count).ints();
                for (int i = 0; i < count; ++i) statuses[i] = Status.of(numbers[i]);
            }
            return Memory.at(out, 8L * count).doubles();
        });
    }

    /** Measures loss and perplexity on all pairs of a batcher, whose position is unchanged afterwards. */
    public EvalStats evaluate(Batcher batcher) {
        return evaluate(batcher, new Call());
    }

    /** Measures loss and perplexity, as {@link #evaluate(Batcher)}. */
    public EvalStats evaluate(Batcher batcher, Call call) {
        return Frame.read(Abi.xf_eval_stats.SIZE,
                (f, out) -> Native.xf_evaluate(f.use(this), f.use(batcher), f.call(call), out, f.err()),
                s -> new EvalStats(s.getLong(Abi.xf_eval_stats.sentences), s.getLong(Abi.xf_eval_stats.tgt_tokens),
                        s.getDouble(Abi.xf_eval_stats.loss), s.getDouble(Abi.xf_eval_stats.nll),
                        s.getDouble(Abi.xf_eval_stats.perplexity)));
    }
}
