/* Constraints, attention weights, files of 16 bits, translating in one call. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.Test;

public class DecoderTest extends WorldTest {
    private List<Answer> held(Constraint constraint) {
        return w.decoder.translate(World.SOURCES, new DecodeParams().constraint(constraint));
    }

    @Test
    public void aConstraintIsKept() {
        w.train(60);
        List<Answer> free = w.decoder.translate(World.SOURCES);
        AtomicInteger asked = new AtomicInteger();
        assertEquals(free, held((prefix, allowed) -> { // everything is allowed
            asked.incrementAndGet();
            assertEquals(w.tokenizer.size(), prefix.vocabSize());
            assertEquals(prefix.vocabSize(), allowed.cardinality());
            assertTrue(prefix.remaining() >= 1 && prefix.sentence() >= 0 && prefix.sentence() < World.SOURCES.size());
        }));
        assertTrue(asked.get() > World.SOURCES.size());

        // A given beginning, another one for each sentence, of ids at both ends of the words of the mask.
        int last = w.tokenizer.size() - 1;
        int[] first = {2, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, last};
        Constraint begin = (prefix, allowed) -> {
            if (prefix.ids().length == 0) {
                allowed.clear();
                allowed.set(first[prefix.sentence()]);
            }
        };
        List<Answer> begun = held(begin);
        assertEquals(begun, w.decoder.decode(Batch.fromTexts(w.tokenizer, World.SOURCES),
                new DecodeParams().constraint(begin)));
        for (int i = 0; i < begun.size(); ++i) assertEquals(first[i], begun.get(i).best().ids()[0]);

        // Nothing is allowed after the first token.
        Hypothesis none = held((prefix, allowed) -> {
            if (prefix.ids().length > 0) allowed.clear();
            allowed.clear(Xformer.TOKEN_END);
        }).get(0).best();
        assertFalse(none.finished());
        assertEquals(Double.NEGATIVE_INFINITY, none.logProbability(), 0);
        assertEquals(free, w.decoder.translate(World.SOURCES));
    }

    @Test
    public void whatAConstraintThrowsEndsTheCall() {
        Error own = new AssertionError("from the constraint");
        AtomicInteger asked = new AtomicInteger();
        for (int i = 1; i <= 100; ++i) {
            assertSame(own, assertThrows(AssertionError.class, () -> held((prefix, allowed) -> {
                asked.incrementAndGet();
                World.refused(Status.BUSY, () -> w.decoder.translate("two"));
                throw own;
            })));
            assertEquals(i, asked.get());
        }
        assertEquals(0, own.getSuppressed().length);
        World.refused(Status.CANCELLED, () -> held((prefix, allowed) -> w.context.cancel()));
        World.refused(Status.CANCELLED, () -> held((prefix, allowed) -> w.decoder.cancel()));
        assertEquals(1, w.decoder.translate(List.of("one")).size());
    }

    @Test
    public void prefixes() {
        w.train(60);
        List<String> texts = List.of("one two three", "four one", "two");
        List<String> begins = List.of("vier", "", "zwei drei");
        List<Answer> begun = w.decoder.translate(texts, new DecodeParams().prefixes(begins));
        assertEquals(begun.get(1), w.decoder.translate(texts).get(1));
        List<int[]> ids = begins.stream().map(w.tokenizer::encode).toList();
        for (int i = 0; i < texts.size(); ++i) {
            assertTrue(begun.get(i).text(), begun.get(i).text().startsWith(begins.get(i)));
            assertArrayEquals(ids.get(i), Arrays.copyOf(begun.get(i).best().ids(), ids.get(i).length));
        }
        Batch batch = Batch.fromTexts(w.tokenizer, texts);
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
            List<Answer> expected = decoder.translate(World.SOURCES);
            assertEquals(5, expected.get(0).hypotheses().size());
            assertEquals(expected, w.decoder.translate(World.SOURCES, new DecodeParams().options(wide)));
        }
        assertEquals(1, w.decoder.translate(World.SOURCES).get(0).hypotheses().size());
        DecodeParams longer = new DecodeParams().options(Map.of("decode.min_tokens", 7));
        for (Answer answer : w.decoder.translate(World.SOURCES, longer)) assertTrue(answer.best().ids().length >= 7);
    }

    @Test
    public void oneBadSentenceDoesNotFailTheOthers() {
        List<Answer> good = w.decoder.translate(List.of("one", "two"));
        List<Answer> answers = w.decoder.translate(List.of("one", "half \ud800", "two", "one ".repeat(20_000)));
        assertEquals(good, List.of(answers.get(0), answers.get(2)));
        assertEquals(List.of(), answers.get(1).hypotheses());
        assertEquals(Status.DATA, answers.get(1).error().status());
        assertEquals(Status.OUT_OF_RANGE, answers.get(3).error().status());
        assertSame(answers.get(1).error(), assertThrows(XformerException.class, answers.get(1)::text));
        World.refused(Status.DATA, () -> w.decoder.translate("\ud800"));
        List<Answer> ids = w.decoder.decode(Batch.fromIds(List.of(new int[] {5000, 1}, new int[] {5, 1})));
        assertEquals(Status.OUT_OF_RANGE, ids.get(0).error().status());
        assertEquals(null, ids.get(1).error());
    }

    @Test
    public void aDeadlineGivesTheBestSoFar() {
        Batch many = Batch.fromTexts(w.tokenizer, Collections.nCopies(3000, "one two three four one two three four"));
        Map<String, ?> soon = Map.of("decode.deadline_ms", 30, "decode.max_extra_tokens", 40, "decode.min_tokens", 40);
        List<Answer> answers = w.decoder.decode(many, new DecodeParams().options(soon));
        assertEquals(3000, answers.size());
        assertTrue(answers.stream().anyMatch(a -> a.error() != null && a.error().status() == Status.DEADLINE));
        assertTrue(w.decoder.translate("one").complete());
        assertTrue(answers.stream().anyMatch(a -> a.error() == null && !a.best().complete()));
    }

    @Test
    public void attentionWeights() {
        Batch pair = Batch.fromTexts(w.tokenizer, List.of("one two three"), List.of("eins zwei"));
        int src = pair.srcIds().remaining();
        int tgt = pair.tgtIds().remaining();
        int[][] shapes = {{src, src}, {tgt, tgt}, {tgt, src}};
        for (AttentionKind kind : AttentionKind.values()) {
            float[][][] weights = w.decoder.attentionWeights(pair, kind, 0);
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
        World.refused(Status.OUT_OF_RANGE, () -> w.decoder.attentionWeights(pair, AttentionKind.CROSS, 1));
        World.refused(Status.OUT_OF_RANGE, () -> w.decoder.attentionWeights(pair, AttentionKind.CROSS, -1));
        Batch two = Batch.fromTexts(w.tokenizer, World.SOURCES, World.TARGETS);
        World.refused(Status.INVALID_ARGUMENT, () -> w.decoder.attentionWeights(two, AttentionKind.CROSS, 0));
    }

    @Test
    public void narrowFiles() throws Exception {
        w.model.save(path("fp32.xf"));
        w.model.save(path("same.xf"), w.config);
        assertEquals(Files.size(path("fp32.xf")), Files.size(path("same.xf")));
        float[] wide = w.model.read(0);
        for (Map.Entry<String, Double> kind : Map.of("fp16", 0x1p-11, "bf16", 0x1p-8).entrySet()) {
            w.model.save(path("half.xf"), Map.of("file.precision", kind.getKey()));
            assertTrue(Files.size(path("half.xf")) < 0.75 * Files.size(path("fp32.xf")));
            try (Model loaded = Model.load(w.context, path("half.xf"))) {
                float[] narrow = loaded.read(0);
                assertFalse(Arrays.equals(wide, narrow));
                for (int i = 0; i < wide.length; ++i) {
                    assertEquals(wide[i], narrow[i], kind.getValue() * Math.abs(wide[i]) + 1e-7);
                }
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
