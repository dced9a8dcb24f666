/* From text through training and files to translations and scores. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.Test;

public class JourneyTest extends WorldTest {
    @Test
    public void aCheckpointWithoutABatcherHasNoPosition() {
        w.trainer.save(path("run.ckpt"));
        try (Trainer trainer = Trainer.resume(w.context, path("run.ckpt"))) {
            World.refused(Status.STATE, () -> w.batcher.resume(trainer));
        }
    }

    @Test
    public void beamScoresAndEvaluationAgree() {
        w.train(100);
        try (Decoder decoder = new Decoder(w.model, World.options("decode.beam", 5, "decode.n_best", 3))) {
            List<String> texts = new ArrayList<>(World.SOURCES);
            texts.add("");
            List<Translation> answers = new ArrayList<>(decoder.translate(texts));
            Translation empty = answers.remove(answers.size() - 1);
            assertEquals(List.of(new Hypothesis("", new int[0], new float[1], 0, 0, true, true, new int[0], new long[0])),
                    empty.hypotheses());
            List<int[]> sources = new ArrayList<>();
            List<int[]> targets = new ArrayList<>();
            List<Double> expected = new ArrayList<>();
            for (int i = 0; i < answers.size(); ++i) {
                List<Hypothesis> found = answers.get(i).hypotheses();
                assertEquals(3, found.size());
                for (int rank = 0; rank < 3; ++rank) {
                    Hypothesis h = found.get(rank);
                    if (rank > 0) assertTrue(found.get(rank - 1).score() >= h.score());
                    double length = h.ids().length + (h.finished() ? 1 : 0);
                    assertEquals(h.logProbability() / Math.pow((5 + length) / 6, 0.6), h.score(), 1e-5);
                    assertEquals(w.tokenizer.decode(h.ids()), h.text());
                    assertTrue(h.complete());
                    float[] each = h.tokenLogProbabilities();
                    assertEquals((int) length, each.length);
                    double total = 0;
                    for (float token : each) total += token;
                    assertEquals(h.logProbability(), total, 1e-4);
                }
                Hypothesis best = found.get(0);
                if (!best.finished()) continue;
                sources.add(w.model.encode(Side.SOURCE, World.SOURCES.get(i)));
                int[] target = Arrays.copyOf(best.ids(), best.ids().length + 1);
                target[best.ids().length] = World.END;
                targets.add(target);
                expected.add(best.logProbability());
            }
            assertFalse(expected.isEmpty());
            Batch batch = Batch.fromIds(sources, targets);
            double[] scores = decoder.score(batch);
            double sum = 0;
            for (int i = 0; i < scores.length; ++i) {
                assertEquals(expected.get(i), scores[i], 1e-4);
                sum += scores[i];
            }
            EvalStats stats = w.evaluate(decoder, batch);
            assertEquals(batch.size(), stats.sentences());
            assertEquals(batch.tgtIds().remaining(), stats.tgtTokens());
            assertEquals(-sum / stats.tgtTokens(), stats.nll(), 1e-9);
            assertEquals(Math.exp(stats.nll()), stats.perplexity(), 1e-9);
            assertTrue(stats.loss() > stats.nll());

            w.batcher.next();
            BatcherStats before = w.batcher.stats();
            EvalStats all = decoder.evaluate(w.batcher);
            assertEquals(World.PAIRS.size(), all.sentences());
            assertEquals(before, w.batcher.stats());
            Batch pairs = Batch.fromTexts(w.model, World.SOURCES, World.TARGETS);
            assertEquals(w.evaluate(decoder, pairs).nll(), all.nll(), 1e-9);
        }
    }

    @Test
    public void trainingStopsByListenerExceptionInterruptOrToken() {
        w.trainer.train(w.batcher, 100, stats -> stats.step() < 3);
        assertEquals(3, w.trainer.steps());
        try {
            w.trainer.train(w.batcher, 100, stats -> {
                throw new IllegalStateException("enough");
            });
            fail();
        } catch (IllegalStateException error) {
            assertEquals("enough", error.getMessage());
        }
        assertEquals(4, w.trainer.steps());
        Thread.currentThread().interrupt();
        World.refused(Status.CANCELLED, () -> w.train(100));
        assertTrue(Thread.interrupted());
        assertEquals(4, w.trainer.steps());
        CancelToken token = new CancelToken();
        World.refused(Status.CANCELLED, () -> w.trainer.train(w.batcher, 100, new Call().cancel(token), stats -> {
            token.cancel();
            return true;
        }));
        assertEquals(5, w.trainer.steps());
        w.train(0);
        assertEquals(5, w.trainer.steps());
    }
}
