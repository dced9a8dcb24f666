/* Constraints, prefixes, attention weights, and types of matrices. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.Test;

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
