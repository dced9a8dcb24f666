/* One of each object, with a tiny model. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertThrows;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.function.ThrowingRunnable;

final class World implements AutoCloseable {
    static final List<Pair> PAIRS = List.of(
            new Pair("one two three", "eins zwei drei"),
            new Pair("two three four", "zwei drei vier"),
            new Pair("three four", "drei vier"),
            new Pair("four one", "vier eins"),
            new Pair("one one two", "eins eins zwei"),
            new Pair("four four three two", "vier vier drei zwei"),
            new Pair("two", "zwei"),
            new Pair("three one four two", "drei eins vier zwei"),
            new Pair("one four", "eins vier"),
            new Pair("two two", "zwei zwei"),
            new Pair("three three three", "drei drei drei"),
            new Pair("four two one", "vier zwei eins"));
    static final List<String> SOURCES = PAIRS.stream().map(Pair::source).toList();
    static final List<String> TARGETS = PAIRS.stream().map(Pair::target).toList();
    static final Map<String, Object> OPTIONS = Map.ofEntries(
            Map.entry("context.device", "cpu"),
            Map.entry("context.threads", 1),
            Map.entry("tokenizer.vocab_size", 290),
            Map.entry("data.batch_tokens", 40),
            Map.entry("model.encoder_layers", 1),
            Map.entry("model.decoder_layers", 1),
            Map.entry("model.d_model", 16),
            Map.entry("model.d_ff", 24),
            Map.entry("model.heads", 2),
            Map.entry("model.d_k", 8),
            Map.entry("model.d_v", 8),
            Map.entry("model.max_length", 64),
            Map.entry("train.schedule", "constant"),
            Map.entry("train.learning_rate", 0.01),
            Map.entry("train.warmup_steps", 5),
            Map.entry("decode.max_extra_tokens", 8));

    /** The start and end symbols of tokenizers that the library trains. */
    static final int START = 0;
    static final int END = 1;

    final Config config = new Config(OPTIONS);
    final Context context;
    final Corpus corpus;
    final Tokenizer tokenizer;
    final Batcher batcher;
    final Model model;
    final Trainer trainer;
    final Decoder decoder;

    World() {
        this(new Host());
    }

    World(Host host) {
        context = new Context(config, host);
        corpus = Corpus.fromPairs(context, PAIRS);
        tokenizer = Tokenizer.train(context, corpus, config);
        batcher = new Batcher(corpus, tokenizer, config);
        model = new Model(context, tokenizer, config);
        trainer = new Trainer(model, config);
        decoder = new Decoder(model, config);
    }

    /** OPTIONS with some changes. */
    static Map<String, Object> options(Object... changes) {
        Map<String, Object> all = new HashMap<>(OPTIONS);
        for (int i = 0; i < changes.length; i += 2) all.put((String) changes[i], changes[i + 1]);
        return all;
    }

    List<AutoCloseable> objects() {
        return List.of(config, context, corpus, tokenizer, batcher, model, trainer, decoder);
    }

    /** The next batch of this epoch or of the next one. */
    Batch batch() {
        return batcher.next().orElseGet(() -> batcher.next().orElseThrow());
    }

    int vocabSize() {
        return tokenizer.info().vocabSize();
    }

    /** Measures pairs of ids. */
    EvalStats evaluate(Decoder by, Batch pairs) {
        try (Corpus ids = Corpus.fromIds(context, pairs);
                Batcher all = new Batcher(ids, options("data.batch_tokens", 1000))) {
            return by.evaluate(all);
        }
    }

    void train(int steps) {
        trainer.train(batcher, steps, stats -> true);
    }

    static List<String> best(List<Translation> found) {
        return found.stream().map(Translation::text).toList();
    }

    /** Expects an exception of the library with this status and a message. */
    static XformerException refused(Status status, ThrowingRunnable call) {
        XformerException error = assertThrows(XformerException.class, call);
        if (error.status() != status || error.getMessage().isEmpty()) throw new AssertionError(error);
        return error;
    }

    @Override
    public void close() {
        decoder.close();
        trainer.close();
        model.close();
        batcher.close();
        tokenizer.close();
        corpus.close();
        context.close();
        config.close();
    }
}
