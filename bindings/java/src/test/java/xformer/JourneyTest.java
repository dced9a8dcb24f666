/* From text through training and files to translations and scores. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.Test;

public class JourneyTest extends WorldTest {
    @Test
    public void trainSaveLoadTranslateMeasure() {
        List<StepStats> stats = new ArrayList<>();
        w.trainer.train(w.batcher, 150, stats::add);
        assertEquals(150, stats.size());
        for (int i = 0; i < 150; ++i) assertEquals(i + 1, stats.get(i).step());
        assertEquals(150, w.trainer.steps());
        assertTrue(stats.get(149).nll() < stats.get(0).nll() / 2);
        assertEquals(0.01, stats.get(149).learningRate(), 1e-9);
        assertTrue(stats.get(0).gradientNorm() > 0);

        w.model.save(path("model.xf"));
        w.trainer.save(path("run.ckpt"), w.batcher);
        List<Translation> found = w.decoder.translate(World.SOURCES);
        for (String name : List.of("model.xf", "run.ckpt")) {
            try (Model loaded = Model.load(w.context, path(name));
                    Decoder decoder = new Decoder(loaded, w.config)) {
                assertEquals(found, decoder.translate(World.SOURCES));
                assertEquals(found.get(0).best(), decoder.translate(World.SOURCES.get(0)));
            }
        }

        BleuScore score = Metrics.bleu(World.best(found), World.TARGETS);
        assertTrue(score.score() > 30);
        assertEquals(4, score.precisions().size());
        assertTrue(score.brevityPenalty() > 0);
        assertEquals(World.TARGETS.stream().mapToInt(t -> t.split(" ").length).sum(), score.referenceLength());
        assertTrue(score.hypothesisLength() > 0);
        assertTrue(score.signature().contains("tok:13a"));
        ChrfScore chrf = Metrics.chrf(World.best(found), World.TARGETS);
        assertTrue(chrf.score() > 30 && !chrf.signature().isEmpty());
        assertEquals(100, Metrics.bleu(World.TARGETS, World.TARGETS, Metrics.Tokenize.NONE).score(), 1e-6);
        assertEquals(100, Metrics.chrf(World.TARGETS, World.TARGETS).score(), 1e-6);
    }

    @Test
    public void aResumedRunContinuesWithTheSameBits() {
        w.train(5);
        w.trainer.save(path("run.ckpt"), w.batcher);
        BatcherStats position = w.batcher.stats();
        List<StepStats> expected = new ArrayList<>();
        w.trainer.train(w.batcher, 7, expected::add);

        Trainer trainer = Trainer.resume(w.context, path("run.ckpt"));
        assertEquals(5, trainer.steps());
        try (Config config = trainer.config()) {
            assertEquals(0.01, config.getDouble("train.learning_rate"), 0);
        }
        Model model = trainer.model();
        Batcher batcher = new Batcher(w.corpus, model.tokenizer().orElseThrow(), w.config);
        batcher.resume(trainer);
        assertEquals(position, batcher.stats());
        List<StepStats> found = new ArrayList<>();
        trainer.train(batcher, 7, found::add);
        assertEquals(expected, found);

        Decoder decoder = new Decoder(model, w.config);
        trainer.close();
        assertTrue(model.isClosed());
        assertThrows(IllegalStateException.class, () -> model.save(path("late.xf")));
        assertEquals(w.decoder.translate(World.SOURCES), decoder.translate(World.SOURCES));
        decoder.close();
        batcher.close();
    }

    @Test
    public void aCheckpointWithoutABatcherHasNoPosition() {
        w.trainer.save(path("run.ckpt"));
        try (Trainer trainer = Trainer.resume(w.context, path("run.ckpt"))) {
            World.refused(Status.STATE, () -> w.batcher.resume(trainer));
        }
    }

    @Test
    public void average() {
        w.model.save(path("a.xf"));
        float[] before = w.model.read(0);
        float[] more = before.clone();
        for (int i = 0; i < more.length; ++i) more[i] += 1;
        w.model.write(0, more);
        w.model.save(path("b.xf"));
        Source memory = Source.of(Sink.toBytes(w.model::save));
        try (Model mean = Model.average(w.context, List.of(Source.of(path("a.xf")), Source.of(path("b.xf"))));
                Model other = Model.average(w.context, List.of(Source.of(path("a.xf")), memory))) {
            assertEquals(before[50] + 0.5, mean.read(0)[50], 1e-5);
            assertArrayEquals(mean.read(0), other.read(0), 0);
        }
        World.refused(Status.INVALID_ARGUMENT, () -> Model.average(w.context, List.of()));
    }

    @Test
    public void beamScoresAndEvaluationAgree() {
        w.train(100);
        try (Decoder decoder = new Decoder(w.model, World.options("decode.beam", 5, "decode.n_best", 3))) {
            List<String> texts = new ArrayList<>(World.SOURCES);
            texts.add("");
            List<Translation> answers = new ArrayList<>(decoder.translate(texts));
            Translation empty = answers.remove(answers.size() - 1);
            assertEquals(List.of(new Hypothesis("", new int[0], new float[1], 0, 0, true, true)), empty.hypotheses());
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
    public void idsAndTextsDecodeAlike() {
        List<Translation> whole = w.decoder.translate(World.SOURCES);
        assertEquals(whole, w.decoder.decode(Batch.fromTexts(w.model, World.SOURCES)));
        assertEquals(whole.hashCode(), w.decoder.translate(World.SOURCES).hashCode());
        assertEquals(List.of(), w.decoder.translate(List.of()));
        Hypothesis h = whole.get(0).best();
        assertTrue(h.toString(), h.toString().contains(h.text()));
    }

    @Test
    public void aModelWithoutATokenizer() {
        try (Model model = new Model(w.context, World.options("model.vocab_size", 9));
                Decoder decoder = new Decoder(model, w.config)) {
            assertTrue(model.tokenizer().isEmpty());
            World.refused(Status.STATE, () -> decoder.translate("one"));
            assertEquals(null, decoder.decode(Batch.fromIds(List.of(new int[] {3, 1}))).get(0).best().text());
        }
    }

    @Test
    public void twoHalvesAreAStep() {
        try (World other = new World()) {
            List<Batch> batches = List.of(w.batch(), w.batch(), w.batch());
            StepStats whole = other.trainer.step(batches);
            for (Batch batch : batches) assertEquals(batch.size(), w.trainer.accumulate(batch).sentences());
            float[] gradient = Experimental.gradient(w.trainer, 1);
            assertEquals(w.model.tensors().get(1).size(), gradient.length);
            java.nio.FloatBuffer direct = java.nio.ByteBuffer.allocateDirect(4 * gradient.length)
                    .order(java.nio.ByteOrder.nativeOrder()).asFloatBuffer();
            Experimental.gradient(w.trainer, 1, direct);
            float[] copy = new float[gradient.length];
            direct.get(copy);
            assertArrayEquals(gradient, copy, 0);
            boolean some = false;
            for (float g : gradient) some |= g != 0;
            assertTrue(some);
            assertEquals(whole, w.trainer.update());
            World.refused(Status.STATE, w.trainer::update);
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

    @Test
    public void aFailedStepKeepsItsBatch() {
        w.train(3);
        BatcherStats before = w.batcher.stats();
        float[] huge = new float[w.model.tensors().get(0).size()];
        float[] good = w.model.read(0);
        Arrays.fill(huge, 3e38f);
        w.model.write(0, huge);
        World.refused(Status.NONFINITE, () -> w.train(100));
        assertEquals(before, w.batcher.stats());
        assertEquals(3, w.trainer.steps());
        w.model.write(0, good);
        assertEquals(StepStats.Outcome.UPDATED, w.trainer.next(w.batcher).orElseThrow().outcome());
        while (w.trainer.next(w.batcher).isPresent()) {} // to the end of the epoch
        assertEquals(before.epoch() + 1, w.batcher.stats().epoch());
        assertEquals(0, w.batcher.stats().batch());
    }

    @Test
    public void optionsMayChangeOnResume() {
        w.train(3);
        w.trainer.save(path("run.ckpt"), w.batcher);
        Map<String, ?> changed = Map.of("train.learning_rate", 0.002, "train.clip_norm", 0.5);
        Source checkpoint = Source.of(path("run.ckpt"));
        try (Trainer trainer = Trainer.resume(w.context, checkpoint, changed, new Call());
                Config config = trainer.config()) {
            assertEquals(0.002, config.getDouble("train.learning_rate"), 0);
            assertEquals(0.5, config.getDouble("train.clip_norm"), 0);
            assertEquals("constant", config.get("train.schedule"));
            w.batcher.resume(trainer);
            assertEquals(0.002 * 4 / 5, trainer.next(w.batcher).orElseThrow().learningRate(), 1e-9); // 5 to warm up
        }
        XformerException error = World.refused(Status.STATE,
                () -> Trainer.resume(w.context, checkpoint, Map.of("train.seed", 77), new Call()));
        assertTrue(error.getMessage(), error.getMessage().contains("train.seed"));
    }

    @Test
    public void theAverageOfTheParametersIsAModel() {
        World.refused(Status.STATE, w.trainer::copyAverage);
        try (Model model = w.model.copy(); Trainer trainer = new Trainer(model, World.options("train.ema", 0.5))) {
            float[] before = model.read(0);
            trainer.step(w.batch());
            float[] after = model.read(0);
            try (Model ema = trainer.copyAverage(); Tokenizer tokenizer = ema.tokenizer().orElseThrow()) {
                assertEquals(w.vocabSize(), tokenizer.info().vocabSize());
                float[] mean = ema.read(0);
                for (int i = 0; i < mean.length; ++i) {
                    double low = Math.min(before[i], after[i]) - 1e-6;
                    assertTrue(mean[i] >= low && mean[i] <= Math.max(before[i], after[i]) + 1e-6);
                }
                assertFalse(Arrays.equals(before, after));
            }
        }
    }
}
