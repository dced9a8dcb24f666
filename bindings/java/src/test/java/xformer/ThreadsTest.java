/* Several threads: translating, cancelling, closing, colliding. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;
import static xformer.World.refused;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class ThreadsTest {
    @Rule public final TemporaryFolder folder = new TemporaryFolder();

    /** A model on which one decode call takes seconds. */
    private static final class Slow implements AutoCloseable {
        final Context context = new Context(World.OPTIONS);
        final Model model = new Model(context, World.options("model.d_model", 256, "model.d_ff", 1024,
                "model.vocab_size", 4000, "model.decoder_layers", 4, "model.max_length", 512));
        final Decoder decoder = new Decoder(model, World.options("decode.max_extra_tokens", 300, "decode.beam", 8));
        final Batch batch;

        Slow() {
            List<int[]> sources = new ArrayList<>();
            for (int i = 0; i < 300; ++i) sources.add(new int[] {2 + i, 7, 8, 1});
            batch = Batch.fromIds(sources);
        }

        /** The call, running in a thread of its own. */
        FutureTask<List<List<Hypothesis>>> running() throws InterruptedException {
            FutureTask<List<List<Hypothesis>>> task = new FutureTask<>(() -> decoder.decode(batch));
            new Thread(task).start();
            for (boolean begun = false; !begun; Thread.sleep(1)) {
                try (Call probe = decoder.peer.read()) {
                    assertTrue(probe.pointer() != 0);
                } catch (BusyException busy) {
                    begun = true;
                }
            }
            Thread.sleep(50);
            assertFalse(task.isDone());
            return task;
        }

        @Override
        public void close() {
            decoder.close();
            model.close();
            context.close();
        }
    }

    private static void cancelled(Future<?> task) throws Exception {
        try {
            task.get(60, TimeUnit.SECONDS);
            throw new AssertionError("it was not cancelled");
        } catch (ExecutionException error) {
            assertEquals(CancelledException.class, error.getCause().getClass());
        }
    }

    private static <T> List<T> inFourThreads(Callable<T> work) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            CyclicBarrier together = new CyclicBarrier(4);
            List<Future<T>> futures = new ArrayList<>();
            for (int i = 0; i < 4; ++i) {
                futures.add(threads.submit(() -> {
                    together.await();
                    return work.call();
                }));
            }
            List<T> found = new ArrayList<>();
            for (Future<T> future : futures) found.add(future.get(120, TimeUnit.SECONDS));
            return found;
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    public void fourThreadsTranslate() throws Exception {
        try (World w = new World()) {
            w.train(30);
            List<List<Hypothesis>> expected = w.decoder.translate(World.SOURCES);
            w.model.save(folder.getRoot().toPath().resolve("model.xf"));
            Callable<Boolean> shared = () -> {
                try (Decoder decoder = new Decoder(w.model, World.OPTIONS)) {
                    for (int i = 0; i < 10; ++i) assertEquals(expected, decoder.translate(World.SOURCES));
                }
                return true;
            };
            assertEquals(List.of(true, true, true, true), inFourThreads(shared));
            Callable<Boolean> own = () -> {
                try (Context context = new Context(World.OPTIONS);
                        Model model = Model.load(context, folder.getRoot().toPath().resolve("model.xf"));
                        Decoder decoder = new Decoder(model, World.OPTIONS)) {
                    for (int i = 0; i < 5; ++i) assertEquals(expected, decoder.translate(World.SOURCES));
                }
                return true;
            };
            assertEquals(List.of(true, true, true, true), inFourThreads(own));
        }
    }

    @Test
    public void cancelBusyAndCloseFromAnotherThread() throws Exception {
        try (Slow slow = new Slow()) {
            FutureTask<?> task = slow.running();
            BusyException busy = refused(BusyException.class, () -> slow.decoder.decode(slow.batch));
            assertEquals("the decoder is in another call", busy.getMessage());
            refused(BusyException.class, () -> slow.model.write(0, slow.model.read(0)));
            refused(BusyException.class, () -> slow.context.setLog(null, LogLevel.INFO));
            assertTrue(slow.context.memory().current() > 0);
            slow.context.cancel();
            cancelled(task);
            Batch small = Batch.fromIds(List.of(new int[] {2, 1}));
            assertEquals(1, slow.decoder.decode(small).size()); // usable again

            task = slow.running();
            slow.decoder.close(); // frees when the call has ended
            assertTrue(slow.decoder.isClosed());
            assertFalse(slow.decoder.peer.handle.freed());
            slow.model.close();
            slow.context.cancel();
            slow.context.close();
            cancelled(task);
            for (int i = 0; i < 1000 && !slow.decoder.peer.handle.freed(); ++i) Thread.sleep(1);
            assertTrue(slow.decoder.peer.handle.freed());
            refused(ClosedException.class, () -> slow.decoder.decode(small));
        }
    }

    @Test
    public void interruptingDoesNotReachACall() throws Exception {
        try (World w = new World()) {
            Thread.currentThread().interrupt();
            assertEquals(1, w.decoder.translate(List.of("one")).size());
            assertTrue(Thread.interrupted());
        }
    }

    /** Threads that use and close one object: each call works or says why not, nothing is used after it is freed. */
    @Test
    public void aRaceOfCallsAndCloses() throws Exception {
        try (World w = new World()) {
            w.train(5);
            Batch batch = w.batch();
            List<Integer> outcomes = inFourThreads(() -> {
                int worked = 0;
                for (int i = 0; i < 40; ++i) {
                    try (Decoder own = new Decoder(w.model, World.OPTIONS)) {
                        new Thread(own::close).start();
                        if (own.score(batch).length == batch.size()) ++worked;
                    } catch (ClosedException expected) {
                        assertEquals("the decoder is closed", expected.getMessage());
                    }
                    try {
                        w.decoder.score(batch);
                        ++worked;
                    } catch (BusyException expected) {
                        assertEquals("the decoder is in another call", expected.getMessage());
                    }
                }
                return worked;
            });
            for (int worked : outcomes) assertTrue(worked > 0);
        }
    }
}
