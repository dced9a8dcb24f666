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
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.Test;

public class DecoderTest extends WorldTest {
    @Test
    public void aConstraintIsKept() {
        w.train(60);
        List<List<Hypothesis>> free = w.decoder.translate(World.SOURCES);
        AtomicInteger asked = new AtomicInteger();
        w.decoder.setConstraint((prefix, allowed) -> {
            asked.incrementAndGet();
            assertEquals(w.tokenizer.size(), prefix.vocabSize());
            assertEquals(prefix.vocabSize(), allowed.cardinality());
            assertTrue(prefix.remaining() >= 1 && prefix.sentence() >= 0 && prefix.sentence() < World.SOURCES.size());
        });
        assertEquals(free, w.decoder.translate(World.SOURCES)); // everything is allowed
        assertTrue(asked.get() > World.SOURCES.size());

        // A given beginning, another one for each sentence, of ids at both ends of the words of the mask.
        int last = w.tokenizer.size() - 1;
        int[] first = {2, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, last};
        w.decoder.setConstraint((prefix, allowed) -> {
            if (prefix.ids().length == 0) {
                allowed.clear();
                allowed.set(first[prefix.sentence()]);
            }
        });
        List<List<Hypothesis>> begun = w.decoder.translate(World.SOURCES);
        assertEquals(begun, w.decoder.decode(Batch.fromTexts(w.tokenizer, World.SOURCES)));
        for (int i = 0; i < begun.size(); ++i) assertEquals(first[i], begun.get(i).get(0).ids()[0]);

        // Nothing is allowed after the first token.
        w.decoder.setConstraint((prefix, allowed) -> {
            if (prefix.ids().length > 0) allowed.clear();
            allowed.clear(Xformer.TOKEN_END);
        });
        Hypothesis none = w.decoder.translate("one");
        assertFalse(none.finished());
        assertEquals(Double.NEGATIVE_INFINITY, none.logProbability(), 0);

        w.decoder.setConstraint(null);
        assertEquals(free, w.decoder.translate(World.SOURCES));
    }

    @Test
    public void whatAConstraintThrowsEndsTheCall() {
        Error own = new AssertionError("from the constraint");
        AtomicInteger asked = new AtomicInteger();
        w.decoder.setConstraint((prefix, allowed) -> {
            asked.incrementAndGet();
            World.refused(BusyException.class, () -> w.decoder.translate("two"));
            throw own;
        });
        for (int i = 1; i <= 100; ++i) {
            assertSame(own, assertThrows(AssertionError.class, () -> w.decoder.translate(World.SOURCES)));
            assertEquals(i, asked.get());
        }
        assertEquals(0, own.getSuppressed().length);
        w.decoder.setConstraint((prefix, allowed) -> w.context.cancel());
        World.refused(CancelledException.class, () -> w.decoder.translate(World.SOURCES));
        w.decoder.setConstraint(null);
        assertEquals(1, w.decoder.translate(List.of("one")).size());
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
        World.refused(OutOfRangeException.class, () -> w.decoder.attentionWeights(pair, AttentionKind.CROSS, 1));
        World.refused(OutOfRangeException.class, () -> w.decoder.attentionWeights(pair, AttentionKind.CROSS, -1));
        Batch two = Batch.fromTexts(w.tokenizer, World.SOURCES, World.TARGETS);
        World.refused(InvalidArgumentException.class, () -> w.decoder.attentionWeights(two, AttentionKind.CROSS, 0));
    }

    @Test
    public void narrowFiles() throws Exception {
        w.model.save(path("fp32.xf"));
        w.model.export(path("same.xf"), Map.of());
        assertEquals(Files.size(path("fp32.xf")), Files.size(path("same.xf")));
        float[] wide = w.model.read(0);
        for (Map.Entry<String, Double> kind : Map.of("fp16", 0x1p-11, "bf16", 0x1p-8).entrySet()) {
            w.model.export(path("half.xf"), Map.of("file.precision", kind.getKey()));
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
        World.refused(NotFoundException.class, () -> Xformer.translate(path("none"), World.SOURCES));
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
