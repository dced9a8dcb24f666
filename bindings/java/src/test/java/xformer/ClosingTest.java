/* Use after close, closing twice, any order, forgetting. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;
import static xformer.World.refused;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

public class ClosingTest extends WorldTest {
    private Map<AutoCloseable, List<ThrowingRunnable>> calls() {
        Batch batch = Batch.fromIds(List.of(new int[] {2, 1}), List.of(new int[] {3, 1}));
        Map<AutoCloseable, List<ThrowingRunnable>> all = new java.util.IdentityHashMap<>();
        all.put(w.config, List.of(() -> w.config.get("model.d_model"), () -> new Context(w.config), w.config::copy,
                () -> w.config.put("model.d_model", 4), () -> w.config.applyPreset("tiny")));
        all.put(w.context, List.of(w.context::memory, w.context::device, w.context::cancel, w.context::backends,
                () -> w.context.setLog(null, LogLevel.INFO), () -> Model.load(w.context, path("late"))));
        all.put(w.corpus, List.of(w.corpus::size, () -> w.corpus.get(0), w.corpus::stats,
                () -> new Batcher(w.corpus, w.tokenizer)));
        all.put(w.tokenizer, List.of(() -> w.tokenizer.encode("x"), () -> w.tokenizer.save(path("late")),
                w.tokenizer::size, () -> w.tokenizer.piece(0)));
        all.put(w.batcher, List.of(w.batcher::next, w.batcher::stats, () -> w.batcher.iterator().hasNext(),
                () -> w.batcher.seek(0, 0)));
        all.put(w.model, List.of(w.model::params, () -> w.model.read(0), () -> new Decoder(w.model),
                () -> new Trainer(w.model), w.model::tokenizer, w.model::config, () -> w.model.save(path("late"))));
        all.put(w.trainer, List.of(() -> w.trainer.step(batch), w.trainer::steps, w.trainer::model, w.trainer::update,
                w.trainer::config, () -> w.trainer.gradient(0), () -> w.trainer.save(path("late"))));
        all.put(w.decoder, List.of(() -> w.decoder.translate("x"), () -> w.decoder.score(batch),
                () -> w.decoder.decode(batch), () -> w.decoder.evaluate(List.of(batch))));
        return all;
    }

    private static boolean closed(AutoCloseable object) {
        return object instanceof Config config ? config.isClosed() : ((NativeObject) object).isClosed();
    }

    @Test
    public void useAfterClose() throws Exception {
        Map<AutoCloseable, List<ThrowingRunnable>> all = calls();
        assertEquals(w.objects().size(), all.size());
        for (AutoCloseable object : w.objects()) {
            assertFalse(closed(object));
            object.close();
            object.close();
            assertTrue(closed(object));
            for (ThrowingRunnable call : all.get(object)) {
                ClosedException error = refused(ClosedException.class, call);
                assertTrue(error.getMessage(), error.getMessage().matches("the .* is closed"));
                assertEquals(Status.STATE, error.status());
            }
        }
    }

    @Test
    public void anyOrder() throws Exception {
        Random random = new Random(1);
        for (int i = 0; i < 20; ++i) {
            try (World world = new World()) {
                List<AutoCloseable> objects = new ArrayList<>(world.objects());
                Collections.shuffle(objects, random);
                Decoder extra = new Decoder(world.model, world.config);
                for (AutoCloseable object : objects) object.close();
                assertEquals(1, extra.translate(List.of("one")).size());
                extra.close();
            }
        }
    }

    @Test
    public void whatWasMadeGoesOn() {
        Batch batch = w.batch();
        for (AutoCloseable object : List.of(w.config, w.context, w.corpus, w.tokenizer, w.model)) {
            try {
                object.close();
            } catch (Exception error) {
                throw new AssertionError(error);
            }
        }
        w.trainer.step(batch);
        assertNotNull(w.decoder.translate("one two").text());
        assertTrue(w.batcher.next().isPresent());
    }

    @Test
    public void aBorrowedTokenizerEndsWithItsModel() {
        assertSame(w.model, w.trainer.model());
        Tokenizer tokenizer = w.model.tokenizer().orElseThrow();
        Tokenizer other = w.model.tokenizer().orElseThrow();
        other.close();
        assertTrue(other.isClosed());
        assertTrue(tokenizer.encode("one").length > 0);
        w.model.close();
        assertTrue(tokenizer.isClosed());
        refused(ClosedException.class, () -> tokenizer.encode("one"));
        Model borrowed = w.trainer.model(); // the trainer still has the model
        assertTrue(borrowed.tokenizer().orElseThrow().encode("one").length > 0);
        borrowed.close();
        w.trainer.step(w.batch());
    }

    @Test
    public void aForgottenParentLivesAndIsFreedInTheEnd() throws Exception {
        Context context = new Context(World.OPTIONS);
        List<String> lines = new ArrayList<>();
        context.setLog((level, component, line) -> lines.add(line), LogLevel.DEBUG);
        Handle forgotten = context.peer.handle;
        Corpus corpus = Corpus.fromPairs(context, World.PAIRS);
        context = null;
        System.gc();
        Thread.sleep(50);
        assertFalse(forgotten.freed());
        assertEquals(World.PAIRS.size(), corpus.size());
        corpus = null;
        await(forgotten);
    }

    /** A listener that holds its context does not keep it from being collected. */
    @Test
    public void cyclesAreFreed() {
        for (Handle handle : cycle()) await(handle);
    }

    private static List<Handle> cycle() {
        World world = new World();
        world.context.setLog((level, component, line) -> world.objects(), LogLevel.DEBUG);
        world.trainer.step(world.batch());
        return List.of(world.context.peer.handle, world.model.peer.handle, world.trainer.peer.handle,
                world.decoder.peer.handle);
    }

    /** Collects until the Cleaner has freed it. */
    static void await(Handle handle) {
        for (int i = 0; i < 3000 && !handle.freed(); ++i) {
            System.gc();
            LockSupport.parkNanos(10_000_000);
        }
        assertTrue("not freed half a minute after it was forgotten", handle.freed());
    }
}
