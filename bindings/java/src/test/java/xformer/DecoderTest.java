/* Constraints, prefixes, attention weights, and types of matrices. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.Test;
import xformer.Experimental.AttentionKind;

public class DecoderTest extends WorldTest {
    private List<Translation> constrained(Experimental.Constraint constraint) {
        return w.decoder.translate(World.SOURCES, new DecodeParams().constraint(constraint));
    }

    @Test
    public void constraints() {
        w.train(60);
        List<Translation> free = w.decoder.translate(World.SOURCES);
        AtomicInteger steps = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        assertEquals(free, constrained((hypotheses, vocabSize) -> { // everything is allowed
            steps.incrementAndGet();
            most.accumulateAndGet(hypotheses.size(), Math::max);
            assertEquals(w.vocabSize(), vocabSize);
            for (Experimental.Partial p : hypotheses) {
                assertEquals(vocabSize, p.allowed().cardinality());
                assertTrue(p.remaining() >= 1 && p.sentence() >= 0 && p.sentence() < World.SOURCES.size());
            }
        }));
        assertTrue(steps.get() > 1 && most.get() > World.SOURCES.size());

        // A different first token for each sentence, with ids at both ends of the words of the bit set.
        int last = w.vocabSize() - 1;
        int[] first = {2, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, last};
        Experimental.Constraint begin = (hypotheses, vocabSize) -> {
            for (Experimental.Partial p : hypotheses) {
                if (p.ids().length > 0) continue;
                p.allowed().clear();
                p.allowed().set(first[p.sentence()]);
            }
        };
        List<Translation> begun = constrained(begin);
        assertEquals(begun, w.decoder.decode(Batch.fromTexts(w.model, World.SOURCES),
                new DecodeParams().constraint(begin)));
        for (int i = 0; i < begun.size(); ++i) assertEquals(first[i], begun.get(i).best().ids()[0]);

        // Nothing is allowed after the first token.
        Hypothesis none = constrained((hypotheses, vocabSize) -> hypotheses.forEach(p -> {
            if (p.ids().length > 0) p.allowed().clear();
            p.allowed().clear(World.END);
        })).get(0).best();
        assertFalse(none.finished());
        assertEquals(Double.NEGATIVE_INFINITY, none.logProbability(), 0);
        assertEquals(free, w.decoder.translate(World.SOURCES));
    }

    @Test
    public void anExceptionOfAConstraintEndsTheCall() {
        Error own = new AssertionError("from the constraint");
        AtomicInteger steps = new AtomicInteger();
        for (int i = 1; i <= 100; ++i) {
            assertSame(own, assertThrows(AssertionError.class, () -> constrained((hypotheses, vocabSize) -> {
                steps.incrementAndGet();
                World.refused(Status.BUSY, () -> w.decoder.translate("two"));
                throw own;
            })));
            assertEquals(i, steps.get());
        }
        assertEquals(0, own.getSuppressed().length);
        World.refused(Status.CANCELLED, () -> constrained((hypotheses, vocabSize) -> w.context.cancel()));
        CancelToken token = new CancelToken();
        DecodeParams cancels = new DecodeParams().constraint((hypotheses, vocabSize) -> token.cancel());
        World.refused(Status.CANCELLED,
                () -> w.decoder.translate(World.SOURCES, cancels, new Call().cancel(token)));
        assertEquals(1, w.decoder.translate(List.of("one")).size());
    }

    @Test
    public void prefixes() {
        w.train(60);
        List<String> texts = List.of("one two three", "four one", "two");
        List<String> begins = List.of("vier", "", "zwei drei");
        List<Translation> begun = w.decoder.translate(texts, new DecodeParams().prefixes(begins));
        assertEquals(begun.get(1), w.decoder.translate(texts).get(1));
        List<int[]> ids = begins.stream().map(w.tokenizer::encode).toList();
        for (int i = 0; i < texts.size(); ++i) {
            assertTrue(begun.get(i).text(), begun.get(i).text().startsWith(begins.get(i)));
            assertArrayEquals(ids.get(i), Arrays.copyOf(begun.get(i).best().ids(), ids.get(i).length));
        }
        Batch batch = Batch.fromTexts(w.model, texts);
        assertEquals(begun, w.decoder.decode(batch, new DecodeParams().prefixIds(ids)));
        DecodeParams tooFew = new DecodeParams().prefixes(List.of("one"));
        for (DecodeParams wrong : List.of(tooFew, new DecodeParams().prefixIds(ids))) {
            assertThrows(IllegalArgumentException.class, () -> w.decoder.translate(texts, wrong));
        }
    }

    @Test
    public void optionsOfOneCall() {
        w.train(60);
        Map<String, ?> wide = Map.of("decode.beam", 6, "decode.n_best", 5);
        try (Decoder decoder = new Decoder(w.model, World.options("decode.beam", 6, "decode.n_best", 5))) {
            List<Translation> expected = decoder.translate(World.SOURCES);
            assertEquals(5, expected.get(0).hypotheses().size());
            assertEquals(expected, w.decoder.translate(World.SOURCES, new DecodeParams().options(wide)));
        }
        assertEquals(1, w.decoder.translate(World.SOURCES).get(0).hypotheses().size());
        DecodeParams longer = new DecodeParams().options(Map.of("decode.min_tokens", 7));
        for (Translation one : w.decoder.translate(World.SOURCES, longer)) assertTrue(one.best().ids().length >= 7);
    }

    @Test
    public void anInvalidSentenceDoesNotFailTheOthers() {
        List<Translation> good = w.decoder.translate(List.of("one", "two"));
        List<Translation> found = w.decoder.translate(List.of("one", "half \ud800", "two", "one ".repeat(20_000)));
        assertEquals(good, List.of(found.get(0), found.get(2)));
        assertEquals(List.of(), found.get(1).hypotheses());
        assertEquals(Status.DATA, found.get(1).error().status());
        assertEquals(Status.OUT_OF_RANGE, found.get(3).error().status());
        assertSame(found.get(1).error(), assertThrows(XformerException.class, found.get(1)::text));
        World.refused(Status.DATA, () -> w.decoder.translate("\ud800"));
        List<Translation> ids = w.decoder.decode(Batch.fromIds(List.of(new int[] {5000, 1}, new int[] {5, 1})));
        assertEquals(Status.OUT_OF_RANGE, ids.get(0).error().status());
        assertEquals(null, ids.get(1).error());
    }

    @Test
    public void aDeadlineReturnsTheBestSoFar() {
        Batch many = Batch.fromTexts(w.model, Collections.nCopies(3000, "one two three four one two three four"));
        Map<String, ?> slow = Map.of("decode.max_extra_tokens", 40, "decode.min_tokens", 40);
        Call soon = new Call().deadline(Duration.ofMillis(30));
        List<Translation> found = w.decoder.decode(many, new DecodeParams().options(slow), soon);
        assertEquals(3000, found.size());
        assertTrue(found.stream().anyMatch(a -> a.error() != null && a.error().status() == Status.DEADLINE));
        assertTrue(w.decoder.translate("one").complete());
        assertTrue(found.stream().anyMatch(a -> a.error() == null && !a.best().complete()));
        World.refused(Status.DEADLINE, () -> w.decoder.score(pairs(3000), soon));
    }

    private Batch pairs(int count) {
        return Batch.fromTexts(w.model, Collections.nCopies(count, "one two three four one two three four"),
                Collections.nCopies(count, "eins zwei drei vier eins zwei drei vier"));
    }

    @Test
    public void scoresOfTexts() {
        double[] expected = w.decoder.score(Batch.fromTexts(w.model, World.SOURCES, World.TARGETS));
        assertArrayEquals(expected, w.decoder.scoreTexts(World.SOURCES, World.TARGETS), 0);
        List<String> sources = List.of("one", "half \ud800", "one ".repeat(20_000), World.SOURCES.get(0));
        List<String> targets = List.of("eins", "x", "x", World.TARGETS.get(0));
        Status[] statuses = new Status[4];
        double[] scores = w.decoder.scoreTexts(sources, targets, statuses, new Call());
        assertArrayEquals(new Status[] {Status.OK, Status.DATA, Status.OUT_OF_RANGE, Status.OK}, statuses);
        assertTrue(Double.isNaN(scores[1]) && Double.isNaN(scores[2]));
        assertEquals(expected[0], scores[3], 0);
        World.refused(Status.DATA, () -> w.decoder.scoreTexts(sources.subList(0, 2), targets.subList(0, 2)));
        assertThrows(IllegalArgumentException.class, () -> w.decoder.scoreTexts(sources, List.of()));
        assertEquals(0, w.decoder.scoreTexts(List.of(), List.of()).length);
    }

    @Test
    public void encodedTextsOfAModel() {
        int[] ids = w.tokenizer.encode("one two");
        int[] expected = Arrays.copyOf(ids, ids.length + 1);
        expected[ids.length] = World.END;
        for (Side side : Side.values()) {
            assertArrayEquals(expected, w.model.encode(side, " one two "));
            assertArrayEquals(ids, w.tokenizer.side(side).encode("one two"));
        }
        World.refused(Status.INVALID_ARGUMENT,
                () -> w.model.encode(Side.SOURCE, "one", Map.of("text.source_language", "en")));
        World.refused(Status.DATA, () -> w.model.encode(Side.SOURCE, "\ud800"));
    }

    @Test
    public void attentionWeights() {
        Batch pair = Batch.fromTexts(w.model, List.of("one two three"), List.of("eins zwei"));
        int src = pair.srcIds().remaining();
        int tgt = pair.tgtIds().remaining();
        int[][] shapes = {{src, src}, {tgt, tgt}, {tgt, src}};
        for (AttentionKind kind : AttentionKind.values()) {
            float[][][] weights = Experimental.attentionWeights(w.decoder, pair, kind, 0);
            assertEquals(2, weights.length);
            for (float[][] head : weights) {
                assertEquals(shapes[kind.ordinal()][0], head.length);
                for (int query = 0; query < head.length; ++query) {
                    assertEquals(shapes[kind.ordinal()][1], head[query].length);
                    double sum = 0;
                    for (float weight : head[query]) sum += weight;
                    assertEquals(1, sum, 1e-5);
                    for (int key = query + 1; kind == AttentionKind.DECODER && key < head.length; ++key) {
                        assertEquals(0, head[query][key], 0);
                    }
                }
            }
            int last = weights[0].length - 1;
            assertNotEquals(weights[0][last][0], weights[1][last][0], 0);
        }
        World.refused(Status.OUT_OF_RANGE,
                () -> Experimental.attentionWeights(w.decoder, pair, AttentionKind.CROSS, 1));
        World.refused(Status.OUT_OF_RANGE,
                () -> Experimental.attentionWeights(w.decoder, pair, AttentionKind.CROSS, -1));
        Batch two = Batch.fromTexts(w.model, World.SOURCES, World.TARGETS);
        World.refused(Status.INVALID_ARGUMENT,
                () -> Experimental.attentionWeights(w.decoder, two, AttentionKind.CROSS, 0));
    }

    @Test
    public void typesOfMatrices() throws Exception {
        w.model.save(path("fp32.xf"));
        float[] exact = w.model.read(0);
        Map<String, Double> errors = Map.of("fp16", 0x1p-11, "bf16", 0x1p-8);
        for (DataType type : List.of(DataType.FP16, DataType.BF16)) {
            String name = type.name().toLowerCase(Locale.ROOT);
            Map<String, ?> weights = Map.of("model.weights", name);
            w.model.save(Sink.of(path("half.xf")), weights, new Call());
            assertTrue(Files.size(path("half.xf")) < 0.75 * Files.size(path("fp32.xf")));
            assertEquals(type, Model.inspect(w.context, Source.of(path("half.xf")), Map.of()).weights());
            Map<String, ?> fp32 = Map.of("model.weights", "fp32");
            try (Model loaded = Model.load(w.context, Source.of(path("half.xf")), fp32, new Call())) {
                assertEquals(DataType.FP32, loaded.tensors().get(0).type());
                float[] rounded = loaded.read(0);
                assertFalse(Arrays.equals(exact, rounded));
                for (int i = 0; i < exact.length; ++i) {
                    assertEquals(exact[i], rounded[i], errors.get(name) * Math.abs(exact[i]) + 1e-7);
                }
            }
        }
        try (Context ref = new Context(World.options("context.device", "cpu:ref"));
                Model copy = w.model.copy(ref, Map.of("model.weights", "int8"), new Call());
                Decoder decoder = new Decoder(copy, w.config)) {
            assertTrue(copy.tensors().stream().anyMatch(tensor -> tensor.type() == DataType.INT8));
            assertEquals(World.SOURCES.size(), decoder.translate(World.SOURCES).size());
            World.refused(Status.STATE, () -> new Trainer(copy));
            try (Model back = copy.copy(Map.of("model.weights", "fp32"))) {
                assertTrue(back.tensors().stream().allMatch(tensor -> tensor.type() == DataType.FP32));
            }
        }
    }

    @Test
    public void oneCall() {
        w.train(20);
        w.model.save(path("model.xf"));
        List<String> expected = new ArrayList<>();
        try (Context context = new Context();
                Model model = Model.load(context, path("model.xf"));
                Decoder decoder = new Decoder(model)) {
            for (String source : World.SOURCES) expected.add(decoder.translate(source).text());
        }
        assertEquals(expected, Xformer.translate(path("model.xf"), World.SOURCES));
        World.refused(Status.NOT_FOUND, () -> Xformer.translate(path("none"), World.SOURCES));
    }

    @Test
    public void waysToSplitWords() {
        List<String> found = List.of("a well-known text of some words");
        List<String> wanted = List.of("a well - known text of some words");
        assertTrue(Metrics.bleu(found, wanted, Metrics.Tokenize.NONE).score() < 90);
        BleuScore split = Metrics.bleu(found, found, Metrics.Tokenize.SPLIT_HYPHENS);
        assertEquals(100, split.score(), 1e-9);
        assertEquals(8, split.referenceLength());
        assertEquals(6, Metrics.bleu(found, found, Metrics.Tokenize.NONE).referenceLength());
        double[] precisions = split.precisions().stream().mapToDouble(p -> p).toArray();
        assertArrayEquals(new double[] {100, 100, 100, 100}, precisions, 1e-9);
    }
}
