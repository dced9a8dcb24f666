/* Several threads: translation, cancellation, and closing. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static xformer.World.refused;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
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

        /** The call, running in its own thread. */
        FutureTask<List<Translation>> running() throws InterruptedException {
            return running(new Call());
        }

        FutureTask<List<Translation>> running(Call call) throws InterruptedException {
            FutureTask<List<Translation>> task =
                    new FutureTask<>(() -> decoder.decode(batch, new DecodeParams(), call));
            new Thread(task).start();
            while (!decoder.handle.used()) Thread.sleep(1);
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
    public void cancelBusyAndCloseFromAnotherThread() throws Exception {
        try (Slow slow = new Slow()) {
            FutureTask<?> task = slow.running();
            XformerException busy = refused(Status.BUSY, () -> slow.decoder.decode(slow.batch));
            assertTrue(busy.getMessage(), busy.getMessage().contains("decoder"));
            refused(Status.BUSY, () -> slow.model.write(0, new float[slow.model.tensors().get(0).size()]));
            assertTrue(slow.context.memory().current() > 0);
            slow.context.cancel();
            cancelled(task);
            Batch small = Batch.fromIds(List.of(new int[] {2, 1}));
            assertEquals(1, slow.decoder.decode(small).size()); // usable again

            try (Decoder other = new Decoder(slow.model, World.OPTIONS)) {
                CancelToken token = new CancelToken();
                Call call = new Call().cancel(token);
                task = slow.running(call);
                token.cancel(); // other calls continue
                assertEquals(1, other.decode(small).size());
                cancelled(task);
                refused(Status.CANCELLED, () -> other.decode(small, new DecodeParams(), call));
                assertTrue(token.isCancelled());
            }

            task = slow.running();
            slow.decoder.close(); // frees the decoder when the call ends
            assertTrue(slow.decoder.isClosed());
            assertFalse(slow.decoder.handle.freed());
            slow.model.close();
            slow.context.cancel();
            slow.context.close();
            cancelled(task);
            for (int i = 0; i < 1000 && !slow.decoder.handle.freed(); ++i) Thread.sleep(1);
            assertTrue(slow.decoder.handle.freed());
            assertThrows(IllegalStateException.class, () -> slow.decoder.decode(small));
        }
    }

    @Test
    public void aStepIsCancelledAndKeepsItsBatch() throws Exception {
        try (World w = new World()) {
            Map<String, ?> options = World.options("data.batch_tokens", 600);
            Corpus many = Corpus.fromPairs(w.context, Collections.nCopies(2000, World.PAIRS.get(0)));
            Batcher batcher = new Batcher(many, w.tokenizer, options);
            CancelToken token = new CancelToken();
            Call call = new Call().cancel(token);
            FutureTask<?> task = new FutureTask<>(() -> w.trainer.train(batcher, 1L << 40, call, stats -> true), null);
            new Thread(task).start();
            Thread.sleep(50);
            token.cancel();
            cancelled(task);
            long steps = w.trainer.steps();
            BatcherStats stats = batcher.stats();
            assertEquals(steps, stats.epoch() * stats.batches() + stats.batch());
        }
    }

    @Test
    public void futures() throws Exception {
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try (World w = new World(); Slow slow = new Slow()) {
            DecodeParams params = new DecodeParams();
            assertEquals(w.decoder.translate(World.SOURCES),
                    w.decoder.translateAsync(World.SOURCES, params, new Call(), thread).get(60, TimeUnit.SECONDS));
            failedWith(Status.STATE, slow.decoder.translateAsync(List.of("x"), params, new Call(), thread));

            List<String> many = Collections.nCopies(20_000, "one two three four one two three four");
            CancelToken token = new CancelToken();
            Future<?> running = w.decoder.translateAsync(many, params, new Call().cancel(token), thread);
            Future<?> waiting = w.decoder.translateAsync(many, params, new Call(), thread);
            while (!w.decoder.handle.used()) Thread.sleep(1);
            assertTrue(running.cancel(false) && waiting.cancel(false));
            assertTrue(token.isCancelled());
            thread.submit(() -> {}).get(60, TimeUnit.SECONDS); // both have ended
            assertEquals(1, w.decoder.translate(List.of("one")).size());
        } finally {
            thread.shutdownNow();
        }
    }

    private static void failedWith(Status status, Future<?> future) {
        ExecutionException error = assertThrows(ExecutionException.class, () -> future.get(60, TimeUnit.SECONDS));
        assertEquals(status, ((XformerException) error.getCause()).status());
    }

    @Test
    public void interruptingDoesNotAffectACall() throws Exception {
        try (World w = new World()) {
            Thread.currentThread().interrupt();
            assertEquals(1, w.decoder.translate(List.of("one")).size());
            assertTrue(Thread.interrupted());
        }
    }

    /** Threads use and close the same object: each call succeeds or fails, and no object is used after it is freed. */
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
                    } catch (IllegalStateException expected) {
                        assertEquals("the decoder is closed", expected.getMessage());
                    }
                    try {
                        w.decoder.score(batch);
                        ++worked;
                    } catch (XformerException expected) {
                        assertEquals(Status.BUSY, expected.status());
                    }
                }
                return worked;
            });
            for (int worked : outcomes) assertTrue(worked > 0);
        }
    }
}
