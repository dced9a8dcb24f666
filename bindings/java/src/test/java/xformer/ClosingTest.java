/* Closing objects. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
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
        all.put(w.context, List.of(w.context::memory, w.context::info, w.context::cancel, w.context::backends,
                () -> Model.load(w.context, path("late")), () -> Corpus.fromPairs(w.context, World.PAIRS)));
        all.put(w.corpus, List.of(w.corpus::size, () -> w.corpus.get(0), w.corpus::stats,
                () -> new Batcher(w.corpus, w.tokenizer), () -> w.corpus.subset(0)));
        all.put(w.tokenizer, List.of(() -> w.tokenizer.encode("x"), () -> w.tokenizer.save(path("late")),
                w.tokenizer::info, () -> w.tokenizer.piece(0)));
        all.put(w.batcher, List.of(w.batcher::next, w.batcher::stats, () -> w.batcher.iterator().hasNext(),
                () -> w.batcher.seek(0, 0)));
        all.put(w.model, List.of(w.model::tensors, () -> w.model.read(0), () -> new Decoder(w.model),
                () -> new Trainer(w.model), w.model::tokenizer, w.model::config, () -> w.model.save(path("late"))));
        all.put(w.trainer, List.of(() -> w.trainer.step(batch), w.trainer::steps, w.trainer::model, w.trainer::update,
                w.trainer::config, () -> w.trainer.next(w.batcher),
                () -> Experimental.gradient(w.trainer, 0), () -> w.trainer.save(path("late"))));
        all.put(w.decoder, List.of(() -> w.decoder.translate("x"), () -> w.decoder.score(batch),
                () -> w.decoder.decode(batch), () -> w.decoder.evaluate(w.batcher)));
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
                IllegalStateException error = assertThrows(IllegalStateException.class, call);
                assertTrue(error.getMessage(), error.getMessage().matches("the .* is closed"));
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
        Tokenizer tokenizer = w.model.tokenizer().orElseThrow();
        Tokenizer other = w.model.tokenizer().orElseThrow();
        other.close();
        assertTrue(other.isClosed());
        assertTrue(tokenizer.encode("one").length > 0);
        Tokenizer side = tokenizer.side(Side.SOURCE);
        assertTrue(side.encode("one").length > 0);
        w.model.close();
        assertTrue(side.isClosed());
        assertTrue(tokenizer.isClosed());
        assertThrows(IllegalStateException.class, () -> tokenizer.encode("one"));
        Model borrowed = w.trainer.model(); // the trainer still has the model
        assertTrue(borrowed.tokenizer().orElseThrow().encode("one").length > 0);
        borrowed.close();
        w.trainer.step(w.batch());
    }

    @Test
    public void aForgottenContextIsFreedAndItsListenerIsHeardByWhatWasMade() {
        List<String> lines = new ArrayList<>();
        Host host = new Host().log(LogLevel.INFO, (level, component, line) -> lines.add(line));
        Context context = new Context(World.OPTIONS, host);
        Handle forgotten = context.handle;
        Model model = new Model(context, World.options("model.vocab_size", 9));
        Handle made = model.handle;
        context = null;
        host = null;
        await(forgotten);
        lines.clear();
        model.save(path("model.xf"));
        assertFalse(lines.isEmpty());
        model = null;
        await(made);
    }

    /** A listener that holds its context does not keep it from being collected. */
    @Test
    public void cyclesAreFreed() {
        for (Handle handle : cycle()) await(handle);
    }

    private static List<Handle> cycle() {
        World[] self = new World[1];
        Host host = new Host().log(LogLevel.DEBUG, (level, component, line) -> Arrays.hashCode(self));
        World world = self[0] = new World(host);
        world.trainer.step(world.batch());
        return List.of(world.context.handle, world.model.handle, world.trainer.handle, world.decoder.handle);
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
